//! The state of the routes.

use memory_engine_agent_hooks::AgentHooks;

/// The handler of events, and the user of events that name none.
#[derive(Debug, Clone)]
pub(super) struct HooksState {
    pub(super) handler: AgentHooks,
    pub(super) default_user: String,
}
