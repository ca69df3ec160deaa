//! Analysis of records, texts and queries into terms, without blocking the async runtime.

use std::{
    num::NonZero,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::future::try_join_all;
use jiff::tz::TimeZone;
use memory_engine_core::{Record, Result, Terms};
use memory_engine_keyword_store::{Analyzer, Clause};

use crate::{blocking::run_blocking, date_terms, indexed_text::indexed_text};

/// Maximum length of a text that is analyzed on the calling thread once the dictionary is loaded. A switch of threads
/// would take longer.
const INLINE_MAX_BYTES: usize = 1 << 10;
/// A text with words of both languages. Its analysis loads the tables of both, and the dictionary words that begin with
/// its Chinese characters.
const DICTIONARY_SAMPLE: &str = "我们昨天去爬山了 we went hiking";
/// Minimum number of records per thread.
const THREAD_MIN_RECORDS: usize = 64;

/// An analyzer that runs on blocking threads if it may take long: for many texts, for a long text, and for the first
/// text, which loads the dictionary.
#[derive(Debug)]
pub struct Analysis {
    analyzer: Arc<dyn Analyzer>,
    zone: TimeZone,
    dictionary_loaded: AtomicBool,
}

impl Analysis {
    /// Uses this analyzer.
    pub fn new(analyzer: Arc<dyn Analyzer>) -> Self {
        Self { analyzer, zone: TimeZone::UTC, dictionary_loaded: AtomicBool::new(false) }
    }

    /// Sets the time zone of records without a zone of their own. Default: UTC.
    #[must_use]
    pub fn with_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    /// Returns the time zone of records without a zone of their own.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Returns the index terms of each item's record, dates included. Many records are divided between the cores.
    ///
    /// # Errors
    /// `Internal` if a thread stops without a result.
    pub async fn record_terms<T: Send + Sync + 'static>(
        &self,
        items: Arc<Vec<T>>,
        record: fn(&T) -> &Record,
    ) -> Result<Vec<Terms>> {
        let analyzer = Arc::clone(&self.analyzer);
        let zone = self.zone.clone();
        let analyze = move |item: &T| {
            let mut terms = analyzer.document(&indexed_text(record(item)));
            date_terms::add_date_terms(&mut terms, record(item), &zone);
            terms
        };
        if let [item] = items.as_slice()
            && record(item).text.len() <= INLINE_MAX_BYTES
            && self.dictionary_loaded.load(Ordering::Relaxed)
        {
            return Ok(vec![analyze(item)]);
        }
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let chunk_records = items.len().div_ceil(cores).max(THREAD_MIN_RECORDS);
        let analyze_chunk = |start: usize| {
            let items = Arc::clone(&items);
            let analyze = analyze.clone();
            run_blocking("analyze", move || {
                let end = items.len().min(start + chunk_records);
                let terms: Vec<Terms> = items[start..end].iter().map(analyze).collect();
                // The caller unwraps the `Arc` after the terms are computed.
                drop(items);
                terms
            })
        };
        let chunks = try_join_all((0..items.len()).step_by(chunk_records).map(analyze_chunk)).await?;
        self.dictionary_loaded.store(true, Ordering::Relaxed);
        Ok(chunks.into_iter().flatten().collect())
    }

    /// Returns the terms of plain texts, without dates.
    ///
    /// # Errors
    /// `Internal` if the thread stops without a result.
    pub async fn text_terms(&self, texts: Vec<String>) -> Result<Vec<Terms>> {
        let analyzer = Arc::clone(&self.analyzer);
        run_blocking("analyze", move || texts.iter().map(|text| analyzer.document(text)).collect()).await
    }

    /// Loads the dictionary, if it is not loaded yet.
    ///
    /// # Errors
    /// `Internal` if the thread stops without a result.
    pub async fn load_dictionary(&self) -> Result<()> {
        self.query_clauses(DICTIONARY_SAMPLE.to_owned()).await.map(drop)
    }

    /// Returns the clauses of a query, without dates.
    ///
    /// # Errors
    /// `Internal` if the thread stops without a result.
    pub async fn query_clauses(&self, text: String) -> Result<Vec<Clause>> {
        if text.len() <= INLINE_MAX_BYTES && self.dictionary_loaded.load(Ordering::Relaxed) {
            return Ok(self.analyzer.query(&text));
        }
        let analyzer = Arc::clone(&self.analyzer);
        let clauses = run_blocking("analyze", move || analyzer.query(&text)).await?;
        self.dictionary_loaded.store(true, Ordering::Relaxed);
        Ok(clauses)
    }
}
