//! A problem that a health check has found.

use std::fmt;

use serde::Serialize;

use crate::{
    error::Error,
    health::problem_kind::{ProblemKind, Remedy},
};

/// The problems of one kind in a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The kind.
    pub kind: ProblemKind,
    /// Number of problems, for example of affected rows.
    pub count: u64,
    /// At most [`MAX_EXAMPLES`](Self::MAX_EXAMPLES) examples: ids of records, or names of database objects. Never a
    /// stored text.
    pub examples: Vec<String>,
    /// True if a repair fixes them.
    pub repairable: bool,
}

impl Finding {
    /// Maximum number of examples.
    pub const MAX_EXAMPLES: usize = 3;

    /// Creates a finding. Keeps the first examples, each once.
    pub fn new(kind: ProblemKind, count: u64, examples: impl IntoIterator<Item = String>) -> Self {
        let mut kept: Vec<String> = Vec::new();
        for example in examples {
            if kept.len() < Self::MAX_EXAMPLES && !kept.contains(&example) {
                kept.push(example);
            }
        }
        Self { kind, count, examples: kept, repairable: kind.remedy().is_repair() }
    }

    /// Returns the finding of a list of affected objects; `None` for an empty list.
    pub fn of_list(kind: ProblemKind, affected: Vec<String>) -> Option<Self> {
        let count = affected.len() as u64;
        (count > 0).then(|| Self::new(kind, count, affected))
    }

    /// Describes the finding after its repair.
    pub fn repaired(&self) -> String {
        format!("{}: {} {}; repaired", self.kind, self.count, self.kind.meaning())
    }

    /// Describes the finding after a repair that failed.
    pub fn not_repaired(&self, error: &Error) -> String {
        format!("{}: {} {}; the repair failed: {error}", self.kind, self.count, self.kind.meaning())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.count, self.kind.meaning())?;
        if !self.examples.is_empty() {
            write!(f, " ({})", self.examples.join(", "))?;
        }
        match self.kind.remedy() {
            Remedy::Repair(text) => write!(f, "; `memory doctor --repair` {text}"),
            Remedy::Manual(text) => write!(f, "; {text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_has_a_number_examples_and_a_remedy() {
        let examples = ["b", "a", "a", "c", "d"].map(str::to_owned);
        let finding = Finding::new(ProblemKind::VectorOrphan, 7, examples);
        assert_eq!(finding.examples, ["b", "a", "c"]);
        let text = "7 vectors belong to no record (b, a, c); `memory doctor --repair` deletes them";
        assert_eq!(finding.to_string(), text);
        let manual = Finding::new(ProblemKind::FileDamaged, 1, []);
        assert!(!manual.repairable);
        assert_eq!(manual.to_string(), "1 places in the file are damaged; restore it from a backup");
    }

    #[test]
    fn ids_are_unique_and_lower_case() {
        let mut ids = ProblemKind::ALL.map(ProblemKind::as_str);
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ids.iter().all(|id| id.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
    }
}
