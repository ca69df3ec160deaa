#![allow(clippy::unwrap_used, reason = "a test may panic")]

use memory_engine::ErrorKind;

use super::*;

fn from(uri: &str, headers: &[(&'static str, &[u8])]) -> Result<Owner, Fault> {
    let headers = headers.iter().map(|(name, value)| {
        (name.parse::<axum::http::HeaderName>().unwrap(), axum::http::HeaderValue::from_bytes(value).unwrap())
    });
    named_owner(&uri.parse().unwrap(), &headers.collect())
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
