#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

#[test]
fn a_tenant_key_has_access_to_the_whole_tenant() {
    let access = Access::tenant("ops", "acme").unwrap();
    let tenant = Scope::tenant_wide("acme").unwrap();
    assert_eq!(access.scope(&Owner::default()).unwrap(), tenant);
    assert_eq!(access.scope(&Owner::user("lin")).unwrap(), tenant.clone().with_user("lin").unwrap());
    assert_eq!(access.scopes().unwrap(), [tenant]);
}

#[test]
fn a_key_of_some_users_has_access_only_to_them() {
    let access = Access::tenant("app", "acme").unwrap().only_users(["lin", "mei"]).unwrap();
    assert_eq!(access.scope(&Owner::user("mei")).unwrap().user_name(), Some("mei"));
    for owner in [Owner::user("eve"), Owner::default(), Owner { agent: Some("kai".into()), ..Owner::default() }] {
        assert_eq!(access.scope(&owner).unwrap_err().kind(), ErrorKind::Unauthorized);
    }
    assert!(access.scopes().unwrap().iter().all(|scope| scope.user_name().is_some()));
}

#[test]
fn a_key_of_one_user_implies_that_user() {
    let access = Access::tenant("app", "acme").unwrap().only_users(["lin"]).unwrap();
    let scope = access.scope(&Owner { session: Some("monday".into()), ..Owner::default() }).unwrap();
    assert_eq!((scope.user_name(), scope.session()), (Some("lin"), Some("monday")));
}

#[test]
fn an_empty_list_of_users_is_refused() {
    let no_users: [&str; 0] = [];
    assert_eq!(
        Access::tenant("app", "acme").unwrap().only_users(no_users).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
}
