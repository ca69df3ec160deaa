//! The bundled model, which needs no key. It replies from a script, and quotes the context for questions about the
//! past.

use async_trait::async_trait;
use futures::{StreamExt, stream};
use memory_engine::{
    Result,
    llm::{ChatDelta, ChatModel, ChatReply, ChatRequest, ChatStream, FinishReason},
};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct ScriptedReply {
    when: Vec<String>,
    reply: String,
}

#[derive(Debug)]
pub(crate) struct BundledModel {
    script: Vec<ScriptedReply>,
}

const PAST_WORDS: [&str; 7] = ["记得", "之前", "上次", "以前", "那次", "remember", "last time"];

impl BundledModel {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let lines = include_str!("../data/replies.jsonl").lines();
        Ok(Self { script: lines.map(serde_json::from_str).collect::<std::result::Result<_, _>>()? })
    }

    fn answer(&self, request: &ChatRequest) -> String {
        let content =
            |index: usize| request.messages.get(index).map(|message| message.content.as_str()).unwrap_or_default();
        let context = content(0);
        let message = content(request.messages.len().saturating_sub(1));
        let folded = message.to_lowercase();
        let mut reply = self.scripted(&folded).to_owned();
        if PAST_WORDS.iter().any(|word| folded.contains(word)) {
            reply = match most_similar_line(context, &folded) {
                Some(line) => format!("（调出记录）我记得。你说过：“{line}”"),
                None => "（检索了很久）……没有找到。可以再告诉我一次吗？".to_owned(),
            };
        }
        // If the prompt asks for a verdict on a key moment, the model confirms it in the first form that the prompt
        // offers.
        let verdict = context.split_once("<verdict>").and_then(|(_, rest)| rest.split_once("</verdict>"));
        if let Some((verdict, _)) = verdict {
            reply.push_str(&format!("\n<verdict>{verdict}</verdict>"));
        }
        reply
    }

    fn scripted(&self, message: &str) -> &str {
        let matching = self.script.iter().find(|line| line.when.iter().any(|word| message.contains(word.as_str())));
        let fallbacks: Vec<&ScriptedReply> = self.script.iter().filter(|line| line.when.is_empty()).collect();
        let fallback = fallbacks.get(message.chars().count() % fallbacks.len().max(1)).copied();
        matching.or(fallback).map_or("……", |line| line.reply.as_str())
    }
}

/// Returns the user's line in the context that shares the most letter pairs with the question.
fn most_similar_line(context: &str, question: &str) -> Option<String> {
    let pairs = |text: &str| {
        let letters: Vec<char> = text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
        letters.windows(2).map(|pair| pair.to_vec()).collect::<Vec<_>>()
    };
    let question_pairs = pairs(question);
    let lines = context.lines().filter_map(|line| line.split_once("用户：").map(|(_, text)| text.trim()));
    let lines = lines.filter(|text| !PAST_WORDS.iter().any(|word| text.to_lowercase().contains(word)));
    let shared = lines.map(|text| (pairs(text).iter().filter(|pair| question_pairs.contains(pair)).count(), text));
    shared.filter(|(shared, _)| *shared > 0).max_by_key(|(shared, _)| *shared).map(|(_, text)| text.to_owned())
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
