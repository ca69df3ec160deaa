//! The owner that a request of the inspector names, and its other parameters.

use axum::{
    extract::{FromRequestParts, Query},
    http::{Uri, request::Parts},
};
use memory_engine::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    access::{Access, Owner},
    fault::Fault,
};

/// The names of the owner's dimensions in the URL.
pub(super) const OWNER_NAMES: [&str; 4] = ["user_id", "agent_id", "session_id", "branch"];

/// The scope of a request, to which its key has access, and the other parameters of the URL.
#[derive(Debug)]
pub(super) struct Scoped<P = NoParams> {
    pub(super) scope: Scope,
    pub(super) access: Access,
    pub(super) params: P,
}

/// The owner in the URL. An empty name counts as missing.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct OwnerQuery {
    /// The user. Default: the only user of the key, or all users of the tenant.
    user_id: String,
    /// The agent.
    agent_id: String,
    /// The conversation.
    session_id: String,
    /// The branch of the conversation.
    branch: String,
}

/// No parameters besides the owner.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoParams {}

/// `P` must have `#[serde(deny_unknown_fields)]`: a mistyped `user_id` must not reach the memories of all users.
impl<S: Send + Sync, P: DeserializeOwned> FromRequestParts<S> for Scoped<P> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let access = <Access as FromRequestParts<S>>::from_request_parts(parts, state).await?;
        let owner: OwnerQuery = parse_query(&parts.uri)?;
        let scope = access.scope(&owner.into())?;
        let params = parse_query(&without_owner(&parts.uri)?)?;
        Ok(Self { scope, access, params })
    }
}

impl From<OwnerQuery> for Owner {
    fn from(query: OwnerQuery) -> Self {
        let [user, agent, session, branch] =
            [query.user_id, query.agent_id, query.session_id, query.branch].map(non_empty);
        Self { user, agent, session, branch }
    }
}

/// Returns a URL with the parameters that do not name the owner.
fn without_owner(uri: &Uri) -> Result<Uri, Fault> {
    let is_owner = |pair: &&str| OWNER_NAMES.contains(&pair.split('=').next().unwrap_or_default());
    let rest: Vec<_> = uri.query().unwrap_or_default().split('&').filter(|pair| !is_owner(pair)).collect();
    let uri = format!("/?{}", rest.join("&")).parse();
    uri.map_err(|_| Fault::bad_request("the query of the URL is not valid"))
}

fn parse_query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Fault> {
    Query::try_from_uri(uri).map(|Query(query)| query).map_err(|e| Fault::bad_request(e.body_text()))
}

fn non_empty(name: String) -> Option<String> {
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}
