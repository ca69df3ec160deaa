//! The scene of each session.

use std::time::Duration;

use memory_engine_core::{Scope, Timestamp};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Limits of the scenes kept in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct SessionLimits {
    /// Time without a message after which a session returns to the default scene. Default: 12 hours.
    pub time_to_live: Duration,
    /// Maximum number of sessions outside of the default scene. If it is exceeded, the least recently used session
    /// returns to the default scene. Default: 10 000.
    pub max_sessions: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { time_to_live: Duration::from_secs(12 * 60 * 60), max_sessions: 10_000 }
    }
}

impl SessionLimits {
    memory_engine_core::setters! {
        #![must_use]
        /// Sets the time to live.
        with_time_to_live(time_to_live: Duration);
        /// Sets the maximum number of sessions.
        with_max_sessions(max_sessions: usize);
    }
}

/// The sessions outside of the default scene. All others are in the default scene.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    scenes: FxHashMap<Scope, SessionScene>,
    /// Number of updates, which orders sessions with the same time.
    updates: u64,
}

#[derive(Debug)]
struct SessionScene {
    scene: String,
    /// Time and number of the last update.
    last_update: (Timestamp, u64),
}

impl Sessions {
    /// Returns the scene of a session. `None` for the default scene, and after the time to live.
    pub(crate) fn scene(&self, session: &Scope, limits: &SessionLimits, now: Timestamp) -> Option<&str> {
        let session_scene = self.scenes.get(session)?;
        session_scene.is_alive(limits, now).then_some(session_scene.scene.as_str())
    }

    /// Sets the scene of a session. `None` is the default scene.
    pub(crate) fn set_scene(&mut self, session: &Scope, scene: Option<&str>, limits: &SessionLimits, now: Timestamp) {
        let Some(scene) = scene else {
            self.scenes.remove(session);
            return;
        };
        self.updates += 1;
        let last_update = (now, self.updates);
        if let Some(session_scene) = self.scenes.get_mut(session) {
            session_scene.scene = scene.to_owned();
            session_scene.last_update = last_update;
            return;
        }
        self.evict(limits, now);
        if self.scenes.len() < limits.max_sessions {
            self.scenes.insert(session.clone(), SessionScene { scene: scene.to_owned(), last_update });
        }
    }

    /// Removes expired sessions, and then the least recently used ones, until there is room for one more.
    fn evict(&mut self, limits: &SessionLimits, now: Timestamp) {
        if self.scenes.len() < limits.max_sessions {
            return;
        }
        self.scenes.retain(|_, session_scene| session_scene.is_alive(limits, now));
        while !self.scenes.is_empty() && self.scenes.len() >= limits.max_sessions {
            let oldest = self
                .scenes
                .iter()
                .min_by_key(|(_, session_scene)| session_scene.last_update)
                .map(|(session, _)| session.clone());
            oldest.and_then(|session| self.scenes.remove(&session));
        }
    }

    /// Removes every session within `scope`.
    pub(crate) fn forget(&mut self, scope: &Scope) {
        self.scenes.retain(|session, _| !scope.covers(session));
    }

    /// Returns the number of sessions.
    pub(crate) fn len(&self) -> usize {
        self.scenes.len()
    }
}

impl SessionScene {
    fn is_alive(&self, limits: &SessionLimits, now: Timestamp) -> bool {
        now < self.last_update.0.after(limits.time_to_live)
    }
}
