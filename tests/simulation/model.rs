//! A plain model of one user's memory.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine::{ErrorKind, State, history::Rewind};

use crate::operation::{DocumentNumber, Operation, Place};

/// 2026-02-25, 06:13 UTC.
const START_MICROS: i64 = 1_772_000_000_123_456;

/// A document as a reader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) place: Place,
    pub(crate) text: String,
    pub(crate) state: State,
    pub(crate) occurred_at: i64,
}

/// All that a reader sees of the user's memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Observed {
    pub(crate) documents: BTreeMap<DocumentNumber, Document>,
    pub(crate) forgotten: BTreeSet<DocumentNumber>,
    /// The documents of each retraction that can be restored and has documents left.
    pub(crate) retractions: BTreeSet<BTreeSet<DocumentNumber>>,
    /// The documents that are active on each branch that was forked.
    pub(crate) branches: BTreeMap<Place, BTreeSet<DocumentNumber>>,
}

/// Returns true if a crash can leave this state of an operation: the state before it or after it. Of an operation that
/// is not atomic, documents and retractions may differ in that.
pub(crate) fn is_between(observed: &Observed, before: &Model, after: &Model, is_atomic: bool) -> bool {
    let (before, after) = (before.observed(), after.observed());
    if is_atomic {
        return *observed == before || *observed == after;
    }
    (observed.documents == before.documents || observed.documents == after.documents)
        && (observed.retractions == before.retractions || observed.retractions == after.retractions)
        && observed.forgotten == before.forgotten
}

/// The outcome of an operation: a number of documents, or an error.
pub(crate) type Outcome = Result<u64, ErrorKind>;

#[derive(Debug, Clone)]
pub(crate) struct Model {
    documents: BTreeMap<DocumentNumber, Document>,
    forgotten: BTreeSet<DocumentNumber>,
    /// The retraction that each revoked document belongs to.
    revoked_by: BTreeMap<DocumentNumber, u32>,
    retractions: BTreeMap<u32, BTreeSet<DocumentNumber>>,
    forks: BTreeMap<Place, i64>,
    next_document: DocumentNumber,
    next_retraction: u32,
    now: i64,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            documents: BTreeMap::new(),
            forgotten: BTreeSet::new(),
            revoked_by: BTreeMap::new(),
            retractions: BTreeMap::new(),
            forks: BTreeMap::new(),
            next_document: 0,
            next_retraction: 0,
            now: START_MICROS,
        }
    }
}

impl Model {
    pub(crate) fn documents(&self) -> impl Iterator<Item = DocumentNumber> + '_ {
        self.documents.keys().copied()
    }

    pub(crate) fn forgotten(&self) -> &BTreeSet<DocumentNumber> {
        &self.forgotten
    }

    pub(crate) fn next_document(&self) -> DocumentNumber {
        self.next_document
    }

    /// Returns the number of the next retraction.
    pub(crate) fn next_retraction(&self) -> u32 {
        self.next_retraction
    }

    pub(crate) fn now(&self) -> i64 {
        self.now
    }

    /// Returns the branches that were forked.
    pub(crate) fn forks(&self) -> impl Iterator<Item = Place> + '_ {
        self.forks.keys().copied()
    }

    /// Returns the retractions that have documents left.
    pub(crate) fn restorable(&self) -> Vec<u32> {
        let is_left = |documents: &BTreeSet<DocumentNumber>| documents.iter().any(|d| self.documents.contains_key(d));
        self.retractions.iter().filter(|(_, documents)| is_left(documents)).map(|(number, _)| *number).collect()
    }

    /// Returns the number of active documents.
    pub(crate) fn active(&self) -> usize {
        self.documents.values().filter(|document| document.state == State::Active).count()
    }

    /// Applies an operation, and returns the outcome that a store must have.
    pub(crate) fn apply(&mut self, operation: &Operation) -> Outcome {
        match operation {
            Operation::Remember { document, .. } if self.forgotten.contains(document) => Err(ErrorKind::Conflict),
            Operation::Remember { document, place, text } => {
                let new = Document { place: *place, text: text.clone(), state: State::Active, occurred_at: self.now };
                self.documents.insert(*document, new);
                self.next_document = self.next_document.max(document + 1);
                Ok(1)
            }
            Operation::Update { document, text } => match self.documents.get_mut(document) {
                Some(known) => {
                    known.text.clone_from(text);
                    Ok(1)
                }
                None => Err(ErrorKind::NotFound),
            },
            Operation::Forget { documents } => {
                let removed = documents.iter().filter(|document| self.documents.remove(document).is_some());
                let removed: Vec<DocumentNumber> = removed.copied().collect();
                self.forgotten.extend(&removed);
                Ok(removed.len() as u64)
            }
            Operation::Retract { documents } => Ok(self.retract(documents)),
            Operation::Restore { retraction } => {
                let Some(documents) = self.retractions.remove(retraction) else { return Err(ErrorKind::NotFound) };
                let mut restored = 0;
                for document in documents.iter().filter(|d| self.revoked_by.get(d) == Some(retraction)) {
                    if let Some(known) = self.documents.get_mut(document) {
                        known.state = State::Active;
                        restored += 1;
                    }
                }
                self.revoked_by.retain(|_, by| by != retraction);
                Ok(restored)
            }
            Operation::Rewind { place, rewind } => {
                let active = self.documents.iter().filter(|(_, d)| d.place == *place && d.state == State::Active);
                let mut active: Vec<(i64, DocumentNumber)> = active.map(|(n, d)| (d.occurred_at, *n)).collect();
                active.sort_unstable();
                active.reverse();
                match rewind {
                    Rewind::Last(count) => active.truncate(*count),
                    Rewind::To(sequence) => active.retain(|(_, number)| i64::from(*number) > *sequence),
                    _ => panic!("a rewind that the model does not have"),
                }
                let documents: Vec<DocumentNumber> = active.into_iter().map(|(_, number)| number).collect();
                Ok(self.retract(&documents))
            }
            Operation::Fork { session, branch, at } => {
                let place = Place { session: *session, branch: Some(*branch) };
                if self.forks.contains_key(&place) {
                    return Err(ErrorKind::Conflict);
                }
                self.forks.insert(place, *at);
                Ok(1)
            }
            Operation::SetClock { now } => {
                self.now = *now;
                Ok(0)
            }
            Operation::Reindex | Operation::Drain | Operation::Reopen => Ok(0),
        }
    }

    fn retract(&mut self, documents: &[DocumentNumber]) -> u64 {
        let is_active = |d: &&DocumentNumber| self.documents.get(d).is_some_and(|known| known.state == State::Active);
        let active: BTreeSet<DocumentNumber> = documents.iter().filter(is_active).copied().collect();
        if active.is_empty() {
            return 0;
        }
        for document in &active {
            if let Some(known) = self.documents.get_mut(document) {
                known.state = State::Revoked;
            }
            self.revoked_by.insert(*document, self.next_retraction);
        }
        let count = active.len() as u64;
        self.retractions.insert(self.next_retraction, active);
        self.next_retraction += 1;
        count
    }

    /// Returns all that a reader must see.
    pub(crate) fn observed(&self) -> Observed {
        let left = |documents: &BTreeSet<DocumentNumber>| -> BTreeSet<DocumentNumber> {
            documents.iter().filter(|d| self.documents.contains_key(d)).copied().collect()
        };
        let retractions = self.retractions.values().map(left).filter(|documents| !documents.is_empty()).collect();
        let branch = |(place, at): (&Place, &i64)| {
            let is_visible = |number: DocumentNumber, document: &Document| {
                let is_inherited = document.place == (Place { branch: None, ..*place }) && i64::from(number) <= *at;
                document.state == State::Active && (document.place == *place || is_inherited)
            };
            let visible = self.documents.iter().filter(|(n, d)| is_visible(**n, d)).map(|(n, _)| *n).collect();
            (*place, visible)
        };
        Observed {
            documents: self.documents.clone(),
            forgotten: self.forgotten.clone(),
            retractions,
            branches: self.forks.iter().map(branch).collect(),
        }
    }
}
