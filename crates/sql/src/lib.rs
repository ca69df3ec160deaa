#![doc = include_str!("../README.md")]

pub mod audit;
pub mod backup;
pub mod checks;
pub mod embedding_versions;
pub mod filter;
pub mod graph;
pub mod health;
pub mod index_metadata;
pub mod migrations;
pub mod options;
pub mod record_columns;
pub mod request;
pub mod residue;
pub mod rows;
pub mod views;
pub mod write;

/// The statement that counts the records that belong in the indexes. Further conditions can be appended.
#[macro_export]
macro_rules! count_indexed {
    () => {
        concat!("SELECT count(*) FROM records r WHERE ", $crate::indexed!())
    };
}

/// The SQL condition that the row `r` of `records` belongs in the indexes: the same as `Record::is_indexed`.
#[macro_export]
macro_rules! indexed {
    () => {
        "(r.state = 'active' AND substr(r.kind, 1, 7) <> 'ledger/')"
    };
}
