#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

#[test]
fn the_least_recently_updated_sessions_are_evicted_first() {
    let sessions = SessionCache::new(4);
    let address = |i: u32| Scope::user("lin").unwrap().with_session(format!("s{i}")).unwrap();
    for i in 0..4 {
        sessions.set_last_turn(&address(i), LastTurn { round: i, key: None });
    }
    sessions.set_last_turn(&address(0), LastTurn { round: 9, key: None });
    sessions.set_last_turn(&address(4), LastTurn { round: 4, key: None });
    assert_eq!(sessions.last_turn(&address(0)).unwrap().round, 9);
    assert_eq!((sessions.last_turn(&address(1)), sessions.last_turn(&address(2)).is_some()), (None, true));
    assert!(sessions.last_turn(&address(4)).is_some());
}
