//! Helpers shared by the tools.

use std::{collections::BTreeSet, ops::RangeInclusive, sync::Arc};

use jiff::tz::TimeZone;
use memory_engine::{
    Error, ErrorKind, Field, Filter, MemoryEngine, Record, Result, ScanQuery, Scope, audit::AuditContext,
    context::TokenCounter, requests::ChatCommand,
};
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::mcp::schema;

/// The engine, token counter and time zone that all tools use.
#[derive(Debug, Clone)]
pub(in crate::mcp) struct ToolContext {
    pub(in crate::mcp) engine: MemoryEngine,
    pub(in crate::mcp) counter: Arc<dyn TokenCounter>,
    /// The zone of times without one, unless the client names its user's.
    pub(in crate::mcp) default_zone: TimeZone,
    /// The requests about the memory that a person can make.
    pub(in crate::mcp) commands: Vec<ChatCommand>,
}

impl ToolContext {
    /// Returns the zone of times without one: the one that the client names, or the default.
    pub(in crate::mcp) fn zone(&self) -> TimeZone {
        AuditContext::current().zone().unwrap_or(&self.default_zone).clone()
    }
}

/// Builds a tool with the schemas of its arguments and its result.
pub(super) fn build_tool<I: JsonSchema, O: JsonSchema>(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    annotations: ToolAnnotations,
) -> Tool {
    Tool::new(name, description, schema::input_schema::<I>())
        .with_title(title)
        .with_raw_output_schema(schema::output_schema::<O>())
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
pub(super) fn parse_arguments<T: DeserializeOwned>(tool: &'static str, mut arguments: JsonObject) -> Result<T> {
    arguments.retain(|_, value| !value.is_null());
    serde_json::from_value(Value::Object(arguments)).map_err(|e| Error::invalid(tool, e.to_string()))
}

/// Replaces whole numbers that a client writes as `5.0`, which is an integer in JSON Schema, or as `\"5\"`.
pub(super) fn read_integers(tool: &Tool, arguments: &mut JsonObject) {
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    for (name, value) in arguments {
        let schema = properties.and_then(|properties| properties.get(name));
        if schema.is_none_or(|schema| schema["type"] != "integer") {
            continue;
        }
        let number = value.as_str().map_or_else(|| value.as_f64(), |text| text.trim().parse().ok());
        // Beyond 2^53 a floating-point number is no exact integer.
        let is_integer = |number: &f64| number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
        if let Some(number) = number.filter(is_integer) {
            *value = (number as i64).into();
        }
    }
}

/// Returns a number within bounds, or an error that names them.
pub(super) fn check_range(tool: &'static str, name: &str, value: i64, range: RangeInclusive<i64>) -> Result<usize> {
    let in_range = range.contains(&value).then(|| usize::try_from(value).ok()).flatten();
    in_range.ok_or_else(|| {
        let (min, max) = (range.start(), range.end());
        Error::invalid(tool, format!("{name} is {value}; it must be from {min} to {max}"))
    })
}

/// Checks a scene: it must be one of the scene policy, or that of a stored memory within `scope`.
///
/// # Errors
/// `InvalidInput` for any other scene, with the names of the policy.
pub(in crate::mcp) async fn check_scene(
    tool: &'static str,
    engine: &MemoryEngine,
    scope: &Scope,
    scene: &str,
) -> Result<()> {
    let names = scene_names(engine);
    let known = names.iter().map(String::as_str).collect();
    check_label(tool, engine, scope, (Field::Scene, "scene", scene), known).await
}

/// Returns the scenes of the scene policy.
pub(in crate::mcp) fn scene_names(engine: &MemoryEngine) -> BTreeSet<String> {
    let policy = engine.settings().scene_policy();
    let in_views = policy.views.values().flat_map(|view| view.scenes.keys()).chain(policy.views.keys());
    in_views.chain([&policy.unlabelled]).cloned().collect()
}

/// Checks a label: it must be one of `known`, or that of a stored memory within `scope`. With another one, a model
/// would take the empty result for an answer.
///
/// # Errors
/// `InvalidInput` for any other label, with the known ones.
pub(super) async fn check_label(
    tool: &'static str,
    engine: &MemoryEngine,
    scope: &Scope,
    (field, name, label): (Field, &str, &str),
    known: BTreeSet<&str>,
) -> Result<()> {
    if known.contains(label) {
        return Ok(());
    }
    let with_label = ScanQuery::newest(1).with_filter(Filter::eq(field, label));
    if !engine.scan(scope, &with_label).await?.records.is_empty() {
        return Ok(());
    }
    let known = known.into_iter().collect::<Vec<_>>().join(", ");
    Err(Error::invalid(tool, format!("no memory has the {name} {label:?}; use one of {known}")))
}

/// Returns a result as structured content, and the same JSON as text.
pub(super) fn to_result(output: &impl Serialize) -> Result<CallToolResult> {
    let unserializable = |e| Error::new(ErrorKind::Internal, "mcp", "the result cannot be serialized").with_source(e);
    serde_json::to_value(output).map(CallToolResult::structured).map_err(unserializable)
}

/// Returns the memory with this id within `scope`, if a search could return it.
pub(super) async fn find_memory(tool: &'static str, engine: &MemoryEngine, scope: &Scope, id: &str) -> Result<Record> {
    let invalid = || Error::invalid(tool, "id must be a UUID, as search_memory and list_memories return it");
    let record = engine.get(scope, id.trim().parse().map_err(|_| invalid())?).await?;
    // The error does not reveal whether another user has a memory with this id.
    let missing = || Error::new(ErrorKind::NotFound, tool, "there is no memory with this id");
    record.filter(Record::is_indexed).ok_or_else(missing)
}
