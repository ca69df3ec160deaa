//! The storage.

use std::num::NonZeroUsize;

use memory_engine::{MemoryEngine, Scope};

/// Number of nodes of a batch.
const DEFAULT_BATCH_SIZE: NonZeroUsize = NonZeroUsize::new(100).expect("100 is not zero");

/// The memories of a scope, as the storage of an indexing pipeline and the retriever of a query pipeline.
#[derive(Debug, Clone)]
#[must_use]
pub struct EngineStorage {
    pub(crate) engine: MemoryEngine,
    pub(crate) scope: Scope,
    pub(crate) batch_size: NonZeroUsize,
    pub(crate) only_relevant: bool,
}

impl EngineStorage {
    /// Creates a storage. Nodes are stored at the address `scope`, and everything within it is retrieved.
    pub fn new(engine: MemoryEngine, scope: Scope) -> Self {
        Self { engine, scope, batch_size: DEFAULT_BATCH_SIZE, only_relevant: false }
    }

    /// Sets the number of nodes that one transaction stores. Default: 100.
    pub fn with_batch_size(mut self, batch_size: NonZeroUsize) -> Self {
        self.batch_size = batch_size;
        self
    }

    /// Retrieves only memories that are relevant by the engine's threshold, instead of always the best ones.
    pub fn only_relevant(mut self) -> Self {
        self.only_relevant = true;
        self
    }
}
