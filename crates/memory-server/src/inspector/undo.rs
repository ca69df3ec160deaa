//! The data of the view "Undo": the records of retractions, and the branches of conversations.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use memory_engine::{
    Cursor, Field, Filter, Kind, MemoryEngine, Op, Record, RecordId, ScanQuery, Scope,
    history::{Fork, Inherits},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    query::Scoped,
    record::RecordView,
    state::InspectorState,
    titles::{read_titles, session_of},
};
use crate::{
    fault::Fault,
    request::{check_ids, check_limit, non_empty},
};

const MAX_LIMIT: usize = 100;
const DEFAULT_LIMIT: usize = 20;

/// The ids of records.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordsParams {
    /// The ids, separated by commas, at most 500.
    ids: String,
}

/// Records in any state.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RecordsReply {
    /// The records, in the order of the ids.
    records: Vec<RecordView>,
    /// The ids of records that do not exist within the scope, such as deleted ones.
    missing: Vec<String>,
}

/// The parameters of a list of branches.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct BranchesParams {
    /// The `next_cursor` of a page.
    cursor: String,
    /// Maximum number of branches, from 1 to 100. Default: 20.
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: Option<usize>,
}

/// A page of branches.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct BranchesPage {
    /// The branches that were forked from another one, the latest first.
    branches: Vec<BranchView>,
    /// Pass it as `cursor` for the next page. Null on the last page.
    next_cursor: Option<String>,
}

/// A branch of a conversation.
#[derive(Debug, Serialize, JsonSchema)]
struct BranchView {
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    session_id: Option<String>,
    /// The first line of the user's first own message in the session, at most 60 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    branch: Option<String>,
    /// The branch that it was forked from. Null for the one without a name.
    parent: Option<String>,
    /// The last sequence number that both have in common.
    at: i64,
    /// True if the branch sees the messages of its parent up to `at`.
    inherits: bool,
    /// The time of the fork.
    forked_at: String,
    /// Number of records of the branch itself.
    records: u64,
    /// The last message that both have in common, if the branch sees it.
    last_shared: Option<RecordView>,
}

pub(super) async fn show_records(
    State(state): State<InspectorState>,
    Scoped { scope, params, .. }: Scoped<RecordsParams>,
) -> Result<Json<RecordsReply>, Fault> {
    let ids = params.ids.split(',').map(str::trim).filter(|id| !id.is_empty());
    let ids: Vec<RecordId> = ids.map(str::parse).collect::<memory_engine::Result<_>>()?;
    check_ids(&ids)?;
    state.engine.audit().log_export(&scope, "inspector.records").await?;
    let records = state.engine.get_all(&scope, &ids).await?;
    let missing = ids.iter().zip(&records).filter(|(_, record)| record.is_none()).map(|(id, _)| id.to_string());
    Ok(Json(RecordsReply {
        missing: missing.collect(),
        records: records.iter().flatten().map(RecordView::of).collect(),
    }))
}

pub(super) async fn list_branches(
    State(state): State<InspectorState>,
    Scoped { scope, params, .. }: Scoped<BranchesParams>,
) -> Result<Json<BranchesPage>, Fault> {
    let limit = check_limit(params.limit.unwrap_or(DEFAULT_LIMIT), MAX_LIMIT)?;
    let after = non_empty(&params.cursor).map(str::parse::<Cursor>).transpose()?;
    state.engine.audit().log_export(&scope, "inspector.branches").await?;
    let forks = Filter::eq(Field::Kind, Kind::ledger("fork").as_str());
    let page = state.engine.scan(&scope, &ScanQuery::newest(limit).with_filter(forks).with_after(after)).await?;
    let counts =
        if page.records.is_empty() { BTreeMap::new() } else { count_by_address(&state.engine, &scope).await? };
    let titles = read_titles(&state.engine, page.records.iter().map(|record| &record.scope)).await?;
    let mut branches = Vec::new();
    for record in &page.records {
        // The entry of a later version, with fields that this one cannot read, is left out.
        let Ok(fork) = serde_json::from_value::<Fork>(record.metadata.clone().into()) else { continue };
        let last_shared = last_shared(&state.engine, &record.scope, &fork).await?;
        let [user_id, agent_id, session_id, branch] =
            record.scope.dimensions().map(|(_, name)| name.map(str::to_owned));
        let title = session_of(&record.scope).and_then(|session| titles.get(&session).cloned());
        branches.push(BranchView {
            title,
            user_id,
            agent_id,
            session_id,
            branch,
            at: fork.at,
            inherits: fork.inherits == Inherits::UpToTheFork,
            parent: fork.parent,
            forked_at: record.occurred_at.to_string(),
            records: counts.get(&record.scope).copied().unwrap_or_default(),
            last_shared: last_shared.as_ref().map(RecordView::of),
        });
    }
    Ok(Json(BranchesPage { branches, next_cursor: page.next.map(|cursor| cursor.to_string()) }))
}

/// Returns the number of records at each address, without entries of ledgers.
async fn count_by_address(engine: &MemoryEngine, scope: &Scope) -> Result<BTreeMap<Scope, u64>, Fault> {
    let mut counts = BTreeMap::new();
    for group in engine.admin().record_groups(scope).await? {
        if !group.kind.is_ledger() {
            *counts.entry(group.scope).or_default() += group.records;
        }
    }
    Ok(counts)
}

/// Returns the last message of the parent that a branch sees.
async fn last_shared(engine: &MemoryEngine, branch: &Scope, fork: &Fork) -> Result<Option<Record>, Fault> {
    if fork.inherits != Inherits::UpToTheFork {
        return Ok(None);
    }
    let shared =
        Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::compare(Field::Sequence, Op::Le, fork.at as f64));
    let page = engine.history().timeline(branch, &ScanQuery::newest(1).with_filter(shared)).await?;
    Ok(page.records.into_iter().next())
}
