//! The pack of a companion: persona, stages and key moments, read from TOML and Markdown.

use std::{collections::BTreeSet, fs, path::Path};

use memory_engine_core::{Error, ErrorKind, Language, Result};
use serde::Deserialize;

use crate::{
    affection::AffectionRules,
    budgets::Budgets,
    moment::MomentRule,
    stage::{MAX_AFFECTION, Stage, Stages},
};

/// The definition of one companion: name, persona, stages, key moments and numbers.
///
/// A pack is a folder with a `pack.toml`. Texts are in that file or in Markdown files that it names.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Pack {
    /// The name of the companion.
    pub name: String,
    /// The language of headings and labels.
    pub language: Language,
    /// The persona, which is part of every prompt.
    pub persona: String,
    /// The stages of the relationship.
    pub stages: Stages,
    /// The rules of key moments, which are stored permanently.
    pub moments: Vec<MomentRule>,
    /// Further details that profiles collect.
    pub profile_details: Vec<String>,
    /// The rules of affection.
    pub affection: AffectionRules,
    /// Token budgets of the context.
    pub budgets: Budgets,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PackFile {
    name: String,
    #[serde(default = "chinese")]
    language: Language,
    persona: String,
    stages: Vec<StageEntry>,
    #[serde(default)]
    moments: Vec<MomentRule>,
    #[serde(default)]
    profile_details: Vec<String>,
    #[serde(default)]
    affection: AffectionRules,
    #[serde(default)]
    budgets: Budgets,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StageEntry {
    name: String,
    from: i32,
    #[serde(default)]
    keywords: Vec<String>,
    text: String,
}

fn invalid(message: String) -> Error {
    Error::invalid("companion pack", message)
}

fn chinese() -> Language {
    Language::Chinese
}

impl Pack {
    /// Returns the Chinese example pack: Aicy, who came from far away to learn what people are like.
    ///
    /// # Errors
    /// Not expected; a test reads it.
    pub fn example() -> Result<Self> {
        Self::example_in(Language::Chinese)
    }

    /// Returns the example pack in a language: Aicy in Chinese, Ivy, the keeper of a lighthouse, in English.
    ///
    /// ```
    /// use memory_engine_companion::{Language, Pack};
    ///
    /// let ivy = Pack::example_in(Language::English)?;
    /// assert_eq!((ivy.name.as_str(), ivy.stages.at(0).1.name.as_str()), ("Ivy", "Stranger"));
    /// # Ok::<(), memory_engine_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Not expected; a test reads both.
    pub fn example_in(language: Language) -> Result<Self> {
        let chinese = [
            ("persona.md", include_str!("../pack/persona.md")),
            ("stages/1-observer.md", include_str!("../pack/stages/1-observer.md")),
            ("stages/2-puzzled.md", include_str!("../pack/stages/2-puzzled.md")),
            ("stages/3-learner.md", include_str!("../pack/stages/3-learner.md")),
            ("stages/4-feeling.md", include_str!("../pack/stages/4-feeling.md")),
            ("stages/5-choosing.md", include_str!("../pack/stages/5-choosing.md")),
            ("stages/6-farewell.md", include_str!("../pack/stages/6-farewell.md")),
        ];
        let english = [("persona.md", include_str!("../pack-en/persona.md"))];
        let toml = language.pick(include_str!("../pack/pack.toml"), include_str!("../pack-en/pack.toml"));
        let files = language.pick(chinese.as_slice(), english.as_slice());
        Self::from_toml(toml, |name| {
            let file = files.iter().find(|(file_name, _)| *file_name == name);
            let text = file.ok_or_else(|| invalid(format!("the example has no file {name}")))?.1;
            Ok(text.to_owned())
        })
    }

    /// Reads the pack in a folder.
    ///
    /// # Errors
    /// `NotFound` if `pack.toml` or a file that it names is missing; `Unavailable` if one cannot be read; the errors of
    /// [`from_toml`](Self::from_toml).
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let read = |name: &str| {
            fs::read_to_string(folder.join(name)).map_err(|e| {
                let missing = e.kind() == std::io::ErrorKind::NotFound;
                let kind = if missing { ErrorKind::NotFound } else { ErrorKind::Unavailable };
                let message = format!("{} cannot be read", folder.join(name).display());
                Error::new(kind, "companion pack", message).with_source(e)
            })
        };
        Self::from_toml(&read("pack.toml")?, read)
    }

    /// Parses a pack. If the text of the persona or of a stage is a single line that ends with `.md`, it is the name
    /// of a file, whose content `read` returns. Names that lead out of the folder are rejected.
    ///
    /// # Errors
    /// `InvalidInput` with line and column for invalid TOML and unknown fields; `InvalidInput` for stages out of
    /// order, key moments that cannot happen, and duplicate ids; the errors of `read`.
    pub fn from_toml(text: &str, read: impl Fn(&str) -> Result<String>) -> Result<Self> {
        let file: PackFile = toml::from_str(text).map_err(|e| invalid(e.to_string().trim_end().to_owned()))?;
        let resolve_text = |text: String| {
            if !text.ends_with(".md") || text.contains('\n') {
                return Ok(text);
            }
            let is_inside = |part: &str| !part.is_empty() && part != ".." && !part.contains(['\\', ':']);
            if !text.split('/').all(is_inside) {
                return Err(invalid(format!("'{text}' is outside of the pack; use a file name inside its folder")));
            }
            read(&text)
        };
        let name = file.name.trim().to_owned();
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(invalid("the companion has no name; add name = \"…\"".into()));
        }
        let persona = resolve_text(file.persona)?;
        if persona.trim().is_empty() {
            return Err(invalid("the persona is empty; describe the companion".into()));
        }
        let stage = |entry: StageEntry| {
            let StageEntry { name, from, keywords, text } = entry;
            Ok(Stage { name, from, keywords, text: resolve_text(text)? })
        };
        let stages = Stages::new(file.stages.into_iter().map(stage).collect::<Result<_>>()?)?;
        let pack = Self {
            name,
            language: file.language,
            persona,
            stages,
            moments: file.moments,
            profile_details: file.profile_details,
            affection: file.affection,
            budgets: file.budgets,
        };
        pack.check_moments()?;
        Ok(pack)
    }

    fn check_moments(&self) -> Result<()> {
        let mut ids = BTreeSet::new();
        for rule in &self.moments {
            let id = &rule.id;
            let is_id_char = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if id.is_empty() || id.len() > 64 || !id.chars().all(is_id_char) {
                return Err(invalid(format!(
                    "'{id}' is not a valid id of a key moment; use 1 to 64 letters, digits, '_' and '-'"
                )));
            }
            if !ids.insert(id) {
                return Err(invalid(format!("two key moments have the id '{id}'; each needs its own")));
            }
            if rule.from > rule.until || rule.until < 0 || rule.from > MAX_AFFECTION {
                return Err(invalid(format!(
                    "'{id}' can never happen: it needs affection from {} to {}",
                    rule.from, rule.until
                )));
            }
            if rule.outcomes.is_empty() || rule.outcomes.iter().any(|outcome| outcome.name.trim().is_empty()) {
                return Err(invalid(format!(
                    "'{id}' has no outcome, or one without a name; write [[moments.outcomes]]"
                )));
            }
            if rule.words.iter().any(|word| memory_engine_core::phrases::fold(word).is_empty()) {
                return Err(invalid(format!("a word of '{id}' is empty; it would match every message")));
            }
        }
        Ok(())
    }
}
