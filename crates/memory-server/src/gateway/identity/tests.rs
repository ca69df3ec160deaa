#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn resolve(
    access: &Access,
    headers: &[(&'static str, &str)],
    path: &[(&str, &str)],
    body: Owner,
) -> Result<Identity, Fault> {
    let header = |(name, value): &(&'static str, &str)| {
        (name.parse().unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap())
    };
    let headers: HeaderMap = headers.iter().map(header).collect();
    let path = path.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let names = OwnerSources { headers: &headers, path: &path, body: &body };
    let owner = names.user_and_agent(access, "default")?;
    Identity::resolve(access, &names, owner, None, &Thread::default())
}

fn all_users() -> Access {
    Access::tenant("one", "acme").unwrap()
}

#[test]
fn headers_precede_the_path_and_the_path_the_body() {
    let body = Owner { session: Some("body".into()), agent: Some("kai".into()), ..Owner::user("mei") };
    let found =
        resolve(&all_users(), &[("x-session-id", "header")], &[("user", "lin"), ("session", "path")], body).unwrap();
    let scope = found.address;
    assert_eq!((scope.user_name(), scope.agent(), scope.session()), (Some("lin"), Some("kai"), Some("header")));
    assert_eq!((found.recall_scope.session(), found.recall_scope.agent()), (None, Some("kai")));
}

#[test]
fn header_names_may_be_percent_encoded_or_raw() {
    for (sent, expected) in [("%E5%B0%8F%E9%9B%A8", "小雨"), ("小雨", "小雨"), ("100%", "100%"), (" a b ", "a b")]
    {
        let found = resolve(&all_users(), &[("x-session-id", sent)], &[], Owner::default()).unwrap();
        assert_eq!(found.address.session(), Some(expected));
    }
    assert_eq!(escaped("小雨 1"), Some(HeaderValue::from_static("%E5%B0%8F%E9%9B%A8 1")));
}

#[test]
fn a_request_without_a_user_never_gets_all_users() {
    let found = resolve(&all_users(), &[("x-session-id", "")], &[], Owner::default()).unwrap();
    assert_eq!(found.recall_scope.user_name(), Some("default"));
    assert!(found.address.session().unwrap().starts_with("auto-"));
    let bound = all_users().only_users(["lin"]).unwrap();
    assert_eq!(resolve(&bound, &[], &[], Owner::default()).unwrap().recall_scope.user_name(), Some("lin"));
    let two = all_users().only_users(["lin", "mei"]).unwrap();
    assert!(resolve(&two, &[], &[], Owner::default()).is_err());
    assert!(resolve(&two, &[("x-user-id", "eve")], &[], Owner::default()).is_err());
    assert!(resolve(&bound, &[], &[], Owner::user("eve")).is_err());
}
