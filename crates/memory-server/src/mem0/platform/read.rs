//! Lists and searches of mem0's platform, in its three versions.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, Uri},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    access::Access,
    config::IncludedTurns,
    mem0::{
        condition::FilterCondition,
        error::Mem0Error,
        messages::Dialogue,
        owner::{MemoryOwner, OwnerParams},
        page::{ListPage, PageOf, PageParams},
        params::{Body, Mem0Api, ParamGroup, QueryParams, StrictQuery, request},
        responses::{ListOrObject, Mem0Response, Results},
        row::MemoryRow,
        search::SearchParams,
        selection::{FieldsParam, FormatParam, SelectionParams, VisibilityParams, one_filter},
        service::Mem0,
    },
};

pub(super) const API: Mem0Api = Mem0Api::Platform;
/// Default number of memories in a search.
const DEFAULT_LIMIT: usize = 10;

/// A list of memories, or a page of it.
pub(super) type MemoryPage = ListOrObject<MemoryRow, PageOf<MemoryRow>>;
/// A list of memories, bare or in an object.
pub(super) type MemoryHits = ListOrObject<MemoryRow, Results<MemoryRow>>;

request! {
    /// A list, with the page in the body for old clients.
    ListRequest {
        owner: OwnerParams,
        selection: SelectionParams,
        visibility: VisibilityParams,
        fields: FieldsParam,
        page: PageParams,
    }
}

request! {
    /// The query of a list of old clients.
    ListQuery { list: ListRequest, keywords: KeywordsParam, _echoed: EchoedParams }
}

request! {
    /// A search.
    SearchRequest {
        owner: OwnerParams,
        search: SearchParams,
        dialogue: Dialogue,
        selection: SelectionParams,
        visibility: VisibilityParams,
        fields: FieldsParam,
        format: FormatParam,
    }
}

/// Parameters that old clients send with every request. They are ignored.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct EchoedParams {
    org_id: Option<Value>,
    project_id: Option<Value>,
    org_name: Option<Value>,
    project_name: Option<Value>,
    version: Option<Value>,
    output_format: Option<Value>,
    async_mode: Option<Value>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct KeywordsParam {
    /// Only memories that contain this text.
    keywords: Option<String>,
}

impl ParamGroup for KeywordsParam {}
impl ParamGroup for EchoedParams {}

pub(super) async fn list_v3(
    State(mem0): State<Mem0>,
    access: Access,
    QueryParams(query): QueryParams<PageParams>,
    headers: HeaderMap,
    Body(request): Body<ListRequest>,
) -> Mem0Response<PageOf<Value>> {
    let page = query.or(request.page).page("/v3/memories/", &headers);
    let owner = request.owner.owner()?;
    let condition = request.selection.condition(&owner, &access, true)?;
    let list = ListInput { owner, condition, visibility: request.visibility, fields: request.fields };
    Ok(Json(mem0.list(&access, list, &page).await?))
}

pub(super) async fn list_v2(
    State(mem0): State<Mem0>,
    access: Access,
    QueryParams(query): QueryParams<PageParams>,
    headers: HeaderMap,
    Body(request): Body<ListRequest>,
) -> Mem0Response<ListOrObject<Value, PageOf<Value>>> {
    let page = query.or(request.page).page("/v2/memories/", &headers);
    let owner = request.owner.owner()?;
    let condition = request.selection.condition(&owner, &access, false)?;
    let list = ListInput { owner, condition, visibility: request.visibility, fields: request.fields };
    mem0.list_or_page(&access, list, &page).await
}

pub(super) async fn list_v1(
    State(mem0): State<Mem0>,
    access: Access,
    headers: HeaderMap,
    uri: Uri,
    StrictQuery(ListQuery { list: request, keywords, .. }): StrictQuery<ListQuery>,
) -> Mem0Response<ListOrObject<Value, PageOf<Value>>> {
    let page = request.page.page("/v1/memories/", &headers).with_parameters_of(&uri);
    let owner = request.owner.owner()?;
    let mut condition = request.selection.condition(&owner, &access, false)?;
    if let Some(keywords) = keywords.keywords {
        condition = condition.and(one_filter("keywords", keywords.into())?);
    }
    let list = ListInput { owner, condition, visibility: request.visibility, fields: request.fields };
    mem0.list_or_page(&access, list, &page).await
}

/// A checked request for a list.
struct ListInput {
    owner: MemoryOwner,
    condition: FilterCondition,
    visibility: VisibilityParams,
    fields: FieldsParam,
}

impl Mem0 {
    async fn list(&self, access: &Access, list: ListInput, page: &ListPage) -> Result<PageOf<Value>, Mem0Error> {
        let scopes = list.owner.scopes(access)?;
        let areas = self.areas(access, &scopes, list.condition, list.visibility.resolve(IncludedTurns::None)?)?;
        let (records, count) = self.newest(&areas, page.skip(), page.size, true).await?;
        let rows = records.iter().map(|record| list.fields.select(&MemoryRow::new(record, API)));
        Ok(page.with_results(rows.collect(), count))
    }

    /// Returns a page if the request names one, otherwise a bare list, as old clients expect.
    async fn list_or_page(
        &self,
        access: &Access,
        list: ListInput,
        page: &ListPage,
    ) -> Mem0Response<ListOrObject<Value, PageOf<Value>>> {
        let page_of_rows = self.list(access, list, page).await?;
        Ok(Json(match page.is_requested {
            true => ListOrObject::Object(page_of_rows),
            false => ListOrObject::List(page_of_rows.results),
        }))
    }

    /// Searches memories, and returns the requested fields of each hit.
    async fn search_selected(
        &self,
        access: &Access,
        request: SearchRequest,
        requires_filters: bool,
    ) -> Result<Vec<Value>, Mem0Error> {
        let query = request.search.into_query(DEFAULT_LIMIT, request.dialogue)?;
        let owner = request.owner.owner()?;
        let condition = request.selection.condition(&owner, access, requires_filters)?;
        let visibility = request.visibility.resolve(self.include_turns)?;
        let areas = self.areas(access, &owner.scopes(access)?, condition, visibility)?;
        let (_, hits) = self.search(&areas, &query, visibility.turns).await?;
        Ok(hits.iter().map(|hit| request.fields.select(&hit.row(API, &query))).collect())
    }
}

pub(super) async fn search_v3(
    State(mem0): State<Mem0>,
    access: Access,
    Body(request): Body<SearchRequest>,
) -> Mem0Response<Results<Value>> {
    Ok(Json(Results { results: mem0.search_selected(&access, request, true).await? }))
}

pub(super) async fn search_v2(
    State(mem0): State<Mem0>,
    access: Access,
    Body(request): Body<SearchRequest>,
) -> Mem0Response<ListOrObject<Value, Results<Value>>> {
    let is_object = request.format.is_object();
    let results = mem0.search_selected(&access, request, false).await?;
    Ok(Json(if is_object { ListOrObject::Object(Results { results }) } else { ListOrObject::List(results) }))
}

/// Searches as version 2 does, but requires an owner at the top level unless there are filters.
pub(super) async fn search_v1(
    mem0: State<Mem0>,
    access: Access,
    Body(request): Body<SearchRequest>,
) -> Mem0Response<ListOrObject<Value, Results<Value>>> {
    if request.owner.is_empty() && request.selection.filters.is_none() {
        return Err(Mem0Error::bad_request("user_id: Field required"));
    }
    search_v2(mem0, access, Body(request)).await
}
