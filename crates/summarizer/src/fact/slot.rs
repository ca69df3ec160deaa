//! Slots, and the sentences that express their facts.

use memory_engine_core::Language;
use memory_engine_text::Words;
use serde::Deserialize;

use crate::{
    data::data,
    fact::{
        grammar::{in_words, is_plural, with_article, with_plural_verb},
        types::{Cardinality, ExtractedFact, FactKind, Polarity},
    },
    text::one_line,
};

/// A slot with its sentences in both languages.
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

/// The sentences of a slot, with the placeholders `{s}` for the subject, `{v}` for the value, `{a}` for the value with
/// an English article, and `{r}` for the part of the slot's name after the dot.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sentences {
    is: String,
    not: String,
    was: String,
    /// A denial of every value. Default: `not`.
    gone: Option<String>,
    /// The sentence of a positive fact if the part of the slot's name after the dot is one of `acts`. Default: `is`.
    act: Option<String>,
    #[serde(default)]
    acts: Words,
}

/// The slots that have sentences.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Slots {
    slots: Vec<Slot>,
}

data!(BUILT_IN: Slots = "slots.toml");

impl Slots {
    /// Returns a slot of the crate by its name.
    pub(super) fn built_in(name: &str) -> Option<&'static Slot> {
        BUILT_IN.of(name)
    }

    /// Returns the slots of the crate and those of a caller, which replace slots of the same name.
    pub(super) fn built_in_and(more: Vec<Slot>) -> Self {
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
    pub(super) fn render(&self, fact: &ExtractedFact, language: Language) -> String {
        let sentences = language.pick(&self.zh, &self.en);
        fill_template(sentences.template(fact, sentences.positive(fact)), fact, language) + language.pick("。", ".")
    }

    /// Returns a former fact of this slot as a sentence without its final punctuation mark.
    pub(super) fn render_past(&self, fact: &ExtractedFact, language: Language) -> String {
        let sentences = language.pick(&self.zh, &self.en);
        fill_template(sentences.template(fact, &sentences.was), fact, language)
    }
}

impl Sentences {
    /// Returns the template for a positive fact.
    fn positive(&self, fact: &ExtractedFact) -> &str {
        self.act.as_ref().filter(|_| self.acts.contains(name_end(fact))).unwrap_or(&self.is)
    }

    /// Returns the template for a fact of either polarity.
    fn template<'s>(&'s self, fact: &ExtractedFact, positive: &'s str) -> &'s str {
        match (fact.polarity, fact.value == ExtractedFact::ANY) {
            (Polarity::Positive, _) => positive,
            (Polarity::Negative, true) => self.gone.as_ref().unwrap_or(&self.not),
            (Polarity::Negative, false) => &self.not,
        }
    }
}

fn fill_template(template: &str, fact: &ExtractedFact, language: Language) -> String {
    let value = if fact.value == ExtractedFact::ANY { language.pick("任何", "any") } else { fact.value.as_str() };
    let value = in_words(&one_line(value), language);
    let subject = subject(fact, language);
    let template = if is_plural(&subject, language) { with_plural_verb(template) } else { template.to_owned() };
    let text = template.replace("{a}", &with_article(&value)).replace("{r}", name_end(fact)).replace("{v}", &value);
    text.replace("{s}", &subject)
}

/// Returns the part of a slot's name after the dot.
fn name_end(fact: &ExtractedFact) -> &str {
    fact.slot.split_once('.').map_or("", |(_, end)| end)
}

/// Returns the subject of a fact as text: `The user`, `用户的妹妹`, or a name.
fn subject(fact: &ExtractedFact, language: Language) -> String {
    let name = fact.subject.split('.').next().unwrap_or_default();
    let relative = fact.subject.split_once('.').map(|(_, relative)| relative);
    // The dot may also belong to a name: "Dr. Ito".
    let is_relative = |relative: &&str| {
        !relative.is_empty() && !relative.starts_with(' ') && !relative.chars().any(char::is_uppercase)
    };
    let relative = relative.filter(is_relative);
    let owner = if name == ExtractedFact::USER {
        language.pick("用户", "The user").to_owned()
    } else if relative.is_some() {
        one_line(name)
    } else {
        one_line(&fact.subject)
    };
    match relative {
        Some(relative) => language.pick(format!("{owner}的{relative}"), format!("{owner}'s {relative}")),
        None => owner,
    }
}

/// Returns the part of a slot's name before the dot.
pub(super) fn family(slot: &str) -> &str {
    slot.split_once('.').map_or(slot, |(family, _)| family)
}
