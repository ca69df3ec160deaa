//! The caller of a request: its access and the owner that it names.

use axum::http::{HeaderMap, Uri};
use memory_engine::{Result, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    access::{Access, Owner},
    fault::Fault,
    headers::header_text,
    request::{non_empty, parse_query},
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
pub(super) struct CallerNames {
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
    /// Returns the scope that the arguments of a tool name. An empty argument stands for the name in the URL or header.
    ///
    /// If the user differs, the session and the branch of the URL are dropped, because they belong to another user.
    ///
    /// # Errors
    /// The errors of [`Access::scope`].
    pub(crate) fn scope(&self, user: &str, session: &str) -> Result<Scope> {
        let mut owner = self.owner_of(user);
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

    /// Returns the scope that the URL or the headers name.
    ///
    /// # Errors
    /// The errors of [`Access::scope`].
    pub(super) fn own_scope(&self) -> Result<Scope> {
        self.scope("", "")
    }

    /// Returns the scope of all memories of a user, in every conversation, for lookups by id.
    ///
    /// # Errors
    /// The errors of [`Access::scope`].
    pub(crate) fn user_scope(&self, user: &str) -> Result<Scope> {
        self.access.scope(&Owner { session: None, branch: None, ..self.owner_of(user) })
    }

    /// Returns the owner for this user. The agent stays; the session and the branch stay only for the same user.
    fn owner_of(&self, user: &str) -> Owner {
        let user = user.trim();
        if user.is_empty() || self.owner.user.as_deref() == Some(user) {
            return self.owner.clone();
        }
        Owner { agent: self.owner.agent.clone(), ..Owner::user(user) }
    }
}

/// Returns the owner that headers and URL name.
pub(super) fn named_owner(uri: &Uri, headers: &HeaderMap) -> Result<Owner, Fault> {
    let query: CallerNames = parse_query(uri).map_err(|fault| {
        let message = format!("{}; the URL may contain user_id, agent_id, session_id and branch", fault.message());
        Fault::bad_request(message)
    })?;
    Ok(Owner {
        user: header_or_query(headers, "x-user-id", &query.user_id)?,
        agent: header_or_query(headers, "x-agent-id", &query.agent_id)?,
        session: header_or_query(headers, "x-session-id", &query.session_id)?,
        branch: header_or_query(headers, "x-branch", &query.branch)?,
    })
}

fn header_or_query(headers: &HeaderMap, header: &str, query: &str) -> Result<Option<String>, Fault> {
    Ok(header_text(headers, header)?.or_else(|| non_empty(query).map(str::to_owned)))
}

#[cfg(test)]
mod tests;
