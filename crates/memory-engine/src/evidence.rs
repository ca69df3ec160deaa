//! Evidence for an analysis, gathered from several sources in a fixed order and never mixed.
//!
//! Vectors of the database come first, then its keywords when the vectors gave nothing, then the local memory. What each
//! gave stays in its own slot, in its own order. Gathering never fails: an error or a missing configuration leaves a slot
//! empty, and [`MemoryEvidence::steps`] says why.
//!
//! ```
//! use std::sync::Arc;
//! use memory_engine::{
//!     Kind, MemoryEngine, Scope, Turn,
//!     evidence::{EvidenceCascade, EvidenceQuery, LocalEvidence},
//! };
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let memory = MemoryEngine::builder().in_memory().build().await?;
//! let desk = Scope::user("desk")?;
//! let news = Turn::note("央行连续九个月增持黄金").with_kind(Kind::EVENT).with_tags(["XAU"]).with_confidence(0.8);
//! memory.remember(&desk, news).await?;
//!
//! // Without a database, as here, the local memory is asked alone.
//! let cascade = EvidenceCascade::new(Arc::new(LocalEvidence::new(memory, desk)));
//! let evidence = cascade.gather(&EvidenceQuery::new().with_keywords(["黄金"]).about_assets(["XAU"])).await;
//! let found = evidence.local_keyword.as_ref().unwrap();
//! assert_eq!(found[0].content_text.as_deref(), Some("央行连续九个月增持黄金"));
//! for step in &evidence.steps {
//!     println!("{:?}: {:?}", step.slot, step.outcome);
//! }
//! # Ok::<(), memory_engine::Error>(()) }).unwrap();
//! ```

mod cascade;
#[cfg(feature = "postgres")]
mod database;
mod local;
mod options;
mod query;
#[cfg(feature = "http-models")]
mod supabase;

use std::{fmt, fmt::Debug, time::Duration};

use async_trait::async_trait;
use memory_engine_core::{Result, Timestamp};
use serde::{Deserialize, Serialize};

pub use cascade::EvidenceCascade;
#[cfg(feature = "postgres")]
pub use database::DatabaseEvidence;
pub use local::LocalEvidence;
pub use options::{EvidenceMode, EvidenceOptions};
pub use query::{EvidenceQuery, EvidenceRequest};
#[cfg(feature = "http-models")]
pub use supabase::SupabaseEvidence;

/// One piece of evidence, with the names of the documents' SQL functions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Which event it is, in the document's tables.
    #[serde(default)]
    pub news_event_id: Option<EventId>,
    /// Which record it is, where events are records of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_id: Option<String>,
    /// When it was, as its source writes it: ISO 8601.
    pub created_at: Option<String>,
    /// The text.
    pub content_text: Option<String>,
    /// A translation, if there is one.
    #[serde(default)]
    pub translated_text: Option<String>,
    /// How well it fits: the similarity of vectors, or the part of the keywords that it holds. 0 to 1.
    #[serde(alias = "similarity")]
    pub match_score: f64,
}

/// The id of an event: a number in the document's tables, anything else elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EventId {
    /// As a table counts them.
    Number(i64),
    /// As others name them.
    Text(String),
}

impl EventId {
    /// A number, if it reads as one.
    fn read(id: &str) -> Self {
        id.parse().map_or_else(|_| Self::Text(id.to_owned()), Self::Number)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => write!(f, "{n}"),
            Self::Text(id) => f.write_str(id),
        }
    }
}

/// Somewhere to look for evidence.
#[async_trait]
pub trait EvidenceSource: Debug + Send + Sync + 'static {
    /// Evidence whose vector is as near as asked, nearest first.
    ///
    /// # Errors
    /// Whatever keeps the source from answering.
    async fn by_vector(&self, embedding: &[f32], request: &EvidenceRequest) -> Result<Vec<Evidence>>;

    /// Evidence that holds any of the keywords, those with most of them first.
    ///
    /// # Errors
    /// Whatever keeps the source from answering.
    async fn by_keywords(&self, keywords: &[String], request: &EvidenceRequest) -> Result<Vec<Evidence>>;
}

const _: fn(&dyn EvidenceSource) = |_| {};

/// What was gathered. A slot that is `None` gave nothing; serialized, it is not there.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MemoryEvidence {
    /// What the database's vectors gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supabase_vector: Option<Vec<Evidence>>,
    /// What the database's keywords gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supabase_keyword: Option<Vec<Evidence>>,
    /// What the local memory gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_keyword: Option<Vec<Evidence>>,
    /// What each step came to, in their order.
    #[serde(skip)]
    pub steps: Vec<EvidenceStep>,
}

impl MemoryEvidence {
    /// Whether no slot holds anything.
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// Everything, slot after slot.
    pub fn all(&self) -> impl Iterator<Item = &Evidence> {
        [&self.supabase_vector, &self.supabase_keyword, &self.local_keyword].into_iter().flatten().flatten()
    }
}

/// One of the slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceSlot {
    /// The database's vectors.
    SupabaseVector,
    /// The database's keywords.
    SupabaseKeyword,
    /// The local memory's keywords.
    LocalKeyword,
}

/// What a step came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvidenceStep {
    /// The slot it was for.
    pub slot: EvidenceSlot,
    /// What came of it.
    pub outcome: StepOutcome,
    /// How long it took.
    pub took: Duration,
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// It found so many.
    Hits(usize),
    /// It found nothing.
    Empty,
    /// There was no need or no way to ask.
    Skipped(&'static str),
    /// It failed or was not ready in time.
    Failed(String),
}

/// The first moment of a window that ends now.
fn since(now: Timestamp, window: Duration) -> Timestamp {
    Timestamp::from_micros(now.as_micros().saturating_sub(i64::try_from(window.as_micros()).unwrap_or(i64::MAX)))
}
