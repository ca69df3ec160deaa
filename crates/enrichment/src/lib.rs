#![doc = include_str!("../README.md")]

mod background;
mod batch;
#[cfg(feature = "enrichment")]
mod correct;
#[cfg(not(feature = "enrichment"))]
#[path = "correct_unsupported.rs"]
mod correct;
mod drain;
#[cfg(feature = "enrichment")]
mod enrich;
mod enrichment;
mod expiry;
#[cfg(feature = "enrichment")]
mod fact_book;
mod graph_indexer;
mod handler;
mod jobs;
mod latency;
mod log;
#[cfg(feature = "enrichment")]
mod options;
mod requeue;
mod retry;
#[cfg(feature = "enrichment")]
mod turn_jobs;
#[cfg(not(feature = "enrichment"))]
#[path = "turn_jobs_unsupported.rs"]
mod turn_jobs;
mod worker;

pub use background::BackgroundPause;
pub use drain::Progress;
#[cfg(feature = "enrichment")]
pub use enrich::EnrichmentReport;
pub use enrichment::Enrichment;
#[cfg(feature = "enrichment")]
pub use fact_book::FactBook;
pub use graph_indexer::{GraphIndexReport, GraphIndexer};
pub use handler::JobHandler;
pub use latency::LatencyStats;
pub use log::REQUEST_ID;
pub use turn_jobs::{EnrichmentOptions, TurnJobs};
pub use worker::Worker;
