//! The model that answers where none is configured.

use memory_engine::llm::{ChatRequest, ScriptedModel};

/// A script that knows a few sentences, looks at the memories in its prompt, and can rewrite one question.
pub(crate) fn model() -> ScriptedModel {
    // A request to rewrite has one message behind the prompt, and that is an object.
    let rewrites = |words: &'static str| {
        move |request: &ChatRequest| {
            let last = request.messages.last().map_or("", |message| &message.content);
            last.starts_with(r#"{"user_name""#) && last.contains(words)
        }
    };
    let answers = |asked: &'static str, knows: &'static str| {
        move |request: &ChatRequest| {
            let last = request.messages.last().map_or("", |message| &message.content);
            let system = request.messages.first().map_or("", |message| &message.content);
            last.contains(asked) && system.contains(knows)
        }
    };
    // Another prompt, another query.
    let in_capitals = |request: &ChatRequest| request.messages[0].content.contains("CAPITALS");
    ScriptedModel::default()
        .when(in_capitals, "WHAT INSOMNIA DOES TO THE USER")
        .when(rewrites("天花板"), "结合最近对话：用户昨晚失眠，询问今天状态有何变化")
        .when(rewrites("staring at the ceiling"), "What insomnia does to the user today")
        .when(rewrites(""), "……")
        .when(answers("推荐", "海鲜过敏"), "海鲜就算了，你过敏。番茄牛腩面怎么样？")
        .when(answers("晚饭推荐", ""), "来一份海鲜炒饭？")
        .when(answers("不一样", "失眠"), "又没睡好吧。头疼的话，先喝点温牛奶。")
        .when(answers("different", "insomnia"), "You slept badly again.")
        .otherwise("嗯，记下了。")
}
