//! The identity of a caller, and the memories that it may access.

use std::{collections::BTreeSet, sync::Arc};

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use memory_engine::{Error, ErrorKind, Result, Scope};

use crate::fault::Fault;

/// The name of the part with the route `GET /metrics`, which is the only one for keys that read metrics only.
pub(crate) const METRICS_PART: &str = "metrics";

/// The access of a caller: a tenant, and all or some of its users.
///
/// The scope of every request is derived from it. Names, filters, ids and cursors in a request are resolved within that
/// scope and never widen it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Access(Arc<AccessRange>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct AccessRange {
    name: String,
    tenant: Scope,
    users: Option<BTreeSet<String>>,
    is_for_metrics: bool,
    /// True if the server requires no key.
    is_open: bool,
    /// True if it may read the figures of the whole process.
    reads_process: bool,
}

/// The owner of the memories that a request names, in the dimensions of a [`Scope`]. Unnamed dimensions are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owner {
    /// The user (mem0: `user_id`).
    pub user: Option<String>,
    /// The agent (mem0: `agent_id`).
    pub agent: Option<String>,
    /// The conversation (mem0: `run_id`).
    pub session: Option<String>,
    /// The branch of the conversation.
    pub branch: Option<String>,
}

impl Owner {
    /// Creates an owner that names only the user.
    pub fn user(user: impl Into<String>) -> Self {
        Self { user: Some(user.into()), ..Self::default() }
    }

    /// Returns true if no dimension is named.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Access {
    /// Creates the access to all users of a tenant. The name identifies the key in the log.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid tenant name.
    pub fn tenant(name: impl Into<String>, tenant: impl Into<String>) -> Result<Self> {
        let tenant = Scope::tenant_wide(tenant)?;
        Ok(Self(Arc::new(AccessRange {
            name: name.into(),
            tenant,
            users: None,
            is_for_metrics: false,
            is_open: false,
            reads_process: false,
        })))
    }

    /// Restricts the access to these users, in place of an earlier list.
    ///
    /// # Errors
    /// `InvalidInput` for an empty list or an invalid user name.
    pub fn only_users<U: Into<String>>(self, users: impl IntoIterator<Item = U>) -> Result<Self> {
        let users: BTreeSet<String> = users.into_iter().map(Into::into).collect();
        if users.is_empty() {
            return Err(Error::invalid("access", "the list of users is empty; name at least one user"));
        }
        for user in &users {
            self.0.tenant.clone().with_user(user)?;
        }
        Ok(Self(Arc::new(AccessRange { users: Some(users), ..AccessRange::clone(&self.0) })))
    }

    /// Restricts the access to the metrics of the whole process: every route but `GET /metrics` is refused.
    pub fn only_metrics(self) -> Self {
        Self(Arc::new(AccessRange { is_for_metrics: true, reads_process: true, ..AccessRange::clone(&self.0) }))
    }

    /// Returns the access of every caller of a server that requires no key.
    pub(crate) fn opened(self) -> Self {
        Self(Arc::new(AccessRange { is_open: true, reads_process: true, ..AccessRange::clone(&self.0) }))
    }

    /// Allows to read the figures of the whole process, which count the requests of all tenants. Default: only if all
    /// keys of the server are for one tenant.
    pub fn with_process_figures(self) -> Self {
        Self(Arc::new(AccessRange { reads_process: true, ..AccessRange::clone(&self.0) }))
    }

    /// Returns true if it covers all users of its tenant, and may read the figures of the whole process.
    pub(crate) fn reads_process(&self) -> bool {
        self.is_for_all_users() && self.0.reads_process
    }

    /// Returns the scope of its tenant.
    pub(crate) fn tenant_scope(&self) -> &Scope {
        &self.0.tenant
    }

    /// Returns true if the server requires no key, so that all callers are one.
    #[cfg(any(test, feature = "gateway"))]
    pub(crate) fn is_open(&self) -> bool {
        self.0.is_open
    }

    /// Returns the name of the key, for logs.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns true if it covers all users of its tenant.
    pub fn is_for_all_users(&self) -> bool {
        self.0.users.is_none()
    }

    /// Returns true if it covers no memories, but only the metrics.
    pub fn is_for_metrics(&self) -> bool {
        self.0.is_for_metrics
    }

    /// Returns the scope of a request for this owner. A caller that is bound to one user need not name them.
    ///
    /// # Errors
    /// `Unauthorized` for a user without access, and if the access covers several users and none is named;
    /// `InvalidInput` for an invalid name.
    pub fn scope(&self, owner: &Owner) -> Result<Scope> {
        let mut scope = self.0.tenant.clone();
        if let Some(user) = self.user(owner.user.as_deref())? {
            scope = scope.with_user(user)?;
        }
        if let Some(agent) = &owner.agent {
            scope = scope.with_agent(agent)?;
        }
        if let Some(session) = &owner.session {
            scope = scope.with_session(session)?;
        }
        match &owner.branch {
            Some(branch) => scope.with_branch(branch),
            None => Ok(scope),
        }
    }

    /// Returns all accessible scopes: one for a whole tenant, otherwise one for each user.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid user name.
    pub fn scopes(&self) -> Result<Vec<Scope>> {
        match &self.0.users {
            None => Ok(vec![self.0.tenant.clone()]),
            Some(users) => users.iter().map(|user| self.0.tenant.clone().with_user(user)).collect(),
        }
    }

    /// Returns the user of a request that names this user or none. `None` for the whole tenant.
    fn user<'a>(&'a self, named: Option<&'a str>) -> Result<Option<&'a str>> {
        let refused = |message: &str| Err(Error::new(ErrorKind::Unauthorized, "access", message));
        match (&self.0.users, named) {
            (None, named) => Ok(named),
            (Some(users), Some(named)) if users.contains(named) => Ok(Some(named)),
            // The message does not reveal whether the user exists.
            (Some(_), Some(_)) => refused("this key has no access to that user"),
            (Some(users), None) => match users.first() {
                Some(only) if users.len() == 1 => Ok(Some(only)),
                _ => refused("this key is for several users; name one of them"),
            },
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Access {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Fault> {
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(|| Fault::new(StatusCode::UNAUTHORIZED, "the router has no guard; serve it with Server"))
    }
}

#[cfg(test)]
mod tests;
