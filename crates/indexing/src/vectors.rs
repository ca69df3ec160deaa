//! Stores vectors that the caller provides, with a record or for stored records.

use std::sync::Arc;

use memory_engine_core::{Embedding, ErrorKind, Job, Record, RecordId, Result, Scope, WriteResult};
use memory_engine_vector_store::VectorEntry;

use crate::{store::IndexedStore, write::completion};

impl IndexedStore {
    /// Stores vectors of the caller instead of embedding the records. The caller guarantees that the engine's own model
    /// computed them from the texts of the records; this is not checked. Returns the number of stored vectors. Skips
    /// records outside of `scope`, and all records while the vectors of another embedder serve.
    ///
    /// # Errors
    /// `DimensionMismatch` for a vector with other dimensions, `InvalidInput` for one without a direction; the store's
    /// error.
    pub async fn adopt_vectors(&self, scope: &Scope, vectors: Vec<(RecordId, Vec<f32>)>) -> Result<u64> {
        let ids: Vec<RecordId> = vectors.iter().map(|(id, _)| *id).collect();
        let mut entries = Vec::new();
        let mut done = Vec::new();
        for (record, (_, vector)) in self.get_all(scope, &ids).await?.into_iter().zip(vectors) {
            let Some(record) = record else { continue };
            let embedding = Embedding::new(vector)?;
            done.push(completion(&record, Job::Embedding, record.revision));
            entries.push(VectorEntry::new(Arc::new(record), embedding));
        }
        if entries.is_empty() || !self.makes_serving_vectors().await? {
            return Ok(0);
        }
        self.vectors().upsert(scope, &entries).await?;
        self.finish(&done).await?;
        Ok(done.len() as u64)
    }

    /// Stores the vectors of written records.
    pub(crate) async fn index_embeddings(
        &self,
        scope: &Scope,
        records: Vec<Arc<Record>>,
        embeddings: Vec<Option<Embedding>>,
        written: &[WriteResult],
    ) -> Result<()> {
        let writes = records.into_iter().zip(embeddings).zip(written);
        let (entries, done): (Vec<_>, Vec<_>) = writes
            .filter(|(_, written)| written.pending.contains(&Job::Embedding))
            .filter_map(|((record, embedding), written)| {
                let embedding = embedding?;
                let mut record = Record::clone(&record);
                // A store that keeps records with its vectors refuses an older revision.
                record.revision = written.revision;
                let done = completion(&record, Job::Embedding, record.revision);
                Some((VectorEntry::new(Arc::new(record), embedding), done))
            })
            .unzip();
        if entries.is_empty() || !self.makes_serving_vectors().await? {
            return Ok(());
        }
        match self.vectors().upsert(scope, &entries).await {
            Ok(()) => self.finish(&done).await,
            // The store has just cut over. The queued jobs embed these records with the serving embedder.
            Err(e) if e.kind() == ErrorKind::SchemaMismatch => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Returns true if searches use the vectors of this engine's embedder.
    async fn makes_serving_vectors(&self) -> Result<bool> {
        match self.embedding().for_job(Job::Embedding).await {
            Ok(backend) => {
                let serving = self.embedding().serving().embedder.space();
                Ok(backend.is_some_and(|backend| backend.embedder.space() == serving))
            }
            Err(e) if e.kind() == ErrorKind::SchemaMismatch => Ok(false),
            Err(e) => Err(e),
        }
    }
}
