//! Detects the scene of each message.

use std::{fmt, sync::Arc};

use memory_engine_core::sync::{Mutex, RwLock};
use memory_engine_core::{Clock, Error, Phrases, Result, Scope, phrases::fold};
use serde::Serialize;

use crate::{
    rules::{SceneRule, SceneRules},
    sessions::{SessionLimits, Sessions},
};

/// Detects the scene of each message by rules, and tracks the scene of each session.
///
/// The rules apply in this order:
///
/// 1. A word of a label labels the message. The scene of the session does not change.
/// 2. An enter word enters its scene, unless the message also contains an exit word of that scene.
/// 3. An exit word of the current scene returns the session to the default scene.
/// 4. Otherwise the message inherits the scene of the session.
///
/// One message can leave a scene and enter another. No model is used.
///
/// Scenes are kept in memory only: after a restart every session is in the default scene.
#[derive(Debug)]
pub struct SceneDetector {
    rules: RwLock<Arc<CompiledRules>>,
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

/// The reason for the scene of a message, with the word that matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SceneReason {
    /// The message contains a word of a label.
    Label(String),
    /// The message contains an exit word of the scene of its session.
    Exit(String),
    /// The message contains an enter word.
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
    /// Returns the word of the rules that matched, if any.
    pub fn word(&self) -> Option<&str> {
        match self {
            Self::Label(word) | Self::Exit(word) | Self::Enter(word) => Some(word),
            Self::Inherited | Self::Default => None,
        }
    }
}

/// Validated rules with folded words.
#[derive(Debug)]
struct CompiledRules {
    default_scene: String,
    labels: Vec<(String, Phrases)>,
    scenes: Vec<CompiledScene>,
}

#[derive(Debug)]
struct CompiledScene {
    name: String,
    enter: Phrases,
    exit: Phrases,
}

impl CompiledScene {
    fn of(rule: &SceneRule) -> Self {
        Self { name: rule.name.clone(), enter: Phrases::new(&rule.enter), exit: Phrases::new(&rule.exit) }
    }
}

impl CompiledRules {
    fn of(rules: &SceneRules) -> Result<Self> {
        rules.validate()?;
        Ok(Self {
            default_scene: rules.default_scene.clone(),
            labels: rules.labels.iter().map(|rule| (rule.name.clone(), Phrases::new(&rule.words))).collect(),
            scenes: rules.scenes.iter().map(CompiledScene::of).collect(),
        })
    }

    fn scene(&self, name: &str) -> Option<&CompiledScene> {
        self.scenes.iter().find(|scene| scene.name == name)
    }

    /// Returns the label of a message with the word that matched.
    fn label(&self, folded: &str) -> Option<(&str, &str)> {
        self.labels.iter().find_map(|(name, words)| Some((name.as_str(), words.find_folded(folded)?)))
    }

    /// Returns the scene that a message enters with the word that matched. The current scene takes precedence.
    fn entered<'r>(&'r self, folded: &str, current: Option<&'r CompiledScene>) -> Option<(&'r CompiledScene, &'r str)> {
        current
            .into_iter()
            .chain(&self.scenes)
            .filter(|scene| scene.exit.find_folded(folded).is_none())
            .find_map(|scene| Some((scene, scene.enter.find_folded(folded)?)))
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
        let rules = RwLock::new(Arc::new(CompiledRules::of(rules)?));
        Ok(Self { rules, sessions: Mutex::default(), limits, clock: Arc::new(clock) })
    }

    /// Replaces the rules from the next message on. Sessions keep their scene; a session in a scene that the new rules
    /// do not contain returns to the default scene. Invalid rules change nothing.
    ///
    /// # Errors
    /// The errors of [`SceneRules::validate`].
    pub fn replace_rules(&self, rules: &SceneRules) -> Result<()> {
        let compiled = Arc::new(CompiledRules::of(rules)?);
        *self.rules.write() = compiled;
        Ok(())
    }

    /// Detects the scene of the next message of a session, and updates the scene of the session. `session` is the whole
    /// address, so sessions of two users are different even if they have the same name.
    pub fn detect(&self, session: &Scope, text: &str) -> Detection {
        let rules = Arc::clone(&self.rules.read());
        let folded = fold(text);
        let now = self.clock.now();
        let mut sessions = self.sessions.lock();
        let current = sessions.scene(session, &self.limits, now).and_then(|name| rules.scene(name));
        let before = current.map_or(rules.default_scene.as_str(), |scene| scene.name.as_str()).to_owned();
        if let Some((label, word)) = rules.label(&folded) {
            sessions.set_scene(session, current.map(|scene| scene.name.as_str()), &self.limits, now);
            let reason = SceneReason::Label(word.to_owned());
            return Detection { scene: label.to_owned(), current: before, changed: None, reason };
        }
        let exit = current.and_then(|scene| scene.exit.find_folded(&folded));
        let entered = rules.entered(&folded, current);
        let (after, reason) = match (entered, exit, current) {
            (Some((scene, word)), _, _) => (Some(scene), SceneReason::Enter(word.to_owned())),
            (None, Some(word), _) => (None, SceneReason::Exit(word.to_owned())),
            (None, None, Some(scene)) => (Some(scene), SceneReason::Inherited),
            (None, None, None) => (None, SceneReason::Default),
        };
        let after = after.map(|scene| scene.name.as_str());
        sessions.set_scene(session, after, &self.limits, now);
        let scene = after.unwrap_or(&rules.default_scene).to_owned();
        let changed = (scene != before).then(|| SceneChange { from: before, to: scene.clone() });
        Detection { current: scene.clone(), scene, changed, reason }
    }

    /// Returns the scene of a session.
    pub fn current(&self, session: &Scope) -> String {
        let rules = Arc::clone(&self.rules.read());
        let sessions = self.sessions.lock();
        let current = sessions.scene(session, &self.limits, self.clock.now());
        current.and_then(|name| rules.scene(name)).map_or(&rules.default_scene, |scene| &scene.name).clone()
    }

    /// Sets the scene of a session without a message.
    ///
    /// # Errors
    /// `NotFound` for a scene that the rules do not define, and for a label.
    pub fn set(&self, session: &Scope, scene: &str) -> Result<()> {
        let rules = Arc::clone(&self.rules.read());
        if scene != rules.default_scene && rules.scene(scene).is_none() {
            let message = format!(
                "the rules do not define the scene '{}'; use one of their scenes or the default scene",
                scene.escape_debug()
            );
            return Err(Error::new(memory_engine_core::ErrorKind::NotFound, "set scene", message));
        }
        let scene = (scene != rules.default_scene).then_some(scene);
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
