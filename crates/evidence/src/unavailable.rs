//! A source that cannot be used.

use async_trait::async_trait;
use memory_engine_core::{Error, ErrorKind, Result};

use crate::{evidence::Evidence, query::EvidenceRequest, source::EvidenceSource};

/// A source that could not be set up, for example because of an invalid URL. Every search fails with the error of the
/// setup, so its slot stays empty and the analysis goes on.
///
/// ```
/// use std::sync::Arc;
///
/// use memory_engine::{Error, ErrorKind, MemoryEngine, Scope};
/// use memory_engine_evidence::{EvidenceCascade, EvidenceQuery, LocalEvidence, StepOutcome, UnavailableEvidence};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let error = Error::new(ErrorKind::InvalidInput, "database", "the URL has no host");
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let cascade = EvidenceCascade::new(Arc::new(LocalEvidence::new(memory, Scope::user("desk")?)));
/// let cascade = cascade.with_database(Some(Arc::new(UnavailableEvidence::new(&error))));
/// let evidence = cascade.gather(&EvidenceQuery::new().with_keywords(["gold"])).await;
/// let StepOutcome::Failed(reason) = &evidence.steps[1].outcome else { panic!("{evidence:?}") };
/// assert!(reason.contains("the URL has no host"));
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct UnavailableEvidence {
    kind: ErrorKind,
    reason: String,
}

impl UnavailableEvidence {
    /// Creates a source that fails with this error.
    pub fn new(error: &Error) -> Self {
        Self { kind: error.kind(), reason: error.to_string() }
    }

    fn error(&self) -> Error {
        Error::new(self.kind, "evidence", self.reason.clone())
    }
}

#[async_trait]
impl EvidenceSource for UnavailableEvidence {
    async fn by_vector(&self, _: &[f32], _: &EvidenceRequest) -> Result<Vec<Evidence>> {
        Err(self.error())
    }

    async fn by_keywords(&self, _: &[String], _: &EvidenceRequest) -> Result<Vec<Evidence>> {
        Err(self.error())
    }
}
