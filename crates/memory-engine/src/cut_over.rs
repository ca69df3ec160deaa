//! Verbs for changing the embedder of a store that is in use.

use memory_engine_core::Result;
use memory_engine_enrichment::Progress;
use memory_engine_vector_store::Generations;

use crate::engine::MemoryEngine;

/// Changing the embedder of a store that is in use. The builder begins it:
/// [`replacing`](crate::Builder::replacing) or [`Mismatch::Refill`](crate::Mismatch::Refill).
impl MemoryEngine {
    /// Returns the generations of vectors in the store, all tenants together; `None` for a store that has only one.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use memory_engine::{HashEmbedder, MemoryEngine, Mismatch, Scope};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("memory.db");
    /// let (old, new) = (Arc::new(HashEmbedder::default()), Arc::new(HashEmbedder::with_dimensions(64)?));
    /// let lin = Scope::user("lin")?;
    /// let memory = MemoryEngine::builder().sqlite(&path).embedder(old.clone()).build().await?;
    /// memory.remember(&lin, "My sister plays the violin").await?;
    /// memory.drain(&lin, |_| ()).await?;
    /// drop(memory);
    ///
    /// // Filled in the background while the old vectors serve; then it changes over.
    /// let builder = MemoryEngine::builder().sqlite(&path).embedder(new).replacing(old).background(false);
    /// let memory = builder.on_mismatch(Mismatch::Refill).build().await?;
    /// println!("{:?}", memory.generations().await?);
    /// assert!(memory.cut_over(0, |_| ()).await?);
    /// println!("gone: {:?}", memory.drop_second_generation().await?);
    /// assert_eq!(memory.recall(&lin, "violin").await?.hits.len(), 1);
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The store's error.
    pub async fn generations(&self) -> Result<Option<Generations>> {
        match self.vectors().generations() {
            Some(store) => store.generations().await.map(Some),
            None => Ok(None),
        }
    }

    /// Fills the vectors of this engine's embedder and makes them serve, in one transaction, once nothing waits and at most
    /// `max_missing` records were given up. Until then searches use the old ones. Returns whether they serve; at once if
    /// there is nothing to change. The old ones stay until [`drop_second_generation`](Self::drop_second_generation). The
    /// background does the same with `max_missing` 0.
    ///
    /// # Errors
    /// The embedder's or the store's; what was filled before stays, and the next call goes on.
    pub async fn cut_over(&self, max_missing: u64, progress: impl FnMut(Progress)) -> Result<bool> {
        self.enrichment().worker().cut_over(max_missing, progress).await
    }

    /// Removes the vectors that do not serve, of an unfinished generation or the old one, and returns their space; `None`
    /// if there were none.
    ///
    /// # Errors
    /// The store's error.
    pub async fn drop_second_generation(&self) -> Result<Option<String>> {
        match self.vectors().generations() {
            Some(store) => store.drop_second().await,
            None => Ok(None),
        }
    }
}
