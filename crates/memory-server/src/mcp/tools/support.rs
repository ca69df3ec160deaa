//! Helpers shared by the tools.

use std::sync::Arc;

use jiff::tz::TimeZone;
use memory_engine::{Error, ErrorKind, MemoryEngine, Record, Result, Scope, context::TokenCounter};
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::mcp::schema;

/// The engine and the caller of a tool call.
#[derive(Debug, Clone)]
pub(in crate::mcp) struct ToolContext {
    pub(in crate::mcp) engine: MemoryEngine,
    pub(in crate::mcp) counter: Arc<dyn TokenCounter>,
    /// The zone of times without one.
    pub(in crate::mcp) zone: TimeZone,
}

/// Builds a tool with the schemas of its arguments and its result.
pub(super) fn described<I: JsonSchema, O: JsonSchema>(
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

/// Annotations of a tool that changes nothing.
pub(super) fn read_only() -> ToolAnnotations {
    ToolAnnotations::new().read_only(true)
}

/// Annotations of a tool that writes.
pub(super) fn writes(destructive: bool, idempotent: bool) -> ToolAnnotations {
    ToolAnnotations::new().read_only(false).destructive(destructive).idempotent(idempotent)
}

/// Reads the arguments of a tool. `null` counts as missing.
pub(super) fn read<T: DeserializeOwned>(tool: &'static str, mut arguments: JsonObject) -> Result<T> {
    arguments.retain(|_, value| !value.is_null());
    serde_json::from_value(Value::Object(arguments)).map_err(|e| Error::invalid(tool, e.to_string()))
}

/// Returns a number within bounds, or an error that names them.
pub(super) fn within(tool: &'static str, name: &str, value: i64, (least, most): (i64, i64)) -> Result<usize> {
    let wrong = || Error::invalid(tool, format!("{name} is {value}; it goes from {least} to {most}"));
    if (least..=most).contains(&value) { usize::try_from(value).map_err(|_| wrong()) } else { Err(wrong()) }
}

/// Returns a result as structured content and as the text of it.
pub(super) fn answer(of: &impl Serialize) -> Result<CallToolResult> {
    let unwritable = |e| Error::new(ErrorKind::Internal, "mcp", "the answer cannot be written").with_source(e);
    serde_json::to_value(of).map(CallToolResult::structured).map_err(unwritable)
}

/// Returns the memory with this id within `scope`, if a search could return it.
pub(super) async fn found(tool: &'static str, engine: &MemoryEngine, scope: &Scope, id: &str) -> Result<Record> {
    let wrong = || Error::invalid(tool, "an id is a UUID, as search_memory and list_memories give it");
    let record = engine.get(scope, id.trim().parse().map_err(|_| wrong())?).await?;
    // The error does not reveal whether another user has a memory with this id.
    let missing = || Error::new(ErrorKind::NotFound, tool, "there is no memory with this id");
    record.filter(Record::is_indexed).ok_or_else(missing)
}
