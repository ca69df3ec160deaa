//! Response bodies that several routes share.

use axum::{
    Json,
    http::StatusCode,
    routing::{MethodRouter, any},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{error::Mem0Error, service::Mem0};
use crate::fault::Fault;

/// The text for a new memory that waits for a review.
pub(super) const MEMORY_WAITS: &str = "The memory waits until a person accepts it; searches do not find it before.";
/// The text for a change that waits for a review.
pub(super) const CHANGE_WAITS: &str =
    "The change waits until a person accepts it; the memory stays as it is until then.";

/// The result of a handler.
pub(super) type Mem0Response<T> = Result<Json<T>, Mem0Error>;

/// A confirmation.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Message")]
pub(super) struct Confirmation {
    message: String,
}

/// A list in an object.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Results<T> {
    pub(super) results: Vec<T>,
}

/// A list that old clients expect as an array, and new ones in an object.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum ListOrObject<T, O> {
    List(Vec<T>),
    Object(O),
}

pub(super) fn message(message: impl Into<String>) -> Mem0Response<Confirmation> {
    Ok(Json(Confirmation { message: message.into() }))
}

/// Refuses every method of a route that this server does not offer.
pub(super) fn not_served() -> MethodRouter<Mem0> {
    any(refuse)
}

pub(super) async fn refuse() -> Mem0Error {
    let message = "Not implemented: this server does not have this route of mem0. \
        It is configured by its own settings, and calls no webhooks.";
    Fault::new(StatusCode::NOT_IMPLEMENTED, message).into()
}
