//! The platform's routes, as its clients of the versions 0.1 to 2 call them. All of them end in a slash.

use axum::{
    Json, Router,
    extract::{Path, State},
    http::HeaderMap,
    routing::{any, delete, get, post, put},
};
use memory_engine::{Field, Filter, Op, Record, RecordId};
use serde_json::{Map, Value, json};

use super::{
    Mem0,
    add::{Added, Addition},
    condition::Condition,
    event::for_platform,
    failure::{Answer, Failure},
    fields::{Asked, Fields, Sent},
    filters::{self, Grammar},
    memory::{self, Change},
    oss::{known, not_here, question, shown},
    owner::{self, Named},
    page::Page,
    row,
};
use crate::Access;

/// How many memories a search gives, unless the request says otherwise.
const LIMIT: usize = 10;
/// How many memories one request may change or delete.
const BATCH: usize = 1000;
/// What old clients send along with everything, and what says nothing about whose memories are meant.
const ECHOED: &[&str] = &["org_id", "project_id", "org_name", "project_name", "version", "output_format", "async_mode"];

pub(super) fn routes() -> Router<Mem0> {
    Router::new()
        .route("/v1/ping/", get(ping))
        .route("/v3/memories/add/", post(add_v3))
        .route("/v3/memories/", post(list_v3))
        .route("/v3/memories/search/", post(search_v3))
        .route("/v2/memories/", post(list_v2))
        .route("/v2/memories/search/", post(search_v2))
        .route("/v1/memories/", post(add_v1).get(list_v1).delete(delete_all))
        .route("/v1/memories/search/", post(search_v1))
        .route("/v1/memories/{id}/", get(one).put(update).delete(delete_one))
        .route("/v1/memories/{id}/history/", get(history))
        .route("/v1/event/{id}/", get(event))
        .route("/v1/entities/", get(entities))
        .route("/v2/entities/{type}/{name}/", delete(delete_entity))
        .route("/v1/entities/{type}/{name}/", delete(delete_entity))
        .route("/v1/batch/", put(update_batch).delete(delete_batch))
        .route("/v1/feedback/", post(feedback))
        .route("/v1/exports/", any(not_here))
        .route("/v1/exports/{*rest}", any(not_here))
        .route("/v1/summary/", any(not_here))
        .route("/v2/entities/{type}/{name}/profile/", any(not_here))
        .route("/v2/profiles/{*rest}", any(not_here))
        .route("/api/v1/orgs/{*rest}", any(not_here))
        .route("/api/v1/webhooks/{*rest}", any(not_here))
}

async fn ping(access: Access) -> Answer {
    let scopes = access.scopes()?;
    let tenant = scopes.first().map(|scope| scope.tenant().to_owned());
    Ok(Json(json!({
        "status": "ok",
        "org_id": tenant,
        "project_id": "memory-engine",
        "user_email": format!("{}@memory.invalid", access.name()),
    })))
}

async fn add_v3(State(mem0): State<Mem0>, access: Access, Sent(mut fields): Sent) -> Answer {
    let addition = Addition::read(&mut fields, &access)?;
    let Added { event, results, pending } = mem0.add(&access, addition, mem0.hurry).await?;
    let (status, message) = match pending {
        true => ("PENDING", "Memory processing has been queued for background execution"),
        false => ("SUCCEEDED", "Memories have been stored"),
    };
    let results: Vec<Value> = results.into_iter().map(for_platform).collect();
    Ok(Json(json!({
        "message": message,
        "status": status,
        "event_id": event.unwrap_or_default(),
        "results": results,
    })))
}

async fn add_v1(State(mem0): State<Mem0>, access: Access, Sent(mut fields): Sent) -> Answer {
    let listed = is_new_format(&mut fields);
    let addition = Addition::read(&mut fields, &access)?;
    let added = mem0.add(&access, addition, mem0.patience).await?;
    let results: Vec<Value> = added.results.into_iter().map(for_platform).collect();
    Ok(Json(if listed { json!({ "results": results }) } else { results.into() }))
}

/// Whether an old client wants its list in an object.
fn is_new_format(fields: &mut Fields) -> bool {
    fields.text("output_format").is_some_and(|format| format == "v1.1")
}

/// What a request for several memories asks for: whose they are, and what else is true of them.
fn wanted(fields: &mut Fields, access: &Access, filters_needed: bool) -> Result<(Named, Condition), Failure> {
    let owner = Named::read(fields)?;
    let filter = fields.object("filters");
    let between = [("start_date", Op::Ge), ("end_date", Op::Le)];
    let categories = fields.texts("categories");
    fields.check()?;
    if filters_needed && filter.is_none() {
        return Err(Failure::bad_request("filters are required: an object such as {\"user_id\": \"alice\"}"));
    }
    let filter = filter.unwrap_or_default();
    if filter.is_empty() {
        // An empty object is nobody's.
        owner::somebody(&owner, access)?;
    }
    let mut condition = Grammar::Platform.read(&filter)?.and(owner.condition());
    if let Some(categories) = categories {
        let one_of = Map::from_iter([("categories".to_owned(), json!({ "in": categories }))]);
        condition = condition.and(Grammar::Platform.read(&one_of)?);
    }
    for (name, op) in between {
        let Some(value) = fields.value(name) else { continue };
        let time = filters::moment(value)
            .ok_or_else(|| Failure::bad_request(format!("{name} is a day or a time, such as 2026-03-02")))?;
        // A day is meant to its end.
        let whole_day = op == Op::Le && value.as_str().is_some_and(|text| text.trim().len() == 10);
        let time = if whole_day { time.after(std::time::Duration::from_micros(86_400_000_000 - 1)) } else { time };
        condition = condition.and(Condition::Field(Filter::compare(Field::OccurredAt, op, time)));
    }
    Ok((owner, condition))
}

async fn list_v3(
    State(mem0): State<Mem0>,
    access: Access,
    Asked(mut asked): Asked,
    headers: HeaderMap,
    Sent(mut fields): Sent,
) -> Answer {
    let page = Page::read(&mut asked, &mut fields, 100)?;
    let (owner, condition) = wanted(&mut fields, &access, true)?;
    listed(&mem0, &access, &mut fields, (owner, condition), page.at("/v3/memories/", &headers)).await
}

async fn list_v2(
    State(mem0): State<Mem0>,
    access: Access,
    Asked(mut asked): Asked,
    headers: HeaderMap,
    Sent(mut fields): Sent,
) -> Answer {
    let page = Page::read(&mut asked, &mut fields, 100)?;
    let paged = page.is_asked_for();
    let (owner, condition) = wanted(&mut fields, &access, false)?;
    let Json(answer) =
        listed(&mem0, &access, &mut fields, (owner, condition), page.at("/v2/memories/", &headers)).await?;
    Ok(Json(if paged { answer } else { bare(answer) }))
}

async fn list_v1(State(mem0): State<Mem0>, access: Access, headers: HeaderMap, Asked(mut fields): Asked) -> Answer {
    let paging =
        ["page", "page_size", "limit", "top_k", "show_expired", "start_date", "end_date", "categories", "fields"];
    let more: Vec<&str> = ECHOED.iter().copied().chain(paging).chain(["keywords", "include_turns"]).collect();
    known(&fields, &more)?;
    let words = fields.text("keywords");
    let page = Page::read(&mut Fields::new(Map::new()), &mut fields, 100)?;
    let paged = page.is_asked_for();
    let (owner, mut condition) = wanted(&mut fields, &access, false)?;
    if let Some(words) = words {
        condition = condition.and(Grammar::Platform.read(&Map::from_iter([("keywords".to_owned(), words.into())]))?);
    }
    let page = page.at("/v1/memories/", &headers).keeping(&fields);
    let Json(answer) = listed(&mem0, &access, &mut fields, (owner, condition), page).await?;
    Ok(Json(if paged { answer } else { bare(answer) }))
}

/// The list alone, as old clients have it.
fn bare(mut answer: Value) -> Value {
    answer.get_mut("results").map(Value::take).unwrap_or_default()
}

async fn listed(
    mem0: &Mem0,
    access: &Access,
    fields: &mut Fields,
    (owner, condition): (Named, Condition),
    page: Page,
) -> Answer {
    let shown = super::listing::Shown { turns: fields.flag("include_turns").unwrap_or(false), ..shown(fields, false) };
    let only = fields.texts("fields");
    fields.check()?;
    let places = mem0.places(access, &owner.scopes(access)?, condition, shown)?;
    let (records, count) = mem0.newest(&places, page.skip(), page.size, true).await?;
    let rows: Vec<Value> = records.iter().map(|record| row_of(record, only.as_deref())).collect();
    Ok(Json(page.answer(count, rows)))
}

fn row_of(record: &Record, only: Option<&[String]>) -> Value {
    let mut row = row::row(record, true);
    row::only(&mut row, only);
    row.into()
}

async fn search_v3(State(mem0): State<Mem0>, access: Access, Sent(mut fields): Sent) -> Answer {
    let rows = searched(&mem0, &access, &mut fields, true).await?;
    Ok(Json(json!({ "results": rows })))
}

async fn search_v2(State(mem0): State<Mem0>, access: Access, Sent(mut fields): Sent) -> Answer {
    let in_object = is_new_format(&mut fields);
    let rows = searched(&mem0, &access, &mut fields, false).await?;
    Ok(Json(if in_object { json!({ "results": rows }) } else { rows.into() }))
}

async fn search_v1(State(mem0): State<Mem0>, access: Access, Sent(mut fields): Sent) -> Answer {
    search_v2(State(mem0), access, Sent(fields_of_v1(&mut fields)?)).await
}

/// The first version of the search takes no filters; a client that sends some means them.
fn fields_of_v1(fields: &mut Fields) -> Result<Fields, Failure> {
    let owner = Named::read(fields)?;
    fields.check()?;
    if owner.is_nobody() && fields.value("filters").is_none() {
        fields.require("user_id");
    }
    Ok(std::mem::replace(fields, Fields::new(Map::new())))
}

async fn searched(
    mem0: &Mem0,
    access: &Access,
    fields: &mut Fields,
    filters_needed: bool,
) -> Result<Vec<Value>, Failure> {
    fields.require("query");
    let (question, explain) = question(fields, LIMIT)?;
    let (owner, condition) = wanted(fields, access, filters_needed)?;
    let shown = shown(fields, mem0.turns);
    let only = fields.texts("fields");
    fields.check()?;
    let places = mem0.places(access, &owner.scopes(access)?, condition, shown)?;
    let found = mem0.search(&places, &question).await?;
    let row = |hit: &super::search::Match| {
        let mut row = hit.row(true, explain, question.threshold);
        row::only(&mut row, only.as_deref());
        row.into()
    };
    Ok(found.iter().map(row).collect())
}

async fn one(State(mem0): State<Mem0>, access: Access, Path(id): Path<String>) -> Answer {
    let record = mem0.find(&access, memory::id(&id)?).await?.ok_or_else(memory::unknown)?;
    Ok(Json(row_of(&record, None)))
}

async fn update(State(mem0): State<Mem0>, access: Access, Path(id): Path<String>, Sent(mut fields): Sent) -> Answer {
    let id = memory::id(&id)?;
    let change = Change::read(&mut fields)?;
    let record = mem0.change(&access, id, &change).await?;
    Ok(Json(row_of(&record, None)))
}

async fn delete_one(
    State(mem0): State<Mem0>,
    access: Access,
    Path(id): Path<String>,
    Asked(mut fields): Asked,
) -> Answer {
    let linked = fields.flag("delete_linked").unwrap_or(false);
    fields.check()?;
    mem0.delete(&access, memory::id(&id)?, linked).await?;
    Ok(Json(json!({ "message": "Memory deleted successfully!" })))
}

async fn delete_all(State(mem0): State<Mem0>, access: Access, Asked(mut fields): Asked) -> Answer {
    let owner = Named::read(&mut fields)?;
    known(&fields, ECHOED)?;
    fields.check()?;
    mem0.delete_of(&access, &owner).await?;
    Ok(Json(json!({ "message": "Memories deleted successfully!" })))
}

async fn history(State(mem0): State<Mem0>, access: Access, Path(id): Path<String>) -> Answer {
    Ok(Json(mem0.history(&access, memory::id(&id)?, true).await?.into()))
}

async fn event(State(mem0): State<Mem0>, access: Access, Path(id): Path<String>) -> Answer {
    let id: RecordId = id.parse().map_err(|_| Failure::bad_request("event_id should be a valid UUID"))?;
    Ok(Json(mem0.event(&access, id).await?))
}

async fn entities(State(mem0): State<Mem0>, access: Access, headers: HeaderMap, Asked(mut fields): Asked) -> Answer {
    let page = Page::read(&mut Fields::new(Map::new()), &mut fields, 100)?.at("/v1/entities/", &headers);
    let entities = mem0.entities(&access).await?;
    let row = |entity: &super::entities::Entity| {
        json!({
            "id": entity.name,
            "name": entity.name,
            "type": entity.kind,
            "owner": access.name(),
            "total_memories": entity.memories,
            "created_at": row::time(entity.created_at),
            "updated_at": row::time(entity.updated_at),
            "metadata": null,
        })
    };
    let rows: Vec<Value> = entities.iter().skip(page.skip()).take(page.size).map(row).collect();
    Ok(Json(page.answer(entities.len(), rows)))
}

async fn delete_entity(State(mem0): State<Mem0>, access: Access, Path((kind, name)): Path<(String, String)>) -> Answer {
    mem0.delete_entity(&access, &kind, &name).await?;
    Ok(Json(json!({ "message": "Entity deleted successfully!" })))
}

async fn update_batch(State(mem0): State<Mem0>, access: Access, Sent(fields): Sent) -> Answer {
    let mut changes = Vec::new();
    for (id, mut fields) in batch(&fields)? {
        changes.push((id, Change::read(&mut fields)?));
    }
    for (id, _) in &changes {
        mem0.find(&access, *id).await?.ok_or_else(memory::unknown)?;
    }
    for (id, change) in &changes {
        mem0.change(&access, *id, change).await?;
    }
    Ok(Json(json!({ "message": format!("Successfully updated {} memories", changes.len()) })))
}

async fn delete_batch(State(mem0): State<Mem0>, access: Access, Sent(fields): Sent) -> Answer {
    let ids: Vec<RecordId> = batch(&fields)?.into_iter().map(|(id, _)| id).collect();
    for id in &ids {
        mem0.find(&access, *id).await?.ok_or_else(memory::unknown)?;
    }
    for id in &ids {
        // One may have gone with another, or be named twice.
        if mem0.find(&access, *id).await?.is_some() {
            mem0.delete(&access, *id, false).await?;
        }
    }
    Ok(Json(json!({ "message": format!("Successfully deleted {} memories", ids.len()) })))
}

/// The memories of a batch, each with what is said of it. All are looked at before any is touched.
fn batch(fields: &Fields) -> Result<Vec<(RecordId, Fields)>, Failure> {
    let wrong = || Failure::bad_request("memories is a list of objects, each with a memory_id");
    let memories = fields.value("memories").and_then(Value::as_array).ok_or_else(wrong)?;
    if memories.len() > BATCH {
        return Err(Failure::bad_request(format!(
            "a batch holds at most {BATCH} memories; this one has {}",
            memories.len()
        )));
    }
    let one = |memory: &Value| {
        // The client for JavaScript writes it its own way.
        let id = memory.get("memory_id").or_else(|| memory.get("memoryId")).or(Some(memory)).and_then(Value::as_str);
        let fields = memory.as_object().cloned().unwrap_or_default();
        Ok((memory::id(id.ok_or_else(wrong)?)?, Fields::new(fields)))
    };
    memories.iter().map(one).collect()
}

async fn feedback(State(mem0): State<Mem0>, access: Access, Sent(mut fields): Sent) -> Answer {
    Ok(Json(mem0.judge(&access, &mut fields).await?))
}
