#![doc = include_str!("../README.md")]

mod batch;
mod digest;
mod drain;
mod enrichment;
mod fact_book;
mod graph_indexer;
mod handler;
mod jobs;
mod latency;
mod learn;
mod log;
mod retry;
mod worker;

pub use digest::Digest;
pub use drain::Progress;
pub use enrichment::Enrichment;
pub use fact_book::FactBook;
pub use graph_indexer::{Extracted, GraphIndexer};
pub use handler::JobHandler;
pub use latency::Lag;
pub use learn::Learned;
pub use log::REQUEST_ID;
pub use worker::Worker;
