//! Targets that read the replies of a model service.

use std::sync::LazyLock;

use memory_engine::llm::ScriptedModel;
use memory_engine_core::{Language, Locale};
use memory_engine_graph::{ChatExtractor, GraphExtractor};
use memory_engine_http_models::SseEvents;
use memory_engine_llm::structured;
use memory_engine_summarizer::{
    ChatFacts, ChatMetadata, ChatProfiles, ChatSummarizer, FactExtractor, MetadataExtractor, Observed,
    ProfileSummarizer, RuleFacts, RuleMetadata, Summarizer, SummaryRequest,
};
use serde_json::Value;

use crate::{runtime::block_on, texts::turns};

/// Tokens of event streams.
pub(crate) const SSE_TOKENS: &[&str] =
    &["data: ", "data:", "event: ", "id: ", ": ", "\n\n", "\r\n\r\n", "\r\r", "\r", "[DONE]", "retry: 1", "\u{feff}"];
/// Tokens of structured replies.
pub(crate) const TOKENS: &[&str] = &[
    "<think>",
    "</think>",
    "```json",
    "```",
    "//",
    "/*",
    "*/",
    ",}",
    ",]",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\u",
    "\\ud800",
    "null",
    "\"facts\":",
    "\"entities\":",
    "\"relations\":",
    "\"topic\":",
    "\"emotion\":",
    "\"turn\":",
    "\"value\":",
    "\"slot\":",
    "\"from\":",
    "\"until\":",
    "\"summary\":",
    "1e400",
    "-0",
    "NaN",
];
static RULES: LazyLock<RuleFacts> = LazyLock::new(|| RuleFacts::built_in().unwrap());
/// Maximum size of an event in the target, in bytes.
const MAX_EVENT_BYTES: usize = 4096;

/// Splits a stream into events. The first byte is the size of a network packet.
pub(crate) fn sse(input: &[u8]) {
    let Some((size, stream)) = input.split_first() else { return };
    let whole = events(stream, stream.len().max(1));
    let split = events(stream, usize::from(*size).max(1));
    // Only a stream within the limit is the same in any packets: the limit applies to what is buffered.
    if let (Some(whole), Some(split)) = (whole, split) {
        assert_eq!(whole, split);
    }
}

/// Returns the events of a stream in packets of this size; `None` after an error.
fn events(stream: &[u8], packet: usize) -> Option<Vec<String>> {
    let mut events = SseEvents::new(MAX_EVENT_BYTES);
    let mut found = Vec::new();
    for bytes in stream.chunks(packet) {
        events.feed(bytes).ok()?;
        while let Some(data) = events.next().ok()? {
            found.push(data);
        }
    }
    Some(found)
}

/// Reads a reply with every reader of structured replies.
pub(crate) fn replies(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let _ = structured::parse::<Value>(&text);
    let turns = turns("I moved to Porto in March.\nOh, nice!\n我对海鲜过敏，小王也是。");
    let model = || ScriptedModel::default().otherwise(text.as_ref());
    let facts = ChatFacts::new(model(), RULES.clone());
    for fact in block_on(facts.extract(&turns, &Locale::default())).unwrap().facts {
        let record = fact.to_record(&turns[0].scope, turns[0].recorded_at);
        assert!(record.validate().is_ok(), "a fact that cannot be stored: {record:?}");
    }
    let metadata = ChatMetadata::new(model(), RuleMetadata::default());
    for (described, turn) in block_on(metadata.extract(&turns)).unwrap().turns.iter().zip(&turns) {
        let mut turn = turn.clone();
        described.fill(&mut turn);
        assert!(turn.validate().is_ok(), "metadata that cannot be stored: {turn:?}");
    }
    if let Ok(extraction) = block_on(ChatExtractor::new(model()).extract(&turns[0])) {
        assert!(extraction.validate().is_ok(), "a graph that cannot be stored: {extraction:?}");
    }
    let summary = block_on(ChatSummarizer::new(model()).summarize(&turns, &SummaryRequest::default())).unwrap();
    if let Ok(record) = summary.to_record(&turns, &turns[0].scope, turns[0].recorded_at) {
        assert!(record.validate().is_ok(), "a summary that cannot be stored: {record:?}");
    }
    let observed = Observed::new(&turns, "Kai", Language::English);
    let _ = block_on(ChatProfiles::new(model()).summarize(&observed));
}
