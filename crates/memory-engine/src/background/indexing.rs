//! Putting records into the indexes.

use std::{collections::BTreeMap, sync::Arc};

use memory_core::{Pending, Record, Result, Scope};
use memory_embedder::Purpose;
use memory_keyword_store::KeywordEntry;
use memory_vector_store::VectorEntry;

use crate::{MemoryEngine, spaces::Space};

impl MemoryEngine {
    pub(super) async fn index_terms(&self, pending: &[Pending]) -> Result<()> {
        let records = records(pending);
        let terms = self.analyze_records(records.clone()).await?;
        let entries = records.into_iter().zip(terms).map(|(record, terms)| KeywordEntry { record, terms });
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
