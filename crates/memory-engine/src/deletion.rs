//! Deletions: previews, certificates, expiry.

use std::{fmt, sync::Arc};

use memory_engine_core::{RemovalCounts, Result, Scope};
use memory_engine_curation::{Forget, ForgetReport, ProgressFn};
use memory_engine_indexing::verb;
use tracing::{Span, field::Empty};

#[cfg(feature = "certificates")]
use crate::certificate::{
    CertificateKey, CertificateVerification, CertifiedDeletion, DeletionCertificate, PublicKey, SearchExtent,
};
use crate::engine::MemoryEngine;

pub use memory_engine_curation::{ForgetPreview, KeptOut};

/// Previews of deletions, signed certificates of them, and the deletion of expired records. To delete memories, call
/// [`MemoryEngine::forget`]. [`MemoryEngine::deletion`] returns it.
///
/// ```
/// use memory_engine::{Forget, MemoryEngine, Scope};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let lin = Scope::user("lin")?;
/// memory.remember(&lin, "The spare key is under the mat").await?;
///
/// let preview = memory.deletion().preview(&lin, Forget::Everything, 10).await?;
/// assert_eq!(preview.selected_sample[0].text, "The spare key is under the mat");
/// assert_eq!(memory.forget(&lin, Forget::Everything).await?.records(), preview.records());
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Deletion {
    pub(crate) engine: MemoryEngine,
    pub(crate) on_progress: Option<ProgressFn>,
}

impl fmt::Debug for Deletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deletion").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl Deletion {
    /// Calls a function after each transaction of a deletion, of at most 500 records and those derived from them, with
    /// the number of records that were deleted so far.
    #[must_use]
    pub fn on_progress(mut self, progress: impl Fn(u64) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(progress));
        self
    }

    /// As [`MemoryEngine::forget`], with [progress](Self::on_progress).
    ///
    /// # Errors
    /// Those of [`MemoryEngine::forget`].
    pub async fn forget(&self, scope: &Scope, target: impl Into<Forget>) -> Result<ForgetReport> {
        let note = |span: &Span, report: &ForgetReport| _ = span.record("records", report.records());
        let work = self.engine.acting(self.engine.curation().forget(scope, target.into(), self.on_progress.clone()));
        verb!("forget", scope, { records = Empty }, work, note)
    }

    /// Returns the records that [`forget`](MemoryEngine::forget) would remove now. Changes nothing. `sample` is the
    /// maximum number of selected records, and of derived ones, that it contains; it counts all of them.
    ///
    /// All selected records are read. If `scope` covers several users and the target is a filter or a text, records of
    /// two users with exactly the same time and sequence may be missed.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid filter or a text that is too short; the store's error.
    pub async fn preview(&self, scope: &Scope, target: impl Into<Forget>, sample: usize) -> Result<ForgetPreview> {
        let note = |span: &Span, preview: &ForgetPreview| _ = span.record("records", preview.records());
        let work = self.engine.curation().preview_forget(scope, target.into(), sample);
        verb!("preview_forget", scope, { records = Empty }, work, note)
    }

    /// Returns the values that are kept out of the records within `scope`, and of those around it.
    ///
    /// # Errors
    /// The store's error.
    pub async fn kept_out(&self, scope: &Scope) -> Result<Vec<KeptOut>> {
        verb!("kept_out", scope, {}, self.engine.curation().kept_out(scope))
    }

    /// Deletes the records of all tenants that have expired, with everything that is derived from them. Reads do not
    /// return expired records even before; the background task deletes them at least every 30 seconds. Returns the
    /// numbers of removed items.
    ///
    /// # Errors
    /// The stores' errors. What was deleted before stays deleted.
    pub async fn delete_expired(&self) -> Result<RemovalCounts> {
        self.engine.enrichment().delete_expired().await
    }
}

/// Signed certificates.
#[cfg(feature = "certificates")]
impl Deletion {
    /// Forgets records as [`MemoryEngine::forget`] does. Then searches the store for their traces, and returns a signed
    /// report of both.
    ///
    /// With [`SearchExtent::Database`], every table, index and file is searched, and the time grows with the size of
    /// the store. The certificate then tells whether other users have the same words: it is for an administrator.
    /// With [`SearchExtent::Users`], only the rows of the users in question are searched.
    ///
    /// Traces are reported, not hidden: check [`DeletionCertificate::is_clean`]. The call can be repeated. For ids, the
    /// certificate then also covers the records that an earlier call had deleted.
    ///
    /// # Errors
    /// Those of [`MemoryEngine::forget`]. If the search fails, the records are deleted, and the call can be repeated.
    pub async fn forget_with_certificate(
        &self,
        scope: &Scope,
        target: impl Into<Forget>,
        key: &CertificateKey,
        extent: SearchExtent,
    ) -> Result<CertifiedDeletion> {
        let note = |span: &Span, deletion: &CertifiedDeletion| {
            span.record("records", deletion.report.records());
            span.record("residue", deletion.certificate.residue);
        };
        let work = self.engine.acting(self.engine.curation().forget_and_certify(
            scope,
            target.into(),
            key,
            extent,
            self.on_progress.clone(),
        ));
        verb!("forget_with_certificate", scope, { records = Empty, residue = Empty }, work, note)
    }

    /// Verifies a certificate against the rows that its users have in the store of this engine. Changes nothing. If the
    /// signature or the key is wrong, the store is not searched.
    ///
    /// # Errors
    /// `Unauthorized` if the certificate names a record outside of `scope`; otherwise as
    /// [`certificate::verify`](crate::certificate::verify).
    pub async fn verify_certificate(
        &self,
        scope: &Scope,
        certificate: &DeletionCertificate,
        pinned: Option<&PublicKey>,
    ) -> Result<CertificateVerification> {
        let work = self.engine.curation().verify_in_store(scope, certificate, pinned);
        verb!("verify_certificate", scope, {}, work)
    }
}
