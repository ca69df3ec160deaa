//! `list_memories`.

use std::ops::RangeInclusive;

use memory_engine::{Cursor, Error, Field, Filter, Kind, Record, Result, ScanQuery, State, Timestamp};
use rmcp::model::{CallToolResult, JsonObject, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::support::{ToolContext, build_tool, check_label, check_range, parse_arguments, read_only, to_result};
use crate::mcp::{caller::Caller, memory::Memory};

pub(super) const NAME: &str = "list_memories";
/// The kinds of memories. Applications can store others, which can be listed too.
static KINDS: [Kind; 7] =
    [Kind::TURN, Kind::NOTE, Kind::FACT, Kind::SUMMARY, Kind::PROFILE, Kind::KEY_MOMENT, Kind::EVENT];
const LIMIT_RANGE: RangeInclusive<i64> = 1..=100;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Only memories of this kind
    #[serde(default)]
    #[schemars(extend("enum" = KINDS.iter().map(Kind::as_str).collect::<Vec<_>>()))]
    kind: String,
    /// Maximum number of memories
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: i64,
    /// The next_cursor of the previous page; leave out for the first page
    #[serde(default)]
    cursor: String,
    /// Only memories of this conversation; write * for all conversations if the server's address names one
    #[serde(default)]
    session_id: String,
    /// The user, unless the server's address names one
    #[serde(default)]
    user_id: String,
}

fn default_limit() -> i64 {
    20
}

#[derive(Serialize, JsonSchema)]
struct ListResult {
    /// The memories, newest first
    results: Vec<Memory>,
    /// The cursor of the next page; left out on the last page
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

pub(super) fn tool() -> Tool {
    let description = "Lists memories, newest first, page by page. Use it to review or count what is stored; to find \
        something, use search_memory.";
    build_tool::<Arguments, ListResult>(NAME, "List memories", description, read_only())
}

pub(super) async fn call(memory: &ToolContext, caller: &Caller, arguments: JsonObject) -> Result<CallToolResult> {
    let arguments: Arguments = parse_arguments(NAME, arguments)?;
    let scope = caller.scope(&arguments.user_id, &arguments.session_id)?;
    let limit = check_range(NAME, "limit", arguments.limit, LIMIT_RANGE)?;
    let mut filter = Filter::eq(Field::State, State::Active.as_str());
    if !arguments.kind.trim().is_empty() {
        let kind = arguments.kind.trim();
        let known = KINDS.iter().map(Kind::as_str).collect();
        check_label(NAME, &memory.engine, &scope, (Field::Kind, "kind", kind), known).await?;
        filter = filter.and(Filter::eq(Field::Kind, kind));
    }
    let mut query = ScanQuery::newest(limit).with_filter(filter);
    if !arguments.cursor.trim().is_empty() {
        query.after = Some(parse_cursor(arguments.cursor.trim())?);
    }
    memory.engine.audit().log_export(&scope, NAME).await?;
    let mut records: Vec<Record> = Vec::with_capacity(limit);
    // A page may contain ledger entries, which are not memories, so several pages may be needed.
    loop {
        query.limit = limit - records.len();
        let page = memory.engine.history().timeline(&scope, &query).await?;
        query.after = page.next;
        records.extend(page.records.into_iter().filter(Record::is_indexed));
        if records.len() == limit || query.after.is_none() {
            break;
        }
    }
    let next_cursor = query.after.map(|cursor| cursor_text(&cursor));
    to_result(&ListResult { results: records.iter().map(Memory::from).collect(), next_cursor })
}

/// Writes a cursor as text. It contains a position in the list and no access rights.
fn cursor_text(cursor: &Cursor) -> String {
    format!("{}.{}.{}", cursor.occurred_at.as_micros(), cursor.sequence, cursor.id)
}

fn parse_cursor(text: &str) -> Result<Cursor> {
    let invalid = || Error::invalid(NAME, "the cursor is invalid; use the next_cursor of the previous page");
    read_cursor(text).ok_or_else(invalid)
}

fn read_cursor(text: &str) -> Option<Cursor> {
    let mut parts = text.splitn(3, '.');
    let occurred_at = Timestamp::from_micros(parts.next()?.parse().ok()?);
    Some(Cursor { occurred_at, sequence: parts.next()?.parse().ok()?, id: parts.next()?.parse().ok()? })
}
