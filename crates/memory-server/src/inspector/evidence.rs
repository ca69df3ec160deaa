//! The records that state something, for the views of facts and of the graph.

use memory_engine::Record;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    clip::{EVIDENCE_MAX_CHARS, clip},
    record::RecordView,
};

/// A record that states something, with its position in the conversation.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct EvidenceRecord {
    /// The record. Its text has at most 4000 characters.
    #[serde(flatten)]
    record: RecordView,
    /// True if the text is only the beginning.
    is_clipped: bool,
    /// The id of the message in the application.
    message_id: Option<String>,
    /// The number of the message within its conversation.
    sequence: Option<i64>,
}

impl From<Record> for EvidenceRecord {
    fn from(mut record: Record) -> Self {
        let (text, is_clipped) = clip(&record.text, EVIDENCE_MAX_CHARS);
        record.text = text;
        Self {
            record: RecordView::of(&record),
            is_clipped,
            message_id: record.source.message_id,
            sequence: record.source.sequence,
        }
    }
}
