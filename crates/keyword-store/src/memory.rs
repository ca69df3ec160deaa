//! A [`KeywordStore`] in memory, the reference for other backends.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{Filter, Hit, PackedTerms, Record, RecordId, Result, Scope, Terms, sync::RwLock};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    bm25::{Bm25, Bm25Candidate},
    store::{KeywordEntry, KeywordQuery, KeywordStore},
};

/// A [`KeywordStore`] in memory: an inverted index that is lost when the process ends.
#[derive(Debug, Default)]
pub struct MemoryKeywordStore {
    ranking: Bm25,
    index: RwLock<InvertedIndex>,
}

/// The key of a document: the scope and the id of its record. Two users may use the same id.
type DocumentKey = (Scope, RecordId);

#[derive(Debug, Default)]
struct InvertedIndex {
    documents: BTreeMap<DocumentKey, IndexedDocument>,
    postings: FxHashMap<String, BTreeMap<DocumentKey, u32>>,
}

#[derive(Debug)]
struct IndexedDocument {
    record: Arc<Record>,
    terms: Terms,
}

impl MemoryKeywordStore {
    /// Creates an empty store with the default ranking.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty store with this ranking.
    pub fn with_ranking(ranking: Bm25) -> Self {
        Self { ranking, index: RwLock::default() }
    }
}

impl InvertedIndex {
    fn remove(&mut self, key: &DocumentKey) {
        let Some(removed) = self.documents.remove(key) else { return };
        for (term, _) in removed.terms.iter() {
            if let Some(postings) = self.postings.get_mut(term) {
                postings.remove(key);
                if postings.is_empty() {
                    self.postings.remove(term);
                }
            }
        }
    }

    fn insert(&mut self, key: DocumentKey, document: IndexedDocument) {
        for (term, count) in document.terms.iter() {
            self.postings.entry(term.to_owned()).or_default().insert(key.clone(), count);
        }
        self.documents.insert(key, document);
    }

    fn count_documents(&self, scope: &Scope) -> u64 {
        self.documents.keys().filter(|(owner, _)| scope.covers(owner)).count() as u64
    }

    fn candidates(&self, scope: &Scope, query: &KeywordQuery) -> Vec<Bm25Candidate<RecordId>> {
        let mut frequencies: BTreeMap<&DocumentKey, Vec<f64>> = BTreeMap::new();
        for (index, clause) in query.clauses.iter().enumerate() {
            for weighted in &clause.terms {
                let postings = self.postings.get(&weighted.term).into_iter().flatten();
                for (key, count) in postings.filter(|((owner, _), _)| scope.covers(owner)) {
                    let by_clause = frequencies.entry(key).or_insert_with(|| vec![0.0; query.clauses.len()]);
                    by_clause[index] += f64::from(*count) * weighted.weight;
                }
            }
        }
        let candidate = |(key, frequencies): (&DocumentKey, Vec<f64>)| {
            let document = self.documents.get(key)?;
            let admitted = query.filter.as_ref().is_none_or(|filter| filter.matches(&document.record));
            Some(Bm25Candidate { key: key.1, frequencies, length: document.terms.length(), admitted })
        };
        frequencies.into_iter().filter_map(candidate).collect()
    }
}

#[async_trait]
impl KeywordStore for MemoryKeywordStore {
    async fn upsert(&self, scope: &Scope, entries: &[KeywordEntry]) -> Result<()> {
        entries.iter().try_for_each(|entry| scope.authorize("keyword upsert", &entry.record.scope))?;
        let mut index = self.index.write();
        for KeywordEntry { record, terms } in entries {
            let key = (record.scope.clone(), record.id);
            index.remove(&key);
            index.insert(key, IndexedDocument { record: Arc::clone(record), terms: terms.clone() });
        }
        Ok(())
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let mut index = self.index.write();
        let removed: Vec<DocumentKey> =
            index.documents.keys().filter(|(owner, id)| ids.contains(id) && scope.covers(owner)).cloned().collect();
        removed.iter().for_each(|key| index.remove(key));
        Ok(removed.len() as u64)
    }

    async fn terms(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<PackedTerms>>> {
        let index = self.index.read();
        let wanted: FxHashSet<RecordId> = ids.iter().copied().collect();
        let mut found: FxHashMap<RecordId, PackedTerms> = FxHashMap::default();
        for ((address, id), document) in &index.documents {
            if wanted.contains(id) && scope.covers(address) {
                // If several users have a record of one id, the first by address counts, as in the record stores.
                found.entry(*id).or_insert_with(|| PackedTerms::from(&document.terms));
            }
        }
        Ok(ids.iter().map(|id| found.get(id).cloned()).collect())
    }

    async fn search(&self, scope: &Scope, query: &KeywordQuery) -> Result<Vec<Hit>> {
        query.filter.as_ref().map_or(Ok(()), Filter::validate)?;
        let index = self.index.read();
        let candidates = index.candidates(scope, query);
        let ranked = self.ranking.rank(index.count_documents(scope), &query.clauses, &candidates, query.limit);
        Ok(ranked.into_iter().map(|(id, score)| Hit { id, score }).collect())
    }
}
