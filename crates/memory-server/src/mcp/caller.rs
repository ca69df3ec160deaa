//! Who asks, and whose memory the request names.

use axum::{
    extract::Query,
    http::{HeaderMap, HeaderValue, Uri},
};
use memory_engine::{Result, Scope};
use serde::Deserialize;

use crate::{Access, Owner, fault::Fault};

/// What lifts the conversation that a URL names.
const EVERY: &str = "*";

/// Who asks, and whose memory the address of the request names: what a tool works on unless its arguments say otherwise.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) access: Access,
    pub(crate) owner: Owner,
}

/// The names in a URL. One that is not known is refused: who mistypes `user_id` must not be shown everybody's memory.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Names {
    user_id: String,
    agent_id: String,
    #[serde(alias = "run_id")]
    session_id: String,
    branch: String,
}

impl Caller {
    /// The scope of what a tool's arguments name; an empty name leaves what the address says. What lies below a name that
    /// changes goes with it: the conversation of one user is none of another's.
    ///
    /// # Errors
    /// As [`Access::scope`].
    pub(crate) fn scope(&self, user: &str, session: &str) -> Result<Scope> {
        let mut owner = self.of_user(user);
        let session = session.trim();
        if session == EVERY {
            (owner.session, owner.branch) = (None, None);
        } else if !session.is_empty() && owner.session.as_deref() != Some(session) {
            (owner.session, owner.branch) = (Some(session.to_owned()), None);
        }
        self.access.scope(&owner)
    }

    /// The scope of all that the user has, whatever the conversation: where things are looked up by id.
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

/// Whose memory headers and a URL name. A header counts before the URL.
pub(super) fn named(uri: &Uri, headers: &HeaderMap) -> Result<Owner, Fault> {
    let names = Query::<Names>::try_from_uri(uri);
    let Query(names) = names.map_err(|e| {
        Fault::bad_request(format!("{}; a URL names user_id, agent_id, session_id, branch", e.body_text()))
    })?;
    let name = |in_url: String, header: &str| {
        let in_header = headers.get(header).map(|value| decoded(header, value)).transpose()?;
        let mut names = in_header.into_iter().chain([in_url]).map(|name| name.trim().to_owned());
        Ok::<_, Fault>(names.find(|name| !name.is_empty()))
    };
    Ok(Owner {
        user: name(names.user_id, "x-user-id")?,
        agent: name(names.agent_id, "x-agent-id")?,
        session: name(names.session_id, "x-session-id")?,
        branch: name(names.branch, "x-branch")?,
    })
}

/// A header's value: UTF-8, percent-encoded or as it is.
fn decoded(header: &str, value: &HeaderValue) -> Result<String, Fault> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = |[high, low]: &[u8; 2]| Some(hex(*high)? << 4 | hex(*low)?);
        match tail.first_chunk().and_then(escaped).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes)
        .map_err(|_| Fault::bad_request(format!("the header {header} is no UTF-8; percent-encode it")))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use memory_engine::ErrorKind;

    use super::*;

    fn from(uri: &str, headers: &[(&'static str, &[u8])]) -> Result<Owner, Fault> {
        let headers = headers.iter().map(|(name, value)| {
            (name.parse::<axum::http::HeaderName>().unwrap(), HeaderValue::from_bytes(value).unwrap())
        });
        named(&uri.parse().unwrap(), &headers.collect())
    }

    #[test]
    fn a_header_counts_before_the_url_and_both_may_be_in_any_script() {
        let uri = "/mcp?user_id=%E6%9E%97&session_id=friday";
        let headers: [(_, &[u8]); 3] =
            [("x-user-id", b" "), ("x-session-id", "周一".as_bytes()), ("x-agent-id", b"%E5%87%AF 100%")];
        let owner = from(uri, &headers).unwrap();
        assert_eq!((owner.user.as_deref(), owner.session.as_deref()), (Some("林"), Some("周一")));
        assert_eq!((owner.agent.as_deref(), owner.branch), (Some("凯 100%"), None));
        assert_eq!(from("/mcp?run_id=r1", &[]).unwrap().session.as_deref(), Some("r1"));
    }

    #[test]
    fn a_name_that_is_not_known_or_not_text_is_refused() {
        assert!(from("/mcp?userid=lin", &[]).unwrap_err().message().contains("user_id"));
        assert!(from("/mcp", &[("x-user-id", b"\xff\xfe")]).is_err());
    }

    #[test]
    fn a_conversation_of_one_user_is_none_of_another() {
        let access = Access::tenant("app", "acme").unwrap();
        let owner = Owner { session: Some("monday".into()), branch: Some("b".into()), ..Owner::user("lin") };
        let caller = Caller { access, owner };
        let names = |user: &str, session: &str| {
            let scope = caller.scope(user, session).unwrap();
            [scope.user_name(), scope.session(), scope.branch()].map(|name| name.unwrap_or("-").to_owned()).join(" ")
        };
        assert_eq!(names("", ""), "lin monday b");
        assert_eq!(names("lin", "monday"), "lin monday b");
        assert_eq!(names("mei", ""), "mei - -");
        assert_eq!(names("", "friday"), "lin friday -");
        assert_eq!(names("", "*"), "lin - -");
        assert_eq!(caller.person("").unwrap().session(), None);
    }

    #[test]
    fn arguments_never_reach_beyond_the_key() {
        let access = Access::tenant("app", "acme").unwrap().only_users(["lin"]).unwrap();
        let caller = Caller { access, owner: Owner::default() };
        assert_eq!(caller.scope("", "*").unwrap().user_name(), Some("lin"));
        assert_eq!(caller.scope("mei", "").unwrap_err().kind(), ErrorKind::Unauthorized);
        assert_eq!(caller.person("mei").unwrap_err().kind(), ErrorKind::Unauthorized);
    }
}
