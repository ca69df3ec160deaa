//! The OpenAPI document, and the tables of routes that it is derived from.
#![cfg_attr(
    not(all(feature = "gateway", feature = "mem0", feature = "mcp", feature = "debug")),
    allow(dead_code, reason = "each protocol uses a part of it")
)]

mod document;
pub(crate) mod operation;
mod routes;

use axum::{Router, body::Bytes, routing::get};

pub(crate) use operation::ApiOperation;
pub(crate) use routes::{Routes, Section, table};

/// Returns the route `GET /openapi.json`: the document of these sections. It needs no key and contains no secret.
pub(crate) fn router(sections: &[Section], is_open: bool) -> Router {
    // Serialized once: as text the document takes less memory than as a JSON tree.
    let document = Bytes::from(document::build(sections, is_open).to_string());
    let json = [("content-type", "application/json")];
    Router::new().route("/openapi.json", get(async move || (json, document.clone())))
}

/// Returns the section that describes the document itself.
pub(crate) fn section() -> Section {
    let operation = ApiOperation::new("openapi", "Returns this document: all routes that this server serves.");
    let mut section = Section::new("health", "Liveness and readiness of the server.");
    section.add("get", "/openapi.json", operation.without_key().answer::<serde_json::Map<String, serde_json::Value>>());
    section
}
