//! The scopes of a request that may cover several users.

use axum::{
    extract::{FromRequestParts, Query},
    http::request::Parts,
};
use memory_engine::Scope;

use super::query::OwnerQuery;
use crate::{
    access::{Access, Owner},
    fault::Fault,
};

/// The scope of the owner that a request names; without a name, all scopes that its key may access. A key of several
/// users may so ask for the sums of its users.
#[derive(Debug)]
pub(super) struct Reach {
    pub(super) scopes: Vec<Scope>,
    /// True if the key may access all users of its tenant. Only then figures of the process are shown.
    pub(super) is_for_all_users: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for Reach {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let access = <Access as FromRequestParts<S>>::from_request_parts(parts, state).await?;
        let Query(owner) = Query::<OwnerQuery>::try_from_uri(&parts.uri).map_err(|e| {
            Fault::bad_request(format!("{}; the owner has user_id, agent_id, session_id", e.body_text()))
        })?;
        let owner = Owner::from(owner);
        let scopes = if owner.is_empty() { access.scopes()? } else { vec![access.scope(&owner)?] };
        Ok(Self { scopes, is_for_all_users: access.is_for_all_users() })
    }
}
