//! Findings. They never contain the text that was found.

use std::{fmt, ops::Range};

use serde::Serialize;

use crate::policy::Category;

/// The id of a rule, such as `github-pat` or `zh-password`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ScreeningRuleId(pub(crate) &'static str);

impl ScreeningRuleId {
    /// Returns the id.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for ScreeningRuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A secret or personal data in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScreeningFinding {
    /// The rule that matched.
    pub rule: ScreeningRuleId,
    /// Its category.
    pub category: Category,
    /// The position in the text, in bytes.
    pub range: Range<usize>,
}

/// A field of a record that is screened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RecordField {
    /// The text.
    Text,
    /// The name of the speaker.
    Speaker,
    /// The topic.
    Topic,
    /// The entities.
    Entities,
    /// The tags.
    Tags,
    /// The strings of the metadata.
    Metadata,
}

impl RecordField {
    /// Returns the name of the field.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Speaker => "speaker",
            Self::Topic => "topic",
            Self::Entities => "entities",
            Self::Tags => "tags",
            Self::Metadata => "metadata",
        }
    }
}

impl fmt::Display for RecordField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A finding in a record, without its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct RecordFinding {
    /// The rule that matched.
    pub rule: ScreeningRuleId,
    /// Its category.
    pub category: Category,
    /// The field.
    pub field: RecordField,
}
