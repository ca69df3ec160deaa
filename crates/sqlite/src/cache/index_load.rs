//! The span and the metrics of loading an index into memory.

use std::time::Instant;

use memory_engine_core::{
    observe::{
        Operation, count_index_load, observe_blocking,
        tracing::{Span, field::Empty},
    },
    operation_span,
};

use crate::database::error::SqliteError;

/// The loading of an index, while it is in progress.
#[derive(Debug)]
pub(super) struct IndexLoad {
    index: &'static str,
    span: Span,
    started: Instant,
}

impl IndexLoad {
    /// Records that the index was read from its cache file.
    pub(super) fn record_file_load(&self, records: usize) {
        self.finish("file", records);
    }

    /// Records that the index was read from the rows of the database.
    pub(super) fn record_row_load(&self, records: usize) {
        self.finish("rows", records);
    }

    fn finish(&self, source: &'static str, records: usize) {
        self.span.record("source", source);
        self.span.record("records", records);
        count_index_load(self.index, source, self.started.elapsed());
    }
}

/// Loads an index, `vectors` or `postings`, in a span of its own. `load_index` records the source of the index.
pub(super) fn observe_load<T>(
    index: &'static str,
    load_index: impl FnOnce(&IndexLoad) -> Result<T, SqliteError>,
) -> Result<T, SqliteError> {
    let span = operation_span!(DEBUG, "memory_engine.index.load", index = index, source = Empty, records = Empty);
    let load = IndexLoad { index, span: span.clone(), started: Instant::now() };
    observe_blocking(&span, Operation::Unmeasured, SqliteError::kind, || load_index(&load))
}
