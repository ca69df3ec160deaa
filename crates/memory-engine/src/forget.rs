//! What is to be forgotten.

use memory_core::{Filter, RecordId};

/// What is to be forgotten within a scope.
#[derive(Debug, Clone, PartialEq)]
pub enum Forget {
    /// The records with these ids.
    Ids(Vec<RecordId>),
    /// The records that match.
    Matching(Filter),
    /// Everything within the scope.
    Everything,
}

impl From<RecordId> for Forget {
    fn from(id: RecordId) -> Self {
        Self::Ids(vec![id])
    }
}

impl From<Vec<RecordId>> for Forget {
    fn from(ids: Vec<RecordId>) -> Self {
        Self::Ids(ids)
    }
}
