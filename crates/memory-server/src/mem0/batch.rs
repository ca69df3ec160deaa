//! Requests for several memories.

use memory_engine::RecordId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    error::Mem0Error,
    memory::{self, MemoryChange, UpdateParams},
    params::{Mem0Api, ParamGroup, Params},
};

/// Maximum number of memories per request.
const MAX_MEMORIES: usize = 1000;

/// A request for several memories.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["memories"]))]
pub(super) struct BatchRequest {
    /// At most 1000 memories, each with its id, and for an update with its changes.
    #[schemars(required, with = "Vec<BatchEntry>", length(max = MAX_MEMORIES))]
    memories: Option<Value>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the entries, which may also be bare ids")]
struct BatchEntry {
    memory_id: String,
    #[schemars(flatten)]
    change: UpdateParams,
}

impl ParamGroup for BatchRequest {}

impl BatchRequest {
    /// Reads the ids.
    ///
    /// # Errors
    /// 400 for an entry without a valid id, and for more than 1000 entries.
    pub(super) fn ids(&self) -> Result<Vec<RecordId>, Mem0Error> {
        self.entries()?.iter().map(entry_id).collect()
    }

    /// Reads the ids with their changes.
    ///
    /// # Errors
    /// The errors of [`ids`](Self::ids), and 400 for an invalid change.
    pub(super) fn changes(&self) -> Result<Vec<(RecordId, MemoryChange)>, Mem0Error> {
        let entries = self.entries()?;
        // Invalid ids are reported before invalid changes.
        self.ids()?;
        entries.iter().map(|entry| Ok((entry_id(entry)?, entry_change(entry)?))).collect()
    }

    fn entries(&self) -> Result<&[Value], Mem0Error> {
        let entries = self.memories.as_ref().and_then(Value::as_array).ok_or_else(invalid_memories)?;
        if entries.len() > MAX_MEMORIES {
            return Err(Mem0Error::bad_request(format!(
                "a batch holds at most {MAX_MEMORIES} memories; this one has {}",
                entries.len()
            )));
        }
        Ok(entries)
    }
}

fn entry_change(entry: &Value) -> Result<MemoryChange, Mem0Error> {
    let values = entry.as_object().cloned().unwrap_or_default();
    let params: UpdateParams = Params::new(values, "body", Mem0Api::Platform).finish()?;
    params.into_change()
}

fn entry_id(entry: &Value) -> Result<RecordId, Mem0Error> {
    // The JavaScript client sends memoryId.
    let id = entry.get("memory_id").or_else(|| entry.get("memoryId")).unwrap_or(entry);
    memory::parse_id(id.as_str().ok_or_else(invalid_memories)?)
}

fn invalid_memories() -> Mem0Error {
    Mem0Error::bad_request("memories must be a list of objects, each with a memory_id")
}
