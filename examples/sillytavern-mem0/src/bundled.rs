//! The scripted model that is used if none is configured.

use memory_engine::llm::{ChatRequest, Message, ScriptedModel};

/// The start of the user message of a rewrite request, which is a JSON object.
const REWRITE: &str = r#"{"user_name""#;

/// A text in the prompt, the start of the last message, a text in it, and the reply.
const SCRIPT: [(&str, &str, &str, &str); 8] = [
    ("CAPITALS", "", "", "WHAT INSOMNIA DOES TO THE USER"),
    ("", REWRITE, "天花板", "结合最近对话：用户昨晚失眠，询问今天状态有何变化"),
    ("", REWRITE, "staring at the ceiling", "What insomnia does to the user today"),
    ("", REWRITE, "", "……"),
    ("海鲜过敏", "", "推荐", "海鲜就算了，你过敏。番茄牛腩面怎么样？"),
    ("", "", "晚饭推荐", "来一份海鲜炒饭？"),
    ("失眠", "", "不一样", "又没睡好吧。头疼的话，先喝点温牛奶。"),
    ("insomnia", "", "different", "You slept badly again."),
];

pub(crate) fn model() -> ScriptedModel {
    let text = |message: Option<&Message>| message.map_or_else(String::new, |message| message.content.clone());
    let rules = SCRIPT.into_iter().fold(ScriptedModel::default(), |model, (in_prompt, start, in_message, reply)| {
        let condition = move |request: &ChatRequest| {
            let system = text(request.messages.first());
            let last = text(request.messages.last());
            system.contains(in_prompt) && last.starts_with(start) && last.contains(in_message)
        };
        model.when(condition, reply)
    });
    rules.otherwise("嗯，记下了。")
}
