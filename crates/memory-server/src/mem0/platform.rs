//! The routes of mem0's platform that its clients of versions 0.1 to 2 call. All of them end in a slash.

mod read;

use axum::{
    Json,
    extract::{Path, State},
    http::HeaderMap,
};
use memory_engine::{LinkedTurns, RecordId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::read::{
    API, EchoedParams, ListQuery, ListRequest, MemoryHits, MemoryPage, SearchRequest, list_v1, list_v2, list_v3,
    search_v1, search_v2, search_v3,
};
use super::{
    add::{AddRequest, AddResult},
    batch::BatchRequest,
    entities::Mem0Entity,
    error::Mem0Error,
    event::EventState,
    history::HistoryRow,
    memory::{Feedback, FeedbackParams, UpdateParams, parse_id, unknown},
    owner::OwnerParams,
    page::{PageOf, PageParams},
    params::{Body, ParamGroup, QueryParams, StrictQuery, request},
    responses::{CHANGE_WAITS, Confirmation, ListOrObject, MEMORY_WAITS, Mem0Response, Results, message, not_served},
    row::{self, MemoryRow},
    service::Mem0,
};
use crate::{
    access::Access,
    openapi::{Routes, table},
};

/// The routes of the platform that are refused.
const NOT_SERVED: [&str; 10] = [
    "/v1/exports/",
    "/v1/exports/{*rest}",
    "/v1/summary/",
    "/v2/entities/{type}/{name}/profile/",
    "/v2/profiles/{*rest}",
    "/api/v1/orgs/{*rest}",
    "/api/v1/webhooks/",
    "/api/v1/webhooks/{*rest}",
    "/v1/webhooks/",
    "/v1/webhooks/{*rest}",
];

pub(super) fn routes() -> Routes<Mem0> {
    let routes = table! {
        Routes::new("mem0 platform", "The routes of mem0's platform, as its clients call them.");
        get "/v1/ping/" => ping, "ping", "Confirms the key." => Ping;
        post "/v3/memories/add/" => add_v3, "addMemoriesV3", "Stores messages and the facts in them.",
            body AddRequest => Accepted;
        post "/v3/memories/" => list_v3, "listMemoriesV3", "Lists memories.", query PageParams, body ListRequest
            => PageOf<MemoryRow>;
        post "/v3/memories/search/" => search_v3, "searchMemoriesV3", "Searches memories.", body SearchRequest
            => Results<MemoryRow>;
        post "/v2/memories/" => list_v2, "listMemoriesV2", "Lists memories, for older clients.",
            query PageParams, body ListRequest => MemoryPage;
        post "/v2/memories/search/" => search_v2, "searchMemoriesV2", "Searches memories, for older clients.",
            body SearchRequest => MemoryHits;
        post "/v1/memories/" => add_v1, "addMemoriesV1", "Stores messages, for older clients.",
            body AddRequest => ListOrObject<AddResult, Results<AddResult>>;
        get "/v1/memories/" => list_v1, "listMemoriesV1", "Lists memories, for older clients.",
            query ListQuery => MemoryPage;
        delete "/v1/memories/" => delete_all, "deleteMemoriesV1", "Deletes all memories of an owner.",
            query DeleteQuery => Confirmation;
        post "/v1/memories/search/" => search_v1, "searchMemoriesV1", "Searches memories, for older clients.",
            body SearchRequest => MemoryHits;
        get "/v1/memories/{id}/" => get, "getMemoryV1", "Returns a memory." => MemoryRow;
        put "/v1/memories/{id}/" => update, "updateMemoryV1", "Changes a memory.", body UpdateParams => MemoryRow;
        delete "/v1/memories/{id}/" => delete, "deleteMemoryV1", "Deletes a memory.", query LinkedParam => Confirmation;
        get "/v1/memories/{id}/history/" => history, "memoryHistoryV1", "Returns the history of a memory."
            => Vec<HistoryRow>;
        get "/v1/event/{id}/" => event, "event", "Returns the state of a request to add memories." => EventState;
        get "/v1/entities/" => entities, "listEntitiesV1", "Lists users, agents, runs and apps with memories.",
            query PageParams => PageOf<PlatformEntity>;
        delete "/v2/entities/{type}/{name}/" => delete_entity, "deleteEntityV2",
            "Deletes everything of a user, agent, run or app." => Confirmation;
        delete "/v1/entities/{type}/{name}/" => delete_entity, "deleteEntityV1",
            "Deletes everything of a user, agent, run or app." => Confirmation;
        put "/v1/batch/" => update_batch, "updateBatch", "Changes at most 1000 memories.",
            body BatchRequest => Confirmation;
        delete "/v1/batch/" => delete_batch, "deleteBatch", "Deletes at most 1000 memories.",
            body BatchRequest => Confirmation;
        post "/v1/feedback/" => feedback, "feedback", "Stores the feedback on a memory.",
            body FeedbackParams => Feedback;
    };
    NOT_SERVED.into_iter().fold(routes, |routes, path| routes.undocumented(path, not_served()))
}

request! {
    /// The query of a deletion.
    DeleteQuery { owner: OwnerParams, _echoed: EchoedParams }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct LinkedParam {
    /// Deletes the turns that state the memory as well. `false` leaves them. Default: they are retracted, which means
    /// that they are neither found nor injected.
    delete_linked: Option<bool>,
}

impl ParamGroup for LinkedParam {}

impl LinkedParam {
    pub(super) fn linked_turns(&self) -> LinkedTurns {
        self.delete_linked
            .map_or(LinkedTurns::Retract, |delete| if delete { LinkedTurns::Delete } else { LinkedTurns::Keep })
    }
}

/// Confirms a key.
#[derive(Debug, Serialize, JsonSchema)]
struct Ping {
    /// Always `ok`.
    status: &'static str,
    org_id: Option<String>,
    project_id: &'static str,
    user_email: String,
}

/// The answer to a request to add memories.
#[derive(Debug, Serialize, JsonSchema)]
struct Accepted {
    message: &'static str,
    /// `SUCCEEDED`, or `PENDING` while facts are extracted in the background.
    status: &'static str,
    event_id: String,
    results: Vec<AddResult>,
}

/// A user, agent, run or app with memories.
#[derive(Debug, Serialize, JsonSchema)]
struct PlatformEntity {
    id: String,
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    owner: String,
    total_memories: usize,
    created_at: String,
    updated_at: String,
    metadata: Value,
}

async fn ping(access: Access) -> Mem0Response<Ping> {
    Ok(Json(Ping {
        status: "ok",
        org_id: access.scopes()?.first().map(|scope| scope.tenant().to_owned()),
        project_id: "memory-engine",
        user_email: format!("{}@memory.invalid", access.name()),
    }))
}

async fn add_v3(State(mem0): State<Mem0>, access: Access, Body(request): Body<AddRequest>) -> Mem0Response<Accepted> {
    let input = request.into_input(API, &access)?;
    let added = mem0.add(&access, input, mem0.platform_add_timeout).await?;
    let (status, message) = match (added.is_pending, added.waits_for_review) {
        (_, true) => ("PENDING", MEMORY_WAITS),
        (true, false) => ("PENDING", "Memory processing has been queued for background execution"),
        (false, false) => ("SUCCEEDED", "Memories have been stored"),
    };
    Ok(Json(Accepted {
        message,
        status,
        event_id: added.event.unwrap_or_default().to_string(),
        results: added.results.into_iter().map(AddResult::for_platform).collect(),
    }))
}

async fn add_v1(
    State(mem0): State<Mem0>,
    access: Access,
    Body(request): Body<AddRequest>,
) -> Mem0Response<ListOrObject<AddResult, Results<AddResult>>> {
    let is_object = request.format.is_object();
    let input = request.into_input(API, &access)?;
    let added = mem0.add(&access, input, mem0.add_timeout).await?;
    let results: Vec<AddResult> = added.results.into_iter().map(AddResult::for_platform).collect();
    Ok(Json(if is_object { ListOrObject::Object(Results { results }) } else { ListOrObject::List(results) }))
}

async fn get(State(mem0): State<Mem0>, access: Access, Path(id): Path<String>) -> Mem0Response<MemoryRow> {
    let record = mem0.find(&access, parse_id(&id)?).await?.ok_or_else(unknown)?;
    Ok(Json(MemoryRow::new(&record, API)))
}

async fn update(
    State(mem0): State<Mem0>,
    access: Access,
    Path(id): Path<String>,
    Body(params): Body<UpdateParams>,
) -> Mem0Response<MemoryRow> {
    let changed = mem0.change(&access, parse_id(&id)?, &params.into_change()?).await?;
    let row = MemoryRow::new(&changed.record, API);
    Ok(Json(if changed.is_pending { row.with_message(CHANGE_WAITS) } else { row }))
}

async fn delete(
    State(mem0): State<Mem0>,
    access: Access,
    Path(id): Path<String>,
    StrictQuery(params): StrictQuery<LinkedParam>,
) -> Mem0Response<Confirmation> {
    mem0.delete(&access, parse_id(&id)?, params.linked_turns()).await?;
    message("Memory deleted successfully!")
}

async fn delete_all(
    State(mem0): State<Mem0>,
    access: Access,
    StrictQuery(query): StrictQuery<DeleteQuery>,
) -> Mem0Response<Confirmation> {
    mem0.delete_of(&access, &query.owner.owner()?).await?;
    message("Memories deleted successfully!")
}

async fn history(State(mem0): State<Mem0>, access: Access, Path(id): Path<String>) -> Mem0Response<Vec<HistoryRow>> {
    Ok(Json(mem0.history(&access, parse_id(&id)?, API).await?))
}

async fn event(State(mem0): State<Mem0>, access: Access, Path(id): Path<String>) -> Mem0Response<EventState> {
    let id: RecordId = id.parse().map_err(|_| Mem0Error::bad_request("event_id should be a valid UUID"))?;
    Ok(Json(mem0.event(&access, id).await?))
}

async fn entities(
    State(mem0): State<Mem0>,
    access: Access,
    headers: HeaderMap,
    QueryParams(page): QueryParams<PageParams>,
) -> Mem0Response<PageOf<PlatformEntity>> {
    let page = page.page("/v1/entities/", &headers);
    let entities = mem0.entities(&access).await?;
    let count = entities.len();
    let row = |entity: Mem0Entity| PlatformEntity {
        id: entity.name.clone(),
        name: entity.name,
        kind: entity.kind,
        owner: access.name().to_owned(),
        total_memories: entity.memories,
        created_at: row::time(entity.created_at),
        updated_at: row::time(entity.updated_at),
        metadata: Value::Null,
    };
    Ok(Json(page.with_results(entities.into_iter().skip(page.skip()).take(page.size).map(row).collect(), count)))
}

async fn delete_entity(
    State(mem0): State<Mem0>,
    access: Access,
    Path((kind, name)): Path<(String, String)>,
) -> Mem0Response<Confirmation> {
    mem0.delete_entity(&access, &kind, &name).await?;
    message("Entity deleted successfully!")
}

async fn update_batch(
    State(mem0): State<Mem0>,
    access: Access,
    Body(request): Body<BatchRequest>,
) -> Mem0Response<Confirmation> {
    let changes = request.changes()?;
    for (id, _) in &changes {
        mem0.find(&access, *id).await?.ok_or_else(unknown)?;
    }
    let mut waiting = 0;
    for (id, change) in &changes {
        waiting += u32::from(mem0.change(&access, *id, change).await?.is_pending);
    }
    if waiting > 0 {
        return message(format!("{waiting} of {} changes wait until a person accepts them", changes.len()));
    }
    message(format!("Successfully updated {} memories", changes.len()))
}

async fn delete_batch(
    State(mem0): State<Mem0>,
    access: Access,
    Body(request): Body<BatchRequest>,
) -> Mem0Response<Confirmation> {
    let ids = request.ids()?;
    for id in &ids {
        mem0.find(&access, *id).await?.ok_or_else(unknown)?;
    }
    for id in &ids {
        // A memory may have been deleted with another one, or be listed twice.
        if mem0.find(&access, *id).await?.is_some() {
            mem0.delete(&access, *id, LinkedTurns::Retract).await?;
        }
    }
    message(format!("Successfully deleted {} memories", ids.len()))
}

async fn feedback(
    State(mem0): State<Mem0>,
    access: Access,
    Body(params): Body<FeedbackParams>,
) -> Mem0Response<Feedback> {
    Ok(Json(mem0.set_feedback(&access, params).await?))
}
