//! The rules of scenes: the words that label a message, enter a scene or leave one.

use std::collections::BTreeSet;

use memory_engine_core::{Error, Result, phrases::fold};
use memory_engine_text::data;
use serde::{Deserialize, Serialize};

use crate::patterns::{self, PatternEffect, ScenePattern};

/// The words that label a message, enter a scene or leave one.
///
/// The default rules have three scenes: `meta`, which only labels a message, `plot` with enter and exit words, and
/// `daily` for everything else. A TOML file overrides the default: a list replaces the default list and its patterns,
/// a list with the prefix `more_` is appended to it, missing keys keep the default, and new scenes are added at the
/// end. A pattern replaces the default pattern with its id, or is added. A word of your own counts wherever it stands
/// outside of quotation marks and actions.
///
/// ```
/// use memory_engine_scene::SceneRules;
///
/// let rules = SceneRules::from_toml(r#"
///     [[scenes]]
///     name = "plot"
///     more_exit = ["下线了"]
///
///     [[scenes]]
///     name = "study"
///     enter = ["开始学习"]
///     exit = ["下课"]
/// "#)?;
/// assert_eq!(rules.scenes.len(), 2);
/// assert!(rules.scenes[0].exit.contains(&"出戏".to_owned()) && rules.scenes[0].exit.contains(&"下线了".to_owned()));
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Overlay")]
#[non_exhaustive]
pub struct SceneRules {
    /// The scene of a session in which none was entered.
    pub default_scene: String,
    /// Labels for single messages. The first match applies.
    pub labels: Vec<LabelRule>,
    /// Scenes that a session enters and leaves. The first match applies.
    pub scenes: Vec<SceneRule>,
    /// Patterns that label, enter or leave. They also limit the words of the default lists to sentences in which these
    /// words address the model. Patterns for other names than those above are ignored.
    pub patterns: Vec<ScenePattern>,
}

/// A label for single messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelRule {
    /// The label.
    pub name: String,
    /// A message with one of these words gets the label.
    pub words: Vec<String>,
}

/// A scene that a session stays in until it is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SceneRule {
    /// The scene.
    pub name: String,
    /// A message with one of these words enters the scene.
    pub enter: Vec<String>,
    /// A message with one of these words leaves the scene, and does not enter it.
    pub exit: Vec<String>,
}

/// The default rules as their file has them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Defaults {
    default_scene: String,
    labels: Vec<LabelRule>,
    scenes: Vec<SceneRule>,
}

data!(DEFAULTS: Defaults = "scenes.toml");

impl Default for SceneRules {
    fn default() -> Self {
        let Defaults { default_scene, labels, scenes } = &*DEFAULTS;
        Self {
            default_scene: default_scene.clone(),
            labels: labels.clone(),
            scenes: scenes.clone(),
            patterns: patterns::built_in().to_vec(),
        }
    }
}

impl SceneRules {
    /// Sets the name of the default scene.
    #[must_use]
    pub fn with_default_scene(mut self, name: impl Into<String>) -> Self {
        self.default_scene = name.into();
        self
    }

    /// Adds a scene, or replaces the rule of the scene with this name and its patterns.
    #[must_use]
    pub fn with_scene(mut self, rule: SceneRule) -> Self {
        self.remove_patterns(&rule.name, PatternEffect::Enter);
        self.remove_patterns(&rule.name, PatternEffect::Exit);
        match self.scenes.iter_mut().find(|known| known.name == rule.name) {
            Some(known) => *known = rule,
            None => self.scenes.push(rule),
        }
        self
    }

    /// Adds a label, or replaces the rule of the label with this name and its patterns.
    #[must_use]
    pub fn with_label(mut self, rule: LabelRule) -> Self {
        self.remove_patterns(&rule.name, PatternEffect::Label);
        match self.labels.iter_mut().find(|known| known.name == rule.name) {
            Some(known) => *known = rule,
            None => self.labels.push(rule),
        }
        self
    }

    fn remove_patterns(&mut self, name: &str, effect: PatternEffect) {
        self.patterns.retain(|pattern| pattern.effect != effect || pattern.scene != name);
    }

    /// Reads rules from TOML that override the default, and validates them.
    ///
    /// # Errors
    /// `InvalidInput` with line and column for invalid TOML and unknown fields, and the errors of
    /// [`SceneRules::validate`].
    pub fn from_toml(text: &str) -> Result<Self> {
        let rules: Self = toml::from_str(text).map_err(|e| Error::invalid("scene rules", e.to_string().trim_end()))?;
        rules.validate()?;
        Ok(rules)
    }

    /// Validates the rules.
    ///
    /// # Errors
    /// `InvalidInput` for a name that is empty, has white space at an end or control characters, or is used twice, and
    /// for an empty word. Regular expressions are checked when a detector compiles them.
    pub fn validate(&self) -> Result<()> {
        let invalid = |message: String| Err(Error::invalid("scene rules", message));
        let labels = self.labels.iter().map(|rule| rule.name.as_str());
        let scenes = self.scenes.iter().map(|rule| rule.name.as_str());
        let mut names = BTreeSet::new();
        for name in [self.default_scene.as_str()].into_iter().chain(labels).chain(scenes) {
            if name.trim() != name || name.is_empty() || name.chars().any(char::is_control) {
                return invalid(format!("'{}' is no name for a scene; write a plain word", name.escape_debug()));
            }
            if !names.insert(name) {
                return invalid(format!("the name '{name}' is used twice; every scene and label needs its own"));
            }
        }
        let labels = self.labels.iter().map(|rule| (&rule.name, "words", &rule.words));
        let enter = self.scenes.iter().map(|rule| (&rule.name, "enter", &rule.enter));
        let exit = self.scenes.iter().map(|rule| (&rule.name, "exit", &rule.exit));
        for (name, list, words) in labels.chain(enter).chain(exit) {
            if words.iter().any(|word| fold(word).is_empty()) {
                return invalid(format!("a word in '{list}' of '{name}' is empty; it would match every message"));
            }
        }
        let mut ids = BTreeSet::new();
        for pattern in &self.patterns {
            if pattern.forms.is_empty() {
                return invalid(format!("the pattern '{}' has no expression in 'match'", pattern.id));
            }
            if !ids.insert(&pattern.id) {
                return invalid(format!("the id '{}' is used by two patterns", pattern.id));
            }
        }
        Ok(())
    }
}

/// The settings of a file, which override the defaults.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Overlay {
    default_scene: Option<String>,
    #[serde(default)]
    labels: Vec<LabelOverlay>,
    #[serde(default)]
    scenes: Vec<SceneOverlay>,
    #[serde(default)]
    patterns: Vec<ScenePattern>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelOverlay {
    name: String,
    words: Option<Vec<String>>,
    #[serde(default)]
    more_words: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SceneOverlay {
    name: String,
    enter: Option<Vec<String>>,
    #[serde(default)]
    more_enter: Vec<String>,
    exit: Option<Vec<String>>,
    #[serde(default)]
    more_exit: Vec<String>,
}

impl From<Overlay> for SceneRules {
    fn from(overlay: Overlay) -> Self {
        let mut rules = Self::default();
        if let Some(name) = overlay.default_scene {
            rules.default_scene = name;
        }
        for LabelOverlay { name, words, more_words } in overlay.labels {
            let index = rules.labels.iter().position(|rule| rule.name == name).unwrap_or_else(|| {
                rules.labels.push(LabelRule { name, words: Vec::new() });
                rules.labels.len() - 1
            });
            if words.is_some() {
                rules.remove_patterns(&rules.labels[index].name.clone(), PatternEffect::Label);
            }
            override_list(&mut rules.labels[index].words, words, more_words);
        }
        for SceneOverlay { name, enter, more_enter, exit, more_exit } in overlay.scenes {
            let index = rules.scenes.iter().position(|rule| rule.name == name).unwrap_or_else(|| {
                rules.scenes.push(SceneRule { name, enter: Vec::new(), exit: Vec::new() });
                rules.scenes.len() - 1
            });
            let name = rules.scenes[index].name.clone();
            if enter.is_some() {
                rules.remove_patterns(&name, PatternEffect::Enter);
            }
            if exit.is_some() {
                rules.remove_patterns(&name, PatternEffect::Exit);
            }
            override_list(&mut rules.scenes[index].enter, enter, more_enter);
            override_list(&mut rules.scenes[index].exit, exit, more_exit);
        }
        for pattern in overlay.patterns {
            match rules.patterns.iter_mut().find(|known| known.id == pattern.id) {
                Some(known) => *known = pattern,
                None => rules.patterns.push(pattern),
            }
        }
        rules
    }
}

fn override_list(list: &mut Vec<String>, replacement: Option<Vec<String>>, more: Vec<String>) {
    if let Some(replacement) = replacement {
        *list = replacement;
    }
    list.extend(more);
}

#[cfg(test)]
mod tests;
