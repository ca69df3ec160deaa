//! The expectations of a case: patterns of records, and their place among the hits.

use std::fmt;

use memory_engine::Record;
use regex::Regex;
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// A pattern that selects records.
#[derive(Debug, Clone)]
pub(crate) enum RecordPattern {
    /// The id of a record, or the id of its message in an imported file.
    Id(String),
    /// A part of the text. Upper and lower case are equal.
    Text(String),
    /// A regular expression that matches a part of the text.
    Regex(Regex),
}

/// A record that must, or must not, be among the hits or in the block.
#[derive(Debug, Clone)]
pub(crate) struct RecordRule {
    pub(crate) pattern: RecordPattern,
    /// The last place at which an expected hit may be, from 1. Default: the limit of the case.
    pub(crate) rank: Option<usize>,
    /// True if only relevant hits count. Default: true for an expected record, false for a forbidden one.
    pub(crate) relevant: Option<bool>,
    /// A remark for people, such as the beginning of the text.
    pub(crate) note: Option<String>,
}

impl RecordPattern {
    /// Returns true if the pattern selects this record.
    pub(crate) fn matches(&self, record: &Record) -> bool {
        match self {
            Self::Id(id) => record.source.message_id.as_ref() == Some(id) || id.parse().is_ok_and(|id| record.id == id),
            Self::Text(_) | Self::Regex(_) => self.matches_text(&record.text),
        }
    }

    /// Returns true if the pattern matches a part of the text. An id matches no text.
    pub(crate) fn matches_text(&self, text: &str) -> bool {
        match self {
            Self::Id(_) => false,
            Self::Text(part) => text.to_lowercase().contains(&part.to_lowercase()),
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}

impl fmt::Display for RecordPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "id {id}"),
            Self::Text(text) => write!(f, "text \"{text}\""),
            Self::Regex(regex) => write!(f, "regex '{regex}'"),
        }
    }
}

impl fmt::Display for RecordRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.note {
            Some(note) => write!(f, "{} (\"{note}\")", self.pattern),
            None => write!(f, "{}", self.pattern),
        }
    }
}

/// A rule as a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleTable {
    id: Option<String>,
    text: Option<String>,
    regex: Option<String>,
    rank: Option<usize>,
    relevant: Option<bool>,
    note: Option<String>,
}

impl TryFrom<RuleTable> for RecordRule {
    type Error = String;

    fn try_from(table: RuleTable) -> Result<Self, String> {
        let pattern = pattern(table.id, table.text, table.regex)?;
        if table.rank == Some(0) {
            return Err("rank is the last allowed place of the hit, from 1; write rank = 1 for the first hit".into());
        }
        Ok(Self { pattern, rank: table.rank, relevant: table.relevant, note: table.note })
    }
}

/// Returns the pattern of an entry, which must have exactly one of the three keys.
fn pattern(id: Option<String>, text: Option<String>, regex: Option<String>) -> Result<RecordPattern, String> {
    match (id, text, regex) {
        (Some(id), None, None) if !id.trim().is_empty() => Ok(RecordPattern::Id(id.trim().to_owned())),
        (None, Some(text), None) if !text.trim().is_empty() => Ok(RecordPattern::Text(text)),
        (None, None, Some(regex)) => {
            let compiled = Regex::new(&regex).map_err(|e| format!("the regex is not valid: {e}"))?;
            if compiled.is_match("") {
                return Err(format!("the regex '{regex}' matches every text; write one that needs a character"));
            }
            Ok(RecordPattern::Regex(compiled))
        }
        (Some(_), None, None) | (None, Some(_), None) => {
            Err("the id or text is empty, which would match everything; write a part of the record's text".into())
        }
        _ => Err("a record is named by exactly one of id, text and regex, as in { text = \"peanuts\" }".into()),
    }
}

/// Reads a rule from a text, or from a table.
struct RuleVisitor;

impl<'de> Visitor<'de> for RuleVisitor {
    type Value = RecordRule;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text in quotes, or a table such as { text = \"peanuts\" }, { regex = \"…\" } or { id = \"…\" }")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<RecordRule, E> {
        let pattern = pattern(None, Some(text.to_owned()), None).map_err(E::custom)?;
        Ok(RecordRule { pattern, rank: None, relevant: None, note: None })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RecordRule, A::Error> {
        RuleTable::deserialize(MapAccessDeserializer::new(map))?.try_into().map_err(A::Error::custom)
    }
}

impl<'de> Deserialize<'de> for RecordRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RuleVisitor)
    }
}
