//! Secrets and personal data: what is masked before it is stored, and a scan of what is stored already.

use std::fmt;

pub use memory_engine_screening::{
    Category, RecordField, RecordFinding, ScreenedText, Screener, ScreeningAction, ScreeningFinding, ScreeningPolicy,
    ScreeningRuleId, rule_ids,
};

pub use memory_engine_curation::{RecordSecrets, SecretReport};

use memory_engine_core::{Result, Scope};
use memory_engine_indexing::verb;
use tracing::{Span, field::Empty};

use crate::engine::MemoryEngine;

/// A prepared scan for secrets. [`Screening::scan`] creates one, [`run`](Self::run) runs it.
#[must_use = "a scan does nothing until `run` is called"]
pub struct SecretScan {
    engine: MemoryEngine,
    scope: Scope,
    categories: Vec<Category>,
    redacts: bool,
    on_progress: Box<dyn FnMut(&SecretReport) + Send>,
}

impl fmt::Debug for SecretScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretScan")
            .field("categories", &self.categories)
            .field("redacts", &self.redacts)
            .finish_non_exhaustive()
    }
}

/// The search for secrets and personal data, in texts and in stored records. [`MemoryEngine::screening`] returns it.
/// [`Builder::screening`](crate::Builder::screening) sets what is masked before it is stored.
///
/// ```
/// use memory_engine::{MemoryEngine, Scope, screening::{ScreeningAction, ScreeningPolicy}};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let unscreened = ScreeningPolicy::uniform(ScreeningAction::Store);
/// let memory = MemoryEngine::builder().in_memory().screening(unscreened).build().await?;
/// let lin = Scope::user("lin")?;
/// let id = memory.remember(&lin, "The wifi password is tiger-4711.").await?;
///
/// let report = memory.screening().scan(&lin).run().await?;
/// assert_eq!((report.records[0].id, report.found, report.redacted), (id, 1, 0));
/// let report = memory.screening().scan(&lin).redact(true).run().await?;
/// assert_eq!(report.redacted, 1);
/// let record = memory.get(&lin, id).await?.unwrap();
/// assert_eq!(record.text, "The wifi password is [redacted: en-password].");
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Screening {
    pub(crate) engine: MemoryEngine,
}

impl Screening {
    /// Returns a text as it would be stored: with its secrets masked. For callers that compare a text with stored ones.
    pub fn mask(&self, text: impl Into<String>) -> String {
        self.engine.indexed_store().screened_text(text.into())
    }

    /// Returns a text as it would be stored within `scope`: truncated to the maximum length of a record, with its
    /// secrets masked, and the values that are [kept out](crate::deletion::Deletion::kept_out).
    ///
    /// # Errors
    /// The store's error.
    pub async fn mask_within(&self, scope: &Scope, text: impl Into<String>) -> Result<String> {
        self.engine.curation().mask_within(scope, text.into()).await
    }

    /// Scans the stored records within `scope` for secrets. By default, it looks for the categories that the engine
    /// masks or refuses, or for credentials if the screening is off, and changes nothing.
    pub fn scan(&self, scope: &Scope) -> SecretScan {
        SecretScan {
            engine: self.engine.clone(),
            scope: scope.clone(),
            categories: self.engine.curation().screened_categories(),
            redacts: false,
            on_progress: Box::new(|_| ()),
        }
    }
}

impl SecretScan {
    memory_engine_core::setters! {
        /// Sets the categories to look for.
        categories(categories: impl IntoIterator<Item = Category>) => categories = categories.into_iter().collect();
        /// Sets whether the findings are masked in the stored records. Records that were derived from a changed text
        /// are removed and derived again from the masked one, and all indexes are updated. Default: false.
        redact(redacts: bool);
        /// Calls a function after each page of 500 records with the report so far.
        on_progress(progress: impl FnMut(&SecretReport) + Send + 'static) => on_progress = Box::new(progress);
    }

    /// Runs the scan to its end.
    ///
    /// # Errors
    /// `Conflict` if others keep writing to the same record; the store's error. What was redacted before stays
    /// redacted, and the scan can be repeated.
    pub async fn run(self) -> Result<SecretReport> {
        let note = |span: &Span, report: &SecretReport| {
            span.record("records", report.scanned);
            span.record("found", report.found);
        };
        let Self { engine, scope, categories, redacts, on_progress } = self;
        let work = engine.acting(engine.curation().scan_secrets(&scope, &categories, redacts, on_progress));
        verb!("scan_secrets", &scope, { records = Empty, found = Empty }, work, note)
    }
}
