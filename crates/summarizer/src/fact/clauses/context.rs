//! The persons that the clauses of a message are about.

use crate::{data::DataPattern, fact::relatives};

/// The person whom a clause is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::fact) enum ClauseSubject {
    /// The speaker.
    Speaker,
    /// A relative of the speaker, by the canonical name.
    Relative(String),
    /// Another person or a thing.
    #[default]
    Other,
}

/// A clause in the first person of its subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::fact) struct ClauseStatement {
    pub(in crate::fact) subject: ClauseSubject,
    /// True if the clause names its subject.
    pub(in crate::fact) is_explicit: bool,
    pub(in crate::fact) text: String,
}

/// The persons that the earlier clauses of a message are about.
#[derive(Debug, Clone, Default)]
pub(in crate::fact) struct ClauseContext {
    /// The subject of the last clause; `None` at the beginning of the message.
    pub(super) last: Option<ClauseSubject>,
    /// The relative that a pronoun in the third person refers to.
    relative: Option<String>,
    /// True if the message also mentions a person who is neither the speaker nor a relative.
    mentions_others: bool,
}

impl ClauseContext {
    /// Returns the subject of a clause that names none.
    pub(super) fn implied_subject(&self) -> ClauseSubject {
        match &self.last {
            Some(subject) => subject.clone(),
            None if self.mentions_others => ClauseSubject::Other,
            None => ClauseSubject::Speaker,
        }
    }

    /// Returns the subject that a pronoun in the third person refers to.
    pub(super) fn third_person(&self) -> ClauseSubject {
        self.relative.clone().map_or(ClauseSubject::Other, ClauseSubject::Relative)
    }

    pub(super) fn set(&mut self, subject: ClauseSubject) {
        match &subject {
            ClauseSubject::Relative(relative) => self.relative = Some(relative.clone()),
            ClauseSubject::Other => self.mentions_others = true,
            ClauseSubject::Speaker => {}
        }
        self.last = Some(subject);
    }

    /// Lets the next pronoun refer to the only relative that a clause mentions: "a gift for my niece", "给我爷爷买什么".
    pub(super) fn mention(&mut self, mentions: &DataPattern, clause: &str) {
        let mut mentioned = mentions.captures_iter(clause);
        if let (Some(found), None) = (mentioned.next(), mentioned.next()) {
            self.relative = Some(relatives::canonical_name(&found["kin"].to_lowercase()).to_owned());
        }
    }

    /// Ends the sentence: the next one begins with its subject only if that is the speaker.
    pub(super) fn end_sentence(&mut self) {
        if self.last != Some(ClauseSubject::Speaker) {
            self.last = None;
            self.mentions_others |= self.relative.is_some();
        }
    }
}
