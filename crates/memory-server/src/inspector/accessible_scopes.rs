//! The scopes of a request that may cover several users.

use axum::{extract::FromRequestParts, http::request::Parts};
use memory_engine::Scope;

use crate::{
    access::Access,
    fault::Fault,
    request::{OwnerNames, OwnerParams as _, parse_query},
};

/// The scope of the owner that a request names; without a name, all scopes that its key may access. A key of several
/// users may so ask for the sums of its users.
#[derive(Debug)]
pub(super) struct AccessibleScopes {
    pub(super) scopes: Vec<Scope>,
    /// True if the key may access all users of its tenant.
    pub(super) is_for_all_users: bool,
    /// True if the key may read the figures of the process.
    pub(super) reads_process: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for AccessibleScopes {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let access = <Access as FromRequestParts<S>>::from_request_parts(parts, state).await?;
        // A mistyped name, which would lead to the figures of all users, is refused.
        let owner = parse_query::<OwnerNames>(&parts.uri)?.owner();
        let scopes = if owner.is_empty() { access.scopes()? } else { vec![access.scope(&owner)?] };
        Ok(Self { scopes, is_for_all_users: access.is_for_all_users(), reads_process: access.reads_process() })
    }
}
