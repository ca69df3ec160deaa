//! Records together with their terms, and hits together with their records.

use crate::{packed_terms::PackedTerms, record::Record, score::Hit};

/// A record with its terms.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordWithTerms {
    /// The record, as it is stored. It may have expired.
    pub record: Record,
    /// The terms of the record; `None` if it has none.
    pub terms: Option<PackedTerms>,
}

/// A hit with its record and terms, read in one transaction. Only a store that contains both the index and the records
/// returns it.
#[derive(Debug, Clone)]
pub struct FoundRecord {
    /// The hit.
    pub hit: Hit,
    /// Its record, with the terms.
    pub record: RecordWithTerms,
}
