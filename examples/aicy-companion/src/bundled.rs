//! The bundled model: replies from a script, and what the context holds of a question about the past. It needs no key.

use async_trait::async_trait;
use futures::{StreamExt, stream};
use memory_engine::{
    Result,
    llm::{ChatDelta, ChatModel, ChatReply, ChatRequest, ChatStream, FinishReason},
};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Scripted {
    when: Vec<String>,
    reply: String,
}

#[derive(Debug)]
pub(crate) struct BundledModel {
    script: Vec<Scripted>,
}

const PAST: [&str; 7] = ["记得", "之前", "上次", "以前", "那次", "remember", "last time"];

impl BundledModel {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let lines = include_str!("../data/replies.jsonl").lines();
        Ok(Self { script: lines.map(serde_json::from_str).collect::<std::result::Result<_, _>>()? })
    }

    fn answer(&self, request: &ChatRequest) -> String {
        let said = |n: usize| request.messages.get(n).map(|message| message.content.as_str()).unwrap_or_default();
        let (context, message) = (said(0), said(request.messages.len().saturating_sub(1)));
        let folded = message.to_lowercase();
        let mut reply = self.scripted(&folded).to_owned();
        if PAST.iter().any(|word| folded.contains(word)) {
            reply = match remembered(context, &folded) {
                Some(line) => format!("（调出记录）我记得。你说过：“{line}”"),
                None => "（检索了很久）……没有找到。可以再告诉我一次吗？".to_owned(),
            };
        }
        // Asked for a verdict on a key moment, it says that it came, in the first way that is offered.
        let verdict = context.split_once("<verdict>").and_then(|(_, rest)| rest.split_once("</verdict>"));
        if let Some((verdict, _)) = verdict {
            reply.push_str(&format!("\n<verdict>{verdict}</verdict>"));
        }
        reply
    }

    fn scripted(&self, message: &str) -> &str {
        let matching = self.script.iter().find(|line| line.when.iter().any(|word| message.contains(word.as_str())));
        let rest: Vec<&Scripted> = self.script.iter().filter(|line| line.when.is_empty()).collect();
        let other = rest.get(message.chars().count() % rest.len().max(1)).copied();
        matching.or(other).map_or("……", |line| line.reply.as_str())
    }
}

/// The line of the user's in the context that shares most pairs of letters with the question.
fn remembered(context: &str, question: &str) -> Option<String> {
    let pairs = |text: &str| {
        let letters: Vec<char> = text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
        letters.windows(2).map(|pair| pair.to_vec()).collect::<Vec<_>>()
    };
    let asked = pairs(question);
    let lines = context.lines().filter_map(|line| line.split_once("用户：").map(|(_, said)| said.trim()));
    let lines = lines.filter(|said| !PAST.iter().any(|word| said.to_lowercase().contains(word)));
    let shared = lines.map(|said| (pairs(said).iter().filter(|pair| asked.contains(pair)).count(), said));
    shared.filter(|(shared, _)| *shared > 0).max_by_key(|(shared, _)| *shared).map(|(_, said)| said.to_owned())
}

#[async_trait]
impl ChatModel for BundledModel {
    fn name(&self) -> &str {
        "bundled"
    }

    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply> {
        Ok(ChatReply::new(self.answer(request)))
    }

    async fn stream(&self, request: &ChatRequest) -> Result<ChatStream> {
        let letter = |letter: char| ChatDelta { text: letter.into(), ..ChatDelta::default() };
        let mut letters: Vec<ChatDelta> = self.answer(request).chars().map(letter).collect();
        letters.push(ChatDelta { finish: Some(FinishReason::Stop), ..ChatDelta::default() });
        Ok(stream::iter(letters.into_iter().map(Ok)).boxed())
    }
}
