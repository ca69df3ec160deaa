//! The tools: their names, arguments and results.

mod add_memory;
mod delete_memory;
mod get_memory;
mod init_context;
mod list_memories;
mod search_memory;
mod support;
mod update_memory;

use memory_engine::Result;
use rmcp::model::{CallToolResult, JsonObject, Tool};

use super::caller::Caller;
pub(super) use support::{ToolContext, check_scene, scene_names};

/// Returns all tools, in the order in which hosts show them.
pub(super) fn all() -> Vec<Tool> {
    vec![
        search_memory::tool(),
        init_context::tool(),
        add_memory::tool(),
        get_memory::tool(),
        update_memory::tool(),
        delete_memory::tool(),
        list_memories::tool(),
    ]
}

/// Calls a tool. `None` if there is none with its name.
pub(super) async fn call(
    memory: &ToolContext,
    caller: &Caller,
    tool: &Tool,
    mut arguments: JsonObject,
) -> Option<Result<CallToolResult>> {
    support::read_integers(tool, &mut arguments);
    let name = tool.name.as_ref();
    Some(match name {
        search_memory::NAME => search_memory::call(memory, caller, arguments).await,
        init_context::NAME => init_context::call(memory, caller, arguments).await,
        add_memory::NAME => add_memory::call(memory, caller, arguments).await,
        get_memory::NAME => get_memory::call(memory, caller, arguments).await,
        update_memory::NAME => update_memory::call(memory, caller, arguments).await,
        delete_memory::NAME => delete_memory::call(memory, caller, arguments).await,
        list_memories::NAME => list_memories::call(memory, caller, arguments).await,
        _ => return None,
    })
}
