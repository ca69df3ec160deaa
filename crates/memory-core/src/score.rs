//! Relevance scores.

use std::{cmp::Ordering, fmt};

use serde::{Deserialize, Serialize};

use crate::id::RecordId;

/// The relevance of a record to a query. Always finite; higher is better.
///
/// Scores of different stores, models or stages are not comparable; ranks are.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Score(f64);

impl Score {
    /// Creates a score. A value that is not finite becomes the lowest score, `f64::MIN`.
    pub fn new(value: f64) -> Self {
        Self(if value.is_finite() { value } else { f64::MIN })
    }

    /// Returns the value.
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl Eq for Score {}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> Ordering {
        // `+ 0.0` turns negative zero into zero, which `total_cmp` would order below it.
        (self.0 + 0.0).total_cmp(&(other.0 + 0.0))
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4}", self.0)
    }
}

/// A record that was found, with its score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// The id of the record.
    pub id: RecordId,
    /// The score, on the scale of the retriever.
    pub score: Score,
}

impl Hit {
    /// Compares hits for sorting: highest score first, equal scores by id. All backends return hits in this order.
    pub fn best_first(a: &Self, b: &Self) -> Ordering {
        b.score.cmp(&a.score).then(a.id.cmp(&b.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_always_finite() {
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(Score::new(odd).value().is_finite());
            assert!(Score::new(odd) < Score::new(-1e300));
        }
        assert_eq!(Score::new(-0.0).cmp(&Score::new(0.0)), Ordering::Equal);
    }
}
