//! A hit together with its record.

use crate::{PackedTerms, Record, score::Hit};

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
