//! Recall as of a time.
//!
//! The indexes hold the present state of active records only. For a recall as of a time, the run reads the records that
//! have changed, and searches those that were different at that time by itself. Their hits are merged with those of the
//! stores: the scores are on the same scale, because the run counts the statistics of the terms over both.

use std::{cmp::Reverse, sync::Arc};

use memory_engine_core::{
    Error, ErrorKind, Hit, MultiVector, PackedTerms, Record, RecordId, Result, ScanQuery, Timestamp,
    history::{has_changed, recorded_by},
};
use memory_engine_embedder::Purpose;
use memory_engine_indexing::indexed_text;
use memory_engine_keyword_store::{Bm25, Bm25Candidate, Clause};
use memory_engine_vector_store::{MemoryVectorStore, VectorEntry, VectorQuery, VectorStore};
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use crate::{
    index_corrections::{IndexCorrections, PastRecord},
    query::Retrievers,
    run::RecallRun,
    trace::Stage,
};

/// Maximum number of changed records that a recall reads.
const MAX_CHANGED: usize = 5000;
const SCAN_PAGE_ROWS: usize = 500;
/// Maximum number of past texts that a recall embeds: those with most words of the query, then the newest.
const MAX_EMBEDDED: usize = 100;

impl RecallRun<'_> {
    /// Reads the records that were different at the time of the query, if it has one. A failure is noted in the trace:
    /// then only records without a change since are found.
    pub(crate) async fn load_past(&mut self) {
        let Some(at) = self.plan.query.as_of else { return };
        let started = Instant::now();
        let outcome = self.trace.limit(Stage::Past, self.read_past(at)).await;
        let mut past = self.trace.finish(Stage::Past, started, outcome);
        if past.is_truncated {
            let message = format!(
                "more than {MAX_CHANGED} memories have changed since; those that occurred earliest were not searched"
            );
            self.trace.missing(Stage::Past, &Error::new(ErrorKind::Unavailable, "recall as of a time", message));
        }
        if !past.records.is_empty() && self.plan.query.retrievers != Retrievers::KeywordOnly {
            let vectors = self.trace.limit(Stage::Past, self.embed_past(&past)).await;
            past.vectors = self.trace.or_default(Stage::Past, vectors.map(Some));
        }
        self.past = Some(past);
    }

    async fn read_past(&self, at: Timestamp) -> Result<IndexCorrections> {
        let store = &self.parts.store;
        let mut past =
            IndexCorrections { scope_records: self.scope.count_records(store).await?, ..IndexCorrections::default() };
        let mut scan = ScanQuery::newest(SCAN_PAGE_ROWS).with_filter(recorded_by(at).and(has_changed()));
        let mut changed = 0;
        let mut records = Vec::new();
        loop {
            let page = self.scope.scan(store, &scan).await?;
            changed += page.records.len();
            for record in page.records {
                match record.as_of(at).filter(|then| self.plan.admits(then)) {
                    Some(then) if !record.is_indexed() || then.text != record.text => records.push(then),
                    Some(_) => {}
                    None => _ = past.hidden.insert(record.id),
                }
            }
            scan.after = page.next;
            past.is_truncated = scan.after.is_some() && changed >= MAX_CHANGED;
            if past.is_truncated || scan.after.is_none() {
                break;
            }
        }
        let records = Arc::new(records);
        let terms = store.analysis().record_terms(Arc::clone(&records), |record| record).await?;
        let with_terms = Arc::unwrap_or_clone(records).into_iter().zip(terms);
        past.records = with_terms
            .map(|(record, terms)| (record.id, PastRecord { record, terms: PackedTerms::from(&terms) }))
            .collect();
        Ok(past)
    }

    /// Embeds the past texts that have most words in common with the query, and then the newest.
    async fn embed_past(&self, past: &IndexCorrections) -> Result<MemoryVectorStore> {
        let words = self.parts.store.analysis().query_clauses(self.plan.query.text.clone()).await?;
        let matches = |past: &PastRecord| frequencies(&past.terms, &words).iter().filter(|count| **count > 0.0).count();
        let mut ordered: Vec<(usize, &Record)> =
            past.records.values().map(|past| (matches(past), &past.record)).collect();
        ordered.sort_unstable_by_key(|(matches, record)| Reverse((*matches, record.position())));
        ordered.truncate(MAX_EMBEDDED);
        let texts = ordered.iter().map(|(_, record)| indexed_text(record)).collect();
        let backend = &self.plan.backend;
        let encodings = backend.embed_with_tokens(texts, Purpose::Document).await?;
        let vectors = MemoryVectorStore::new(backend.embedder.space().clone());
        for ((_, record), encoding) in ordered.into_iter().zip(encodings) {
            let entry = VectorEntry::new(Arc::new(record.clone()), encoding.embedding).with_tokens(encoding.tokens);
            vectors.upsert(&record.scope, &[entry]).await?;
        }
        Ok(vectors)
    }

    /// Adds the past texts with words of the query to the hits of the keyword store.
    pub(crate) async fn add_past_keywords(&self, clauses: &[Clause], mut hits: Vec<Hit>) -> Result<Vec<Hit>> {
        let Some(past) = &self.past else { return Ok(hits) };
        past.retain_valid(&mut hits);
        let ids: Vec<RecordId> = hits.iter().map(|hit| hit.id).collect();
        let terms = self.scope.terms(&self.parts.store, &ids).await?;
        let present = ids.iter().zip(terms).filter_map(|(id, terms)| Some(candidate(*id, &terms?, clauses, false)));
        let former = past.records.iter().map(|(id, past)| candidate(*id, &past.terms, clauses, true));
        let matching = |candidate: &Bm25Candidate<RecordId>| candidate.frequencies.iter().any(|count| *count > 0.0);
        let candidates: Vec<Bm25Candidate<RecordId>> = present.chain(former).filter(matching).collect();
        let ranked = Bm25::default().rank(past.scope_records, clauses, &candidates, self.plan.max_candidates);
        hits.extend(ranked.into_iter().map(|(id, score)| Hit { id, score }));
        Ok(self.best(hits))
    }

    /// Adds the past texts that are near to the query to the hits of the vector store.
    pub(crate) async fn add_past_vectors(&self, query: VectorQuery, mut hits: Vec<Hit>) -> Result<Vec<Hit>> {
        let Some(past) = &self.past else { return Ok(hits) };
        past.retain_valid(&mut hits);
        let Some(vectors) = &past.vectors else { return Ok(hits) };
        // The store may have cut over to another embedder since the texts were embedded.
        if vectors.space() == self.plan.backend.embedder.space() {
            hits.extend(self.scope.search_vectors(vectors, query).await?);
        }
        Ok(self.best(hits))
    }

    /// Returns the token vectors of records, in the same order.
    pub(crate) async fn token_vectors(&self, ids: &[RecordId]) -> Result<Vec<Option<MultiVector>>> {
        let mut tokens = self.scope.token_vectors(self.plan.backend.vectors.as_ref(), ids).await?;
        let Some(past) = &self.past else { return Ok(tokens) };
        let former = match &past.vectors {
            Some(vectors) => self.scope.token_vectors(vectors, ids).await?,
            None => vec![None; ids.len()],
        };
        for ((id, tokens), former) in ids.iter().zip(&mut tokens).zip(former) {
            if past.invalidates(*id) {
                *tokens = former;
            }
        }
        Ok(tokens)
    }

    /// Returns the records with these ids as they were at the time of the query, or as they are if it has none, in the
    /// same order.
    pub(crate) async fn records(&self, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        let records = self.scope.get(&self.parts.store, ids).await?;
        let Some(at) = self.plan.query.as_of else { return Ok(records) };
        Ok(records.into_iter().map(|record| record.and_then(|record| record.as_of(at))).collect())
    }

    fn best(&self, mut hits: Vec<Hit>) -> Vec<Hit> {
        hits.sort_unstable_by(Hit::best_first);
        hits.truncate(self.plan.max_candidates);
        hits
    }
}

fn candidate(id: RecordId, terms: &PackedTerms, clauses: &[Clause], admitted: bool) -> Bm25Candidate<RecordId> {
    let length = terms.iter().map(|(_, count)| count).sum();
    Bm25Candidate { key: id, frequencies: frequencies(terms, clauses), length, admitted }
}

/// Returns the weighted number of occurrences of each clause.
fn frequencies(terms: &PackedTerms, clauses: &[Clause]) -> Vec<f64> {
    let counts: FxHashMap<&str, u32> = terms.iter().collect();
    let count = |term: &str| f64::from(counts.get(term).copied().unwrap_or(0));
    clauses.iter().map(|clause| clause.terms.iter().map(|term| count(&term.term) * term.weight).sum()).collect()
}
