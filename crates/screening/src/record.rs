//! Screening of records.

use std::{borrow::Cow, collections::BTreeMap};

use memory_engine_core::Record;
use serde_json::{Map, Value};

use crate::{
    finding::{RecordField, RecordFinding, ScreeningRuleId},
    masked_values::MaskedValues,
    policy::ScreeningAction,
    screener::Screener,
};

/// The findings in a record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RecordScreening {
    /// Findings that were masked.
    pub masked: Vec<RecordFinding>,
    /// Findings because of which the record is refused.
    pub refused: Vec<RecordFinding>,
    /// The values that were masked, until the record is complete.
    values: MaskedValues,
}

impl RecordScreening {
    /// Returns true if nothing was found.
    pub fn is_clean(&self) -> bool {
        self.masked.is_empty() && self.refused.is_empty()
    }

    /// Returns the reason why the record is refused, if it is. It names the rule and the field, never the value.
    pub fn refusal(&self) -> Option<String> {
        let finding = self.refused.first()?;
        let RecordFinding { rule, category, field } = finding;
        Some(format!(
            "its {field} matches the screening rule {rule}, and the category {category} is refused; remove the value, \
             or set screening.{category} to \"mask\" or \"store\""
        ))
    }
}

/// Counts findings by their rules.
pub fn count_by_rule<'f>(findings: impl IntoIterator<Item = &'f RecordFinding>) -> BTreeMap<ScreeningRuleId, u64> {
    let mut counts = BTreeMap::new();
    for finding in findings {
        *counts.entry(finding.rule).or_default() += 1;
    }
    counts
}

impl Screener {
    /// Masks the findings in the text, speaker, topic, entities, tags and metadata of a record, and repetitions of
    /// their values in the same record. Returns the findings.
    ///
    /// Ids, scopes, the scene and the emotion are not screened.
    pub fn screen_record(&self, record: &mut Record) -> RecordScreening {
        let mut screening = RecordScreening::default();
        if self.policy().is_off() {
            return screening;
        }
        self.screen_string(&mut record.text, RecordField::Text, &mut screening);
        for (label, field) in [(&mut record.speaker, RecordField::Speaker), (&mut record.topic, RecordField::Topic)] {
            if let Some(label) = label {
                self.screen_string(label, field, &mut screening);
            }
        }
        for (labels, field) in [(&mut record.entities, RecordField::Entities), (&mut record.tags, RecordField::Tags)] {
            for label in labels {
                self.screen_string(label, field, &mut screening);
            }
        }
        self.screen_map(&mut record.metadata, &mut screening);
        // Labels are often words of the text, such as the names in it.
        let values = std::mem::take(&mut screening.values);
        if !values.is_empty() {
            values.mask_in_record(record, &mut screening.masked);
        }
        screening
    }

    fn screen_string(&self, text: &mut String, field: RecordField, screening: &mut RecordScreening) {
        if let Some(masked) = self.screen_field(text, field, screening) {
            *text = masked;
        }
    }

    /// Adds the findings of a text. Returns the masked text if there is something to mask.
    fn screen_field(&self, text: &str, field: RecordField, screening: &mut RecordScreening) -> Option<String> {
        let screened = self.screen(text);
        if matches!(screened.text, Cow::Owned(_)) {
            screening.values.add(text, &self.findings(text), field);
        }
        for finding in &screened.findings {
            let found = RecordFinding { rule: finding.rule, category: finding.category, field };
            match self.policy().action(finding.category) {
                ScreeningAction::Mask => screening.masked.push(found),
                ScreeningAction::Refuse => screening.refused.push(found),
                ScreeningAction::Store => {}
            }
        }
        match screened.text {
            Cow::Owned(masked) => Some(masked),
            Cow::Borrowed(_) => None,
        }
    }

    fn screen_map(&self, map: &mut Map<String, Value>, screening: &mut RecordScreening) {
        for (key, value) in map {
            if let Value::String(text) = value {
                self.screen_named(key, text, screening);
            } else {
                self.screen_value(value, screening);
            }
        }
    }

    fn screen_value(&self, value: &mut Value, screening: &mut RecordScreening) {
        match value {
            Value::String(text) => self.screen_string(text, RecordField::Metadata, screening),
            Value::Array(values) => values.iter_mut().for_each(|value| self.screen_value(value, screening)),
            Value::Object(map) => self.screen_map(map, screening),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Screens a value together with its key, because a rule may need the word `password` before the value.
    fn screen_named(&self, key: &str, text: &mut String, screening: &mut RecordScreening) {
        if !self.has_keyword(key) {
            return self.screen_string(text, RecordField::Metadata, screening);
        }
        let prefix = format!("{key}: ");
        let Some(masked) = self.screen_field(&format!("{prefix}{text}"), RecordField::Metadata, screening) else {
            return;
        };
        // A key that is a secret itself is not screened: metadata keys are names of the caller.
        if let Some(value) = masked.strip_prefix(&prefix) {
            *text = value.to_owned();
        }
    }
}
