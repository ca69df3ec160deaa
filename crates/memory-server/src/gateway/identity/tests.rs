#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn who(
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
    Identity::resolve(access, &names, "default", &Thread::default())
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
    for (sent, read) in [("%E5%B0%8F%E9%9B%A8", "小雨"), ("小雨", "小雨"), ("100%", "100%"), (" a b ", "a b")] {
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
