//! Operations of a history.

use memory_engine::history::Rewind;

use crate::{model::Model, random::Random};

/// Number of a document. It determines the id of its record, and is its sequence number.
pub(crate) type DocumentNumber = u32;

/// A conversation: a session, and a branch of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) session: u8,
    pub(crate) branch: Option<u8>,
}

const SESSIONS: u64 = 3;
const BRANCHES: u64 = 2;
const MAX_LONG_WORDS: u64 = 400;
const HOUR_MICROS: i64 = 3_600_000_000;
const DAY_MICROS: i64 = 24 * HOUR_MICROS;

#[derive(Debug, Clone)]
pub(crate) enum Operation {
    Remember {
        document: DocumentNumber,
        place: Place,
        text: String,
    },
    Update {
        document: DocumentNumber,
        text: String,
    },
    Forget {
        documents: Vec<DocumentNumber>,
    },
    Retract {
        documents: Vec<DocumentNumber>,
    },
    /// Restores the retraction of this number.
    Restore {
        retraction: u32,
    },
    Rewind {
        place: Place,
        rewind: Rewind,
    },
    Fork {
        session: u8,
        branch: u8,
        at: i64,
    },
    Reindex,
    Drain,
    Reopen,
    /// Sets the clock, in microseconds since 1970.
    SetClock {
        now: i64,
    },
}

impl Operation {
    /// Returns a random operation that makes sense in this state, or nearly.
    pub(crate) fn random(random: &mut Random, model: &Model) -> Self {
        let known: Vec<DocumentNumber> = model.documents().collect();
        match random.below(100) {
            0..40 => Self::remember(random, model),
            40..55 => match random.pick(&known) {
                Some(document) => Self::Update { document, text: text(random, document) },
                None => Self::remember(random, model),
            },
            55..63 => Self::Forget { documents: some_documents(random, model) },
            63..70 => Self::Retract { documents: some_documents(random, model) },
            70..77 => match random.pick(&model.restorable()) {
                Some(retraction) => Self::Restore { retraction },
                None => Self::Restore { retraction: u32::MAX },
            },
            77..84 => {
                let last = model.next_document();
                let rewind = match random.chance(50) {
                    true => Rewind::Last(random.below(4) as usize),
                    false => Rewind::To(i64::from(last) - random.below(8) as i64),
                };
                Self::Rewind { place: place(random), rewind }
            }
            84..88 => {
                let at = random.below(u64::from(model.next_document()) + 1) as i64;
                Self::Fork { session: random.below(SESSIONS) as u8, branch: random.below(BRANCHES) as u8, at }
            }
            88..91 => Self::Reindex,
            91..95 => Self::Drain,
            95..97 => Self::Reopen,
            _ => {
                let jump = match random.below(4) {
                    0 => -HOUR_MICROS,
                    1 => -400 * DAY_MICROS,
                    2 => HOUR_MICROS,
                    _ => 400 * DAY_MICROS,
                };
                Self::SetClock { now: model.now() + jump }
            }
        }
    }

    fn remember(random: &mut Random, model: &Model) -> Self {
        let forgotten: Vec<DocumentNumber> = model.forgotten().iter().copied().collect();
        let document = match random.pick(&forgotten) {
            Some(document) if random.chance(10) => document,
            _ => model.next_document(),
        };
        Self::Remember { document, place: place(random), text: text(random, document) }
    }

    /// Returns an operation on this document alone, for operations at the same time.
    pub(crate) fn random_on(random: &mut Random, document: DocumentNumber) -> Self {
        match random.below(3) {
            0 => Self::Update { document, text: text(random, document) },
            1 => Self::Forget { documents: vec![document] },
            _ => Self::Retract { documents: vec![document] },
        }
    }

    /// Returns true if it is applied in one transaction, so that a crash leaves all or nothing of it.
    pub(crate) fn is_atomic(&self) -> bool {
        !matches!(self, Self::Restore { .. })
    }
}

fn place(random: &mut Random) -> Place {
    let branch = random.chance(30).then(|| random.below(BRANCHES) as u8);
    Place { session: random.below(SESSIONS) as u8, branch }
}

fn text(random: &mut Random, document: DocumentNumber) -> String {
    let words = if random.chance(10) { random.below(MAX_LONG_WORDS) } else { random.below(6) };
    let rest: String = (0..words).map(|_| format!(" x{}", random.below(1000))).collect();
    format!("common d{document}{rest}")
}

fn some_documents(random: &mut Random, model: &Model) -> Vec<DocumentNumber> {
    let known: Vec<DocumentNumber> = model.documents().collect();
    let mut documents: Vec<DocumentNumber> = (0..=random.below(3)).filter_map(|_| random.pick(&known)).collect();
    // One that does not exist.
    if random.chance(10) {
        documents.push(u32::MAX);
    }
    documents.sort_unstable();
    documents.dedup();
    documents
}
