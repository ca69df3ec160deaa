//! Embedding backends, and the cut-over from one embedder to another.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use memory_engine_core::{Embedding, ErrorKind, Job, Result};
use memory_engine_embedder::{Embedder, Purpose, TextEncoding};
use memory_engine_vector_store::{EmbeddingVersionRole, VectorStore};

use crate::{
    blocking::{current_runtime, run_blocking},
    gate::{Gate, GatedStore},
};

/// Maximum total length of texts that are embedded on the async runtime. With longer texts, an embedder that computes
/// in the process would block the runtime.
const INLINE_MAX_BYTES: usize = 16 << 10;

/// An embedder, and the store of its vectors.
#[derive(Debug, Clone)]
pub struct EmbeddingBackend {
    /// The embedder.
    pub embedder: Arc<dyn Embedder>,
    /// The store of its vectors.
    pub vectors: Arc<dyn VectorStore>,
}

impl EmbeddingBackend {
    /// Returns the role of its vectors in the store. A store without embedding versions has serving vectors only.
    async fn role(&self) -> Result<EmbeddingVersionRole> {
        match self.vectors.embedding_versions() {
            Some(store) => store.role().await,
            None => Ok(EmbeddingVersionRole::Serving),
        }
    }

    /// Embeds texts, long ones off the async runtime.
    ///
    /// # Errors
    /// The embedder's error.
    pub async fn embed(&self, texts: Vec<String>, purpose: Purpose) -> Result<Vec<Embedding>> {
        let encodings = self.embed_with_tokens(texts, purpose).await?;
        Ok(encodings.into_iter().map(|encoding| encoding.embedding).collect())
    }

    /// As [`embed`](Self::embed), with the vectors of the tokens if the embedder offers them.
    ///
    /// # Errors
    /// The embedder's error; `DimensionMismatch` if its answer is not one vector of its space for each text.
    pub async fn embed_with_tokens(&self, texts: Vec<String>, purpose: Purpose) -> Result<Vec<TextEncoding>> {
        let embedder = Arc::clone(&self.embedder);
        let is_long = texts.iter().map(String::len).sum::<usize>() > INLINE_MAX_BYTES;
        let embed = async move {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let encodings = embedder.embed_with_tokens(&texts, purpose).await?;
            TextEncoding::check_batch(embedder.space(), texts.len(), &encodings)?;
            Ok(encodings)
        };
        if !is_long {
            return embed.await;
        }
        let runtime = current_runtime("embed")?;
        run_blocking("embed", move || runtime.block_on(embed)).await?
    }
}

/// The backend of the engine's embedder, and that of the replaced embedder, if there is one.
#[derive(Debug)]
pub struct EmbeddingBackends {
    current: EmbeddingBackend,
    replaced: Option<EmbeddingBackend>,
    /// True if the replaced backend serves, as of the last check.
    replaced_serves: AtomicBool,
    /// True while a cut-over to the current backend is pending.
    is_cut_over_pending: AtomicBool,
}

impl EmbeddingBackends {
    /// Reads from the store which backend serves. With `cut_over`, the store cuts over to `current` once its vectors
    /// are complete.
    ///
    /// # Errors
    /// The store's error.
    pub async fn new(current: EmbeddingBackend, replaced: Option<EmbeddingBackend>, cut_over: bool) -> Result<Self> {
        let is_second = match current.role().await {
            Ok(role) => role == EmbeddingVersionRole::Second,
            // Opened with `Mismatch::Leave`.
            Err(e) if e.kind() == ErrorKind::SchemaMismatch => false,
            Err(e) => return Err(e),
        };
        let replaced_serves = AtomicBool::new(is_second && replaced.is_some());
        let is_cut_over_pending = AtomicBool::new(is_second && cut_over);
        Ok(Self { current, replaced, replaced_serves, is_cut_over_pending })
    }

    /// Puts the stores of the vectors behind the gate.
    pub(crate) fn behind_gate(mut self, gate: &Arc<Gate>) -> Self {
        for backend in std::iter::once(&mut self.current).chain(&mut self.replaced) {
            backend.vectors = Arc::new(GatedStore::new(Arc::clone(&backend.vectors), gate));
        }
        self
    }

    /// Returns the backend of the engine's own embedder, which may not serve yet.
    pub fn current(&self) -> &EmbeddingBackend {
        &self.current
    }

    /// Returns true if no embedder is being replaced.
    pub fn is_single(&self) -> bool {
        self.replaced.is_none()
    }

    /// Returns the backend whose vectors are searched.
    pub fn serving(&self) -> &EmbeddingBackend {
        match &self.replaced {
            Some(replaced) if self.replaced_serves.load(Ordering::Acquire) => replaced,
            Some(_) | None => &self.current,
        }
    }

    /// Switches searches to the other backend, after the store refused this one. Returns false if there is no other.
    pub fn fail_over(&self, refused: &EmbeddingBackend) -> bool {
        self.replaced_serves.store(Arc::ptr_eq(&refused.vectors, &self.current.vectors), Ordering::Release);
        self.replaced.is_some()
    }

    /// Returns the backend that computes the vectors of `job`; `None` if another process has to compute them.
    ///
    /// # Errors
    /// `SchemaMismatch` if the store has no vectors of any backend; the store's error.
    pub async fn for_job(&self, job: Job) -> Result<Option<&EmbeddingBackend>> {
        let mut has_other_role = false;
        let mut mismatch = None;
        for backend in std::iter::once(&self.current).chain(&self.replaced) {
            match backend.role().await {
                Ok(EmbeddingVersionRole::Serving) if job == Job::Embedding => return Ok(Some(backend)),
                Ok(EmbeddingVersionRole::Second) if job == Job::Reembedding => return Ok(Some(backend)),
                Ok(_) => has_other_role = true,
                Err(e) if e.kind() == ErrorKind::SchemaMismatch => mismatch = mismatch.or(Some(e)),
                Err(e) => return Err(e),
            }
        }
        match mismatch {
            Some(error) if !has_other_role => Err(error),
            Some(_) | None => Ok(None),
        }
    }

    /// Cuts over to the current backend if this is pending and none of its vectors is missing.
    ///
    /// # Errors
    /// The store's error.
    pub async fn cut_over_when_complete(&self) -> Result<()> {
        if !self.is_cut_over_pending.load(Ordering::Acquire) {
            return Ok(());
        }
        match self.cut_over(0).await {
            Ok(true) => {
                tracing::info!(space = %self.current.embedder.space(), "the store has cut over to other vectors");
            }
            Ok(false) => {}
            // The second version of the vectors was dropped.
            Err(e) if e.kind() == ErrorKind::SchemaMismatch => {
                self.is_cut_over_pending.store(false, Ordering::Release);
                let kind = e.kind().as_str();
                tracing::warn!(part = "embedding", "error.type" = kind, "the store is not cut over");
            }
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// Cuts over to the current backend if at most `max_missing` of its vectors are missing. Returns true if it serves.
    ///
    /// # Errors
    /// The store's error.
    pub async fn cut_over(&self, max_missing: u64) -> Result<bool> {
        let serves = match self.current.vectors.embedding_versions() {
            Some(store) => store.switch(max_missing).await?,
            None => true,
        };
        if serves {
            self.is_cut_over_pending.store(false, Ordering::Release);
            self.replaced_serves.store(false, Ordering::Release);
        }
        Ok(serves)
    }
}
