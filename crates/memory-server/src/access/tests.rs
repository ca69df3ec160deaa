#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

#[test]
fn a_key_of_a_tenant_reaches_all_its_users_and_nobody_else() {
    let access = Access::tenant("ops", "acme").unwrap();
    let everything = Scope::tenant_wide("acme").unwrap();
    assert_eq!(access.scope(&Owner::default()).unwrap(), everything);
    assert_eq!(access.scope(&Owner::user("lin")).unwrap(), everything.clone().with_user("lin").unwrap());
    assert_eq!(access.scopes().unwrap(), [everything]);
}

#[test]
fn a_key_of_some_users_reaches_only_them() {
    let access = Access::tenant("app", "acme").unwrap().only_users(["lin", "mei"]).unwrap();
    assert_eq!(access.scope(&Owner::user("mei")).unwrap().user_name(), Some("mei"));
    for owner in [Owner::user("eve"), Owner::default(), Owner { agent: Some("kai".into()), ..Owner::default() }] {
        assert_eq!(access.scope(&owner).unwrap_err().kind(), ErrorKind::Unauthorized);
    }
    assert!(access.scopes().unwrap().iter().all(|scope| scope.user_name().is_some()));
}

#[test]
fn who_is_bound_to_one_user_need_not_name_them() {
    let access = Access::tenant("app", "acme").unwrap().only_users(["lin"]).unwrap();
    let scope = access.scope(&Owner { session: Some("monday".into()), ..Owner::default() }).unwrap();
    assert_eq!((scope.user_name(), scope.session()), (Some("lin"), Some("monday")));
}

#[test]
fn a_key_of_no_users_is_refused() {
    let nobody: [&str; 0] = [];
    assert_eq!(Access::tenant("app", "acme").unwrap().only_users(nobody).unwrap_err().kind(), ErrorKind::InvalidInput);
}
