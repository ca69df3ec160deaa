//! The caller of a request: its access and the owner that it names.

use axum::{
    extract::Query,
    http::{HeaderMap, Uri},
};
use memory_engine::{Result, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    access::{Access, Owner},
    fault::Fault,
    headers::header_text,
};

/// The session argument that stands for all conversations.
const ALL_SESSIONS: &str = "*";

/// The access of a request, and the owner that its URL and headers name. Tool arguments take precedence over that
/// owner.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) access: Access,
    pub(crate) owner: Owner,
}

/// The owner in the query of the URL. Unknown names are refused: a mistyped `user_id` must not reach the memory of all
/// users.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct OwnerQuery {
    /// The user. The header `X-User-Id` takes precedence.
    user_id: String,
    /// The agent. The header `X-Agent-Id` takes precedence.
    agent_id: String,
    /// The conversation, also called `run_id`. The header `X-Session-Id` takes precedence.
    #[serde(alias = "run_id")]
    session_id: String,
    /// The branch of the conversation. The header `X-Branch` takes precedence.
    branch: String,
}

impl Caller {
    /// The scope of what a tool's arguments name; an empty name leaves what the address says. What lies below a name
    /// that changes goes with it: the conversation of one user is none of another's.
    ///
    /// # Errors
    /// As [`Access::scope`].
    pub(crate) fn scope(&self, user: &str, session: &str) -> Result<Scope> {
        let mut owner = self.of_user(user);
        let session = session.trim();
        if session == ALL_SESSIONS {
            owner.session = None;
            owner.branch = None;
        } else if !session.is_empty() && owner.session.as_deref() != Some(session) {
            owner.session = Some(session.to_owned());
            owner.branch = None;
        }
        self.access.scope(&owner)
    }

    /// Returns the scope of all memories of a user, in every conversation, for lookups by id.
    ///
    /// # Errors
    /// As [`Access::scope`].
    pub(crate) fn person(&self, user: &str) -> Result<Scope> {
        self.access.scope(&Owner { session: None, branch: None, ..self.of_user(user) })
    }

    fn of_user(&self, user: &str) -> Owner {
        let user = user.trim();
        if user.is_empty() || self.owner.user.as_deref() == Some(user) {
            return self.owner.clone();
        }
        Owner { agent: self.owner.agent.clone(), ..Owner::user(user) }
    }
}

/// Returns the owner that headers and URL name.
pub(super) fn named_owner(uri: &Uri, headers: &HeaderMap) -> Result<Owner, Fault> {
    let Query(query) = Query::<OwnerQuery>::try_from_uri(uri).map_err(|e| {
        Fault::bad_request(format!("{}; a URL names user_id, agent_id, session_id, branch", e.body_text()))
    })?;
    let name = |in_url: String, header: &str| {
        let in_url = Some(in_url.trim().to_owned()).filter(|name| !name.is_empty());
        Ok::<_, Fault>(header_text(headers, header)?.or(in_url))
    };
    Ok(Owner {
        user: name(query.user_id, "x-user-id")?,
        agent: name(query.agent_id, "x-agent-id")?,
        session: name(query.session_id, "x-session-id")?,
        branch: name(query.branch, "x-branch")?,
    })
}

#[cfg(test)]
mod tests;
