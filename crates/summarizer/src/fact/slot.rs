//! How the facts of a slot are told.

use std::sync::LazyLock;

use memory_engine_core::{Error, Result};
use serde::Deserialize;

use crate::{
    Cardinality, FactKind, Language, Polarity,
    fact::{Fact, value::one_line},
};

const SLOTS: &str = include_str!("slots.toml");

/// A slot, and its sentences.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) kind: FactKind,
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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    slots: Vec<Slot>,
}

/// The slots that have sentences.
#[derive(Debug, Clone)]
pub(crate) struct Slots(Vec<Slot>);

static BUILT_IN: LazyLock<Option<Slots>> = LazyLock::new(|| Slots::with(Vec::new()).ok());

impl Slots {
    /// A slot that the rules know.
    pub(crate) fn built_in(name: &str) -> Option<&'static Slot> {
        BUILT_IN.as_ref()?.of(name)
    }

    /// The slots that the rules know, with those of a caller laid over them.
    pub(crate) fn with(more: Vec<Slot>) -> Result<Self> {
        let File { mut slots } = read(SLOTS)?;
        for slot in more {
            slots.retain(|known| known.name != slot.name);
            slots.push(slot);
        }
        Ok(Self(slots))
    }

    /// The slot of a name, whatever stands behind its dot.
    pub(crate) fn of(&self, name: &str) -> Option<&Slot> {
        let family = family(name);
        self.0.iter().find(|slot| slot.name == family)
    }
}

impl Slot {
    pub(crate) fn cardinality(&self) -> Cardinality {
        if self.one { Cardinality::Single } else { Cardinality::Many }
    }

    /// A fact of this slot as a sentence.
    pub(crate) fn tell(&self, fact: &Fact, language: Language) -> String {
        let sentences = language.pick(&self.zh, &self.en);
        let form = match (fact.polarity, fact.value == Fact::ANY) {
            (Polarity::Positive, _) => &sentences.is,
            (Polarity::Negative, true) => sentences.gone.as_ref().unwrap_or(&sentences.not),
            (Polarity::Negative, false) => &sentences.not,
        };
        filled(form, fact, language) + language.pick("。", ".")
    }

    /// A fact of this slot that held once, without the mark at its end.
    pub(crate) fn tell_past(&self, fact: &Fact, language: Language) -> String {
        let sentences = language.pick(&self.zh, &self.en);
        let form = match (fact.polarity, fact.value == Fact::ANY) {
            (Polarity::Positive, _) => &sentences.was,
            (Polarity::Negative, true) => sentences.gone.as_ref().unwrap_or(&sentences.not),
            (Polarity::Negative, false) => &sentences.not,
        };
        filled(form, fact, language)
    }
}

fn filled(form: &str, fact: &Fact, language: Language) -> String {
    let (whose, relative) =
        fact.subject.split_once('.').map_or((fact.subject.as_str(), None), |(whose, kin)| (whose, Some(kin)));
    let whose = match whose {
        Fact::USER => language.pick("用户", "The user").to_owned(),
        _ if relative.is_none_or(|kin| kin.contains(' ') || kin.is_empty()) => one_line(&fact.subject),
        name => one_line(name),
    };
    let subject = match relative.filter(|kin| !kin.is_empty() && !kin.contains(' ')) {
        Some(kin) => language.pick(format!("{whose}的{kin}"), format!("{whose}'s {kin}")),
        None => whose,
    };
    let rest = fact.slot.split_once('.').map_or("", |(_, rest)| rest);
    let value = if fact.value == Fact::ANY { language.pick("任何", "any") } else { fact.value.as_str() };
    form.replace("{s}", &subject).replace("{r}", rest).replace("{v}", &one_line(value))
}

/// The part of a slot's name before the dot.
pub(crate) fn family(slot: &str) -> &str {
    slot.split_once('.').map_or(slot, |(family, _)| family)
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|e| Error::invalid("fact patterns", e.to_string().trim_end()))
}
