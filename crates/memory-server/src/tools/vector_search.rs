//! The search of OpenAI's vector stores: the memory of a user is the store with their name.

use std::sync::Arc;

use axum::{
    Json,
    body::Bytes,
    extract::{Path, State},
};
use memory_engine::{Field, Filter, MemoryEngine, RecallQuery, Record};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::state::ToolsState;
use crate::{
    access::{Access, Owner},
    fault::Fault,
    openapi::{Routes, table},
    request::parse_body,
};

/// The attributes of a result that can be filtered.
const ATTRIBUTES: [(&str, Field); 5] = [
    ("kind", Field::Kind),
    ("session_id", Field::Session),
    ("agent_id", Field::Agent),
    ("scene", Field::Scene),
    ("role", Field::Role),
];
const DEFAULT_RESULTS: usize = 10;
const MAX_RESULTS: usize = 50;

pub(super) fn routes() -> Routes<Arc<ToolsState>> {
    table! {
        Routes::new("vector stores", "The search of OpenAI's vector stores.");
        post "/v1/vector_stores/{user}/search" => handle, "vectorStoreSearch",
            "Searches the memory of a user, whose name is the id of the vector store, in the format of OpenAI's API.",
            body Search => Page;
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// A text, or a list of texts.
    query: Texts,
    /// Maximum number of results, 1 to 50. Default: 10.
    #[serde(default)]
    #[schemars(range(min = 1, max = MAX_RESULTS))]
    max_num_results: Option<usize>,
    /// A comparison (`type` `eq`, `ne`, `in` or `nin`, `key`, `value`) or several (`type` `and` or `or`, `filters`).
    /// The keys are `kind`, `session_id`, `agent_id`, `scene` and `role`.
    #[serde(default)]
    filters: Option<Value>,
    #[serde(default)]
    ranking_options: RankingOptions,
    /// Accepted and ignored: the engine decides whether a query is rewritten.
    #[serde(default)]
    #[expect(dead_code, reason = "accepted and ignored")]
    rewrite_query: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Texts {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(default)]
struct RankingOptions {
    /// Minimum score, 0 to 1.
    score_threshold: Option<f64>,
}

/// The results, best first.
#[derive(Serialize, JsonSchema)]
struct Page {
    object: &'static str,
    search_query: Vec<String>,
    data: Vec<SearchResult>,
    has_more: bool,
    next_page: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct SearchResult {
    /// The id of the memory.
    file_id: String,
    /// The kind and the conversation of the memory.
    filename: String,
    /// The probability that the memory answers the query.
    score: f64,
    attributes: Map<String, Value>,
    content: Vec<Content>,
}

#[derive(Serialize, JsonSchema)]
struct Content {
    r#type: &'static str,
    text: String,
}

async fn handle(
    State(tools): State<Arc<ToolsState>>,
    access: Access,
    Path(user): Path<String>,
    body: Bytes,
) -> Result<Json<Page>, Fault> {
    let search: Search = parse_body(&body, "query, max_num_results, filters and ranking_options")?;
    let texts = match search.query {
        Texts::One(text) => vec![text],
        Texts::Several(texts) => texts,
    };
    let limit = search.max_num_results.unwrap_or(DEFAULT_RESULTS);
    if !(1..=MAX_RESULTS).contains(&limit) {
        return Err(Fault::bad_request(format!("max_num_results is {limit}; it must be from 1 to {MAX_RESULTS}")));
    }
    let text = texts.join("\n");
    if text.trim().is_empty() {
        return Err(Fault::bad_request("query is empty; write a question or a few words"));
    }
    let mut query = RecallQuery::new(text).with_limit(limit);
    if let Some(filter) = &search.filters {
        query = query.with_filter(parse_filter(filter)?);
    }
    // The id of the store is the name of a user, to whom the key must have access.
    let scope = access.scope(&Owner::user(user))?;
    let data = recall(&tools.engine, &scope, query, search.ranking_options.score_threshold.unwrap_or(0.0)).await?;
    let page = Page {
        object: "vector_store.search_results.page",
        search_query: texts,
        data,
        has_more: false,
        next_page: None,
    };
    Ok(Json(page))
}

async fn recall(
    engine: &MemoryEngine,
    scope: &memory_engine::Scope,
    query: RecallQuery,
    min_score: f64,
) -> Result<Vec<SearchResult>, Fault> {
    let recall = engine.recall(scope, query).await?;
    let hits = recall.hits.into_iter().filter(|hit| hit.relevance >= min_score);
    Ok(hits.map(|hit| SearchResult::of(hit.record, hit.relevance)).collect())
}

impl SearchResult {
    fn of(record: Record, score: f64) -> Self {
        let session = record.scope.session().unwrap_or_default();
        let mut attributes = Map::from_iter([
            ("kind".to_owned(), json!(record.kind.as_str())),
            ("created_at".to_owned(), json!(record.occurred_at.to_string())),
        ]);
        let labels = [
            ("session_id", record.scope.session()),
            ("agent_id", record.scope.agent()),
            ("scene", record.scene.as_deref()),
            ("role", record.role.as_ref().map(|role| role.as_str())),
            ("speaker", record.named_speaker()),
        ];
        attributes.extend(labels.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))));
        Self {
            file_id: record.id.to_string(),
            filename: format!("{}/{session}", record.kind.as_str()),
            score,
            attributes,
            content: vec![Content { r#type: "text", text: record.text }],
        }
    }
}

/// Parses a filter of OpenAI's API.
fn parse_filter(filter: &Value) -> Result<Filter, Fault> {
    let kind = filter["type"].as_str().unwrap_or_default();
    if matches!(kind, "and" | "or") {
        let Some(parts) = filter["filters"].as_array() else {
            return Err(Fault::bad_request(format!("the filter `{kind}` needs a list `filters`")));
        };
        let parts = parts.iter().map(parse_filter).collect::<Result<Vec<_>, _>>()?;
        return Ok(if kind == "and" { Filter::And(parts) } else { Filter::Or(parts) });
    }
    let key = filter["key"].as_str().unwrap_or_default();
    let Some((_, field)) = ATTRIBUTES.iter().find(|(name, _)| *name == key) else {
        let names = ATTRIBUTES.map(|(name, _)| name).join(", ");
        return Err(Fault::bad_request(format!("unknown key {key:?} in a filter; the keys are {names}")));
    };
    let text = |value: &Value| {
        let message = || Fault::bad_request(format!("the value of {key:?} in a filter must be a text"));
        value.as_str().map(str::to_owned).ok_or_else(message)
    };
    let texts = || {
        let list = filter["value"].as_array().cloned().unwrap_or_default();
        list.iter().map(text).collect::<Result<Vec<String>, Fault>>()
    };
    match kind {
        "eq" => Ok(Filter::eq(field.clone(), text(&filter["value"])?)),
        "ne" => Ok(Filter::ne(field.clone(), text(&filter["value"])?)),
        "in" => Ok(Filter::any_of(field.clone(), texts()?)),
        "nin" => Ok(Filter::Not(Box::new(Filter::any_of(field.clone(), texts()?)))),
        _ => {
            let message = "the type of a filter must be eq, ne, in, nin, and or or; the attributes have no order";
            Err(Fault::bad_request(message))
        }
    }
}
