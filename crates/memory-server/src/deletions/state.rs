//! The state of the routes.

use std::sync::Arc;

use memory_engine::{MemoryEngine, certificate::CertificateKey};

/// The memory, and the key that signs its certificates, if there is one.
#[derive(Debug, Clone)]
pub(super) struct DeletionsState {
    pub(super) engine: MemoryEngine,
    pub(super) key: Option<Arc<CertificateKey>>,
}
