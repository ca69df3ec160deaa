//! The routes of mem0's open-source server. None of them ends in a slash.

use axum::{
    Json,
    extract::{Path, State},
};
use memory_engine::{Forget, RecordId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    add::{AddRequest, AddResult},
    entities::Mem0Entity,
    error::Mem0Error,
    history::HistoryRow,
    memory::UpdateParams,
    messages::Dialogue,
    owner::{MemoryOwner, OwnerParams, names_an_owner},
    params::{Body, Int, Mem0Api, ParamGroup, StrictQuery, request},
    platform::LinkedParam,
    responses::{CHANGE_WAITS, Confirmation, Mem0Response, Results, message, not_served, refuse},
    row::{self, MemoryRow, SearchScore},
    search::{DEFAULT_THRESHOLD, SearchParams},
    selection::VisibilityParams,
    service::Mem0,
};
use crate::{
    access::Access,
    config::IncludedTurns,
    openapi::{ApiOperation, Routes, table},
};

/// Default number of memories in a list or a search.
const DEFAULT_LIMIT: usize = 20;
/// Maximum number of memories in a list.
const MAX_LIMIT: i64 = 1000;
const API: Mem0Api = Mem0Api::OpenSource;

/// The routes of mem0's dashboard and its webhooks, which are refused.
const NOT_SERVED: [&str; 8] = [
    "/webhooks",
    "/webhooks/{*rest}",
    "/configure/providers",
    "/generate-instructions",
    "/auth/{*rest}",
    "/api-keys",
    "/api-keys/{*rest}",
    "/requests",
];

pub(super) fn routes() -> Routes<Mem0> {
    let routes = table! {
        Routes::new("mem0", "The routes of mem0's open-source server.");
        post "/memories" => add, "addMemories", "Stores messages and the facts in them.",
            body AddRequest => Results<AddResult>;
        get "/memories" => list, "listMemories", "Lists memories.", query ListQuery => Results<MemoryRow>;
        delete "/memories" => delete_all, "deleteMemories", "Deletes all memories of an owner.",
            query OwnerParams => Confirmation;
        get "/memories/{id}" => get, "getMemory", "Returns a memory." => MemoryRow;
        put "/memories/{id}" => update, "updateMemory", "Changes a memory.", body UpdateParams => Confirmation;
        delete "/memories/{id}" => delete, "deleteMemory", "Deletes a memory.", query LinkedParam => Confirmation;
        get "/memories/{id}/history" => history, "memoryHistory", "Returns the history of a memory, even a deleted one."
            => Vec<HistoryRow>;
        post "/search" => search, "searchMemories", "Searches memories.", body SearchRequest => SearchResults;
        post "/reset" => reset, "reset", "Deletes everything. Needs a key of a whole tenant." => Confirmation;
        get "/entities" => entities, "listEntities", "Lists users, agents, runs and apps with memories."
            => Vec<EntityRow>;
        delete "/entities/{type}/{name}" => delete_entity, "deleteEntity",
            "Deletes everything of a user, agent, run or app." => Confirmation;
        get "/configure" => configuration, "configuration", "Describes the server, without secrets."
            => Map<String, Value>;
    };
    let configure = ApiOperation::new("configure", "Always refused: this server is configured by its own settings.");
    let routes = routes.post("/configure", refuse, configure);
    NOT_SERVED.into_iter().fold(routes, |routes, path| routes.undocumented(path, not_served()))
}

request! {
    /// The query of a list.
    ListQuery { owner: OwnerParams, options: ListParams }
}

request! {
    /// A search.
    SearchRequest {
        owner: OwnerParams,
        search: SearchParams,
        dialogue: Dialogue,
        filters: FiltersParam,
        visibility: VisibilityParams,
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct ListParams {
    /// Maximum number of memories. Default: 20, and 1000 without an owner.
    top_k: Option<Int<0, MAX_LIMIT>>,
    /// Includes memories that have expired. Default: false.
    show_expired: Option<bool>,
    /// Lists the memories that were current at this time, as they were then. Default: the present ones.
    as_of: Option<Value>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct FiltersParam {
    /// Conditions that must all be true, with operators such as `{"gte": 1}`, and `AND`, `OR`, `NOT`. Unknown keys are
    /// metadata.
    filters: Option<Map<String, Value>>,
}

impl ParamGroup for ListParams {}
impl ParamGroup for FiltersParam {}

/// The result of a search.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Mem0SearchResults")]
struct SearchResults {
    /// The memories, best first.
    results: Vec<MemoryRow>,
    /// The form of the query that found them: `question`, `context` (with the dialogue before it), or `rewritten`.
    form: &'static str,
}

/// A user, agent, run or app with memories.
#[derive(Debug, Serialize, JsonSchema)]
struct EntityRow {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    total_memories: usize,
    created_at: String,
    updated_at: String,
}

async fn add(
    State(mem0): State<Mem0>,
    access: Access,
    Body(request): Body<AddRequest>,
) -> Mem0Response<Results<AddResult>> {
    let input = request.into_input(API, &access)?;
    let added = mem0.add(&access, input, mem0.add_timeout).await?;
    Ok(Json(Results { results: added.results }))
}

async fn list(
    State(mem0): State<Mem0>,
    access: Access,
    StrictQuery(ListQuery { owner, options }): StrictQuery<ListQuery>,
) -> Mem0Response<Results<MemoryRow>> {
    let owner = owner.owner()?;
    let default_limit = if owner.is_empty() { MAX_LIMIT as usize } else { DEFAULT_LIMIT };
    let limit = options.top_k.map_or(default_limit, Int::get);
    let ListParams { show_expired, as_of, .. } = options;
    let visibility = VisibilityParams { show_expired, include_turns: None, as_of }.resolve(IncludedTurns::None)?;
    let areas = mem0.areas(&access, &owner.scopes(&access)?, owner.condition(), visibility)?;
    let (records, _) = mem0.newest(&areas, 0, limit, false).await?;
    Ok(Json(Results { results: records.iter().map(|record| MemoryRow::new(record, API)).collect() }))
}

async fn get(State(mem0): State<Mem0>, access: Access, Path(id): Path<String>) -> Mem0Response<MemoryRow> {
    let record = mem0.find(&access, parse_id(&id)?).await?.ok_or_else(unknown)?;
    Ok(Json(MemoryRow::new(&record, API).with_score(SearchScore::default())))
}

/// Parses an id. An invalid id is reported like an unknown one, with 404.
fn parse_id(id: &str) -> Result<RecordId, Mem0Error> {
    id.parse().map_err(|_| unknown())
}

fn unknown() -> Mem0Error {
    Mem0Error::not_found("Memory not found")
}

async fn update(
    State(mem0): State<Mem0>,
    access: Access,
    Path(id): Path<String>,
    Body(params): Body<UpdateParams>,
) -> Mem0Response<Confirmation> {
    let changed = mem0.change(&access, parse_id(&id)?, &params.into_change()?).await?;
    message(if changed.is_pending { CHANGE_WAITS } else { "Memory updated successfully!" })
}

async fn delete(
    State(mem0): State<Mem0>,
    access: Access,
    Path(id): Path<String>,
    StrictQuery(params): StrictQuery<LinkedParam>,
) -> Mem0Response<Confirmation> {
    mem0.delete(&access, parse_id(&id)?, params.linked_turns()).await?;
    message("Memory deleted successfully")
}

async fn delete_all(
    State(mem0): State<Mem0>,
    access: Access,
    StrictQuery(owner): StrictQuery<OwnerParams>,
) -> Mem0Response<Confirmation> {
    mem0.delete_of(&access, &owner.owner()?).await?;
    message("All relevant memories deleted")
}

impl Mem0 {
    /// Deletes all memories and turns of an owner that the key reaches. Returns the number of memories.
    ///
    /// # Errors
    /// 400 for an empty owner.
    pub(super) async fn delete_of(&self, access: &Access, owner: &MemoryOwner) -> Result<usize, Mem0Error> {
        // Required even for a key of one user: a client that forgot the owner must not delete everything.
        if owner.is_empty() {
            return Err(Mem0Error::bad_request("At least one identifier is required."));
        }
        let filter = Self::without_deletion_log().and(owner.filter());
        self.forget_matching(&owner.scopes(access)?, &filter).await
    }
}

async fn history(State(mem0): State<Mem0>, access: Access, Path(id): Path<String>) -> Mem0Response<Vec<HistoryRow>> {
    match id.parse() {
        Ok(id) => Ok(Json(mem0.history(&access, id, API).await?)),
        // mem0's server answers with an empty history for any unknown id.
        Err(_) => Ok(Json(Vec::new())),
    }
}

async fn search(
    State(mem0): State<Mem0>,
    access: Access,
    Body(SearchRequest { owner, search, dialogue, filters, visibility }): Body<SearchRequest>,
) -> Mem0Response<SearchResults> {
    let owner = owner.owner()?;
    let query = search.into_query(DEFAULT_LIMIT, dialogue)?;
    let filter = filters.filters.unwrap_or_default();
    if owner.is_empty() && !names_an_owner(&filter) && access.is_for_all_users() {
        let message = "filters must contain user_id, agent_id or run_id at their top level";
        return Err(Mem0Error::bad_request(message));
    }
    let condition = API.read_filter(&filter)?.and(owner.condition());
    let visibility = visibility.resolve(mem0.include_turns)?;
    let areas = mem0.areas(&access, &owner.scopes(&access)?, condition, visibility)?;
    let (form, hits) = mem0.search(&areas, &query, visibility.turns).await?;
    Ok(Json(SearchResults { form: form.as_str(), results: hits.iter().map(|hit| hit.row(API, &query)).collect() }))
}

async fn reset(State(mem0): State<Mem0>, access: Access) -> Mem0Response<Confirmation> {
    if !access.is_for_all_users() {
        return Err(Mem0Error::forbidden("Admin role required: this key is for certain users."));
    }
    for scope in access.scopes()? {
        mem0.engine.forget(&scope, Forget::Everything).await?;
    }
    message("All memories reset")
}

async fn entities(State(mem0): State<Mem0>, access: Access) -> Mem0Response<Vec<EntityRow>> {
    Ok(Json(mem0.entities(&access).await?.into_iter().map(EntityRow::from).collect()))
}

impl From<Mem0Entity> for EntityRow {
    fn from(entity: Mem0Entity) -> Self {
        Self {
            id: entity.name,
            kind: entity.kind,
            total_memories: entity.memories,
            created_at: row::time(entity.created_at),
            updated_at: row::time(entity.updated_at),
        }
    }
}

async fn delete_entity(
    State(mem0): State<Mem0>,
    access: Access,
    Path((kind, name)): Path<(String, String)>,
) -> Mem0Response<Confirmation> {
    mem0.delete_entity(&access, &kind, &name).await?;
    message("Entity deleted")
}

/// Describes the server in the form of mem0's configuration.
async fn configuration(State(mem0): State<Mem0>, _: Access) -> Json<Value> {
    let embedder = mem0.engine.settings().embedder();
    Json(json!({
        "version": "v1.1",
        "server": {"name": "memory-engine", "version": env!("CARGO_PKG_VERSION")},
        "embedder": {
            "provider": "memory-engine",
            "config": {
                "model": embedder.space().model,
                "embedding_dims": embedder.space().dimensions,
                "api_key": "[redacted]",
            },
        },
        "search": {"top_k": DEFAULT_LIMIT, "threshold": DEFAULT_THRESHOLD, "include_turns": mem0.include_turns},
    }))
}
