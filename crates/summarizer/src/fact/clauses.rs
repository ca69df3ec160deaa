//! Rewrites the clauses of a sentence as statements in the first person, so that the rules read them.
//!
//! A clause without a subject continues the one before: "我叫汤姆，住在成都" states "我住在成都", and "I'm 29, live in
//! Porto" states "I live in Porto". Adverbs and asides between subject and verb are left out. A clause about a relative
//! becomes a statement of that relative.

mod en;
mod zh;

use crate::text::has_han;

/// The person whom a clause is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Subject {
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
pub(super) struct Statement {
    pub(super) subject: Subject,
    /// True if the clause names its subject.
    pub(super) is_explicit: bool,
    pub(super) text: String,
}

/// The persons that the earlier clauses of a message are about.
#[derive(Debug, Clone, Default)]
pub(super) struct ClauseContext {
    /// The subject of the last clause; `None` at the beginning of the message.
    last: Option<Subject>,
    /// The relative that a pronoun in the third person refers to.
    relative: Option<String>,
    /// True if the message is also about somebody who is neither the speaker nor a relative.
    mentions_others: bool,
}

impl ClauseContext {
    /// Returns the statements of the next sentence of the message.
    pub(super) fn statements(&mut self, sentence: &str) -> Vec<Statement> {
        if has_han(sentence) { zh::statements(self, sentence) } else { en::statements(self, sentence) }
    }

    /// Returns the subject of a clause without one.
    fn continued(&self) -> Subject {
        match &self.last {
            Some(subject) => subject.clone(),
            None if self.mentions_others => Subject::Other,
            None => Subject::Speaker,
        }
    }

    /// Returns the subject of a pronoun in the third person.
    fn third_person(&self) -> Subject {
        self.relative.clone().map_or(Subject::Other, Subject::Relative)
    }

    fn set(&mut self, subject: Subject) {
        match &subject {
            Subject::Relative(relative) => self.relative = Some(relative.clone()),
            Subject::Other => self.mentions_others = true,
            Subject::Speaker => {}
        }
        self.last = Some(subject);
    }

    /// Ends the sentence: the next one begins with its subject only if that is the speaker.
    fn end_sentence(&mut self) {
        if self.last != Some(Subject::Speaker) {
            self.last = None;
            self.mentions_others |= self.relative.is_some();
        }
    }
}

#[cfg(test)]
mod tests;
