//! Putting records into the indexes.

use std::{collections::BTreeMap, sync::Arc};

use memory_engine_core::{Done, Embedding, Job, Pending, Record, RecordId, Result, Scope};
use memory_engine_embedder::Purpose;
use memory_engine_keyword_store::KeywordEntry;
use memory_engine_vector_store::VectorEntry;

use crate::{MemoryEngine, spaces::Space};

impl MemoryEngine {
    /// Takes vectors over that were made elsewhere, in place of making them: for imports. The caller answers for it that this
    /// engine's own model made them, and of the records' texts; nothing here can tell. Gives how many were taken; those of
    /// records that are not within `scope` are passed over, and all of them while other vectors serve.
    ///
    /// # Errors
    /// `DimensionMismatch` for a vector that cannot be this model's, `InvalidInput` for one that means nothing; the store's.
    pub async fn adopt_vectors(&self, scope: &Scope, vectors: Vec<(RecordId, Vec<f32>)>) -> Result<u64> {
        let ids: Vec<RecordId> = vectors.iter().map(|(id, _)| *id).collect();
        let (mut entries, mut done) = (Vec::new(), Vec::new());
        for (record, (_, vector)) in self.get_all(scope, &ids).await?.into_iter().zip(vectors) {
            let Some(record) = record else { continue };
            let embedding = Embedding::new(vector)?;
            let (id, scope, revision) = (record.id, record.scope.clone(), record.revision);
            done.push(Done { id, scope, job: Job::Embedding, revision, ticket: None });
            entries.push(VectorEntry { record: Arc::new(record), embedding });
        }
        if entries.is_empty() || !self.makes_what_serves().await? {
            return Ok(0);
        }
        self.vectors().upsert(scope, &entries).await?;
        self.finish(&done).await?;
        Ok(done.len() as u64)
    }

    pub(super) async fn index_terms(&self, pending: &[Pending]) -> Result<()> {
        let records = Arc::new(records(pending));
        let terms = self.analyze_records(Arc::clone(&records), |record| record).await?;
        let entries = records.iter().cloned().zip(terms).map(|(record, terms)| KeywordEntry { record, terms });
        for (scope, entries) in by_tenant(entries, |entry| &entry.record)? {
            self.keywords().upsert(&scope, &entries).await?;
        }
        Ok(())
    }

    pub(super) async fn index_vectors(&self, space: &Space, pending: &[Pending]) -> Result<()> {
        let records = records(pending);
        let texts: Vec<String> = records.iter().map(|r| indexed_text(r)).collect();
        let vectors = self.embed_in(space, texts, Purpose::Document).await?;
        let entries = records.into_iter().zip(vectors).map(|(record, embedding)| VectorEntry { record, embedding });
        for (scope, entries) in by_tenant(entries, |entry| &entry.record)? {
            space.vectors.upsert(&scope, &entries).await?;
        }
        Ok(())
    }
}

/// What is indexed of a record: its text, after the name of whoever says it.
pub(crate) fn indexed_text(record: &Record) -> String {
    match record.named_speaker() {
        Some(speaker) => format!("{speaker}: {}", record.text),
        None => record.text.clone(),
    }
}

fn records(pending: &[Pending]) -> Vec<Arc<Record>> {
    pending.iter().map(|pending| Arc::new(pending.record.clone())).collect()
}

fn by_tenant<T>(entries: impl Iterator<Item = T>, record: impl Fn(&T) -> &Record) -> Result<Vec<(Scope, Vec<T>)>> {
    let mut groups: BTreeMap<String, Vec<T>> = BTreeMap::new();
    for entry in entries {
        groups.entry(record(&entry).scope.tenant().to_owned()).or_default().push(entry);
    }
    groups.into_iter().map(|(tenant, entries)| Ok((Scope::tenant_wide(tenant)?, entries))).collect()
}
