//! The session of a request, and the parameters of its URL.

use axum::{
    Json,
    extract::{FromRequest, FromRequestParts, Path, Request},
    http::request::Parts,
};
use memory_engine::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    access::{Access, Owner},
    fault::Fault,
    request::{OwnerName as _, parse_query},
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
#[serde(default)]
pub(super) struct SessionOwner {
    /// The user. Default: the only user of the key.
    user_id: String,
    /// The agent.
    agent_id: String,
    /// The branch of the conversation.
    branch: String,
}

/// No parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct NoParams {}

/// The parameters of a route, in addition to the owner.
pub(super) trait Params: DeserializeOwned {
    /// The names of the parameters.
    const NAMES: &'static [&'static str];
}

impl Params for NoParams {
    const NAMES: &'static [&'static str] = &[];
}

impl<S: Send + Sync, T: Params> FromRequestParts<S> for Session<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let access = <Access as FromRequestParts<S>>::from_request_parts(parts, state).await?;
        let path = Path::<SessionPath>::from_request_parts(parts, state).await;
        let Path(SessionPath { session_id }) = path.map_err(|e| Fault::bad_request(e.body_text()))?;
        let pairs: Vec<(String, String)> = parse_query(&parts.uri)?;
        // A mistyped user_id must not reach the memory of all users.
        let known = ["user_id", "agent_id", "branch"].iter().chain(T::NAMES);
        if let Some((name, _)) = pairs.iter().find(|(name, _)| !known.clone().any(|known| known == name)) {
            let known = known.copied().collect::<Vec<_>>().join(", ");
            return Err(Fault::bad_request(format!("unknown parameter {name:?} in the URL; known are {known}")));
        }
        let owner: SessionOwner = parse_query(&parts.uri)?;
        let owner = Owner {
            user: owner.user_id.named(),
            agent: owner.agent_id.named(),
            session: Some(session_id.clone()),
            branch: owner.branch.named(),
        };
        Ok(Self { scope: access.scope(&owner)?, id: session_id, params: parse_query(&parts.uri)? })
    }
}

/// A JSON object that contains only known fields.
pub(super) struct StrictJson<T>(pub(super) T);

impl<S: Send + Sync, T: Params> FromRequest<S> for StrictJson<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Self, Fault> {
        let body = Json::<Map<String, Value>>::from_request(request, state).await;
        let Json(body) = body.map_err(|e| Fault::new(e.status(), e.body_text()))?;
        if let Some(name) = body.keys().find(|name| !T::NAMES.contains(&name.as_str())) {
            let known = T::NAMES.join(", ");
            return Err(Fault::bad_request(format!("unknown field {name:?} in the body; known are {known}")));
        }
        serde_json::from_value(Value::Object(body)).map(Self).map_err(|e| Fault::bad_request(e.to_string()))
    }
}
