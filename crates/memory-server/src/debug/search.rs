//! Recalls memories of a session, and explains each hit.

use axum::{Json, extract::State};
use memory_engine::MemoryEngine;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    search_report::{self, SearchParams, SearchReport},
    session::Session,
};
use crate::{
    fault::Fault,
    request::{Body, NoParams},
};

/// The hits of a query, and how they were found.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionSearchReport")]
pub(super) struct SessionReport {
    session_id: String,
    #[serde(flatten)]
    report: SearchReport,
}

pub(super) async fn by_url(
    State(engine): State<MemoryEngine>,
    session: Session<SearchParams>,
) -> Result<Json<SessionReport>, Fault> {
    let Session { scope, id, params } = session;
    search(&engine, Session { scope, id, params: NoParams {} }, params).await
}

pub(super) async fn by_body(
    State(engine): State<MemoryEngine>,
    session: Session,
    Body(params): Body<SearchParams>,
) -> Result<Json<SessionReport>, Fault> {
    search(&engine, session, params).await
}

async fn search(engine: &MemoryEngine, session: Session, params: SearchParams) -> Result<Json<SessionReport>, Fault> {
    let report = search_report::search(engine, &session.scope, params).await?;
    Ok(Json(SessionReport { session_id: session.id, report }))
}
