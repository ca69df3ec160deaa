//! The texts that suggestions are learned from.

use memory_engine_core::{Record, RecordId};

/// A stored text, with its session and speaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceText<'t> {
    /// The record.
    pub id: RecordId,
    /// The text.
    pub text: &'t str,
    /// The session. Texts without a session count as sessions of their own.
    pub session: Option<&'t str>,
    /// The name of the speaker.
    pub speaker: Option<&'t str>,
}

impl<'t> SourceText<'t> {
    /// Creates a text without a session and a speaker.
    pub fn new(id: RecordId, text: &'t str) -> Self {
        Self { id, text, session: None, speaker: None }
    }

    memory_engine_core::setters! {
        #![must_use]
        /// Sets the session.
        with_session(session: &'t str) => session = Some(session);
        /// Sets the name of the speaker.
        with_speaker(speaker: &'t str) => speaker = Some(speaker);
    }

    /// Creates the text of a record.
    pub fn of(record: &'t Record) -> Self {
        let (session, speaker) = (record.scope.session(), record.speaker.as_deref());
        Self { id: record.id, text: &record.text, session, speaker }
    }
}
