//! The tools: what they are called, what they take, what they give.

mod add_memory;
mod delete_memory;
mod get_memory;
mod init_context;
mod list_memories;
mod search_memory;
mod update_memory;

use memory_engine::{Error, ErrorKind, MemoryEngine, Record, Result, Scope};
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Caller, host::Host, schema};

/// All tools, in the order in which hosts show them.
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

/// Calls the tool of this name; `None` when there is none.
pub(super) async fn call(
    host: &Host,
    caller: &Caller,
    name: &str,
    arguments: JsonObject,
) -> Option<Result<CallToolResult>> {
    Some(match name {
        search_memory::NAME => search_memory::call(host, caller, arguments).await,
        init_context::NAME => init_context::call(host, caller, arguments).await,
        add_memory::NAME => add_memory::call(host, caller, arguments).await,
        get_memory::NAME => get_memory::call(host, caller, arguments).await,
        update_memory::NAME => update_memory::call(host, caller, arguments).await,
        delete_memory::NAME => delete_memory::call(host, caller, arguments).await,
        list_memories::NAME => list_memories::call(host, caller, arguments).await,
        _ => return None,
    })
}

/// A tool with the schemas of what it takes and gives.
fn described<I: JsonSchema, O: JsonSchema>(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    annotations: ToolAnnotations,
) -> Tool {
    Tool::new(name, description, schema::of_input::<I>())
        .with_title(title)
        .with_raw_output_schema(schema::of_output::<O>())
        .with_annotations(annotations.open_world(false))
}

/// That a tool only looks.
fn looks() -> ToolAnnotations {
    ToolAnnotations::new().read_only(true)
}

/// That a tool writes; whether something that was there is lost by it, and whether twice is as good as once.
fn writes(destructive: bool, idempotent: bool) -> ToolAnnotations {
    ToolAnnotations::new().read_only(false).destructive(destructive).idempotent(idempotent)
}

/// Reads a tool's arguments. What a host leaves out it may also send as `null`.
fn read<T: DeserializeOwned>(tool: &'static str, mut arguments: JsonObject) -> Result<T> {
    arguments.retain(|_, value| !value.is_null());
    serde_json::from_value(Value::Object(arguments)).map_err(|e| Error::invalid(tool, e.to_string()))
}

/// A number that lies within bounds, or an error that names them.
fn within(tool: &'static str, name: &str, value: i64, (least, most): (i64, i64)) -> Result<usize> {
    let wrong = || Error::invalid(tool, format!("{name} is {value}; it goes from {least} to {most}"));
    if (least..=most).contains(&value) { usize::try_from(value).map_err(|_| wrong()) } else { Err(wrong()) }
}

/// An answer, as data and as the text of the same data.
fn answer(of: &impl Serialize) -> Result<CallToolResult> {
    let unwritable = |e| Error::new(ErrorKind::Internal, "mcp", "the answer cannot be written").with_source(e);
    serde_json::to_value(of).map(CallToolResult::structured).map_err(unwritable)
}

/// The memory with this id within `scope`: one that a search could have given.
async fn found(tool: &'static str, engine: &MemoryEngine, scope: &Scope, id: &str) -> Result<Record> {
    let wrong = || Error::invalid(tool, "an id is a UUID, as search_memory and list_memories give it");
    let record = engine.get(scope, id.trim().parse().map_err(|_| wrong())?).await?;
    // Not even whether somebody else has one of this id is told.
    let missing = || Error::new(ErrorKind::NotFound, tool, "there is no memory with this id");
    record.filter(Record::is_indexed).ok_or_else(missing)
}
