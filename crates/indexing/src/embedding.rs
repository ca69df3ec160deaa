//! In which space vectors are made and searched, and how a store changes over to another one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use memory_engine_core::{ErrorKind, Job, Result};
use memory_engine_embedder::Embedder;
use memory_engine_vector_store::{Generations, Role, VectorStore};

use crate::{MemoryEngine, Progress};

/// How often it is looked whether another process has finished what it claimed.
const CLAIMED_ELSEWHERE: Duration = Duration::from_millis(200);

/// An embedder, and where its vectors are.
#[derive(Debug, Clone)]
pub(crate) struct Space {
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) vectors: Arc<dyn VectorStore>,
}

impl Space {
    /// What its vectors are to the store. Where there are no generations they serve.
    async fn role(&self) -> Result<Role> {
        match self.vectors.generations() {
            Some(store) => store.role().await,
            None => Ok(Role::Serving),
        }
    }
}

/// The spaces that an engine works in.
#[derive(Debug)]
pub(crate) struct Spaces {
    wanted: Space,
    replaced: Option<Space>,
    /// Whether the replaced one served when it was last asked.
    replaced_serves: AtomicBool,
    /// Whether the store is to change over to the wanted one as soon as that is complete.
    changing: AtomicBool,
}

impl Spaces {
    /// Looks which of them serves. The store is changed over to `wanted` only if that was asked for when it was opened.
    pub(crate) async fn new(wanted: Space, replaced: Option<Space>, changes: bool) -> Result<Self> {
        let second = match wanted.role().await {
            Ok(role) => role == Role::Second,
            // Opened to be left as it is.
            Err(e) if e.kind() == ErrorKind::SchemaMismatch => false,
            Err(e) => return Err(e),
        };
        let replaced_serves = AtomicBool::new(second && replaced.is_some());
        Ok(Self { wanted, replaced, replaced_serves, changing: AtomicBool::new(second && changes) })
    }

    /// Whether there is no other space that may serve in place of the wanted one.
    pub(crate) fn is_alone(&self) -> bool {
        self.replaced.is_none()
    }

    /// The one that questions are embedded in.
    pub(crate) fn serving(&self) -> &Space {
        match &self.replaced {
            Some(replaced) if self.replaced_serves.load(Ordering::Acquire) => replaced,
            Some(_) | None => &self.wanted,
        }
    }

    /// Goes by the other space, since the store refused this one; `false` when there is no other.
    pub(crate) fn turn_from(&self, refused: &Space) -> bool {
        self.replaced_serves.store(Arc::ptr_eq(&refused.vectors, &self.wanted.vectors), Ordering::Release);
        self.replaced.is_some()
    }

    /// Which of them makes the vectors that wait for `job`; `None` when that is for others to do.
    ///
    /// # Errors
    /// `SchemaMismatch` when the store has no vectors of any of them.
    pub(crate) async fn working_on(&self, job: Job) -> Result<Option<&Space>> {
        let (mut known, mut mismatch) = (false, None);
        for space in std::iter::once(&self.wanted).chain(&self.replaced) {
            match space.role().await {
                Ok(Role::Serving) if job == Job::Embedding => return Ok(Some(space)),
                Ok(Role::Second) if job == Job::Reembedding => return Ok(Some(space)),
                Ok(_) => known = true,
                Err(e) if e.kind() == ErrorKind::SchemaMismatch => mismatch = mismatch.or(Some(e)),
                Err(e) => return Err(e),
            }
        }
        mismatch.filter(|_| !known).map_or(Ok(None), Err)
    }

    /// Changes over to the wanted space, if that is what this engine is for and nothing is missing there.
    pub(crate) async fn change_when_complete(&self) -> Result<()> {
        if !self.changing.load(Ordering::Acquire) {
            return Ok(());
        }
        match self.switch(0).await {
            Ok(true) => {
                tracing::info!(space = %self.wanted.embedder.space(), "the store has changed over to other vectors");
            }
            Ok(false) => {}
            // Somebody has dropped what was being filled.
            Err(e) if e.kind() == ErrorKind::SchemaMismatch => {
                self.changing.store(false, Ordering::Release);
                tracing::warn!(part = "embedding", "the store is not changed over: {e}");
            }
            Err(e) => return Err(e),
        }
        Ok(())
    }

    async fn switch(&self, lacking: u64) -> Result<bool> {
        let serves = match self.wanted.vectors.generations() {
            Some(store) => store.switch(lacking).await?,
            None => true,
        };
        if serves {
            self.changing.store(false, Ordering::Release);
            self.replaced_serves.store(false, Ordering::Release);
        }
        Ok(serves)
    }
}

/// Changing the embedder of a store that is in use. The builder begins it:
/// [`replacing`](crate::Builder::replacing) or [`Mismatch::Refill`](crate::Mismatch::Refill).
impl MemoryEngine {
    /// The generations of vectors in the store, all tenants together; `None` for a store that has a single one for ever.
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
    /// assert!(memory.change_over(0, |_| ()).await?);
    /// println!("gone: {:?}", memory.drop_second_generation().await?);
    /// assert_eq!(memory.recall(&lin, "violin").await?.hits.len(), 1);
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    pub async fn generations(&self) -> Result<Option<Generations>> {
        match self.vectors().generations() {
            Some(store) => store.generations().await.map(Some),
            None => Ok(None),
        }
    }

    /// Fills the vectors of this engine's embedder, tells how many there are of how many, and has them serve, in one
    /// transaction, once nothing waits and no more than `lacking` records were given up. Until then searches go by the old ones.
    /// Whether they serve now: at once, when there is nothing to change. The old ones stay until
    /// [`drop_second_generation`](Self::drop_second_generation). The background does the same with nothing lacking.
    ///
    /// # Errors
    /// The embedder's or the store's; what was filled before stays, and the next call goes on.
    pub async fn change_over(&self, lacking: u64, mut progress: impl FnMut(Progress)) -> Result<bool> {
        let spaces = self.spaces();
        let Some(store) = spaces.wanted.vectors.generations() else { return Ok(true) };
        loop {
            if store.role().await? == Role::Serving {
                return spaces.switch(lacking).await;
            }
            let now = store.generations().await?;
            let filled = now.second.map_or(0, |second| second.vectors);
            let told = |done: u64| Progress { done: (filled + done).min(now.records), total: now.records };
            progress(told(0));
            let worked = self.work_all(|done| progress(told(done))).await;
            if spaces.switch(lacking).await? {
                progress(Progress { done: now.records, total: now.records });
                return Ok(true);
            }
            worked?;
            match store.generations().await?.second {
                Some(second) if second.waiting == 0 && second.given_up > lacking => return Ok(false),
                Some(_) | None => tokio::time::sleep(CLAIMED_ELSEWHERE).await,
            }
        }
    }

    /// Removes the vectors that do not serve, an unfinished generation or the old one, and gives their space; `None` when
    /// there were none.
    pub async fn drop_second_generation(&self) -> Result<Option<String>> {
        match self.vectors().generations() {
            Some(store) => store.drop_second().await,
            None => Ok(None),
        }
    }
}
