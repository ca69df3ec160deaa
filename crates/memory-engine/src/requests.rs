//! Acts on what a person says about the memory itself: "don't remember this", "forget what I said about my ex".

use std::time::Duration;

use memory_engine_context::RequestNotice;
use memory_engine_core::{RecordId, Result, Scope};
use memory_engine_curation::Forget;
use memory_engine_indexing::verb;

pub use memory_engine_curation::ChatCommand;
pub use memory_engine_summarizer::MemoryRequest;

use crate::engine::MemoryEngine;

/// Acts on requests of a person about the memory itself. `MemoryEngine::requests` returns it.
///
/// ```
/// use memory_engine::{MemoryEngine, Scope, context::RequestNotice};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let lin = Scope::user("lin")?;
/// memory.remember(&lin, "My landlord is called Otto.").await?;
/// let forgotten = memory.requests().forget_topic(&lin, "landlord", false).await?;
/// assert_eq!(forgotten, RequestNotice::Forgotten { topic: "landlord".into(), count: 1 });
/// assert!(memory.recall(&lin, "landlord").await?.hits.is_empty());
/// assert_eq!(memory.requests().restore_topic(&lin).await?, RequestNotice::Restored { count: 1 });
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct ChatRequests {
    pub(crate) engine: MemoryEngine,
}

impl ChatRequests {
    /// Maximum number of memories that are forgotten without asking.
    pub const MAX_UNASKED: usize = memory_engine_curation::MAX_UNASKED;
    /// Time in which forgotten memories can be brought back. Then they are deleted.
    pub const UNDO_PERIOD: Duration = memory_engine_curation::UNDO_PERIOD;

    /// Returns the request in a message of a person, as [`ChatCommand::find`] does. A yes is a request only if
    /// [`forget_topic`](Self::forget_topic) asked within `scope`: otherwise it answers something else.
    ///
    /// # Errors
    /// The store's.
    pub async fn find(
        &self,
        scope: &Scope,
        enabled: &[ChatCommand],
        message: &str,
        previous: Option<&str>,
    ) -> Result<Option<MemoryRequest>> {
        self.engine.curation().find_request(scope, enabled, message, previous).await
    }

    /// Acts on a request within `scope`, and returns what the model is told. Records are not taken out here: the caller
    /// knows which ones belong to a message ([`block`](Self::block), [`take_out_latest`](Self::take_out_latest)).
    /// `taken_out` is their number.
    ///
    /// # Errors
    /// As [`forget_topic`](Self::forget_topic) and [`restore_topic`](Self::restore_topic).
    pub async fn act(&self, scope: &Scope, request: &MemoryRequest, taken_out: usize) -> Result<RequestNotice> {
        match request {
            MemoryRequest::OffTheRecord => Ok(RequestNotice::OffTheRecord),
            MemoryRequest::TakeOutPrevious => Ok(RequestNotice::PreviousTakenOut { count: taken_out }),
            MemoryRequest::Forget { topic, is_confirmed } => self.forget_topic(scope, topic, *is_confirmed).await,
            MemoryRequest::Undo => self.restore_topic(scope).await,
        }
    }

    /// Retracts the facts, notes and messages of the person within `scope` that name a topic by its words, the messages
    /// that state such facts, and the replies that name the topic. Other facts of these messages stay.
    ///
    /// If more than [`MAX_UNASKED`](Self::MAX_UNASKED) memories name the topic, nothing is retracted unless
    /// `is_confirmed` is true; then the notice asks the person. After [`UNDO_PERIOD`](Self::UNDO_PERIOD), they are
    /// deleted. All messages of the person are read.
    ///
    /// # Errors
    /// The store's; `Conflict` if others keep writing to the same records.
    pub async fn forget_topic(&self, scope: &Scope, topic: &str, is_confirmed: bool) -> Result<RequestNotice> {
        let work = self.engine.acting(self.engine.curation().forget_topic(scope, topic, is_confirmed));
        verb!("forget_topic", scope, {}, work)
    }

    /// Restores what was forgotten last within `scope`, if that is not longer ago than
    /// [`UNDO_PERIOD`](Self::UNDO_PERIOD).
    ///
    /// # Errors
    /// The store's.
    pub async fn restore_topic(&self, scope: &Scope) -> Result<RequestNotice> {
        verb!("restore_topic", scope, {}, self.engine.acting(self.engine.curation().restore_topic(scope)))
    }

    /// Keeps texts out of the memory: deletes the records with these ids at `address`, and blocks the ids for good, and
    /// the texts for imports and derived records. Empty texts and backchannels such as "ok" are not blocked. Returns
    /// the number of deleted records.
    ///
    /// # Errors
    /// The store's.
    pub async fn block(&self, address: &Scope, texts: &[(RecordId, &str)]) -> Result<usize> {
        verb!(
            "block",
            address,
            { ids = texts.len() },
            self.engine.acting(self.engine.curation().block_texts(address, texts))
        )
    }

    /// Deletes the latest message of the person at exactly this address, and what followed it. Returns the number of
    /// deleted messages.
    ///
    /// It deletes nothing if the same `request`, the words of the person, was [marked as
    /// handled](Self::mark_taken_out) and the person has said nothing since: a client may repeat it.
    ///
    /// # Errors
    /// The store's.
    pub async fn take_out_latest(&self, address: &Scope, request: &str) -> Result<usize> {
        let ids = self.engine.curation().latest_message(address, request).await?;
        let count = ids.len();
        if count > 0 {
            self.engine.forget(address, Forget::Ids(ids)).await?;
            self.mark_taken_out(address, request).await?;
        }
        Ok(count)
    }

    /// Marks a request to take out a message as handled, together with all messages that are stored so far.
    ///
    /// # Errors
    /// The store's.
    pub async fn mark_taken_out(&self, address: &Scope, request: &str) -> Result<()> {
        let work = self.engine.acting(self.engine.curation().mark_taken_out(address, request));
        verb!("store", address, { records = 1 }, work)
    }
}
