//! Judging message after message.

use std::{fmt, sync::Arc};

use memory_engine_core::sync::{Mutex, RwLock};
use memory_engine_core::{Clock, Error, Phrases, Result, Scope, phrases::fold};
use serde::Serialize;

use crate::{
    rules::{SceneRule, SceneRules},
    sessions::{SessionLimits, Sessions},
};

/// Tells the scene of each message by rules, and remembers the scene of each session.
///
/// In this order: a label's word labels the message and changes nothing; an exit word of the scene that the session is
/// in leaves it; an enter word enters a scene, unless the message holds an exit word of that same scene; otherwise the
/// session's scene is inherited, which is the default one where none was entered. Leaving one scene and entering
/// another in one message is possible. It takes no model and no time worth speaking of.
///
/// What it remembers is lost with the process: a session then is in the default scene.
#[derive(Debug)]
pub struct SceneDetector {
    rules: RwLock<Arc<Compiled>>,
    sessions: Mutex<Sessions>,
    limits: SessionLimits,
    clock: Arc<dyn Clock>,
}

/// The result for one message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Detection {
    /// The scene of the message: what to label its record with.
    pub scene: String,
    /// The scene of the session after it; differs from `scene` for a message that was only labelled.
    pub current: String,
    /// The scene change that the message caused, if any.
    pub changed: Option<SceneChange>,
    /// The reason.
    pub reason: SceneReason,
}

/// A message that took its session from one scene to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SceneChange {
    /// The scene before.
    pub from: String,
    /// The scene that the message belongs to already.
    pub to: String,
}

/// The reason why a message has its scene, with the word of the rules that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SceneReason {
    /// It holds a label's word.
    Label(String),
    /// It holds an exit word of the scene that its session was in.
    Exit(String),
    /// It holds an enter word.
    Enter(String),
    /// Its session is in that scene.
    Inherited,
    /// None of these.
    Default,
}

impl SceneReason {
    /// The name: `label`, `exit`, `enter`, `inherited` or `default`.
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
    /// The word of the rules that decided, if one did.
    pub fn word(&self) -> Option<&str> {
        match self {
            Self::Label(word) | Self::Exit(word) | Self::Enter(word) => Some(word),
            Self::Inherited | Self::Default => None,
        }
    }
}

/// Rules that have been checked and folded.
#[derive(Debug)]
struct Compiled {
    default_scene: String,
    labels: Vec<(String, Phrases)>,
    scenes: Vec<Doors>,
}

#[derive(Debug)]
struct Doors {
    name: String,
    enter: Phrases,
    exit: Phrases,
}

impl Compiled {
    fn of(rules: &SceneRules) -> Result<Self> {
        rules.validate()?;
        let doors = |rule: &SceneRule| Doors {
            name: rule.name.clone(),
            enter: Phrases::new(&rule.enter),
            exit: Phrases::new(&rule.exit),
        };
        Ok(Self {
            default_scene: rules.default_scene.clone(),
            labels: rules.labels.iter().map(|rule| (rule.name.clone(), Phrases::new(&rule.words))).collect(),
            scenes: rules.scenes.iter().map(doors).collect(),
        })
    }

    fn doors(&self, name: &str) -> Option<&Doors> {
        self.scenes.iter().find(|doors| doors.name == name)
    }

    /// The label of a message, if it has one, with the word.
    fn label(&self, folded: &str) -> Option<(&str, &str)> {
        self.labels.iter().find_map(|(name, words)| Some((name.as_str(), words.find_folded(folded)?)))
    }

    /// The scene that a message enters, if it does, with the word. The one that its session is in comes first.
    fn entered(&self, folded: &str, current: Option<&Doors>) -> Option<(&Doors, &str)> {
        let enters = |doors: &&Doors| doors.exit.find_folded(folded).is_none();
        let here = current.and_then(|doors| self.doors(&doors.name));
        here.into_iter()
            .chain(&self.scenes)
            .filter(enters)
            .find_map(|doors| Some((doors, doors.enter.find_folded(folded)?)))
    }
}

impl SceneDetector {
    /// A detector with the usual limits, that remembers nothing yet.
    ///
    /// # Errors
    /// `InvalidInput` as [`SceneRules::validate`].
    pub fn new(rules: &SceneRules, clock: impl Clock) -> Result<Self> {
        Self::with_limits(rules, SessionLimits::default(), clock)
    }

    /// As [`new`](Self::new), with other limits.
    ///
    /// # Errors
    /// `InvalidInput` as [`SceneRules::validate`].
    pub fn with_limits(rules: &SceneRules, limits: SessionLimits, clock: impl Clock) -> Result<Self> {
        let rules = RwLock::new(Arc::new(Compiled::of(rules)?));
        Ok(Self { rules, sessions: Mutex::default(), limits, clock: Arc::new(clock) })
    }

    /// Takes other rules from the next message on. Sessions stay where they are; one in a scene that the new rules do
    /// not have is back in the default one. Rules that are refused change nothing.
    ///
    /// # Errors
    /// `InvalidInput` as [`SceneRules::validate`].
    pub fn replace_rules(&self, rules: &SceneRules) -> Result<()> {
        let compiled = Arc::new(Compiled::of(rules)?);
        *self.rules.write() = compiled;
        Ok(())
    }

    /// Judges the next message of a session, and moves the session where the message says. `session` is the whole
    /// address: two users' sessions of one name are two.
    pub fn detect(&self, session: &Scope, text: &str) -> Detection {
        let rules = Arc::clone(&self.rules.read());
        let folded = fold(text);
        let now = self.clock.now();
        let mut sessions = self.sessions.lock();
        let current = sessions.scene(session, &self.limits, now).and_then(|name| rules.doors(name));
        let before = current.map_or(rules.default_scene.as_str(), |doors| doors.name.as_str()).to_owned();
        if let Some((label, word)) = rules.label(&folded) {
            sessions.keep(session, current.map(|doors| doors.name.as_str()), &self.limits, now);
            let reason = SceneReason::Label(word.to_owned());
            return Detection { scene: label.to_owned(), current: before, changed: None, reason };
        }
        let exit = current.and_then(|doors| doors.exit.find_folded(&folded));
        let entered = rules.entered(&folded, current);
        let (after, reason) = match (entered, exit, current) {
            (Some((doors, word)), _, _) => (Some(doors), SceneReason::Enter(word.to_owned())),
            (None, Some(word), _) => (None, SceneReason::Exit(word.to_owned())),
            (None, None, Some(doors)) => (Some(doors), SceneReason::Inherited),
            (None, None, None) => (None, SceneReason::Default),
        };
        let after = after.map(|doors| doors.name.as_str());
        sessions.keep(session, after, &self.limits, now);
        let scene = after.unwrap_or(&rules.default_scene).to_owned();
        let changed = (scene != before).then(|| SceneChange { from: before, to: scene.clone() });
        Detection { current: scene.clone(), scene, changed, reason }
    }

    /// The scene that a session is in.
    pub fn current(&self, session: &Scope) -> String {
        let rules = Arc::clone(&self.rules.read());
        let sessions = self.sessions.lock();
        let current = sessions.scene(session, &self.limits, self.clock.now());
        current.and_then(|name| rules.doors(name)).map_or(&rules.default_scene, |doors| &doors.name).clone()
    }

    /// Puts a session into a scene without a word being said, such as by a button.
    ///
    /// # Errors
    /// `NotFound` for a scene that the rules do not have; a label is none.
    pub fn set(&self, session: &Scope, scene: &str) -> Result<()> {
        let rules = Arc::clone(&self.rules.read());
        if scene != rules.default_scene && rules.doors(scene).is_none() {
            let message = format!("there is no scene '{}'; the rules name those there are", scene.escape_debug());
            return Err(Error::new(memory_engine_core::ErrorKind::NotFound, "set scene", message));
        }
        let scene = (scene != rules.default_scene).then_some(scene);
        self.sessions.lock().keep(session, scene, &self.limits, self.clock.now());
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
