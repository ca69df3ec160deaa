//! The owner that a request of the inspector names, and its other parameters.

use axum::{
    extract::FromRequestParts,
    http::{Uri, request::Parts},
};
use memory_engine::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    access::Access,
    fault::Fault,
    request::{OwnerNames, OwnerParams as _, parse_query},
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

/// No parameters besides the owner.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoParams {}

/// `P` must have `#[serde(deny_unknown_fields)]`: a mistyped `user_id` must not reach the memories of all users.
impl<S: Send + Sync, P: DeserializeOwned> FromRequestParts<S> for Scoped<P> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let access = <Access as FromRequestParts<S>>::from_request_parts(parts, state).await?;
        let names: OwnerNames = parse_query(&with_pairs(&parts.uri, is_of_owner)?)?;
        let scope = access.scope(&names.owner())?;
        let params = parse_query(&with_pairs(&parts.uri, |pair| !is_of_owner(pair))?)?;
        Ok(Self { scope, access, params })
    }
}

/// Returns true for a parameter that names the owner.
fn is_of_owner(pair: &str) -> bool {
    OWNER_NAMES.contains(&pair.split('=').next().unwrap_or_default())
}

/// Returns a URL with the selected parameters.
fn with_pairs(uri: &Uri, is_selected: impl Fn(&str) -> bool) -> Result<Uri, Fault> {
    let pairs: Vec<_> = uri.query().unwrap_or_default().split('&').filter(|pair| is_selected(pair)).collect();
    let uri = format!("/?{}", pairs.join("&")).parse();
    uri.map_err(|_| Fault::bad_request("the query of the URL is not valid"))
}
