//! The text of a record for indexing and reranking.

use memory_engine_core::Record;

/// Returns the text of a record as it is analyzed, embedded and reranked: `speaker: text` if the speaker has a name.
pub fn indexed_text(record: &Record) -> String {
    match record.named_speaker() {
        Some(speaker) => format!("{speaker}: {}", record.text),
        None => record.text.clone(),
    }
}
