//! Detects the scene of each message.

use std::{fmt, sync::Arc};

use memory_engine_core::sync::Mutex;
use memory_engine_core::{Clock, Error, Result, Scope};
use serde::Serialize;

use crate::{
    compiled::CompiledRules,
    message::Message,
    rules::SceneRules,
    sessions::{SessionLimits, Sessions},
};

/// Detects the scene of each message by rules, and tracks the scene of each session.
///
/// The message is split into sentences. Speech in quotation marks is removed. Plain text, text in parentheses and
/// actions between asterisks are kept apart. The rules are then tested on each sentence, in this order:
///
/// 1. A rule of a label labels the message. The scene of the session does not change.
/// 2. An enter rule enters its scene, unless an exit rule of that scene also matches.
/// 3. An exit rule of the current scene returns the session to the default scene.
/// 4. Otherwise the message inherits the scene of the session.
///
/// A rule is a word of a list or a [pattern](crate::ScenePattern). The words of the default lists count only in
/// sentences that address the model: an invitation to play, an instruction to stop, a question about the system. Weak
/// signs count together, by the sum of their weights. A long plain message about daily life also leaves a play. One
/// message can leave a scene and enter another. No model is used.
///
/// The scene of a session is the only state, and it is kept in memory. [`set`](Self::set) restores it after a restart.
/// A caller that stores the scenes itself needs no state: [`detect_after`](Self::detect_after).
#[derive(Debug)]
pub struct SceneDetector {
    rules: CompiledRules,
    sessions: Mutex<Sessions>,
    limits: SessionLimits,
    clock: Arc<dyn Clock>,
}

/// The result for one message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Detection {
    /// The scene of the message, for the field `scene` of its record.
    pub scene: String,
    /// The scene of the session after the message. Differs from `scene` if the message was only labelled.
    pub current: String,
    /// The scene change that the message caused, if any.
    pub changed: Option<SceneChange>,
    /// The reason.
    pub reason: SceneReason,
}

/// A change of a session's scene.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SceneChange {
    /// The scene before.
    pub from: String,
    /// The scene after. The message already belongs to it.
    pub to: String,
}

/// The reason for the scene of a message, with the word that matched or the id of the pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SceneReason {
    /// The message matches a rule of a label.
    Label(String),
    /// The message matches an exit rule of the scene of its session.
    Exit(String),
    /// The message matches an enter rule.
    Enter(String),
    /// The session is in this scene.
    Inherited,
    /// No rule matched, and the session is in the default scene.
    Default,
}

impl SceneReason {
    /// Returns the name: `label`, `exit`, `enter`, `inherited` or `default`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Label(_) => "label",
            Self::Exit(_) => "exit",
            Self::Enter(_) => "enter",
            Self::Inherited => "inherited",
            Self::Default => "default",
        }
    }
}

impl fmt::Display for SceneReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl SceneReason {
    /// Returns the word of the rules or the id of the pattern that matched, if any.
    pub fn word(&self) -> Option<&str> {
        match self {
            Self::Label(word) | Self::Exit(word) | Self::Enter(word) => Some(word),
            Self::Inherited | Self::Default => None,
        }
    }
}

impl SceneDetector {
    /// Creates a detector with the default limits. All sessions are in the default scene.
    ///
    /// # Errors
    /// The errors of [`SceneRules::validate`].
    pub fn new(rules: &SceneRules, clock: impl Clock) -> Result<Self> {
        Self::with_limits(rules, SessionLimits::default(), clock)
    }

    /// Creates a detector with these limits.
    ///
    /// # Errors
    /// The errors of [`SceneRules::validate`].
    pub fn with_limits(rules: &SceneRules, limits: SessionLimits, clock: impl Clock) -> Result<Self> {
        Ok(Self { rules: CompiledRules::of(rules)?, sessions: Mutex::default(), limits, clock: Arc::new(clock) })
    }

    /// Detects the scene of the next message of a session, and updates the scene of the session. `session` is the whole
    /// address, so sessions of two users are different even if they have the same name.
    pub fn detect(&self, session: &Scope, text: &str) -> Detection {
        let message = Message::parse(text);
        let now = self.clock.now();
        let mut sessions = self.sessions.lock();
        let detection = self.rules.detect(sessions.scene(session, &self.limits, now), &message);
        let after = self.rules.scene(&detection.current).map(|scene| scene.name.as_str());
        sessions.set_scene(session, after, &self.limits, now);
        detection
    }

    /// Detects the scene of a message after a message with this [`Detection::current`] scene. A scene that the rules do
    /// not define counts as the default scene. The scenes of sessions are neither read nor changed.
    pub fn detect_after(&self, scene: &str, text: &str) -> Detection {
        self.rules.detect(Some(scene), &Message::parse(text))
    }

    /// Returns the scene of a session.
    pub fn current(&self, session: &Scope) -> String {
        let sessions = self.sessions.lock();
        let current = sessions.scene(session, &self.limits, self.clock.now());
        current.and_then(|name| self.rules.scene(name)).map_or(&self.rules.default_scene, |scene| &scene.name).clone()
    }

    /// Sets the scene of a session without a message.
    ///
    /// # Errors
    /// `NotFound` for a scene that the rules do not define, and for a label.
    pub fn set(&self, session: &Scope, scene: &str) -> Result<()> {
        if scene != self.rules.default_scene && self.rules.scene(scene).is_none() {
            let message = format!(
                "the rules do not define the scene '{}'; use one of their scenes or the default scene",
                scene.escape_debug()
            );
            return Err(Error::new(memory_engine_core::ErrorKind::NotFound, "set scene", message));
        }
        let scene = (scene != self.rules.default_scene).then_some(scene);
        self.sessions.lock().set_scene(session, scene, &self.limits, self.clock.now());
        Ok(())
    }

    /// Forgets the scenes of all sessions within `scope`.
    pub fn forget(&self, scope: &Scope) {
        self.sessions.lock().forget(scope);
    }

    /// Returns the number of sessions outside of the default scene.
    pub fn remembered(&self) -> usize {
        self.sessions.lock().len()
    }
}

impl CompiledRules {
    /// Detects the scene of a message in a session in this scene.
    fn detect(&self, scene: Option<&str>, message: &Message) -> Detection {
        let current = scene.and_then(|name| self.scene(name));
        let before = current.map_or(self.default_scene.as_str(), |scene| scene.name.as_str()).to_owned();
        let hits = self.hits(message, &before);
        if let Some((label, cause)) = self.label(&hits) {
            let reason = SceneReason::Label(cause.to_owned());
            return Detection { scene: label.to_owned(), current: before, changed: None, reason };
        }
        let exit = current.and_then(|scene| scene.exit(&hits));
        let (after, reason) = match (self.entered(&hits, current), exit, current) {
            (Some((scene, cause)), _, _) => (Some(scene), SceneReason::Enter(cause.to_owned())),
            (None, Some(cause), _) => (None, SceneReason::Exit(cause.to_owned())),
            (None, None, Some(scene)) => (Some(scene), SceneReason::Inherited),
            (None, None, None) => (None, SceneReason::Default),
        };
        let scene = after.map_or(&self.default_scene, |scene| &scene.name).clone();
        let changed = (scene != before).then(|| SceneChange { from: before, to: scene.clone() });
        Detection { current: scene.clone(), scene, changed, reason }
    }
}
