//! Verifies the chain of a tenant.

use std::fmt;

use serde::Serialize;

use super::{
    chain::{AuditChain, AuditHead},
    entry::AuditEntry,
    log::{AuditLog, AuditQuery},
};
use crate::{
    error::{ErrorKind, Result},
    scope::Scope,
};

const PAGE_ENTRIES: usize = 1000;
/// Maximum number of problems reported.
const MAX_PROBLEMS: usize = 100;
/// Maximum number of repetitions if entries are pruned meanwhile.
const MAX_RETRIES: usize = 3;

/// The result of [`verify_chain`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AuditVerification {
    /// The ends of the chain.
    pub chain: AuditChain,
    /// The number of entries that were read.
    pub entries: u64,
    /// The problems, at most 100. None if the chain is intact.
    pub problems: Vec<AuditProblem>,
}

impl AuditVerification {
    /// Returns true if there are no problems.
    pub fn is_intact(&self) -> bool {
        self.problems.is_empty()
    }

    fn add(&mut self, problem: AuditProblem) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }
}

/// A sign that a log was tampered with, or damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "problem", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AuditProblem {
    /// The tenant has no log: nothing was logged, or the whole log was removed.
    NoLog,
    /// Entries are missing.
    Missing {
        /// The number of the first missing entry.
        first: u64,
        /// The number of the last missing entry.
        last: u64,
    },
    /// The fields of an entry do not have its hash.
    Changed {
        /// The number of the entry.
        sequence: u64,
    },
    /// An entry does not follow the entry before it.
    Detached {
        /// The number of the entry.
        sequence: u64,
    },
    /// An entry cannot be read.
    Unreadable {
        /// The number of the last entry before it.
        after: u64,
    },
    /// The latest entry is not the one that the log names.
    HeadDiffers {
        /// The number that the log names.
        sequence: u64,
    },
    /// The beginning of the remaining entries is not one that an entry about pruning names.
    AnchorDiffers {
        /// The number that the log names.
        sequence: u64,
    },
    /// The expected entry is not in the log, or has another hash.
    ExpectedDiffers {
        /// The number of the expected entry.
        sequence: u64,
    },
    /// The expected entry was pruned, so that it cannot be compared.
    ExpectedPruned {
        /// The number of the expected entry.
        sequence: u64,
    },
}

impl fmt::Display for AuditProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLog => f.write_str(
                "there is no log: nothing was ever logged, or the whole log was removed; \
                 `memory audit start` begins one",
            ),
            Self::Missing { first, last } if first == last => write!(f, "entry {first} is missing"),
            Self::Missing { first, last } => write!(f, "entries {first} to {last} are missing"),
            Self::Changed { sequence } => write!(f, "entry {sequence} was changed: its hash is another one"),
            Self::Detached { sequence } => write!(f, "entry {sequence} does not follow the entry before it"),
            Self::Unreadable { after } => write!(f, "an entry after entry {after} cannot be read"),
            Self::HeadDiffers { sequence } => write!(f, "the log ends elsewhere than its head, entry {sequence}, says"),
            Self::AnchorDiffers { sequence } => {
                write!(
                    f,
                    "the log begins after entry {sequence}, and no entry says that the ones before it were pruned"
                )
            }
            Self::ExpectedDiffers { sequence } => write!(f, "entry {sequence} is not the expected one"),
            Self::ExpectedPruned { sequence } => write!(f, "entry {sequence} was pruned and cannot be compared"),
        }
    }
}

/// Verifies the chain of a tenant: every entry has its hash and follows the one before it, from the beginning or the
/// latest pruned entry to the head.
///
/// A program that can write to the database can also compute a new chain. To detect that, note an entry outside of the
/// database and pass it as `expected`: the chain must contain it.
///
/// # Errors
/// The store's error.
pub async fn verify_chain(log: &dyn AuditLog, tenant: &str, expected: Option<&AuditHead>) -> Result<AuditVerification> {
    let mut retries = 0;
    loop {
        let anchor = log.chain(tenant).await?.anchor;
        let verification = Walk::new(tenant, anchor, expected).run(log).await?;
        let is_stable = verification.chain.anchor == anchor;
        if is_stable || retries == MAX_RETRIES {
            return Ok(verification);
        }
        retries += 1;
    }
}

struct Walk<'w> {
    anchor: AuditHead,
    position: AuditHead,
    expected: Option<&'w AuditHead>,
    found_expected: bool,
    is_anchor_attested: bool,
    verification: AuditVerification,
}

impl<'w> Walk<'w> {
    fn new(tenant: &str, anchor: AuditHead, expected: Option<&'w AuditHead>) -> Self {
        let genesis = AuditHead::genesis(tenant);
        Self {
            anchor,
            position: anchor,
            found_expected: expected.is_none_or(|expected| *expected == anchor || *expected == genesis),
            expected,
            is_anchor_attested: anchor == genesis,
            verification: AuditVerification { chain: AuditChain::empty(tenant), entries: 0, problems: Vec::new() },
        }
    }

    async fn run(mut self, log: &dyn AuditLog) -> Result<AuditVerification> {
        let tenant = self.verification.chain.tenant.clone();
        let scope = Scope::tenant_wide(tenant.as_str())?;
        let mut checked_head = None;
        loop {
            let query = AuditQuery::oldest(PAGE_ENTRIES).with_after(Some(self.position.sequence));
            let page = match log.read(&scope, &query).await {
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    self.verification.add(AuditProblem::Unreadable { after: self.position.sequence });
                    self.verification.chain = log.chain(&tenant).await?;
                    return Ok(self.verification);
                }
                page => page?,
            };
            for entry in &page.entries {
                self.visit(entry);
            }
            if page.next.is_some() {
                continue;
            }
            let chain = log.chain(&tenant).await?;
            // Entries may have been appended after the page was read.
            let is_behind = chain.head.sequence > self.position.sequence && checked_head != Some(self.position);
            checked_head = Some(self.position);
            self.verification.chain = chain;
            if !is_behind {
                return Ok(self.finish());
            }
        }
    }

    fn visit(&mut self, entry: &AuditEntry) {
        let expected_sequence = self.position.sequence + 1;
        if entry.sequence != expected_sequence {
            let last = entry.sequence.saturating_sub(1);
            self.verification.add(AuditProblem::Missing { first: expected_sequence, last });
        } else if entry.previous != self.position.hash {
            self.verification.add(AuditProblem::Detached { sequence: entry.sequence });
        }
        if !entry.has_valid_hash() {
            self.verification.add(AuditProblem::Changed { sequence: entry.sequence });
        }
        self.is_anchor_attested |= entry.event.prunes_to(&self.anchor);
        self.found_expected |= self.expected == Some(&entry.head());
        self.verification.entries += 1;
        self.position = entry.head();
    }

    fn finish(mut self) -> AuditVerification {
        let head = self.verification.chain.head;
        if head == self.position && head.sequence == 0 {
            self.verification.add(AuditProblem::NoLog);
        } else if head.sequence > self.position.sequence {
            let first = self.position.sequence + 1;
            self.verification.add(AuditProblem::Missing { first, last: head.sequence });
        } else if head != self.position {
            self.verification.add(AuditProblem::HeadDiffers { sequence: head.sequence });
        }
        if !self.is_anchor_attested {
            self.verification.add(AuditProblem::AnchorDiffers { sequence: self.anchor.sequence });
        }
        if let Some(expected) = self.expected.filter(|_| !self.found_expected) {
            let sequence = expected.sequence;
            let is_pruned = sequence < self.anchor.sequence;
            self.verification.add(match is_pruned {
                true => AuditProblem::ExpectedPruned { sequence },
                false => AuditProblem::ExpectedDiffers { sequence },
            });
        }
        self.verification
    }
}
