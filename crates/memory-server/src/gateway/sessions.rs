//! What is kept in mind of conversations that go on.

use std::{collections::BTreeMap, sync::Arc};

use memory_engine::Scope;
use parking_lot::Mutex;

use super::prompt::Prompt;

/// What is kept in mind of conversations that go on. All of it can be had again, or done without.
#[derive(Debug)]
pub(super) struct Sessions {
    all: Mutex<Table>,
    most: usize,
}

#[derive(Debug, Default)]
struct Table {
    sessions: BTreeMap<Scope, Session>,
    /// Counts what is heard, so that it is known who was silent longest.
    heard: u64,
}

#[derive(Debug, Default)]
struct Session {
    heard: u64,
    last: Option<Last>,
    prompt: Option<Arc<Prompt>>,
}

/// The latest turn that is stored of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Last {
    /// Its round; 0 when nothing is stored yet.
    pub(super) round: u32,
    /// Its key, when it came through this gateway.
    pub(super) key: Option<String>,
}

impl Sessions {
    pub(super) fn new(most: usize) -> Self {
        Self { all: Mutex::default(), most: most.max(1) }
    }

    /// The latest turn, when it is known.
    pub(super) fn last(&self, address: &Scope) -> Option<Last> {
        self.all.lock().sessions.get(address).and_then(|session| session.last.clone())
    }

    pub(super) fn set_last(&self, address: &Scope, last: Last) {
        self.change(address, |session| session.last = Some(last));
    }

    /// What was injected for the latest question.
    pub(super) fn prompt(&self, address: &Scope) -> Option<Arc<Prompt>> {
        self.all.lock().sessions.get(address).and_then(|session| session.prompt.clone())
    }

    pub(super) fn set_prompt(&self, address: &Scope, prompt: Arc<Prompt>) {
        self.change(address, |session| session.prompt = Some(prompt));
    }

    fn change(&self, address: &Scope, change: impl FnOnce(&mut Session)) {
        let mut table = self.all.lock();
        table.heard += 1;
        let heard = table.heard;
        if !table.sessions.contains_key(address) && table.sessions.len() >= self.most {
            table.make_room();
        }
        let session = table.sessions.entry(address.clone()).or_default();
        session.heard = heard;
        change(session);
    }
}

impl Table {
    /// Forgets the half that was silent longest: so that it need not be looked for at each new session.
    fn make_room(&mut self) {
        let mut heard: Vec<u64> = self.sessions.values().map(|session| session.heard).collect();
        heard.sort_unstable();
        let median = heard.get(heard.len() / 2).copied().unwrap_or(u64::MAX);
        self.sessions.retain(|_, session| session.heard > median);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn the_sessions_that_were_silent_longest_are_forgotten_first() {
        let sessions = Sessions::new(4);
        let address = |i: u32| Scope::user("lin").unwrap().with_session(format!("s{i}")).unwrap();
        for i in 0..4 {
            sessions.set_last(&address(i), Last { round: i, key: None });
        }
        sessions.set_last(&address(0), Last { round: 9, key: None });
        sessions.set_last(&address(4), Last { round: 4, key: None });
        assert_eq!(sessions.last(&address(0)).unwrap().round, 9);
        assert_eq!((sessions.last(&address(1)), sessions.last(&address(2))), (None, None));
        assert!(sessions.last(&address(4)).is_some());
    }
}
