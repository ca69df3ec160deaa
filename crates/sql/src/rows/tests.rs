use super::*;

#[test]
fn scope_is_built_from_its_names() {
    let built = scope(["t", "lin", "", "monday", ""]).unwrap();
    assert_eq!((built.tenant(), built.user_name(), built.session()), ("t", Some("lin"), Some("monday")));
    assert_eq!(dimensions_below_user(&built), [("session", "monday".to_owned())]);
    assert_eq!(scope(["", "", "", "", ""]).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn a_dead_letter_has_no_next_attempt() {
    assert_eq!((retry_at(LEASE_DEAD), leased_until(None)), (None, LEASE_DEAD));
    let time = Timestamp::from_micros(7);
    assert_eq!((retry_at(7), leased_until(Some(time))), (Some(time), 7));
}
