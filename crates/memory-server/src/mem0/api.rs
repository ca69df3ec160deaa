//! The router of mem0's routes.

use axum::{middleware::from_fn, response::IntoResponse};
use memory_engine::{MemoryEngine, Result};

use super::{
    error::{Mem0ErrorBody, add_request_id},
    oss, platform,
    service::Mem0,
};
use crate::{
    config::{Config, Variables},
    fault::Fault,
    part::ServerPart,
    server::Server,
};

impl Mem0 {
    pub(crate) fn part(self) -> ServerPart {
        let (oss, oss_section) = oss::routes().finish();
        let (platform, platform_section) = platform::routes().finish();
        let router = oss.merge(platform).layer(from_fn(add_request_id)).with_state(self);
        let sections = [oss_section, platform_section].map(|section| section.with_errors::<Mem0ErrorBody>()).into();
        ServerPart { name: "mem0", router, sections, errors: Fault::into_response, background: None }
    }
}

impl Server {
    /// Adds mem0's routes.
    pub fn mem0(self, mem0: Mem0) -> Self {
        self.with_part(mem0.part())
    }
}

/// Builds the part unless the configuration switches it off.
pub(crate) fn build(config: &Config, engine: &MemoryEngine, _: Variables<'_>) -> Result<Option<ServerPart>> {
    let mem0 =
        Mem0::new(engine.clone()).with_turns(config.mem0.include_turns).with_commands(config.chat_commands.clone());
    Ok(config.mem0.enabled.then(|| mem0.part()))
}
