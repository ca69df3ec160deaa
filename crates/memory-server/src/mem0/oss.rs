//! The routes of mem0's open-source server. None of them ends in a slash.

use axum::{
    Json, Router,
    extract::{Path, State},
    routing::{any, delete, get, post},
};
use memory_engine::RecordId;
use serde_json::{Value, json};

use super::{
    Mem0,
    add::Addition,
    failure::{Answer, Failure},
    fields::{Asked, Fields, Sent},
    filters::{self, Grammar},
    listing::Shown,
    memory::Change,
    owner::{self, Named},
    row,
    search::{Question, THRESHOLD},
};
use crate::Access;

/// How many memories a list or a search gives, unless the request says otherwise, and at the most.
const LIMIT: usize = 20;
pub(super) const MOST: i64 = 1000;

pub(super) fn routes() -> Router<Mem0> {
    Router::new()
        .route("/memories", post(add).get(list).delete(delete_all))
        .route("/memories/{id}", get(one).put(update).delete(delete_one))
        .route("/memories/{id}/history", get(history))
        .route("/search", post(search))
        .route("/reset", post(reset))
        .route("/entities", get(entities))
        .route("/entities/{type}/{id}", delete(delete_entity))
        .route("/configure", get(configuration).post(not_here))
        .route("/configure/providers", any(not_here))
        .route("/generate-instructions", any(not_here))
        .route("/auth/{*rest}", any(not_here))
        .route("/api-keys", any(not_here))
        .route("/api-keys/{*rest}", any(not_here))
        .route("/requests", any(not_here))
}

/// What belongs to mem0's dashboard, and is set up elsewhere here.
pub(super) async fn not_here() -> Failure {
    Failure::not_found("Not found: this server is set up by its own configuration, and has no such route.")
}

async fn add(State(mem0): State<Mem0>, access: Access, Sent(mut fields): Sent) -> Answer {
    let addition = Addition::read(&mut fields, &access)?;
    let added = mem0.add(&access, addition, mem0.patience).await?;
    Ok(Json(json!({ "results": added.results })))
}

async fn list(State(mem0): State<Mem0>, access: Access, Asked(mut fields): Asked) -> Answer {
    let owner = Named::read(&mut fields)?;
    let limit = fields.whole_within("top_k", 0, MOST);
    let expired = fields.flag("show_expired").unwrap_or(false);
    known(&fields, &["top_k", "show_expired"])?;
    fields.check()?;
    let everybody = if owner.is_nobody() { MOST as usize } else { LIMIT };
    let shown = Shown { expired, turns: false };
    let places = mem0.places(&access, &owner.scopes(&access)?, owner.condition(), shown)?;
    let (records, _) = mem0.newest(&places, 0, limit.unwrap_or(everybody), false).await?;
    Ok(Json(json!({ "results": records.iter().map(|record| row::row(record, false)).collect::<Vec<_>>() })))
}

/// Refuses parameters that are not known: one that is misspelt would not be missed, and the answer hold what it should not.
pub(super) fn known(fields: &Fields, more: &[&str]) -> Result<(), Failure> {
    let is_known =
        |name: &str| more.contains(&name) || owner::NAMES.iter().any(|(plain, alias)| name == *plain || name == *alias);
    match fields.names().find(|name| !is_known(name)) {
        Some(name) => Err(Failure::bad_request(format!("there is no parameter {name:?} here"))),
        None => Ok(()),
    }
}

async fn one(State(mem0): State<Mem0>, access: Access, Path(id): Path<String>) -> Answer {
    let record = mem0.find(&access, known_id(&id)?).await?.ok_or_else(unknown)?;
    let mut row = row::row(&record, false);
    row.insert("score".into(), Value::Null);
    Ok(Json(row.into()))
}

/// An id that is none belongs to no memory.
fn known_id(id: &str) -> Result<RecordId, Failure> {
    id.parse().map_err(|_| unknown())
}

fn unknown() -> Failure {
    Failure::not_found("Memory not found")
}

async fn update(State(mem0): State<Mem0>, access: Access, Path(id): Path<String>, Sent(mut fields): Sent) -> Answer {
    let id = known_id(&id)?;
    let change = Change::read(&mut fields)?;
    mem0.change(&access, id, &change).await?;
    Ok(Json(json!({ "message": "Memory updated successfully!" })))
}

async fn delete_one(State(mem0): State<Mem0>, access: Access, Path(id): Path<String>) -> Answer {
    mem0.delete(&access, known_id(&id)?, false).await?;
    Ok(Json(json!({ "message": "Memory deleted successfully" })))
}

async fn delete_all(State(mem0): State<Mem0>, access: Access, Asked(mut fields): Asked) -> Answer {
    let owner = Named::read(&mut fields)?;
    known(&fields, &[])?;
    fields.check()?;
    mem0.delete_of(&access, &owner).await?;
    Ok(Json(json!({ "message": "All relevant memories deleted" })))
}

impl Mem0 {
    /// Deletes everything of an owner within reach: memories, turns and what was made of them.
    pub(super) async fn delete_of(&self, access: &Access, owner: &Named) -> Result<usize, Failure> {
        // Not even for a key of one user: who names nobody may have forgotten to.
        if owner.is_nobody() {
            return Err(Failure::bad_request("At least one identifier is required."));
        }
        let filter = Self::all_but_the_book().and(owner.filter());
        self.forget_matching(&owner.scopes(access)?, &filter).await
    }
}

async fn history(State(mem0): State<Mem0>, access: Access, Path(id): Path<String>) -> Answer {
    let Ok(id) = id.parse() else { return Ok(Json(json!([]))) };
    Ok(Json(mem0.history(&access, id, false).await?.into()))
}

async fn search(State(mem0): State<Mem0>, access: Access, Sent(mut fields): Sent) -> Answer {
    let owner = Named::read(&mut fields)?;
    fields.require("query");
    let filter = fields.object("filters").unwrap_or_default();
    let (question, explain) = question(&mut fields, LIMIT)?;
    let shown = shown(&mut fields, mem0.turns);
    fields.check()?;
    if owner.is_nobody() && !filters::names_an_owner(&filter) && access.is_for_all_users() {
        let message = "filters must contain at least one of: user_id, agent_id, run_id, at their top";
        return Err(Failure::bad_request(message));
    }
    let condition = Grammar::OpenSource.read(&filter)?.and(owner.condition());
    let places = mem0.places(&access, &owner.scopes(&access)?, condition, shown)?;
    let found = mem0.search(&places, &question).await?;
    let rows: Vec<_> = found.iter().map(|hit| hit.row(false, explain, question.threshold)).collect();
    Ok(Json(json!({ "results": rows })))
}

/// What else is shown than the memories that hold.
pub(super) fn shown(fields: &mut Fields, turns: bool) -> Shown {
    let expired = fields.flag("show_expired").unwrap_or(false);
    Shown { expired, turns: fields.flag("include_turns").unwrap_or(turns) }
}

/// What is searched for, and whether the scores are to be explained.
pub(super) fn question(fields: &mut Fields, limit: usize) -> Result<(Question, bool), Failure> {
    let text = fields.text("query");
    let asked = fields.whole("top_k").or_else(|| fields.whole("limit"));
    let threshold = fields.number("threshold").unwrap_or(THRESHOLD);
    let explain = fields.flag("explain").unwrap_or(false);
    let asked_at =
        match fields.value("reference_date") {
            Some(value) => Some(filters::moment(value).ok_or_else(|| {
                Failure::bad_request("reference_date is a time such as 2026-03-02T20:15:00Z, or a day")
            })?),
            None => None,
        };
    fields.check()?;
    let text = text.unwrap_or_default();
    if text.trim().is_empty() {
        return Err(Failure::bad_request("query is blank; it needs words to search for"));
    }
    if !(0.0..=1.0).contains(&threshold) {
        return Err(Failure::bad_request("threshold lies between 0 and 1"));
    }
    let limit = asked.map_or(Ok(limit), |asked| match asked {
        0..=MOST => Ok(usize::try_from(asked).unwrap_or(limit)),
        _ => Err(Failure::bad_request(format!("top_k lies between 0 and {MOST}"))),
    })?;
    Ok((Question { text, limit, threshold, asked_at }, explain))
}

async fn reset(State(mem0): State<Mem0>, access: Access) -> Answer {
    if !access.is_for_all_users() {
        return Err(Failure::forbidden("Admin role required: this key is for certain users."));
    }
    for scope in access.scopes()? {
        mem0.engine.forget(&scope, memory_engine::Forget::Everything).await?;
    }
    Ok(Json(json!({ "message": "All memories reset" })))
}

async fn entities(State(mem0): State<Mem0>, access: Access) -> Answer {
    let entities = mem0.entities(&access).await?;
    let row = |entity: &super::entities::Entity| {
        json!({
            "id": entity.name,
            "type": entity.kind,
            "total_memories": entity.memories,
            "created_at": row::time(entity.created_at),
            "updated_at": row::time(entity.updated_at),
        })
    };
    Ok(Json(entities.iter().map(row).collect()))
}

async fn delete_entity(State(mem0): State<Mem0>, access: Access, Path((kind, name)): Path<(String, String)>) -> Answer {
    mem0.delete_entity(&access, &kind, &name).await?;
    Ok(Json(json!({ "message": "Entity deleted" })))
}

/// What this server remembers with. There is no secret in it.
async fn configuration(State(mem0): State<Mem0>, _: Access) -> Answer {
    let embedder = mem0.engine.embedder();
    Ok(Json(json!({
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
        "search": {"top_k": LIMIT, "threshold": THRESHOLD, "include_turns": mem0.turns},
    })))
}
