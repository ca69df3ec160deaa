//! Indexes records that a job has claimed.

use std::{collections::BTreeMap, sync::Arc};

use memory_engine_core::{Pending, Record, Result, Scope};
use memory_engine_embedder::Purpose;
use memory_engine_keyword_store::KeywordEntry;
use memory_engine_vector_store::VectorEntry;

use crate::{embedding::EmbeddingBackend, indexed_text::indexed_text, store::IndexedStore};

impl IndexedStore {
    /// Writes the terms of claimed records to the keyword store.
    ///
    /// # Errors
    /// The keyword store's error.
    pub async fn index_terms(&self, pending: &[Pending]) -> Result<()> {
        let records = Arc::new(records(pending));
        let terms = self.analysis().record_terms(Arc::clone(&records), |record| record).await?;
        let entries = records.iter().cloned().zip(terms).map(|(record, terms)| KeywordEntry { record, terms });
        for (scope, entries) in by_tenant(entries, |entry| &entry.record)? {
            self.keywords().upsert(&scope, &entries).await?;
        }
        Ok(())
    }

    /// Embeds claimed records and writes their vectors to the backend's store.
    ///
    /// # Errors
    /// The embedder's or the vector store's error.
    pub async fn index_vectors(&self, backend: &EmbeddingBackend, pending: &[Pending]) -> Result<()> {
        let records = records(pending);
        let texts: Vec<String> = records.iter().map(|record| indexed_text(record)).collect();
        let encodings = backend.embed_with_tokens(texts, Purpose::Document).await?;
        let entries = records
            .into_iter()
            .zip(encodings)
            .map(|(record, encoding)| VectorEntry::new(record, encoding.embedding).with_tokens(encoding.tokens));
        for (scope, entries) in by_tenant(entries, |entry| &entry.record)? {
            backend.vectors.upsert(&scope, &entries).await?;
        }
        Ok(())
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
