#![allow(clippy::unwrap_used, reason = "a test may panic")]

use memory_engine::ErrorKind;

use super::*;

fn owner_from(uri: &str, headers: &[(&'static str, &[u8])]) -> Result<Owner, Fault> {
    let headers = headers.iter().map(|(name, value)| {
        (name.parse::<axum::http::HeaderName>().unwrap(), axum::http::HeaderValue::from_bytes(value).unwrap())
    });
    named_owner(&uri.parse().unwrap(), &headers.collect())
}

#[test]
fn headers_take_precedence_over_the_url() {
    let uri = "/mcp?user_id=%E6%9E%97&session_id=friday";
    let headers: [(_, &[u8]); 3] =
        [("x-user-id", b" "), ("x-session-id", "周一".as_bytes()), ("x-agent-id", b"%E5%87%AF 100%")];
    let owner = owner_from(uri, &headers).unwrap();
    assert_eq!((owner.user.as_deref(), owner.session.as_deref()), (Some("林"), Some("周一")));
    assert_eq!((owner.agent.as_deref(), owner.branch), (Some("凯 100%"), None));
    assert_eq!(owner_from("/mcp?run_id=r1", &[]).unwrap().session.as_deref(), Some("r1"));
}

#[test]
fn refuses_unknown_and_non_text_names() {
    assert!(owner_from("/mcp?userid=lin", &[]).unwrap_err().message().contains("user_id"));
    assert!(owner_from("/mcp", &[("x-user-id", b"\xff\xfe")]).is_err());
}

#[test]
fn session_is_dropped_for_another_user() {
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
    assert_eq!(caller.user_scope("").unwrap().session(), None);
}

#[test]
fn arguments_cannot_exceed_the_key() {
    let access = Access::tenant("app", "acme").unwrap().only_users(["lin"]).unwrap();
    let caller = Caller { access, owner: Owner::default() };
    assert_eq!(caller.scope("", "*").unwrap().user_name(), Some("lin"));
    assert_eq!(caller.scope("mei", "").unwrap_err().kind(), ErrorKind::Unauthorized);
    assert_eq!(caller.user_scope("mei").unwrap_err().kind(), ErrorKind::Unauthorized);
}
