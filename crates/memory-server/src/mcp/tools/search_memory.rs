//! `search_memory`.

use std::ops::RangeInclusive;

use memory_engine::{Recall, RecallHit, RecallQuery, Result, Timestamp};
use rmcp::model::{CallToolResult, JsonObject, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::support::{ToolContext, build_tool, check_range, check_scene, parse_arguments, read_only, to_result};
use crate::mcp::{
    caller::Caller,
    memory::{Memory, rounded},
};

pub(super) const NAME: &str = "search_memory";
const TOP_K_RANGE: RangeInclusive<i64> = 1..=100;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The query: a question or a few words in the user's own language, such as: where does my sister live
    query: String,
    /// Maximum number of memories
    #[serde(default = "default_top_k")]
    #[schemars(range(min = 1, max = 100))]
    top_k: i64,
    /// The scene of the conversation, such as daily, plot or meta: only memories visible from it are found
    #[serde(default)]
    scene: String,
    /// Only memories from this time or later, such as 2026-03-02 or 2026-03-02T20:15:00+08:00
    #[serde(default)]
    since: String,
    /// Only memories from before this time
    #[serde(default)]
    until: String,
    /// Memories as they were at this time
    #[serde(default)]
    as_of: String,
    /// Only memories of this conversation; write * for all conversations if the server's address names one
    #[serde(default)]
    session_id: String,
    /// The user, unless the server's address names one
    #[serde(default)]
    user_id: String,
}

fn default_top_k() -> i64 {
    10
}

#[derive(Serialize, JsonSchema)]
struct SearchResult {
    /// The memories found, best first
    results: Vec<MemoryHit>,
    /// Parts of the search that failed, with the reason
    #[serde(skip_serializing_if = "Vec::is_empty")]
    degraded: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct MemoryHit {
    #[serde(flatten)]
    memory: Memory,
    /// The score, which is comparable only within the same search
    score: f64,
    /// True if the memory is relevant to the query, and not only the best one available
    relevant: bool,
    /// True if a part of it does not hold any more; the memory that holds now comes before it
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    outdated: bool,
}

impl From<&RecallHit> for MemoryHit {
    fn from(hit: &RecallHit) -> Self {
        let RecallHit { record, score, relevant, outdated, .. } = hit;
        Self { memory: Memory::from(record), score: rounded(*score), relevant: *relevant, outdated: *outdated }
    }
}

impl From<&Recall> for SearchResult {
    fn from(recall: &Recall) -> Self {
        let degraded = recall.degraded.iter().map(|part| format!("{}: {}", part.stage, part.reason));
        Self { results: recall.hits.iter().map(MemoryHit::from).collect(), degraded: degraded.collect() }
    }
}

pub(super) fn tool() -> Tool {
    let description = "Searches earlier messages, notes and facts about the user, in any language. \
        Use it whenever the user refers to something from before, or when knowing them better would make a better \
        answer. \
        Memories that are not `relevant` are only the nearest ones. If none is relevant, say so, and make nothing up. \
        What is `outdated` held earlier, and does not any more.";
    build_tool::<Arguments, SearchResult>(NAME, "Search memory", description, read_only())
}

pub(super) async fn call(memory: &ToolContext, caller: &Caller, arguments: JsonObject) -> Result<CallToolResult> {
    let arguments: Arguments = parse_arguments(NAME, arguments)?;
    let scope = caller.scope(&arguments.user_id, &arguments.session_id)?;
    let mut query =
        RecallQuery::new(arguments.query).with_limit(check_range(NAME, "top_k", arguments.top_k, TOP_K_RANGE)?);
    if !arguments.scene.trim().is_empty() {
        check_scene(NAME, &memory.engine, &scope, arguments.scene.trim()).await?;
        query = query.in_scene(arguments.scene.trim());
    }
    if !arguments.since.trim().is_empty() {
        query = query.since(Timestamp::parse_in(&arguments.since, &memory.zone())?);
    }
    if !arguments.until.trim().is_empty() {
        query = query.until(Timestamp::parse_in(&arguments.until, &memory.zone())?);
    }
    if !arguments.as_of.trim().is_empty() {
        query = query.as_of(Timestamp::parse_in(&arguments.as_of, &memory.zone())?);
    }
    to_result(&SearchResult::from(&memory.engine.recall(&scope, query).await?))
}
