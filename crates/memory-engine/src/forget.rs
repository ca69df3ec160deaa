//! What is to be forgotten.

use memory_core::{Filter, RecordId};

/// What is to be forgotten within a scope.
#[derive(Debug, Clone, PartialEq)]
pub enum Forget {
    /// The records with these ids.
    Ids(Vec<RecordId>),
    /// The records that match.
    Matching(Filter),
    /// Everything within the scope. Of a whole user or tenant the synonyms go too, and what was decided about them. The scene
    /// that a conversation is in is kept by a [`SceneDetector`](crate::SceneDetector), outside the engine:
    /// [`forget`](crate::SceneDetector::forget) it there.
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
