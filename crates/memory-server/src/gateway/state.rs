//! State shared by all requests to the gateway.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::StatusCode;
use memory_engine::MemoryEngine;
use tokio_util::task::TaskTracker;

use super::{
    options::GatewayOptions,
    prompter::Prompter,
    turn_writer::TurnWriter,
    upstream::{Route, Upstreams},
};
use crate::fault::Fault;

/// State shared by all requests to the gateway.
#[derive(Debug)]
pub(super) struct GatewayState {
    pub(super) upstreams: Upstreams,
    pub(super) prompter: Prompter,
    pub(super) turns: TurnWriter,
    pub(super) engine: MemoryEngine,
    pub(super) options: Arc<GatewayOptions>,
    /// The tasks of the exchanges in progress.
    pub(super) tasks: TaskTracker,
}

impl GatewayState {
    /// Reads the body of a request.
    pub(super) async fn read_body(&self, body: Body) -> Result<Bytes, Fault> {
        let max_bytes = self.options.max_request_bytes;
        to_bytes(body, max_bytes).await.map_err(|_| {
            let message = format!("the body could not be read, or is larger than the maximum of {max_bytes} bytes");
            Fault::new(StatusCode::PAYLOAD_TOO_LARGE, message)
        })
    }

    /// Finds the upstream of a model.
    pub(super) fn route(&self, model: Option<&str>) -> Result<Route, Fault> {
        self.upstreams.route(model).ok_or_else(|| {
            let model: String = model.unwrap_or_default().chars().take(200).collect();
            Fault::not_found(format!("no upstream serves the model '{model}'; GET /v1/models lists the available ones"))
        })
    }
}
