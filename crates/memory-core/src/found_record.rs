//! Records together with their terms.

use crate::{PackedTerms, Record, score::Hit};

/// A record with its terms.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordWithTerms {
    /// The record, as it is stored. It may have expired.
    pub record: Record,
    /// The terms of the record; `None` if it has none.
    pub terms: Option<PackedTerms>,
}

/// A hit of an index that is in the database of the records, with what one transaction read of it.
#[derive(Debug, Clone)]
pub struct FoundRecord {
    /// The hit.
    pub hit: Hit,
    /// Its record, as it is stored. It may have expired.
    pub record: Record,
    /// The terms of the record; `None` if it has none.
    pub terms: Option<PackedTerms>,
}
