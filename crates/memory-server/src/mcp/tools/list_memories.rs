//! `list_memories`.

use memory_engine::{Cursor, Error, Field, Filter, Record, Result, ScanQuery, State, Timestamp};
use rmcp::model::{CallToolResult, JsonObject, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::support::{ToolContext, answer, described, read, read_only, within};
use crate::mcp::{caller::Caller, memory::Memory};

pub(super) const NAME: &str = "list_memories";
const LIMIT: (i64, i64) = (1, 100);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Only those of this kind: turn, note, fact, summary, …
    #[serde(default)]
    kind: String,
    /// Maximum number of memories
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 100))]
    limit: i64,
    /// The next_cursor of the previous page, to continue there
    #[serde(default)]
    cursor: String,
    /// Only this conversation; * for all of the user's, where the server's address names one
    #[serde(default)]
    session_id: String,
    /// The user, unless the server's address names one
    #[serde(default)]
    user_id: String,
}

fn twenty() -> i64 {
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
    let description = "Lists memories, newest first, page by page. To find something, use search_memory.";
    described::<Arguments, ListResult>(NAME, "List memories", description, read_only())
}

pub(super) async fn call(memory: &ToolContext, caller: &Caller, arguments: JsonObject) -> Result<CallToolResult> {
    let asked: Arguments = read(NAME, arguments)?;
    let scope = caller.scope(&asked.user_id, &asked.session_id)?;
    let limit = within(NAME, "limit", asked.limit, LIMIT)?;
    let mut filter = Filter::eq(Field::State, State::Active.as_str());
    if !asked.kind.trim().is_empty() {
        filter = filter.and(Filter::eq(Field::Kind, asked.kind.trim()));
    }
    let mut query = ScanQuery::newest(limit).with_filter(filter);
    if !asked.cursor.trim().is_empty() {
        query.after = Some(cursor(asked.cursor.trim())?);
    }
    let mut records: Vec<Record> = Vec::with_capacity(limit);
    // Ledger entries are counted in a page, but are not memories.
    loop {
        query.limit = limit - records.len();
        let page = memory.engine.timeline(&scope, &query).await?;
        query.after = page.next;
        records.extend(page.records.into_iter().filter(Record::is_indexed));
        if records.len() == limit || query.after.is_none() {
            break;
        }
    }
    let next_cursor = query.after.map(|at| format!("{}.{}.{}", at.occurred_at.as_micros(), at.sequence, at.id));
    answer(&ListResult { results: records.iter().map(Memory::from).collect(), next_cursor })
}

/// A place in the order of records. It says where to go on, and never how far one sees.
fn cursor(text: &str) -> Result<Cursor> {
    let read = || {
        let mut parts = text.splitn(3, '.');
        let occurred_at = Timestamp::from_micros(parts.next()?.parse().ok()?);
        Some(Cursor { occurred_at, sequence: parts.next()?.parse().ok()?, id: parts.next()?.parse().ok()? })
    };
    read().ok_or_else(|| Error::invalid(NAME, "the cursor is none of ours; give next_cursor of the list before"))
}
