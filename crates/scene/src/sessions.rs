//! The scene of each session.

use std::time::Duration;

use memory_engine_core::{Scope, Timestamp};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Limits of remembered scenes: duration and number of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct SessionLimits {
    /// Time of silence after which a session is back in the default scene.
    pub time_to_live: Duration,
    /// Maximum number of sessions outside of the default scene. If there are more, the session with the longest
    /// silence returns to the default scene.
    pub max_sessions: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { time_to_live: Duration::from_secs(12 * 60 * 60), max_sessions: 10_000 }
    }
}

impl SessionLimits {
    /// Another time to live.
    #[must_use]
    pub fn with_time_to_live(mut self, time_to_live: Duration) -> Self {
        self.time_to_live = time_to_live;
        self
    }

    /// Another number of sessions.
    #[must_use]
    pub fn with_max_sessions(mut self, max_sessions: usize) -> Self {
        self.max_sessions = max_sessions;
        self
    }
}

/// The sessions that are not in the default scene: the others need no memory.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    scenes: FxHashMap<Scope, Entered>,
    /// Counts the messages, so that of two sessions heard at the same time it is known which was heard first.
    heard: u64,
}

#[derive(Debug)]
struct Entered {
    scene: String,
    last: (Timestamp, u64),
}

impl Sessions {
    /// The scene that a session is in, unless it is the default one or its time is up.
    pub(crate) fn scene(&self, session: &Scope, limits: &SessionLimits, now: Timestamp) -> Option<&str> {
        let entered = self.scenes.get(session)?;
        entered.is_alive(limits, now).then_some(entered.scene.as_str())
    }

    /// Keeps the scene of a session that was heard just now; `None` is the default one.
    pub(crate) fn keep(&mut self, session: &Scope, scene: Option<&str>, limits: &SessionLimits, now: Timestamp) {
        let Some(scene) = scene else {
            self.scenes.remove(session);
            return;
        };
        self.heard += 1;
        let last = (now, self.heard);
        if let Some(entered) = self.scenes.get_mut(session) {
            (entered.scene, entered.last) = (scene.to_owned(), last);
            return;
        }
        self.make_room(limits, now);
        if self.scenes.len() < limits.max_sessions {
            self.scenes.insert(session.clone(), Entered { scene: scene.to_owned(), last });
        }
    }

    /// Forgets what is over, and then the sessions that were silent longest, until one more fits.
    fn make_room(&mut self, limits: &SessionLimits, now: Timestamp) {
        if self.scenes.len() < limits.max_sessions {
            return;
        }
        self.scenes.retain(|_, entered| entered.is_alive(limits, now));
        while !self.scenes.is_empty() && self.scenes.len() >= limits.max_sessions {
            let oldest = self.scenes.iter().min_by_key(|(_, entered)| entered.last).map(|(session, _)| session.clone());
            oldest.and_then(|session| self.scenes.remove(&session));
        }
    }

    /// Forgets every session that lies within `scope`.
    pub(crate) fn forget(&mut self, scope: &Scope) {
        self.scenes.retain(|session, _| !scope.covers(session));
    }

    /// Returns the number of sessions.
    pub(crate) fn len(&self) -> usize {
        self.scenes.len()
    }
}

impl Entered {
    fn is_alive(&self, limits: &SessionLimits, now: Timestamp) -> bool {
        now < self.last.0.after(limits.time_to_live)
    }
}
