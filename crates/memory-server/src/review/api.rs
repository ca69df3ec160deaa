//! The routes, their parameters and answers.

use axum::{Json, body::Bytes, extract::State};
use memory_engine::{
    Cursor, Kind, MemoryEngine, RecordId, Timestamp,
    review::{PendingMemory, ReviewQuery, ReviewSource},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    fault::Fault,
    openapi::{Routes, table},
    request::{MAX_IDS, OwnerNames, OwnerQuery, check_ids, check_limit, non_empty, owner_params, parse_body},
};

const MAX_LIMIT: usize = 500;
const DEFAULT_LIMIT: usize = 100;

pub(super) fn routes() -> Routes<MemoryEngine> {
    table! {
        Routes::new("review", "The review of memories before they count.");
        get "/api/review" => list_pending, "listPending",
            "Lists the memories that wait for a review, oldest first.", query ListParams => PendingPage;
        post "/api/review/accept" => accept_pending, "acceptPending",
            "Accepts memories: searches find them from now on.", query OwnerNames, body Ids => Accepted;
        post "/api/review/reject" => reject_pending, "rejectPending",
            "Rejects memories. They can be restored.", query OwnerNames, body Rejection => Rejected;
        post "/api/review/edit" => edit_pending, "editPending",
            "Accepts a memory with another text.", query OwnerNames, body NewText => Edited;
    }
}

owner_params! {
    /// The parameters of a list.
    #[derive(Debug, Default, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    struct ListParams: String {
        /// Only memories from this source: rule_facts, model_facts, summaries, profiles, imports or tools.
        source: String,
        /// Only memories of this kind, such as turn, summary, fact or note.
        kind: String,
        /// Only memories from this time or later (RFC 3339).
        since: String,
        /// Only memories before this time (RFC 3339).
        until: String,
        /// Maximum number of memories, from 1 to 500. Default: 100.
        #[schemars(range(min = 1, max = MAX_LIMIT))]
        limit: Option<usize>,
        /// The `next` of the previous page.
        after: String,
    }
}

/// The ids of memories.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ids {
    /// The ids, at most 500.
    #[schemars(with = "Vec<String>", length(min = 1, max = MAX_IDS))]
    ids: Vec<RecordId>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Rejection {
    /// The ids, at most 500.
    #[schemars(with = "Vec<String>", length(min = 1, max = MAX_IDS))]
    ids: Vec<RecordId>,
    /// The reason, stored with the rejection.
    #[serde(default)]
    reason: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewText {
    /// The id of the memory.
    #[schemars(with = "String")]
    id: RecordId,
    /// The new text. For a fact its value, or a sentence that states it.
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PendingPage {
    /// The memories that wait, oldest first.
    pending: Vec<Pending>,
    /// Pass it as `after` for the next page. Null on the last page.
    next: Option<String>,
    /// Number of matching memories on all pages.
    total: u64,
}

/// A memory that waits for a review.
#[derive(Debug, Serialize, JsonSchema)]
struct Pending {
    id: String,
    text: String,
    kind: String,
    /// The source: rule_facts, model_facts, summaries, profiles, imports or tools.
    source: Option<String>,
    /// The rule that extracted a fact, or `model`.
    rule: Option<String>,
    user_id: Option<String>,
    agent_id: Option<String>,
    session_id: Option<String>,
    /// The time at which it was said or happened (RFC 3339, UTC).
    created_at: String,
    /// The memories that it was derived from.
    evidence: Vec<Evidence>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Evidence {
    id: String,
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Accepted {
    /// The memories that count from now on.
    accepted: Vec<String>,
    /// The ids that are not of waiting memories.
    skipped: Vec<String>,
    /// The memories that still wait, because the same text was forgotten before.
    blocked: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Rejected {
    /// The id of the rejection, by which it can be restored. Null if none of the ids is of a waiting memory.
    retraction: Option<String>,
    /// The rejected memories.
    rejected: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Edited {
    /// The id of the memory with the new text. A fact gets a new one.
    id: String,
}

impl ListParams {
    fn query(&self) -> Result<ReviewQuery, Fault> {
        let mut query = ReviewQuery::default().with_limit(check_limit(self.limit.unwrap_or(DEFAULT_LIMIT), MAX_LIMIT)?);
        query.source = non_empty(&self.source).map(str::parse::<ReviewSource>).transpose()?;
        query.kind = non_empty(&self.kind).map(Kind::new);
        query.since = non_empty(&self.since).map(str::parse::<Timestamp>).transpose()?;
        query.until = non_empty(&self.until).map(str::parse::<Timestamp>).transpose()?;
        query.after = non_empty(&self.after).map(str::parse::<Cursor>).transpose()?;
        Ok(query)
    }
}

async fn list_pending(
    State(engine): State<MemoryEngine>,
    OwnerQuery { scope, params }: OwnerQuery<ListParams>,
) -> Result<Json<PendingPage>, Fault> {
    let query = params.query()?;
    engine.audit().log_export(&scope, "review.list").await?;
    let page = engine.review().pending(&scope, &query).await?;
    let pending = page.pending.into_iter().map(Pending::from).collect();
    Ok(Json(PendingPage { pending, next: page.next.map(|next| next.to_string()), total: page.total }))
}

async fn accept_pending(
    State(engine): State<MemoryEngine>,
    owner: OwnerQuery<OwnerNames>,
    bytes: Bytes,
) -> Result<Json<Accepted>, Fault> {
    let Ids { ids } = parse_body(&bytes, "{\"ids\": [...]}")?;
    check_ids(&ids)?;
    let report = engine.review().accept(&owner.scope, &ids).await?;
    let texts = |ids: Vec<RecordId>| ids.iter().map(ToString::to_string).collect();
    let (accepted, skipped, blocked) = (report.accepted, report.skipped, report.blocked);
    Ok(Json(Accepted { accepted: texts(accepted), skipped: texts(skipped), blocked: texts(blocked) }))
}

async fn reject_pending(
    State(engine): State<MemoryEngine>,
    owner: OwnerQuery<OwnerNames>,
    bytes: Bytes,
) -> Result<Json<Rejected>, Fault> {
    let Rejection { ids, reason } = parse_body(&bytes, "{\"ids\": [...]} and optionally \"reason\"")?;
    check_ids(&ids)?;
    let rejection = engine.review().reject(&owner.scope, &ids, &reason).await?;
    let retraction = (!rejection.records.is_empty()).then(|| rejection.id.to_string());
    Ok(Json(Rejected { retraction, rejected: rejection.records.iter().map(ToString::to_string).collect() }))
}

async fn edit_pending(
    State(engine): State<MemoryEngine>,
    owner: OwnerQuery<OwnerNames>,
    bytes: Bytes,
) -> Result<Json<Edited>, Fault> {
    let NewText { id, text } = parse_body(&bytes, "{\"id\": \"...\", \"text\": \"...\"}")?;
    let id = engine.review().accept_edited(&owner.scope, id, text).await?;
    Ok(Json(Edited { id: id.to_string() }))
}

impl From<PendingMemory> for Pending {
    fn from(pending: PendingMemory) -> Self {
        let PendingMemory { record, source, rule, evidence, .. } = pending;
        let evidence = evidence.into_iter().map(|source| Evidence { id: source.id.to_string(), text: source.text });
        Self {
            id: record.id.to_string(),
            kind: record.kind.to_string(),
            source: source.map(|source| source.to_string()),
            rule: rule.map(|rule| rule.to_string()),
            user_id: record.scope.user_name().map(str::to_owned),
            agent_id: record.scope.agent().map(str::to_owned),
            session_id: record.scope.session().map(str::to_owned),
            created_at: record.occurred_at.to_string(),
            evidence: evidence.collect(),
            text: record.text,
        }
    }
}
