//! The store that keeps its postings in memory.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::sync::RwLock;
use memory_engine_core::{Filter, Hit, Record, RecordId, Result, Scope, Terms};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    bm25::{Bm25, Candidate},
    packed::PackedTerms,
    store::{KeywordEntry, KeywordQuery, KeywordStore},
};

/// A [`KeywordStore`] in memory: an inverted index, gone with the process.
#[derive(Debug, Default)]
pub struct MemoryKeywordStore {
    ranking: Bm25,
    tables: RwLock<Tables>,
}

/// A document is named by the record's address and id: ids of two users may be equal.
type Key = (Scope, RecordId);

#[derive(Debug, Default)]
struct Tables {
    documents: BTreeMap<Key, Document>,
    postings: FxHashMap<String, BTreeMap<Key, u32>>,
}

#[derive(Debug)]
struct Document {
    record: Arc<Record>,
    terms: Terms,
}

impl MemoryKeywordStore {
    /// An empty store with the usual ranking.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store with another ranking.
    pub fn with_ranking(ranking: Bm25) -> Self {
        Self { ranking, tables: RwLock::default() }
    }
}

impl Tables {
    fn remove(&mut self, key: &Key) {
        let Some(old) = self.documents.remove(key) else { return };
        for (term, _) in old.terms.iter() {
            if let Some(holders) = self.postings.get_mut(term) {
                holders.remove(key);
                if holders.is_empty() {
                    self.postings.remove(term);
                }
            }
        }
    }

    fn insert(&mut self, key: Key, document: Document) {
        for (term, count) in document.terms.iter() {
            self.postings.entry(term.to_owned()).or_default().insert(key.clone(), count);
        }
        self.documents.insert(key, document);
    }

    fn documents(&self, scope: &Scope) -> u64 {
        self.documents.keys().filter(|(address, _)| scope.covers(address)).count() as u64
    }

    fn candidates(&self, scope: &Scope, query: &KeywordQuery) -> Vec<Candidate<RecordId>> {
        let mut frequencies: BTreeMap<&Key, Vec<f64>> = BTreeMap::new();
        for (i, clause) in query.clauses.iter().enumerate() {
            for wanted in &clause.terms {
                let holders = self.postings.get(&wanted.term).into_iter().flatten();
                for (key, count) in holders.filter(|((address, _), _)| scope.covers(address)) {
                    let row = frequencies.entry(key).or_insert_with(|| vec![0.0; query.clauses.len()]);
                    row[i] += f64::from(*count) * wanted.weight;
                }
            }
        }
        let candidate = |(key, frequencies): (&Key, Vec<f64>)| {
            let document = self.documents.get(key)?;
            let admitted = query.filter.as_ref().is_none_or(|f| f.matches(&document.record));
            Some(Candidate { key: key.1, frequencies, length: document.terms.length(), admitted })
        };
        frequencies.into_iter().filter_map(candidate).collect()
    }
}

#[async_trait]
impl KeywordStore for MemoryKeywordStore {
    async fn upsert(&self, scope: &Scope, entries: &[KeywordEntry]) -> Result<()> {
        entries.iter().try_for_each(|entry| scope.authorize("keyword upsert", &entry.record.scope))?;
        let mut tables = self.tables.write();
        for KeywordEntry { record, terms } in entries {
            let key = (record.scope.clone(), record.id);
            tables.remove(&key);
            tables.insert(key, Document { record: Arc::clone(record), terms: terms.clone() });
        }
        Ok(())
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let mut tables = self.tables.write();
        let gone: Vec<Key> = tables
            .documents
            .keys()
            .filter(|(address, id)| ids.contains(id) && scope.covers(address))
            .cloned()
            .collect();
        gone.iter().for_each(|key| tables.remove(key));
        Ok(gone.len() as u64)
    }

    async fn terms(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<PackedTerms>>> {
        let tables = self.tables.read();
        let wanted: FxHashSet<RecordId> = ids.iter().copied().collect();
        let mut found: FxHashMap<RecordId, PackedTerms> = FxHashMap::default();
        for ((address, id), document) in &tables.documents {
            if wanted.contains(id) && scope.covers(address) {
                // If several users have a record of one id, the first by address counts, as in the record stores.
                found.entry(*id).or_insert_with(|| PackedTerms::from(&document.terms));
            }
        }
        Ok(ids.iter().map(|id| found.get(id).cloned()).collect())
    }

    async fn search(&self, scope: &Scope, query: &KeywordQuery) -> Result<Vec<Hit>> {
        query.filter.as_ref().map_or(Ok(()), Filter::validate)?;
        let tables = self.tables.read();
        let candidates = tables.candidates(scope, query);
        let ranked = self.ranking.rank(tables.documents(scope), &query.clauses, &candidates, query.limit);
        Ok(ranked.into_iter().map(|(id, score)| Hit { id, score }).collect())
    }
}
