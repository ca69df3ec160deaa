//! The owner that a request of the inspector names, and its other parameters.

use axum::{extract::FromRequestParts, http::request::Parts};
use memory_engine::Scope;
use serde::de::DeserializeOwned;

use crate::{
    access::Access,
    fault::Fault,
    request::{NoParams, OwnerNames, OwnerParams as _, parse_owner_query},
};

/// The names of the owner's dimensions in the URL.
const OWNER_NAMES: [&str; 4] = ["user_id", "agent_id", "session_id", "branch"];

/// The scope of a request, to which its key has access, and the other parameters of the URL.
#[derive(Debug)]
pub(super) struct Scoped<P = NoParams> {
    pub(super) scope: Scope,
    pub(super) access: Access,
    pub(super) params: P,
}

impl<S: Send + Sync, P: DeserializeOwned> FromRequestParts<S> for Scoped<P> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let access = <Access as FromRequestParts<S>>::from_request_parts(parts, state).await?;
        let (names, params): (OwnerNames, P) = parse_owner_query(&parts.uri, &OWNER_NAMES)?;
        Ok(Self { scope: access.scope(&names.owner())?, access, params })
    }
}
