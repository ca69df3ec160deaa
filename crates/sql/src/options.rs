//! The options that every SQL backend has.

pub use memory_engine_core::{Mismatch, StoreOptions};

/// The builder methods of the options of a backend that has [`StoreOptions`] in its field `store`.
#[macro_export]
macro_rules! store_option_methods {
    () => {
        /// Takes the time of deletions and leases from this clock. Default: the machine's clock.
        #[must_use]
        pub fn with_clock(mut self, clock: impl memory_engine_core::Clock) -> Self {
            self.store.clock = std::sync::Arc::new(clock);
            self
        }

        /// What to do about a store of another embedding space or analyzer. Default:
        /// [`Mismatch::Refuse`](memory_engine_core::Mismatch::Refuse).
        #[must_use]
        pub fn with_mismatch(mut self, mismatch: $crate::options::Mismatch) -> Self {
            self.store.mismatch = mismatch;
            self
        }

        /// Replaces the embedder of that space. Default: none.
        #[must_use]
        pub fn with_replaced(mut self, space: memory_engine_core::EmbeddingSpace) -> Self {
            self.store.replaced = Some(space);
            self
        }
    };
}
