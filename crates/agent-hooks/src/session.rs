//! The sessions of agents.

use std::{collections::BTreeSet, num::NonZeroUsize};

use lru::LruCache;
use memory_engine::{RecordId, Scope};
use parking_lot::Mutex;

/// Maximum number of sessions whose state is known.
const MAX_SESSIONS: NonZeroUsize = NonZeroUsize::new(10_000).expect("a positive number");

/// The latest prompt of each session, if it was a request about the memory itself, which is not stored.
#[derive(Debug)]
pub(crate) struct LatestRequests {
    sessions: Mutex<LruCache<Scope, String>>,
}

impl LatestRequests {
    pub(crate) fn new() -> Self {
        Self { sessions: Mutex::new(LruCache::new(MAX_SESSIONS)) }
    }

    pub(crate) fn get(&self, session: &Scope) -> Option<String> {
        self.sessions.lock().get(session).cloned()
    }

    pub(crate) fn set(&self, session: &Scope, request: Option<&str>) {
        let mut sessions = self.sessions.lock();
        match request {
            Some(request) => _ = sessions.put(session.clone(), request.to_owned()),
            None => _ = sessions.pop(session),
        }
    }
}

/// The memories that each session contains already, because an earlier answer added them.
#[derive(Debug)]
pub(crate) struct InjectedMemories {
    sessions: Mutex<LruCache<Scope, BTreeSet<RecordId>>>,
}

impl InjectedMemories {
    pub(crate) fn new() -> Self {
        Self { sessions: Mutex::new(LruCache::new(MAX_SESSIONS)) }
    }

    /// Returns the memories that the session contains.
    pub(crate) fn get(&self, session: &Scope) -> BTreeSet<RecordId> {
        self.sessions.lock().get(session).cloned().unwrap_or_default()
    }

    pub(crate) fn add(&self, session: &Scope, memories: &[RecordId]) {
        let mut sessions = self.sessions.lock();
        sessions.get_or_insert_mut(session.clone(), BTreeSet::new).extend(memories);
    }

    pub(crate) fn clear(&self, session: &Scope) {
        self.sessions.lock().pop(session);
    }
}
