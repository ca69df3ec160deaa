//! The parameters that select memories.

use std::time::Duration;

use memory_engine::{Field, Filter, Op};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    condition::FilterCondition,
    error::Mem0Error,
    listing::Visibility,
    owner::MemoryOwner,
    params::{Mem0Api, ParamGroup},
    time::{is_whole_day, moment},
};
use crate::{access::Access, config::IncludedTurns};

const MICROS_PER_DAY: u64 = 86_400_000_000;

/// The conditions in a request to the platform.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct SelectionParams {
    /// Conditions that must all be true, with operators such as `{"gte": 1}`, and `AND`, `OR`, `NOT`. Unknown keys are
    /// refused.
    pub(super) filters: Option<Map<String, Value>>,
    /// Only memories with one of these categories.
    categories: Option<Vec<String>>,
    /// Only memories with this metadata. Old clients send it next to the filters.
    metadata: Option<Map<String, Value>>,
    /// Only memories from this day or time on.
    start_date: Option<Value>,
    /// Only memories until this day (inclusive) or time.
    end_date: Option<Value>,
}

/// The memories that are shown.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct VisibilityParams {
    /// Includes memories that have expired. Default: false.
    pub(super) show_expired: Option<bool>,
    /// True for all turns, false for none. Default: set by the server for searches, false for lists.
    pub(super) include_turns: Option<bool>,
    /// Shows the memories that were current at this time, as they were then. Default: the present ones.
    pub(super) as_of: Option<Value>,
}

/// The fields of each memory in the response.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct FieldsParam {
    /// The names of the fields. Default: all.
    pub(super) fields: Option<Vec<String>>,
}

/// The format of the response, for old clients.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct FormatParam {
    /// `v1.1` asks for an object instead of a list. Any other value is ignored.
    output_format: Option<Value>,
}

impl ParamGroup for SelectionParams {}
impl ParamGroup for VisibilityParams {}
impl ParamGroup for FieldsParam {}
impl ParamGroup for FormatParam {}

impl SelectionParams {
    /// Returns the condition on memories of this owner.
    ///
    /// # Errors
    /// 400 for an invalid filter or date, for missing filters if they are required, and without owner and filters.
    pub(super) fn condition(
        self,
        owner: &MemoryOwner,
        access: &Access,
        requires_filters: bool,
    ) -> Result<FilterCondition, Mem0Error> {
        if requires_filters && self.filters.is_none() {
            let message = "filters are required: an object such as {\"user_id\": \"alice\"}";
            return Err(Mem0Error::bad_request(message));
        }
        let filters = self.filters.unwrap_or_default();
        if filters.is_empty() {
            owner.require_named(access)?;
        }
        let mut condition = Mem0Api::Platform.read_filter(&filters)?.and(owner.condition());
        let more_filters = [
            ("categories", self.categories.map(|names| json!({ "in": names }))),
            ("metadata", self.metadata.map(Value::Object)),
        ];
        for (name, value) in more_filters {
            if let Some(value) = value {
                condition = condition.and(one_filter(name, value)?);
            }
        }
        for (name, op, value) in [("start_date", Op::Ge, self.start_date), ("end_date", Op::Le, self.end_date)] {
            if let Some(value) = value {
                condition = condition.and(date_condition(name, op, &value)?);
            }
        }
        Ok(condition)
    }
}

/// Returns the condition of one filter of the platform.
pub(super) fn one_filter(name: &str, value: Value) -> Result<FilterCondition, Mem0Error> {
    Mem0Api::Platform.read_filter(&Map::from_iter([(name.to_owned(), value)]))
}

fn date_condition(name: &str, op: Op, value: &Value) -> Result<FilterCondition, Mem0Error> {
    let invalid = || Mem0Error::bad_request(format!("{name} must be a day or a time, such as 2026-03-02"));
    let mut time = moment(value).ok_or_else(invalid)?;
    // An upper bound includes the whole day.
    if op == Op::Le && is_whole_day(value) {
        time = time.after(Duration::from_micros(MICROS_PER_DAY - 1));
    }
    Ok(FilterCondition::Field(Filter::compare(Field::OccurredAt, op, time)))
}

impl VisibilityParams {
    /// Returns the memories to show; `turns` if the request does not say which turns.
    ///
    /// # Errors
    /// 400 for an invalid time.
    pub(super) fn resolve(self, turns: IncludedTurns) -> Result<Visibility, Mem0Error> {
        let requested = self.include_turns.map(|all| if all { IncludedTurns::All } else { IncludedTurns::None });
        let invalid_time = || Mem0Error::bad_request("as_of must be a time such as 2026-03-02T20:15:00Z, or a day");
        let as_of = self.as_of.map(|value| moment(&value).ok_or_else(invalid_time)).transpose()?;
        let expired = self.show_expired.unwrap_or(false);
        Ok(Visibility { expired, turns: requested.unwrap_or(turns), as_of })
    }
}

impl FormatParam {
    pub(super) fn is_object(&self) -> bool {
        self.output_format.as_ref().is_some_and(|format| format == "v1.1")
    }
}

impl FieldsParam {
    /// Serializes a memory with the requested fields and its id.
    pub(super) fn select(&self, row: &impl Serialize) -> Value {
        let mut object = json!(row);
        if let (Some(fields), Some(object)) = (&self.fields, object.as_object_mut()) {
            object.retain(|name, _| name == "id" || fields.contains(name));
        }
        object
    }
}
