//! The session of a request, and the parameters of its URL.

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};
use memory_engine::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    access::{Access, Owner},
    fault::Fault,
    request::{NoParams, OwnerName as _, parse_owner_query},
};

/// The session of a request: its id is in the path and its owner in the query. The key has access to it.
#[derive(Debug)]
pub(super) struct Session<T = NoParams> {
    pub(super) scope: Scope,
    pub(super) id: String,
    /// The other parameters of the URL.
    pub(super) params: T,
}

#[derive(Deserialize)]
struct SessionPath {
    session_id: String,
}

/// The owner of a session. An empty name counts as missing.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SessionOwner {
    /// The user. Default: the only user of the key.
    user_id: String,
    /// The agent.
    agent_id: String,
    /// The branch of the conversation.
    branch: String,
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Session<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let access = <Access as FromRequestParts<S>>::from_request_parts(parts, state).await?;
        let path = Path::<SessionPath>::from_request_parts(parts, state).await;
        let Path(SessionPath { session_id }) = path.map_err(|e| Fault::bad_request(e.body_text()))?;
        let (owner, params): (SessionOwner, T) = parse_owner_query(&parts.uri, &["user_id", "agent_id", "branch"])?;
        let owner = Owner {
            user: owner.user_id.named(),
            agent: owner.agent_id.named(),
            session: Some(session_id.clone()),
            branch: owner.branch.named(),
        };
        Ok(Self { scope: access.scope(&owner)?, id: session_id, params })
    }
}
