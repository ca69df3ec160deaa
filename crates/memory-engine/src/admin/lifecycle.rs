//! Loading indexes early, and closing.

use std::time::Duration;

use memory_engine_context::{IncomingMessage, InjectionRules, is_question};
use memory_engine_core::Result;
use memory_engine_indexing::{current_runtime, run_blocking, verb};
use memory_engine_recall::{WarmUp, raises_topic};

use crate::{admin::operations::Admin, engine::MemoryEngine};

/// Maximum time for which [`MemoryEngine::close`] waits for the current batch of the background worker.
const BATCH_END_TIMEOUT: Duration = Duration::from_secs(10);

/// Messages whose decision loads the word lists of each language.
const RULE_SAMPLES: [&str; 2] = ["Where did we go?", "我们去了哪里？"];

/// Lifecycle.
impl Admin {
    /// Loads dictionaries, and the keyword and vector indexes of the whole store, which the first recall would load
    /// within its [deadline](crate::RecallOptions::deadline). Calls the embedder and the reranker once, so that a model
    /// that starts slowly is ready. Returns the time of each part.
    ///
    /// It is never required. Without it, the first recall loads the same. If that takes longer than the deadline, the
    /// recall fails with `Timeout`, and the loading continues in the background for later recalls.
    ///
    /// ```
    /// use memory_engine::{MemoryEngine, Scope};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("memory.db");
    /// let memory = MemoryEngine::builder().sqlite(path).build().await?;
    /// for part in memory.admin().warm_up().await?.parts {
    ///     println!("{} took {:?}", part.stage, part.took);
    /// }
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The store's error. A model that fails is named in [`WarmUp::degraded`].
    pub async fn warm_up(&self) -> Result<WarmUp> {
        verb!("warm_up", {}, self.engine.recall_pipeline().warm_up())
    }

    /// Loads the dictionaries and word lists that the first recall and the first injection would load, in a thread of
    /// their own. Reads nothing from the store and calls no model. A server calls it when it starts.
    ///
    /// ```
    /// use memory_engine::MemoryEngine;
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().build().await?;
    /// memory.admin().load_dictionaries().await?;
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `Internal` if the thread stops without a result.
    pub async fn load_dictionaries(&self) -> Result<()> {
        self.engine.indexed_store().analysis().load_dictionary().await?;
        run_blocking("load word lists", || {
            let rules = InjectionRules::default();
            for text in RULE_SAMPLES {
                rules.decide(&IncomingMessage { round: 2, scene: "daily", text });
                is_question(text);
                raises_topic(text);
            }
        })
        .await
    }

    /// Returns true after [`close`](MemoryEngine::close).
    pub fn is_closed(&self) -> bool {
        self.engine.indexed_store().is_closed()
    }
}

impl MemoryEngine {
    /// Closes the engine for all its handles: stops the background worker, releases its claimed jobs, and closes the
    /// store, which writes its index caches and merges its log. Later calls fail with `Closed`.
    ///
    /// Waits at most 10 s for the current batch of the worker. A batch that takes longer is cancelled and stays queued.
    /// Closing twice is no error. Dropping the last handle without closing is safe, but may block the thread for a
    /// moment.
    ///
    /// ```
    /// use memory_engine::{ErrorKind, MemoryEngine, Scope};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().build().await?;
    /// let lin = Scope::user("lin")?;
    /// memory.remember(&lin, "I live in Porto.").await?;
    /// memory.close().await?;
    /// assert!(memory.admin().is_closed());
    /// assert_eq!(memory.recall(&lin, "Porto").await.unwrap_err().kind(), ErrorKind::Closed);
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `Unsupported` outside of a tokio runtime; the store's error if claimed items could not be given back. The
    /// engine is closed in the latter case, too.
    ///
    /// # Cancel safety
    /// Dropping the future may leave the engine half closed. Calling it again finishes it.
    pub async fn close(&self) -> Result<()> {
        verb!("close", {}, self.close_all())
    }

    async fn close_all(&self) -> Result<()> {
        current_runtime("close")?;
        if self.indexed_store().is_closed() {
            // Another call may still be closing the store.
            self.indexed_store().close().await;
            return Ok(());
        }
        let stopped = self.enrichment().worker().stop(BATCH_END_TIMEOUT).await;
        self.indexed_store().close().await;
        stopped
    }
}
