//! The state of the routes.

use std::{path::Path, sync::Arc};

use memory_engine::MemoryEngine;

use super::overview::storage::Backend;
use crate::{config::Config, metrics::Metrics};

/// The engine, the configuration and the metrics that the routes of the inspector read.
#[derive(Debug, Clone)]
pub(super) struct InspectorState {
    pub(super) engine: MemoryEngine,
    pub(super) config: Arc<Config>,
    pub(super) backend: Backend,
    /// The absolute path of a SQLite database.
    pub(super) database_file: Option<Arc<Path>>,
    /// The metrics of the process, if they are collected.
    pub(super) metrics: Option<Metrics>,
}
