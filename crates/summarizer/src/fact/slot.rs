//! The wording of the facts of a slot.

use memory_engine_core::Language;
use serde::Deserialize;

use crate::{
    data::data,
    fact::types::{Cardinality, ExtractedFact, FactKind, Polarity},
    text::one_line,
};

/// A slot, and its sentences.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Slot {
    pub(super) name: String,
    pub(super) kind: FactKind,
    #[serde(default)]
    one: bool,
    en: Sentences,
    zh: Sentences,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sentences {
    is: String,
    not: String,
    was: String,
    gone: Option<String>,
}

/// The slots that have sentences.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Slots {
    slots: Vec<Slot>,
}

data!(BUILT_IN: Slots = "slots.toml");

impl Slots {
    /// Returns a slot of the crate.
    pub(super) fn built_in(name: &str) -> Option<&'static Slot> {
        BUILT_IN.of(name)
    }

    /// The slots of the crate, and those of a caller, which replace slots of the same name.
    pub(super) fn with(more: Vec<Slot>) -> Self {
        let mut all = BUILT_IN.clone();
        for slot in more {
            all.slots.retain(|known| known.name != slot.name);
            all.slots.push(slot);
        }
        all
    }

    /// Returns the slot of a name, ignoring the part after its dot.
    pub(super) fn of(&self, name: &str) -> Option<&Slot> {
        let family = family(name);
        self.slots.iter().find(|slot| slot.name == family)
    }
}

impl Slot {
    pub(super) fn cardinality(&self) -> Cardinality {
        if self.one { Cardinality::Single } else { Cardinality::Many }
    }

    /// Returns a fact of this slot as a sentence.
    pub(super) fn tell(&self, fact: &ExtractedFact, language: Language) -> String {
        let sentences = language.pick(&self.zh, &self.en);
        filled(sentences.form(fact, &sentences.is), fact, language) + language.pick("。", ".")
    }

    /// Returns a fact of this slot that held once as a sentence, without the mark at its end.
    pub(super) fn tell_past(&self, fact: &ExtractedFact, language: Language) -> String {
        let sentences = language.pick(&self.zh, &self.en);
        filled(sentences.form(fact, &sentences.was), fact, language)
    }
}

impl Sentences {
    fn form<'s>(&'s self, fact: &ExtractedFact, positive: &'s str) -> &'s str {
        match (fact.polarity, fact.value == ExtractedFact::ANY) {
            (Polarity::Positive, _) => positive,
            (Polarity::Negative, true) => self.gone.as_ref().unwrap_or(&self.not),
            (Polarity::Negative, false) => &self.not,
        }
    }
}

fn filled(form: &str, fact: &ExtractedFact, language: Language) -> String {
    let rest = fact.slot.split_once('.').map_or("", |(_, rest)| rest);
    let value = if fact.value == ExtractedFact::ANY { language.pick("任何", "any") } else { fact.value.as_str() };
    form.replace("{s}", &subject(fact, language)).replace("{r}", rest).replace("{v}", &one_line(value))
}

/// Returns the subject of a fact as it is told: `The user`, `用户的妹妹`, a name.
fn subject(fact: &ExtractedFact, language: Language) -> String {
    let (name, relative) =
        fact.subject.split_once('.').map_or((fact.subject.as_str(), None), |(name, relative)| (name, Some(relative)));
    let relative = relative.filter(|relative| !relative.is_empty() && !relative.contains(' '));
    let owner = match (name, relative) {
        (ExtractedFact::USER, _) => language.pick("用户", "The user").to_owned(),
        (_, None) => one_line(&fact.subject),
        (name, Some(_)) => one_line(name),
    };
    match relative {
        Some(relative) => language.pick(format!("{owner}的{relative}"), format!("{owner}'s {relative}")),
        None => owner,
    }
}

/// The part of a slot's name before the dot.
pub(super) fn family(slot: &str) -> &str {
    slot.split_once('.').map_or(slot, |(family, _)| family)
}
