//! The engine for programs without an async runtime. Needs the feature `blocking`.
//!
//! ```
//! use memory_engine::{Scope, Turn, blocking::MemoryEngine};
//!
//! # fn main() -> memory_engine::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("memory.db");
//! let memory = MemoryEngine::open(path)?;
//! let lin = Scope::user("lin")?;
//! memory.remember(&lin, Turn::user("My interview is on Friday"))?;
//! assert_eq!(memory.recall(&lin, "When is my interview?")?.hits.len(), 1);
//! memory.close()
//! # }
//! ```

use std::{fmt, future::IntoFuture, sync::Arc, time::Duration};

use memory_engine_core::{Error, ErrorKind, Page, Record, RecordId, Result, ScanQuery, Scope, Stats, WriteResult};
use memory_engine_curation::{Forget, ForgetReport};
use memory_engine_databases::Database;
use memory_engine_enrichment::Progress;
use memory_engine_indexing::Turn;
use memory_engine_recall::{Recall, RecallQuery, WarmUp};
use tokio::runtime::{Handle, Runtime};

use crate::builder::Builder;
#[cfg(feature = "enrichment")]
use crate::verbs::facts::Fact;

/// Maximum time for which dropping the last handle waits for computations that cannot be interrupted.
const RUNTIME_END_TIMEOUT: Duration = Duration::from_secs(5);

/// A handle on long-term memory whose calls block the thread. Cloning it is cheap and gives another handle on the same
/// memory.
///
/// It owns a runtime with one thread, on which the background works. [`wait`](Self::wait) runs every call of the async
/// engine that has no method here.
///
/// # Errors
/// Every call fails with `Unsupported` on a thread of a tokio runtime, including those of `spawn_blocking`. Async
/// programs use [`memory_engine::MemoryEngine`](crate::MemoryEngine).
#[derive(Clone)]
pub struct MemoryEngine {
    // Dropped before the runtime, on which its background works.
    engine: crate::engine::MemoryEngine,
    runtime: Arc<OwnedRuntime>,
}

/// A runtime that can be dropped on any thread.
#[derive(Debug)]
struct OwnedRuntime(Option<Runtime>);

impl OwnedRuntime {
    fn new() -> Result<Self> {
        let unavailable = |e| Error::new(ErrorKind::Unavailable, "build", "the system gives no thread").with_source(e);
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).thread_name("memory-engine").enable_all();
        Ok(Self(Some(builder.build().map_err(unavailable)?)))
    }

    /// Runs a call to its end on this thread.
    fn wait<T>(&self, call: impl IntoFuture<Output = Result<T>>) -> Result<T> {
        check_blocking()?;
        match &self.0 {
            Some(runtime) => runtime.block_on(call.into_future()),
            None => Err(Error::new(ErrorKind::Internal, "wait", "the runtime has ended")),
        }
    }
}

impl Drop for OwnedRuntime {
    fn drop(&mut self) {
        let Some(runtime) = self.0.take() else { return };
        match check_blocking() {
            Ok(()) => runtime.shutdown_timeout(RUNTIME_END_TIMEOUT),
            Err(_) => runtime.shutdown_background(),
        }
    }
}

/// Returns an error on a thread that must not block.
fn check_blocking() -> Result<()> {
    match Handle::try_current() {
        Err(_) => Ok(()),
        Ok(_) => {
            let message = "a blocking call on a thread of an async runtime; use `memory_engine::MemoryEngine` there";
            Err(Error::new(ErrorKind::Unsupported, "blocking", message))
        }
    }
}

impl Builder {
    /// As [`build`](Self::build), for programs without an async runtime.
    ///
    /// # Errors
    /// As [`build`](Self::build); `Unsupported` on a thread of a tokio runtime.
    pub fn build_blocking(self) -> Result<MemoryEngine> {
        check_blocking()?;
        let runtime = OwnedRuntime::new()?;
        let engine = runtime.wait(self.build())?;
        Ok(MemoryEngine { engine, runtime: Arc::new(runtime) })
    }
}

impl fmt::Debug for MemoryEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.engine.fmt(f)
    }
}

impl MemoryEngine {
    /// As [`MemoryEngine::open`](crate::MemoryEngine::open).
    ///
    /// # Errors
    /// As [`Builder::build_blocking`].
    pub fn open(database: impl Into<Database>) -> Result<Self> {
        Self::builder().database(database).build_blocking()
    }

    /// As [`MemoryEngine::builder`](crate::MemoryEngine::builder). [`Builder::build_blocking`] builds the engine.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Returns the async engine, for [`wait`](Self::wait) and for methods that are not async.
    pub fn engine(&self) -> &crate::engine::MemoryEngine {
        &self.engine
    }

    /// Runs a call of the async engine to its end.
    ///
    /// ```
    /// use memory_engine::{Scope, blocking::MemoryEngine};
    ///
    /// # fn main() -> memory_engine::Result<()> {
    /// let memory = MemoryEngine::builder().in_memory().build_blocking()?;
    /// let lin = Scope::user("lin")?;
    /// memory.remember(&lin, "I'm allergic to peanuts")?;
    /// let context = memory.wait(memory.engine().context(&lin, "Am I allergic to peanuts?").max_tokens(200))?;
    /// assert!(context.text.contains("peanuts"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of the call; `Unsupported` on a thread of a tokio runtime.
    pub fn wait<T>(&self, call: impl IntoFuture<Output = Result<T>>) -> Result<T> {
        self.runtime.wait(call)
    }

    /// As [`MemoryEngine::remember`](crate::MemoryEngine::remember).
    ///
    /// # Errors
    /// Those of the async call.
    pub fn remember(&self, scope: &Scope, turn: impl Into<Turn>) -> Result<RecordId> {
        self.wait(self.engine.remember(scope, turn))
    }

    /// As [`MemoryEngine::remember_all`](crate::MemoryEngine::remember_all).
    ///
    /// # Errors
    /// Those of the async call.
    pub fn remember_all<T: Into<Turn>>(
        &self,
        scope: &Scope,
        turns: impl IntoIterator<Item = T>,
    ) -> Result<Vec<WriteResult>> {
        self.wait(self.engine.remember_all(scope, turns))
    }

    /// As [`MemoryEngine::update`](crate::MemoryEngine::update).
    ///
    /// # Errors
    /// Those of the async call.
    pub fn update(&self, scope: &Scope, id: RecordId, text: impl Into<String>) -> Result<RecordId> {
        self.wait(self.engine.update(scope, id, text))
    }

    /// As [`MemoryEngine::recall`](crate::MemoryEngine::recall).
    ///
    /// # Errors
    /// Those of the async call.
    pub fn recall(&self, scope: &Scope, query: impl Into<RecallQuery>) -> Result<Recall> {
        self.wait(self.engine.recall(scope, query))
    }

    /// As [`MemoryEngine::get`](crate::MemoryEngine::get).
    ///
    /// # Errors
    /// Those of the async call.
    pub fn get(&self, scope: &Scope, id: RecordId) -> Result<Option<Record>> {
        self.wait(self.engine.get(scope, id))
    }

    /// As [`MemoryEngine::scan`](crate::MemoryEngine::scan).
    ///
    /// # Errors
    /// Those of the async call.
    pub fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        self.wait(self.engine.scan(scope, query))
    }

    /// Returns the facts that hold within `scope`. Needs the feature `enrichment`. For facts of another time or
    /// subject, pass [`MemoryEngine::facts`](crate::MemoryEngine::facts) to [`wait`](Self::wait).
    ///
    /// # Errors
    /// Those of the async call.
    #[cfg(feature = "enrichment")]
    pub fn facts(&self, scope: &Scope) -> Result<Vec<Fact>> {
        self.wait(self.engine.facts(scope))
    }

    /// As [`MemoryEngine::forget`](crate::MemoryEngine::forget).
    ///
    /// # Errors
    /// Those of the async call.
    pub fn forget(&self, scope: &Scope, target: impl Into<Forget>) -> Result<ForgetReport> {
        self.wait(self.engine.forget(scope, target))
    }

    /// As [`MemoryEngine::drain`](crate::MemoryEngine::drain).
    ///
    /// # Errors
    /// Those of the async call.
    pub fn drain(&self, scope: &Scope, progress: impl FnMut(Progress)) -> Result<u64> {
        self.wait(self.engine.drain(scope, progress))
    }

    /// As [`MemoryEngine::stats`](crate::MemoryEngine::stats).
    ///
    /// # Errors
    /// Those of the async call.
    pub fn stats(&self, scope: &Scope) -> Result<Stats> {
        self.wait(self.engine.stats(scope))
    }

    /// As [`Admin::warm_up`](crate::admin::Admin::warm_up).
    ///
    /// # Errors
    /// Those of the async call.
    pub fn warm_up(&self) -> Result<WarmUp> {
        self.wait(self.engine.admin().warm_up())
    }

    /// As [`MemoryEngine::close`](crate::MemoryEngine::close).
    ///
    /// # Errors
    /// Those of the async call.
    pub fn close(&self) -> Result<()> {
        self.wait(self.engine.close())
    }

    /// Returns true after [`close`](Self::close).
    pub fn is_closed(&self) -> bool {
        self.engine.admin().is_closed()
    }
}
