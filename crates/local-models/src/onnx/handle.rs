//! Shared access to a loaded model through its inference thread.

use std::{path::PathBuf, sync::Arc};

use memory_engine_core::Result;

use super::{loaded::LoadedModel, options::OnnxOptions};
use crate::{error::ModelError, worker::InferenceThread};

/// A loaded model and the thread that runs it. Clones share both.
#[derive(Debug, Clone)]
pub(super) struct ModelHandle {
    pub(super) model: Arc<LoadedModel>,
    worker: Arc<InferenceThread>,
}

impl ModelHandle {
    /// Loads the model on its own thread.
    pub(super) async fn open(directory: PathBuf, options: OnnxOptions) -> Result<Self> {
        let worker = InferenceThread::start("memory-onnx")?;
        let model = worker.run(move || LoadedModel::read(&directory, options)).await??;
        Ok(Self { model: Arc::new(model), worker: Arc::new(worker) })
    }

    /// Runs `work` on the model's thread.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&LoadedModel) -> Result<T, ModelError> + Send + 'static,
    ) -> Result<T> {
        let model = Arc::clone(&self.model);
        Ok(self.worker.run(move || work(&model)).await??)
    }
}
