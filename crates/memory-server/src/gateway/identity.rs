//! The owner of the conversation that a request belongs to.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use memory_engine::Scope;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::thread::Thread;
use crate::{
    access::{Access, Owner},
    fault::Fault,
    headers::header_text,
};

const SESSION: HeaderName = HeaderName::from_static("x-session-id");
const USER: HeaderName = HeaderName::from_static("x-user-id");
const AGENT: HeaderName = HeaderName::from_static("x-agent-id");
/// Characters that are percent-encoded in headers, in addition to non-ASCII ones.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%').add(b',');

/// The owner of the conversation that a request belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    /// The scope of recall: all sessions of the user, with this agent where one is named.
    pub(super) recall_scope: Scope,
    /// The scope at which the turn is stored.
    pub(super) address: Scope,
    /// True if neither the request nor what it continues names the session.
    pub(super) is_derived: bool,
}

impl Identity {
    /// Adds the session that the request names to the owner. Without one it is that of the conversation that the
    /// request continues, or else derived from the first words of the conversation.
    ///
    /// # Errors
    /// Those of [`Access::scope`]; 400 for a header that is not UTF-8.
    pub(super) fn resolve(
        access: &Access,
        names: &OwnerSources<'_>,
        owner: Owner,
        continued_session: Option<&str>,
        thread: &Thread,
    ) -> Result<Self, Fault> {
        let session = names.find(&SESSION, "session", &names.body.session)?;
        let session = session.or_else(|| continued_session.map(str::to_owned));
        let is_derived = session.is_none();
        let session = session.unwrap_or_else(|| thread.derived_session());
        let recall_scope = access.scope(&owner)?;
        let address = access.scope(&Owner { session: Some(session), ..owner })?;
        Ok(Self { recall_scope, address, is_derived })
    }

    /// Returns the session as a header value.
    pub(super) fn session(&self) -> Option<HeaderValue> {
        escaped(self.address.session()?)
    }
}

/// The places of a request that can name its owner. A header takes precedence over the path, and the path over the
/// body.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnerSources<'r> {
    pub(super) headers: &'r HeaderMap,
    pub(super) path: &'r BTreeMap<String, String>,
    pub(super) body: &'r Owner,
}

impl OwnerSources<'_> {
    /// Returns the user and the agent that the request names. Without a user it is the only user of the key, or else
    /// `default_user`.
    ///
    /// # Errors
    /// 400 for a header that is not UTF-8.
    pub(super) fn user_and_agent(&self, access: &Access, default_user: &str) -> Result<Owner, Fault> {
        // For a key of several users, `Access` reports that the user is missing.
        let default_user = access.is_for_all_users().then(|| default_user.to_owned());
        Ok(Owner {
            user: self.find(&USER, "user", &self.body.user)?.or(default_user),
            agent: self.find(&AGENT, "agent", &self.body.agent)?,
            ..Owner::default()
        })
    }

    /// Returns the name from the first of header, path and body that contains one.
    fn find(&self, header: &HeaderName, segment: &str, in_body: &Option<String>) -> Result<Option<String>, Fault> {
        let in_header = header_text(self.headers, header.as_str())?;
        // A blank user is refused, because it would stand for the default user. A blank session counts as missing.
        let is_named = |name: &String| !name.is_empty() || *header == USER;
        let in_path = || self.path.get(segment).map(|name| name.trim().to_owned()).filter(is_named);
        Ok(in_header.or_else(in_path).or_else(|| in_body.clone()))
    }
}

/// Percent-encodes what is not printable ASCII, for a header.
pub(super) fn escaped(text: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(utf8_percent_encode(text, ESCAPED).to_string()).ok()
}

#[cfg(test)]
mod tests;
