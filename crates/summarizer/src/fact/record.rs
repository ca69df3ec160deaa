//! Converts facts to records and back, and renders them with their dates.

use jiff::tz::TimeZone;
use memory_engine_core::{Kind, Language, Record, RecordId, Scope, State, Timestamp, Trust, fact_keys as keys};
use serde_json::{Value, json};

use crate::{
    fact::{
        slot::{Slots, family},
        types::{Cardinality, ExtractedFact, FactEvidence, FactKind, Polarity},
    },
    text::one_line,
};

impl ExtractedFact {
    /// Returns the fact as a record in `scope`, which is usually wider than that of its turn: facts about a person
    /// outlive the session. The id is computed from scope, subject, slot, value, polarity and the first evidence, so
    /// that a fact found twice in one turn is one record. Without evidence, the id depends on the other parts only.
    pub fn to_record(&self, scope: &Scope, recorded_at: Timestamp) -> Record {
        let mut record = Record::new(
            scope.clone(),
            Kind::FACT,
            self.text.clone(),
            &memory_engine_core::ManualClock::new(recorded_at),
        );
        record.id = self.id(scope);
        record.trust = Trust::Derived;
        record.confidence = self.confidence;
        record.derived_from = self.evidence.iter().map(|evidence| evidence.record).collect();
        record.occurred_at = self.said_at;
        record.source.sequence = self.sequence;
        record.valid_from = self.valid_from;
        record.valid_until = self.valid_until;
        let quotes: Vec<&str> = self.evidence.iter().map(|evidence| evidence.quote.as_str()).collect();
        let entries = [
            (keys::SUBJECT, json!(self.subject)),
            (keys::SLOT, json!(self.slot)),
            (keys::VALUE, json!(self.value)),
            (keys::POLARITY, json!(self.polarity)),
            (keys::CARDINALITY, json!(self.cardinality)),
            (keys::TYPE, json!(self.kind)),
            (keys::QUOTES, json!(quotes)),
        ];
        record.metadata.extend(entries.map(|(key, value)| (key.to_owned(), value)));
        let until = self.valid_until.map(|until| (keys::STATED_UNTIL.to_owned(), json!(until)));
        let rule = self.rule.as_ref().map(|rule| (keys::RULE.to_owned(), json!(rule)));
        let corrects = self.corrects.map(|id| (keys::CORRECTS.to_owned(), json!(id)));
        record.metadata.extend(until.into_iter().chain(rule).chain(corrects));
        record
    }

    /// Returns the id of its record in `scope`.
    pub fn id(&self, scope: &Scope) -> RecordId {
        let first = self.evidence.first().map(|evidence| evidence.record.to_string()).unwrap_or_default();
        let polarity = if self.polarity == Polarity::Positive { "+" } else { "-" };
        let parts = ["fact", &self.subject, &self.slot, polarity, &self.value_key(), &first];
        RecordId::named(scope, &parts.join("\u{1f}"))
    }

    /// Returns the fact of a record, or `None` if the record has no fact of this crate.
    pub fn from_record(record: &Record) -> Option<Self> {
        if record.kind != Kind::FACT {
            return None;
        }
        let text = |key: &str| record.metadata.get(key).and_then(Value::as_str).map(str::to_owned);
        let quotes = record.metadata.get(keys::QUOTES).and_then(Value::as_array);
        let quote =
            |n: usize| quotes.and_then(|quotes| quotes.get(n)).and_then(Value::as_str).unwrap_or_default().to_owned();
        let evidence = record.derived_from.iter().enumerate();
        Some(Self {
            subject: text(keys::SUBJECT)?,
            slot: text(keys::SLOT)?,
            value: text(keys::VALUE)?,
            polarity: metadata_value(record, keys::POLARITY)?,
            cardinality: metadata_value(record, keys::CARDINALITY)?,
            kind: metadata_value::<FactKind>(record, keys::TYPE)?,
            valid_from: record.valid_from,
            valid_until: metadata_value(record, keys::STATED_UNTIL),
            said_at: record.occurred_at,
            sequence: record.source.sequence,
            evidence: evidence.map(|(n, id)| FactEvidence { record: *id, quote: quote(n) }).collect(),
            text: record.text.clone(),
            confidence: record.confidence,
            rule: metadata_value(record, keys::RULE),
            corrects: metadata_value(record, keys::CORRECTS),
        })
    }

    /// Returns the time from which it holds. A plan holds from the time at which it was made.
    pub fn begins(&self) -> Timestamp {
        match family(&self.slot) {
            "plan" => self.said_at,
            _ => self.valid_from.unwrap_or(self.said_at),
        }
    }

    pub(crate) fn is_single(&self) -> bool {
        self.cardinality == Cardinality::Single
    }
}

fn metadata_value<T: serde::de::DeserializeOwned>(record: &Record, key: &str) -> Option<T> {
    serde_json::from_value(record.metadata.get(key)?.clone()).ok()
}

/// Returns the record of a fact as a sentence to show. A fact that no longer holds is rendered with the day of its end,
/// such as `The user lived in Shanghai until 2024-05-01.` or `用户曾住在上海，直到2024-05-01。`. A record without a fact is
/// rendered as its text.
///
/// A fact no longer holds if it is superseded, or if its `valid_until` is not after `now`.
pub fn render(record: &Record, now: Timestamp, zone: &TimeZone) -> String {
    let is_merged = record.metadata.contains_key(keys::MERGED_INTO);
    let has_ended = |until: &Timestamp| record.state == State::Superseded || *until <= now;
    let end = record.valid_until.filter(|until| !is_merged && has_ended(until));
    let Some(until) = end else { return one_line(&record.text) };
    let Some(fact) = ExtractedFact::from_record(record) else { return one_line(&record.text) };
    let language = Language::of(&record.text);
    let until = until.in_zone(zone).date();
    match Slots::built_in(&fact.slot).map(|slot| slot.render_past(&fact, language)) {
        Some(past) => language.pick(format!("{past}，直到{until}。"), format!("{past} until {until}.")),
        None => {
            let text = one_line(&record.text);
            language.pick(format!("曾经（直到{until}）：{text}"), format!("Was so until {until}: {text}"))
        }
    }
}
