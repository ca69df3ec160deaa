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

#[test]
fn each_open_exchange_of_a_session_has_its_prompt() {
    let sessions = SessionCache::new(4);
    let address = Scope::user("lin").unwrap().with_session("s").unwrap();
    let turn = |key: &str, parent: Option<&str>| TurnKey {
        key: key.into(),
        follows: None,
        parent: parent.map(str::to_owned),
        history: Vec::new(),
    };
    let set = |turn: &TurnKey, block: &str| {
        sessions.set_prompt(&address, Some(turn), Arc::new(Prompt { block: block.into(), ..Prompt::default() }));
    };
    let block = |turn: Option<&TurnKey>| sessions.prompt(&address, turn).map(|prompt| prompt.block.clone());
    let (first, second, task) = (turn("a", None), turn("b", Some("a")), turn("t", None));
    assert_eq!(block(Some(&first)), None);
    set(&first, "first");
    set(&task, "of a task");
    assert_eq!((block(Some(&first)), block(Some(&task))), (Some("first".into()), Some("of a task".into())));
    set(&second, "second");
    assert_eq!((block(Some(&second)), block(Some(&task))), (Some("second".into()), Some("of a task".into())));
    // The exchange before it has ended, so that the latest prompt is returned for an unknown turn.
    assert_eq!((block(Some(&first)), block(None)), (Some("second".into()), Some("second".into())));
    for number in 0..=MAX_SESSION_PROMPTS {
        set(&turn(&number.to_string(), None), "of another task");
    }
    assert_eq!(sessions.sessions.lock().peek(&address).unwrap().prompts.len(), MAX_SESSION_PROMPTS);
}
