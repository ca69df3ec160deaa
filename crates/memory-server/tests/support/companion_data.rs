//! The companions of the browser tests, and the messages that their users send.

use async_trait::async_trait;
use futures::{StreamExt, stream};
use memory_engine::{
    Language, MemoryEngine, Result, Timestamp,
    llm::{ChatDelta, ChatModel, ChatReply, ChatRequest, ChatStream, FinishReason},
};
use memory_engine_companion::{Companion, Pack};

/// The messages of one day.
pub(crate) struct CompanionDay {
    pub(crate) agent: &'static str,
    pub(crate) at: &'static str,
    pub(crate) messages: &'static [&'static str],
}

const fn day(agent: &'static str, at: &'static str, messages: &'static [&'static str]) -> CompanionDay {
    CompanionDay { agent, at, messages }
}

impl CompanionDay {
    pub(crate) fn time(&self) -> Timestamp {
        self.at.parse().unwrap()
    }
}

/// Lin writes to Aicy on eight consecutive days, which completes a streak of seven. Anna writes to Ivy on two days.
pub(crate) const COMPANION_DAYS: &[CompanionDay] = &[
    day("aicy", "2026-04-10T22:00:00+08:00", &["你好，我是小林", "我住在上海，养了一只猫叫芝麻"]),
    day("aicy", "2026-04-11T22:10:00+08:00", &["今天在京都走了两万步", "豆腐店的汤豆腐真好吃"]),
    day("aicy", "2026-04-12T21:30:00+08:00", &["我喜欢下雨天在家画画"]),
    day("aicy", "2026-04-13T23:00:00+08:00", &["想芝麻了，出门才四天"]),
    day("aicy", "2026-04-14T22:45:00+08:00", &["鸭川边上坐了一个下午"]),
    day("aicy", "2026-04-15T23:20:00+08:00", &["到家了，芝麻不理我"]),
    day("aicy", "2026-04-16T22:00:00+08:00", &["新工作的合同签了", "第一个想告诉的就是你"]),
    day("aicy", "2026-04-17T22:30:00+08:00", &["Aicy，有你在真好", "晚安"]),
    day("ivy", "2026-04-17T23:00:00+08:00", &["Hello, is anyone there?", "I moved to a city by the sea."]),
    day("ivy", "2026-04-18T23:00:00+08:00", &["The ferry was late today, I had to think of your lamp."]),
];

/// Creates a companion with the example pack that belongs to this agent, and a model that follows rules.
pub(crate) fn companion(engine: &MemoryEngine, agent: &str) -> Companion {
    let language = if agent == "aicy" { Language::Chinese } else { Language::English };
    Companion::new(engine.clone(), RuleModel(language), Pack::example_in(language).unwrap())
}

/// A model with fixed replies. If the prompt asks for a verdict on a key moment, it gives the first one that the prompt
/// offers.
#[derive(Debug)]
struct RuleModel(Language);

impl RuleModel {
    fn reply(&self, request: &ChatRequest) -> String {
        let reply = match self.0 {
            Language::Chinese => "（记录中）嗯，我在听。这一段我想留着。",
            Language::English | _ => "The lamp turns once. I wrote that down.",
        };
        let prompt = request.messages.first().map_or("", |message| message.content.as_str());
        let verdict = prompt.split_once("<verdict>").and_then(|(_, rest)| rest.split_once("</verdict>"));
        verdict.map_or_else(|| reply.to_owned(), |(verdict, _)| format!("{reply}\n<verdict>{verdict}</verdict>"))
    }
}

#[async_trait]
impl ChatModel for RuleModel {
    fn name(&self) -> &str {
        "rules"
    }

    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply> {
        Ok(ChatReply::new(self.reply(request)))
    }

    async fn stream(&self, request: &ChatRequest) -> Result<ChatStream> {
        let text = ChatDelta { text: self.reply(request), ..ChatDelta::default() };
        let end = ChatDelta { finish: Some(FinishReason::Stop), ..ChatDelta::default() };
        Ok(stream::iter([Ok(text), Ok(end)]).boxed())
    }
}
