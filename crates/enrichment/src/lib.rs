#![doc = include_str!("../README.md")]

mod background;
mod batch;
mod correct;
mod drain;
mod enrich;
mod enrichment;
mod fact_book;
mod graph_indexer;
mod handler;
mod jobs;
mod latency;
mod log;
mod options;
mod retry;
mod worker;

pub use drain::Progress;
pub use enrich::EnrichmentReport;
pub use enrichment::Enrichment;
pub use fact_book::FactBook;
pub use graph_indexer::{GraphIndexReport, GraphIndexer};
pub use handler::JobHandler;
pub use latency::LatencyStats;
pub use log::REQUEST_ID;
pub use options::EnrichmentOptions;
pub use worker::Worker;
