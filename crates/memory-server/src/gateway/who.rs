//! Whose conversation a request belongs to.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use memory_engine::{Result, Scope};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode, utf8_percent_encode};

use super::thread::Thread;
use crate::{Access, Owner, fault::Fault};

const SESSION: HeaderName = HeaderName::from_static("x-session-id");
const USER: HeaderName = HeaderName::from_static("x-user-id");
const AGENT: HeaderName = HeaderName::from_static("x-agent-id");
/// What a header cannot hold, and what would be read otherwise.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%').add(b',');

/// Whose conversation a request belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Who {
    /// What is recalled: everything of the user, with this agent where one is named, from all sessions.
    pub(super) reach: Scope,
    /// Where the turn is stored.
    pub(super) address: Scope,
}

impl Who {
    /// The owner that the request names: in a header, else in its path, else in its body. A user that nobody names is the
    /// key's only one, or else `user`; a session that nobody names follows from the first words of the conversation.
    ///
    /// # Errors
    /// As [`Access::scope`]; a header that is not UTF-8.
    pub(super) fn of(
        access: &Access,
        (headers, path, body): (&HeaderMap, &BTreeMap<String, String>, &Owner),
        user: &str,
        thread: &Thread,
    ) -> Result<Self, Fault> {
        let named = |header: &HeaderName, segment: &str, inside: &Option<String>| {
            let header = decoded(headers, header)?;
            let path = || path.get(segment).map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
            Ok::<_, Fault>(header.or_else(path).or_else(|| inside.clone()))
        };
        // A key for several users has to be told which: that is for the access to say.
        let by_default = access.is_for_all_users().then(|| user.to_owned());
        let owner = Owner {
            user: named(&USER, "user", &body.user)?.or(by_default),
            agent: named(&AGENT, "agent", &body.agent)?,
            ..Owner::default()
        };
        let session = named(&SESSION, "session", &body.session)?.unwrap_or_else(|| thread.derived_session());
        let reach = access.scope(&owner)?;
        let address = access.scope(&Owner { session: Some(session), ..owner })?;
        Ok(Self { reach, address })
    }

    /// The session, for a header.
    pub(super) fn session(&self) -> Option<HeaderValue> {
        escaped(self.address.session()?)
    }
}

/// A text as a header holds it: whatever is not plain ASCII is percent-encoded.
pub(super) fn escaped(text: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(utf8_percent_encode(text, ESCAPED).to_string()).ok()
}

/// The name in a header; one that is empty, as a template without its value is, counts as none.
fn decoded(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Fault> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let invalid = |_| Fault::new(StatusCode::BAD_REQUEST, format!("{name} is not UTF-8; percent-encode it"));
    let text = percent_decode(value.as_bytes()).decode_utf8().map_err(invalid)?;
    Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn who(
        access: &Access,
        headers: &[(&'static str, &str)],
        path: &[(&str, &str)],
        body: Owner,
    ) -> Result<Who, Fault> {
        let header = |(name, value): &(&'static str, &str)| {
            (name.parse().unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap())
        };
        let headers: HeaderMap = headers.iter().map(header).collect();
        let path = path.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Who::of(access, (&headers, &path, &body), "default", &Thread::default())
    }

    fn everybody() -> Access {
        Access::tenant("one", "acme").unwrap()
    }

    #[test]
    fn a_header_counts_before_the_path_and_the_path_before_the_body() {
        let body = Owner { session: Some("body".into()), agent: Some("kai".into()), ..Owner::user("mei") };
        let found =
            who(&everybody(), &[("x-session-id", "header")], &[("user", "lin"), ("session", "path")], body).unwrap();
        let scope = found.address;
        assert_eq!((scope.user_name(), scope.agent(), scope.session()), (Some("lin"), Some("kai"), Some("header")));
        assert_eq!((found.reach.session(), found.reach.agent()), (None, Some("kai")));
    }

    #[test]
    fn names_in_headers_may_be_of_any_script_encoded_or_not() {
        for (sent, read) in [("%E5%B0%8F%E9%9B%A8", "小雨"), ("小雨", "小雨"), ("100%", "100%"), (" a b ", "a b")]
        {
            let found = who(&everybody(), &[("x-session-id", sent)], &[], Owner::default()).unwrap();
            assert_eq!(found.address.session(), Some(read));
        }
        assert_eq!(escaped("小雨 1"), Some(HeaderValue::from_static("%E5%B0%8F%E9%9B%A8 1")));
    }

    #[test]
    fn who_is_not_named_is_never_everybody() {
        let found = who(&everybody(), &[("x-session-id", "")], &[], Owner::default()).unwrap();
        assert_eq!(found.reach.user_name(), Some("default"));
        assert!(found.address.session().unwrap().starts_with("auto-"));
        let bound = everybody().only_users(["lin"]).unwrap();
        assert_eq!(who(&bound, &[], &[], Owner::default()).unwrap().reach.user_name(), Some("lin"));
        let two = everybody().only_users(["lin", "mei"]).unwrap();
        assert!(who(&two, &[], &[], Owner::default()).is_err());
        assert!(who(&two, &[("x-user-id", "eve")], &[], Owner::default()).is_err());
        assert!(who(&bound, &[], &[], Owner::user("eve")).is_err());
    }
}
