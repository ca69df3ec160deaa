//! The actor of a request, for the audit log.

#[cfg(feature = "mcp")]
use std::sync::Arc;

use axum::http::{HeaderMap, header::USER_AGENT};
use memory_engine::audit::Actor;

use crate::{access::Access, headers::header_text};

/// The header with the name of the agent or program. Without it, `User-Agent` counts.
const AGENT_HEADER: &str = "x-memory-agent";

/// Returns the actor of a request: the name of its key, and the program as it states itself.
pub(crate) fn identify_actor(access: &Access, headers: &HeaderMap) -> Actor {
    let key = access.name();
    // These are names of actors without a key of the server.
    let is_reserved = key == Actor::ENGINE || key == "cli" || key.starts_with("cli:");
    let key = if is_reserved { format!("key:{key}") } else { key.to_owned() };
    let stated = header_text(headers, AGENT_HEADER).ok().flatten();
    let agent = stated.or_else(|| headers.get(USER_AGENT)?.to_str().ok().map(str::to_owned));
    Actor::new(Some(&key), agent.as_deref())
}

/// Returns the actor of the request that the parts belong to, if the guard has set one.
#[cfg(feature = "mcp")]
pub(crate) fn request_actor(extensions: &axum::http::Extensions) -> Option<Arc<Actor>> {
    extensions.get::<Arc<Actor>>().cloned()
}
