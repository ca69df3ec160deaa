//! The handlers, their parameters and answers.

use axum::{Json, body::Bytes, extract::State, http::StatusCode};
use memory_engine::{
    MemoryEngine, RecordId, Timestamp,
    context::{Core, CoreRule},
    history::Retraction,
    retention::RecordPatch,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    access::Access,
    fault::Fault,
    request::{MAX_IDS, OwnerQuery, check_ids, check_limit, owner_params, parse_owner_body},
};

/// Maximum number of tokens of the core.
const MAX_TOKENS: usize = 10_000;
/// Default and maximum number of retractions in a list.
const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 500;

owner_params! {
    /// A change of records: the owner, the ids, and at least one of `pinned`, `importance` and `expires_at`.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub(super) struct PatchRequest: Option<String> {
        /// The ids, at most 500.
        #[schemars(with = "Vec<String>", length(min = 1, max = MAX_IDS))]
        ids: Vec<RecordId>,
        /// True to pin the records, false to unpin them.
        #[serde(default)]
        pinned: Option<bool>,
        /// Importance, 0 to 1.
        #[serde(default)]
        importance: Option<f64>,
        /// The time at which the records expire (RFC 3339), or `never`.
        #[serde(default)]
        expires_at: Option<String>,
    }
}

/// The result of a change.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PatchReply {
    /// Number of records that the request has changed.
    changed: u64,
}

pub(super) async fn patch(
    State(engine): State<MemoryEngine>,
    access: Access,
    bytes: Bytes,
) -> Result<Json<PatchReply>, Fault> {
    let (scope, request) = parse_owner_body::<PatchRequest>(
        &access,
        &bytes,
        "{\"ids\": [...], \"pinned\": true}, importance or expires_at",
    )?;
    check_ids(&request.ids)?;
    let mut patch = RecordPatch::default();
    if let Some(pinned) = request.pinned {
        patch = patch.pinned(pinned);
    }
    if let Some(importance) = request.importance {
        patch = patch.importance(importance);
    }
    match request.expires_at.as_deref() {
        Some("never") => patch = patch.never_expires(),
        Some(time) => patch = patch.expires_at(time.parse::<Timestamp>()?),
        None => {}
    }
    let changed = engine.patch(&scope, &request.ids, patch).await?;
    Ok(Json(PatchReply { changed }))
}

owner_params! {
    /// A correction: the owner, the id of a record, and its new text.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub(super) struct EditRequest: Option<String> {
        /// The id of the record.
        #[schemars(with = "String")]
        id: RecordId,
        /// The new text. For a fact its value, or a sentence that states it.
        text: String,
    }
}

/// The result of a correction.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct EditReply {
    /// The id of the record with the new text. A fact gets a new one.
    id: String,
}

/// Refuses corrections on a server whose keys take no decisions about memories.
pub(super) async fn refuse(_: Access) -> Fault {
    let message = "memories are reviewed, and this server takes no decisions (review_api.enabled = false), so that \
                   texts cannot be corrected here; `memory review` decides about those that wait";
    Fault::new(StatusCode::FORBIDDEN, message)
}

pub(super) async fn edit(
    State(engine): State<MemoryEngine>,
    access: Access,
    bytes: Bytes,
) -> Result<Json<EditReply>, Fault> {
    let (scope, request) = parse_owner_body::<EditRequest>(&access, &bytes, "{\"id\": \"...\", \"text\": \"...\"}")?;
    let id = engine.update(&scope, request.id, request.text).await?;
    Ok(Json(EditReply { id: id.to_string() }))
}

owner_params! {
    /// A retraction: the owner, the ids of wrong records, and the reason.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub(super) struct RetractRequest: Option<String> {
        /// The ids, at most 500. Records that are retracted already are skipped.
        #[schemars(with = "Vec<String>", length(min = 1, max = MAX_IDS))]
        ids: Vec<RecordId>,
        /// The reason. It is stored until one of the records is changed or deleted.
        #[serde(default)]
        reason: String,
    }
}

/// Records that were retracted together.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RetractionReply {
    /// The id by which they can be restored. Null if the request has retracted nothing.
    id: Option<String>,
    /// The reason. `rewind` if the end of a conversation was retracted.
    reason: String,
    /// The time of the retraction (RFC 3339, UTC).
    at: String,
    /// The ids of the retracted records, and of those derived from them.
    records: Vec<String>,
}

impl From<Retraction> for RetractionReply {
    fn from(retraction: Retraction) -> Self {
        let Retraction { id, reason, at, records, .. } = retraction;
        Self {
            id: (!records.is_empty()).then(|| id.to_string()),
            reason,
            at: at.to_string(),
            records: records.iter().map(RecordId::to_string).collect(),
        }
    }
}

pub(super) async fn retract(
    State(engine): State<MemoryEngine>,
    access: Access,
    bytes: Bytes,
) -> Result<Json<RetractionReply>, Fault> {
    let (scope, request) =
        parse_owner_body::<RetractRequest>(&access, &bytes, "{\"ids\": [...]} and optionally \"reason\"")?;
    check_ids(&request.ids)?;
    let retraction = engine.history().retract(&scope, &request.ids, request.reason.trim()).await?;
    Ok(Json(retraction.into()))
}

owner_params! {
    /// The owner, and the id of a retraction.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub(super) struct RestoreRequest: Option<String> {
        /// The id of the retraction.
        #[schemars(with = "String")]
        retraction: RecordId,
    }
}

/// The result of restoring a retraction.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RestoreReply {
    /// Number of restored records: those that have not changed since. Summaries and profiles are written again instead.
    restored: u64,
}

pub(super) async fn restore(
    State(engine): State<MemoryEngine>,
    access: Access,
    bytes: Bytes,
) -> Result<Json<RestoreReply>, Fault> {
    let expected = "{\"retraction\": \"...\"}, an id that GET /api/records/retractions lists";
    let (scope, request) = parse_owner_body::<RestoreRequest>(&access, &bytes, expected)?;
    let restored = engine.history().restore(&scope, request.retraction).await?;
    Ok(Json(RestoreReply { restored }))
}

owner_params! {
    /// The parameters of the core.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub(super) struct CoreQuery: Option<String> {
        /// The scene from which it is visible. Default: all scenes.
        #[serde(default)]
        from_scene: Option<String>,
        /// Maximum number of tokens, from 1 to 10000. Default: 120.
        #[serde(default)]
        #[schemars(range(min = 1, max = MAX_TOKENS))]
        max_tokens: Option<usize>,
    }
}

/// The memories that the prompt of every message has.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CoreReply {
    /// The memories by rank, also those that do not fit.
    memories: Vec<CoreMemory>,
}

/// A memory of the core.
#[derive(Debug, Serialize, JsonSchema)]
struct CoreMemory {
    id: String,
    text: String,
    /// `pinned`, `health`, `wish`, `identity`, `others_health` or `people`.
    class: &'static str,
    /// Estimated number of tokens.
    tokens: usize,
    /// True if it fits into the limit.
    included: bool,
}

pub(super) async fn show_core(
    State(engine): State<MemoryEngine>,
    OwnerQuery { scope, params }: OwnerQuery<CoreQuery>,
) -> Result<Json<CoreReply>, Fault> {
    if scope.user_name().is_none() {
        return Err(Fault::bad_request("name the user in `user_id`: the core is that of one person"));
    }
    let max_tokens = check_limit(params.max_tokens.unwrap_or(CoreRule::default().max_tokens), MAX_TOKENS)?;
    let core = Core::load(&engine, &scope, params.from_scene.as_deref(), max_tokens).await?;
    let memories = core.entries.into_iter().map(|entry| CoreMemory {
        id: entry.record.id.to_string(),
        class: entry.class.as_str(),
        tokens: entry.tokens,
        included: entry.included,
        text: entry.record.text,
    });
    Ok(Json(CoreReply { memories: memories.collect() }))
}

owner_params! {
    /// The parameters of the list.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub(super) struct RetractionsQuery: Option<String> {
        /// Maximum number of retractions, from 1 to 500. Default: 100.
        #[serde(default)]
        #[schemars(range(min = 1, max = MAX_LIMIT))]
        limit: Option<usize>,
    }
}

/// The retractions that can be restored.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RetractionsReply {
    /// The retractions, the latest first.
    retractions: Vec<RetractionReply>,
}

pub(super) async fn list_retractions(
    State(engine): State<MemoryEngine>,
    OwnerQuery { scope, params }: OwnerQuery<RetractionsQuery>,
) -> Result<Json<RetractionsReply>, Fault> {
    let limit = check_limit(params.limit.unwrap_or(DEFAULT_LIMIT), MAX_LIMIT)?;
    let retractions = engine.history().retractions(&scope, limit).await?;
    Ok(Json(RetractionsReply { retractions: retractions.into_iter().map(RetractionReply::from).collect() }))
}
