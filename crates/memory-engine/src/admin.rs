//! Administration of a store: health checks, migrations, job queue, vectors, tombstones. Most applications do not need
//! it.

mod lifecycle;
pub(crate) mod operations;

#[cfg(feature = "metrics")]
pub use memory_engine_core::observe::{METRICS, MetricDescription, MetricKind, describe_metrics};
pub use memory_engine_core::{Failure, Finding, HealthReport, ProblemKind, QueueHealth, Remedy};
pub use memory_engine_core::{Mismatch, ViewSet};
#[cfg(feature = "enrichment")]
pub use memory_engine_enrichment::EnrichmentReport;
pub use memory_engine_enrichment::{LatencyStats, Progress, REQUEST_ID};
pub use memory_engine_vector_store::{EmbeddingVersion, EmbeddingVersions};

#[cfg(feature = "sqlite")]
pub use memory_engine_databases::rekey;
pub use memory_engine_databases::{
    Migrations, check_health, check_health_with_progress, install_views, migrate_down, migrate_up, migrations,
    namespaces, remove_views, repair,
};
pub use memory_engine_recall::DegradedRecall;

pub use crate::admin::operations::Admin;
