//! Detects which facts a question asks for: the topic, and the person or animal.

use std::{collections::BTreeMap, sync::LazyLock};

use memory_engine_text::{Macros, RegexIndex, RegexOptions};
use serde::Deserialize;

use crate::{
    data::regex_text,
    fact::{relatives::canonical_name, slot::family, template::expanded, types::ExtractedFact},
    text::has_han,
};

/// Memory limit of the compiled expressions that are kept, in bytes.
const KEPT_EXPRESSIONS_MAX_BYTES: usize = 1 << 20;

/// The data files: topics, and words for the relatives and animals of the speaker.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TopicFile {
    macros: Macros,
    topics: Vec<Topic>,
    /// Expressions that show that a text is about the speaker.
    speaker: Vec<String>,
    /// For each relative, its further names in facts, such as 妹妹 for `sister`.
    relatives: BTreeMap<String, Vec<String>>,
    /// For each animal, its further names in facts.
    animals: BTreeMap<String, Vec<String>>,
}

/// A topic: the expressions of a question about it, and the slots of its facts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Topic {
    /// The name of the topic.
    name: String,
    /// The slots, such as `job` or `favorite.food`.
    slots: Vec<String>,
    /// Regular expressions. One of them must match the text.
    #[serde(rename = "match")]
    forms: Vec<String>,
    /// True if the expressions match requests, too, such as "recommend a restaurant". Default: questions only.
    #[serde(default)]
    requests: bool,
    /// True if the topic also applies to a question that mentions neither the speaker nor a relative. Default: false.
    #[serde(default)]
    impersonal: bool,
}

memory_engine_text::data!(DATA: TopicFile = "en/fact-topics.toml", "zh/fact-topics.toml");

/// The expressions of the data files.
struct Expressions {
    index: RegexIndex,
    meanings: Vec<Meaning>,
}

/// The meaning of an expression.
#[derive(Clone, Copy)]
enum Meaning {
    Topic(&'static Topic),
    Speaker,
    /// A relative or an animal of the speaker, with the names in facts.
    Relative(&'static str, &'static [String]),
}

static EXPRESSIONS: LazyLock<Option<Expressions>> = LazyLock::new(|| Expressions::new().ok());

impl Expressions {
    fn new() -> Result<Self, memory_engine_text::RegexError> {
        let mut texts = Vec::new();
        let mut meanings = Vec::new();
        let mut add = |form: &str, meaning: Meaning| {
            texts.push(regex_text(&expanded(&DATA.macros, form)));
            meanings.push(meaning);
        };
        for topic in &DATA.topics {
            topic.forms.iter().for_each(|form| add(form, Meaning::Topic(topic)));
        }
        DATA.speaker.iter().for_each(|form| add(form, Meaning::Speaker));
        // `{theirzh}` also matches without 我: 妈妈喜欢什么 is about the mother of the speaker. `{minezh}` requires 我:
        // 狗 alone can be any dog.
        for (words, zh_lead) in [(&DATA.relatives, "{theirzh}"), (&DATA.animals, "{minezh}")] {
            for (word, names) in words {
                let form = if has_han(word) { format!("{zh_lead}{word}") } else { format!("{{their}}{word}s?\\b") };
                add(&form, Meaning::Relative(word, names));
            }
        }
        let index = RegexOptions::ignoring_case().index(&texts, KEPT_EXPRESSIONS_MAX_BYTES)?;
        Ok(Self { index, meanings })
    }

    fn meanings_in(&self, text: &str) -> Vec<Meaning> {
        self.index.matches(text).into_iter().map(|position| self.meanings[position]).collect()
    }
}

/// A topic that a question asks about: an attribute of the speaker, or of a relative or an animal of the speaker.
///
/// ```
/// use memory_engine_summarizer::FactTopic;
///
/// let topics = FactTopic::of_question("What does my sister do?");
/// assert_eq!(topics[0].name(), "job");
/// assert_eq!(topics[0].relatives(), ["sister", "妹妹", "姐姐"]);
/// assert!(FactTopic::of_question("What does a plumber do?").is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactTopic {
    name: &'static str,
    slots: &'static [String],
    /// The names of the relative in facts. Empty: the topic is about the speaker.
    relatives: Vec<String>,
}

impl FactTopic {
    /// Returns the topics of a question of the speaker, in the order of the data files. Empty if the question is not
    /// about the speaker, a relative or an animal of the speaker.
    pub fn of_question(text: &str) -> Vec<Self> {
        Self::find(text, |_| true)
    }

    /// Returns the topics of a message that is no question, such as "recommend a place for dinner".
    pub fn of_request(text: &str) -> Vec<Self> {
        Self::find(text, |topic| topic.requests)
    }

    fn find(text: &str, is_wanted: impl Fn(&Topic) -> bool) -> Vec<Self> {
        let Some(expressions) = &*EXPRESSIONS else { return Vec::new() };
        let meanings = expressions.meanings_in(&text.replace('’', "'"));
        let is_about_speaker = meanings.iter().any(|meaning| matches!(meaning, Meaning::Speaker));
        let mut relatives: Vec<String> = Vec::new();
        for meaning in &meanings {
            if let Meaning::Relative(word, names) = meaning {
                relatives.push(canonical_name(word).to_owned());
                relatives.extend(names.iter().cloned());
            }
        }
        relatives.sort();
        relatives.dedup();
        let mut topics: Vec<Self> = Vec::new();
        for meaning in meanings {
            let Meaning::Topic(topic) = meaning else { continue };
            let is_named = is_about_speaker || !relatives.is_empty() || topic.impersonal;
            if is_named && is_wanted(topic) && !topics.iter().any(|known| known.name == topic.name) {
                topics.push(Self { name: &topic.name, slots: &topic.slots, relatives: relatives.clone() });
            }
        }
        topics
    }

    /// Returns the name of the topic, such as `job`.
    pub fn name(&self) -> &str {
        self.name
    }

    /// Returns the names, in facts of either language, of the relative or animal that the question is about. Empty if
    /// it is about the speaker.
    pub fn relatives(&self) -> &[String] {
        &self.relatives
    }

    /// Returns true if a fact has a slot of the topic and is about the same person or animal.
    pub fn includes(&self, fact: &ExtractedFact) -> bool {
        let (owner, relative) =
            fact.subject.split_once('.').map_or((fact.subject.as_str(), None), |(o, r)| (o, Some(r)));
        let is_own = owner == ExtractedFact::USER;
        let has_slot = self.slots.iter().any(|slot| *slot == fact.slot || slot == family(&fact.slot));
        if self.relatives.is_empty() {
            return is_own && relative.is_none() && has_slot;
        }
        let is_asked = |name: &str| self.relatives.iter().any(|asked| asked == name);
        match relative {
            Some(relative) => is_own && is_asked(relative) && has_slot,
            // The name of a sister is a fact `family.sister` of the speaker, that of a dog `pet.dog`.
            None => is_own && fact.slot.split_once('.').is_some_and(|(_, end)| is_asked(end)) && self.asks_for_name(),
        }
    }

    fn asks_for_name(&self) -> bool {
        self.slots.iter().any(|slot| ["name", "family", "pet", "kin"].contains(&slot.as_str()))
    }
}

#[cfg(test)]
mod tests;
