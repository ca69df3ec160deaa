//! The handles of the engine: its operations by subject.

#[cfg(feature = "graph")]
use crate::graph::entity_graph::EntityGraph;
#[cfg(feature = "enrichment")]
use crate::requests::ChatRequests;
use crate::{
    admin::operations::Admin, audit::handle::Audit, deletion::Deletion, engine::MemoryEngine, history::History,
    review::Review, screening::Screening, settings::Settings,
};

/// Handles on the operations of one subject. Each is cheap to create.
impl MemoryEngine {
    /// Returns the operations that an application seldom needs: job queue, vectors, tombstones, writes with full
    /// control.
    pub fn admin(&self) -> Admin {
        Admin { engine: self.clone() }
    }

    /// Returns the audit log. It can also be read if nothing is logged any more.
    pub fn audit(&self) -> Audit {
        Audit { engine: self.clone() }
    }

    /// Returns the operations around deletions: previews, certificates, expiry. [`forget`](Self::forget) deletes.
    pub fn deletion(&self) -> Deletion {
        Deletion { engine: self.clone(), on_progress: None }
    }

    /// Returns a handle on the entities and relations in the memories.
    #[cfg(feature = "graph")]
    pub fn graph(&self) -> EntityGraph {
        EntityGraph { engine: self.clone() }
    }

    /// Returns the history of the memories: records as of a time, branches, and retractions, which can be
    /// restored.
    pub fn history(&self) -> History {
        History { engine: self.clone() }
    }

    /// Returns the actions on what a person says about the memory itself.
    #[cfg(feature = "enrichment")]
    pub fn requests(&self) -> ChatRequests {
        ChatRequests { engine: self.clone() }
    }

    /// Returns the review of memories that wait until a person accepts them.
    pub fn review(&self) -> Review {
        Review { engine: self.clone() }
    }

    /// Returns the search for secrets and personal data, in texts and in stored records.
    pub fn screening(&self) -> Screening {
        Screening { engine: self.clone() }
    }

    /// Returns what the builder has set: embedder, clock, zone, language, options and policies.
    pub fn settings(&self) -> Settings<'_> {
        Settings { engine: self }
    }
}
