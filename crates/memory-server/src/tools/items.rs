//! LangGraph's store, as the client `langgraph_sdk` calls it.

use std::sync::Arc;

use axum::{
    Json,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use memory_engine_tool_backends::{ItemQuery, ItemStore, ItemWrite, NamespaceQuery, StoreItem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::state::{ToolsState, UserMemory, UserQuery};
use crate::{
    access::Access,
    fault::Fault,
    headers::UserHeader,
    openapi::{ApiOperation, Routes, table},
    request::{UrlQuery, parse_body},
};

pub(super) fn routes() -> Routes<Arc<ToolsState>> {
    let operation = |id, summary| ApiOperation::new(id, summary).headers::<UserHeader>();
    let put = operation("putItem", "Writes an item, in place of an earlier one with the same namespace and key.");
    let put = put.query::<UserQuery>().body::<NewItem>().status("204", "The item is written.");
    let put = put.response::<WaitingItem>("202", "The item waits until a person accepts it.", "application/json");
    let delete = operation("deleteItem", "Deletes an item for good.").query::<UserQuery>();
    let delete = delete.body::<ItemName>().status("204", "The item is deleted, or missing.");
    let routes = Routes::new("items", "LangGraph's store on the memory of a user.");
    table! {
        routes.put("/store/items", put_item, put).delete("/store/items", delete_item, delete);
        get "/store/items" => get_item, "getItem",
            "Returns an item.", headers UserHeader, query ItemAddress => ItemAnswer;
        post "/store/items/search" => search_items, "searchItems",
            "Searches items: best first with a query, else those written last first.",
            headers UserHeader, query UserQuery, body Search => Items;
        post "/store/namespaces" => list_namespaces, "listNamespaces",
            "Lists the namespaces of all items.", headers UserHeader, query UserQuery,
            body NamespaceSearch => Namespaces;
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewItem {
    namespace: Vec<String>,
    key: String,
    value: Map<String, Value>,
    /// The fields whose texts are searched; `false` for none. Default: all.
    #[serde(default)]
    index: Option<Index>,
    /// Not supported: an item is kept until it is deleted.
    #[serde(default)]
    ttl: Option<f64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Index {
    Fields(Vec<String>),
    Off(bool),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ItemAddress {
    /// The labels, with full stops between them.
    namespace: String,
    key: String,
    /// The user. Default: the only user of the key, or the user of the configuration.
    #[serde(default)]
    user_id: String,
    /// Accepted and ignored: an item is kept until it is deleted.
    #[serde(default)]
    #[expect(dead_code, reason = "accepted and ignored")]
    refresh_ttl: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ItemName {
    #[serde(default)]
    namespace: Vec<String>,
    key: String,
}

/// A search, as `langgraph_sdk` sends it. A misspelt field is refused: without its condition, all items would match.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ItemSearch")]
struct Search {
    namespace_prefix: Option<Vec<String>>,
    filter: Option<Map<String, Value>>,
    query: Option<String>,
    #[schemars(range(max = ItemQuery::MAX_LIMIT))]
    limit: Option<usize>,
    offset: Option<usize>,
    /// Accepted and ignored: an item is kept until it is deleted.
    #[expect(dead_code, reason = "accepted and ignored")]
    refresh_ttl: Option<bool>,
}

/// A list of namespaces, as `langgraph_sdk` asks for it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NamespaceSearch {
    prefix: Option<Vec<String>>,
    suffix: Option<Vec<String>>,
    max_depth: Option<usize>,
    #[schemars(range(max = ItemQuery::MAX_LIMIT))]
    limit: Option<usize>,
    offset: Option<usize>,
}

impl From<Search> for ItemQuery {
    fn from(search: Search) -> Self {
        let usual = Self::default();
        Self {
            namespace_prefix: search.namespace_prefix.unwrap_or_default(),
            filter: search.filter,
            limit: search.limit.unwrap_or(usual.limit),
            offset: search.offset.unwrap_or(usual.offset),
            query: search.query,
        }
    }
}

impl From<NamespaceSearch> for NamespaceQuery {
    fn from(search: NamespaceSearch) -> Self {
        let usual = Self::default();
        Self {
            prefix: search.prefix,
            suffix: search.suffix,
            max_depth: search.max_depth,
            limit: search.limit.unwrap_or(usual.limit),
            offset: search.offset.unwrap_or(usual.offset),
        }
    }
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes an answer")]
struct ItemAnswer {
    namespace: Vec<String>,
    key: String,
    value: Map<String, Value>,
    created_at: String,
    updated_at: String,
    /// The score of a search with a query, comparable within the search only.
    score: Option<f64>,
}

/// The answer to an item that waits for a review.
#[derive(Serialize, JsonSchema)]
struct WaitingItem {
    message: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct Items {
    #[schemars(with = "Vec<ItemAnswer>")]
    items: Vec<StoreItem>,
}

#[derive(Serialize, JsonSchema)]
struct Namespaces {
    namespaces: Vec<Vec<String>>,
}

impl UserMemory {
    fn items(&self) -> ItemStore {
        ItemStore::new(self.engine.clone(), self.scope.clone())
    }
}

async fn put_item(memory: UserMemory, body: Bytes) -> Result<Response, Fault> {
    let item: NewItem = parse_body(&body, "namespace, key and value")?;
    if item.ttl.is_some() {
        return Err(Fault::bad_request("ttl is not supported; delete the item when it is not needed any more"));
    }
    let indexed = match item.index {
        None | Some(Index::Off(true)) => None,
        Some(Index::Off(false)) => Some(Vec::new()),
        Some(Index::Fields(fields)) => Some(fields),
    };
    Ok(match memory.items().put(&item.namespace, &item.key, &item.value, indexed.as_deref()).await? {
        ItemWrite::Done => StatusCode::NO_CONTENT.into_response(),
        ItemWrite::Waiting => {
            let message = "the item waits until a person accepts it; until then the earlier one stays";
            (StatusCode::ACCEPTED, Json(WaitingItem { message })).into_response()
        }
    })
}

async fn get_item(
    State(tools): State<Arc<ToolsState>>,
    access: Access,
    UrlQuery(address): UrlQuery<ItemAddress>,
    headers: HeaderMap,
) -> Result<Json<StoreItem>, Fault> {
    let scope = tools.scope(&access, &headers, &UserQuery { user_id: address.user_id })?;
    let namespace: Vec<String> = address.namespace.split('.').map(str::to_owned).collect();
    let item = ItemStore::new(tools.engine.clone(), scope).get(&namespace, &address.key).await?;
    item.map(Json).ok_or_else(|| Fault::not_found("there is no item with this namespace and key"))
}

async fn delete_item(memory: UserMemory, body: Bytes) -> Result<StatusCode, Fault> {
    let name: ItemName = parse_body(&body, "namespace and key")?;
    memory.items().delete(&name.namespace, &name.key).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn search_items(memory: UserMemory, body: Bytes) -> Result<Json<Items>, Fault> {
    let search: Search = parse_body(&body, "namespace_prefix, filter, query, limit and offset")?;
    let search = ItemQuery::from(search);
    // Without a query it is a list.
    if search.query.as_deref().is_none_or(|query| query.trim().is_empty()) {
        memory.engine.audit().log_export(&memory.scope, "items.search").await?;
    }
    let items = memory.items().search(&search).await?;
    Ok(Json(Items { items }))
}

async fn list_namespaces(memory: UserMemory, body: Bytes) -> Result<Json<Namespaces>, Fault> {
    let list: NamespaceSearch = parse_body(&body, "prefix, suffix, max_depth, limit and offset")?;
    let namespaces = memory.items().namespaces(&list.into()).await?;
    Ok(Json(Namespaces { namespaces }))
}
