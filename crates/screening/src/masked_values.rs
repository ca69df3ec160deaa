//! Repetitions of masked values in the same record.

use std::fmt;

use memory_engine_core::Record;
use serde_json::Value;

use crate::{
    finding::{RecordField, RecordFinding, ScreeningFinding},
    masks::mask_of,
};

/// Minimum length of a value whose repetitions are masked, in bytes. Shorter ones occur by chance.
const VALUE_MIN_BYTES: usize = 6;
/// Minimum length of a label that is masked because it is a part of a value, in bytes.
const PART_MIN_BYTES: usize = 4;

/// The values that were masked in a record. They are dropped with the screening, and never shown.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct MaskedValues(Vec<(String, RecordFinding)>);

impl fmt::Debug for MaskedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MaskedValues").field(&self.0.len()).finish()
    }
}

impl MaskedValues {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the values of findings that are long enough and have a digit. An ordinary word is not masked elsewhere.
    pub(crate) fn add(&mut self, text: &str, findings: &[ScreeningFinding], field: RecordField) {
        for finding in findings {
            let value = &text[finding.range.clone()];
            if value.len() >= VALUE_MIN_BYTES && has_digit(value) {
                let finding = RecordFinding { rule: finding.rule, category: finding.category, field };
                self.0.push((value.to_ascii_lowercase(), finding));
            }
        }
    }

    /// Masks the values in every field of a record.
    pub(crate) fn mask_in_record(&self, record: &mut Record, masked: &mut Vec<RecordFinding>) {
        self.mask_in(&mut record.text, RecordField::Text, masked);
        for (label, field) in [(&mut record.speaker, RecordField::Speaker), (&mut record.topic, RecordField::Topic)] {
            if let Some(label) = label {
                self.mask_in_label(label, field, masked);
            }
        }
        for (labels, field) in [(&mut record.entities, RecordField::Entities), (&mut record.tags, RecordField::Tags)] {
            for label in labels {
                self.mask_in_label(label, field, masked);
            }
        }
        for (_, value) in &mut record.metadata {
            self.mask_in_value(value, masked);
        }
    }

    fn mask_in_value(&self, value: &mut Value, masked: &mut Vec<RecordFinding>) {
        match value {
            Value::String(text) => self.mask_in(text, RecordField::Metadata, masked),
            Value::Array(values) => values.iter_mut().for_each(|value| self.mask_in_value(value, masked)),
            Value::Object(map) => map.iter_mut().for_each(|(_, value)| self.mask_in_value(value, masked)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Masks the values in a label, and a label that is a part of a value.
    fn mask_in_label(&self, label: &mut String, field: RecordField, masked: &mut Vec<RecordFinding>) {
        let lower_case = label.to_ascii_lowercase();
        let is_part = |value: &str| label.len() >= PART_MIN_BYTES && has_digit(label) && value.contains(&lower_case);
        match self.0.iter().find(|(value, _)| is_part(value)) {
            Some((_, finding)) => {
                masked.push(RecordFinding { field, ..*finding });
                *label = mask_of(finding.rule);
            }
            None => self.mask_in(label, field, masked),
        }
    }

    fn mask_in(&self, text: &mut String, field: RecordField, masked: &mut Vec<RecordFinding>) {
        for (value, finding) in &self.0 {
            let mask = mask_of(finding.rule);
            let mut from = 0;
            // The same length as the text, since only ASCII letters change.
            while let Some(start) = text.to_ascii_lowercase()[from..].find(value).map(|start| from + start) {
                text.replace_range(start..start + value.len(), &mask);
                masked.push(RecordFinding { field, ..*finding });
                from = start + mask.len();
            }
        }
    }
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use memory_engine_core::{Kind, ManualClock, Scope, Timestamp};

    use crate::{policy::ScreeningPolicy, record::RecordScreening, screener::Screener};

    use super::*;

    fn screened(change: impl FnOnce(&mut Record)) -> (Record, RecordScreening) {
        let clock = ManualClock::new(Timestamp::from_micros(0));
        let scope = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap_or_else(|_| unreachable!());
        let mut record = Record::new(scope, Kind::NOTE, "My password is Kestrel-90417x. Yes, kestrel-90417X!", &clock);
        change(&mut record);
        let screening = Screener::new(ScreeningPolicy::default()).screen_record(&mut record);
        (record, screening)
    }

    #[test]
    fn repetitions_of_a_value_are_masked() {
        let (record, screening) = screened(|record| {
            record.entities = vec!["Kestrel-90417x".into(), "90417x".into(), "Kestrel".into()];
            record.metadata.insert("list".into(), serde_json::json!(["about kestrel-90417x"]));
        });
        let mask = "[redacted: en-password]";
        assert_eq!(record.text, format!("My password is {mask}. Yes, {mask}!"));
        assert_eq!(record.entities, [mask, mask, "Kestrel"]);
        assert_eq!(record.metadata["list"][0], format!("about {mask}"));
        assert_eq!(screening.masked.len(), 5);
        assert!(!format!("{screening:?}").contains("90417"));
    }

    #[test]
    fn ordinary_words_and_short_numbers_are_not_masked_elsewhere() {
        let (record, _) = screened(|record| {
            record.text = "PIN: 4711. The password is sunshine. I like sunshine and 4711.".into();
        });
        assert!(record.text.ends_with("I like sunshine and 4711."), "{}", record.text);
    }
}
