//! The two grammars of mem0's filters. An unknown key is a metadata key for the open-source server, and refused on the
//! platform.

use std::str::FromStr;

use memory_engine::{Field, Filter, FilterValue, Kind, Op, RecordId, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Number, Value as Json};

use super::{
    condition::{CaseSensitivity, FilterCondition, TextField},
    error::Mem0Error,
    metadata as keys, owner,
    params::Mem0Api,
    time::{day, is_whole_day, moment},
};

/// Maximum nesting depth of filters.
const MAX_DEPTH: usize = 16;
/// Maximum number of values in the list of one condition.
const MAX_LIST_VALUES: usize = 1000;

/// The part of a memory that a filter key refers to.
#[derive(Debug, Clone)]
enum FilterTarget {
    User,
    /// A field with a text that has no order.
    Plain(Field),
    /// A field with a point in time.
    Time(Field),
    /// The time of the last change.
    Updated,
    /// The last day on which the memory is shown.
    Expires,
    Text,
    /// Keywords: a part of the text, in upper or lower case.
    Keywords,
    Categories,
    Ids,
    /// A metadata key of the caller.
    Metadata(String),
}

impl Mem0Api {
    /// Reads a filter: an object with conditions that must all be true.
    ///
    /// # Errors
    /// 400 for an unknown operator, for an invalid value, and on the platform for an unknown key. An invalid condition
    /// is never ignored.
    pub(super) fn read_filter(self, filter: &Map<String, Json>) -> Result<FilterCondition, Mem0Error> {
        self.read_object(filter, 0)
    }

    fn read_object(self, filter: &Map<String, Json>, depth: usize) -> Result<FilterCondition, Mem0Error> {
        if depth > MAX_DEPTH {
            return Err(Mem0Error::bad_request(format!("the filters are nested deeper than {MAX_DEPTH} levels")));
        }
        let mut conditions = Vec::with_capacity(filter.len());
        for (key, value) in filter {
            conditions.push(match key.as_str() {
                "AND" => FilterCondition::All(self.read_list(key, value, depth)?),
                "OR" => FilterCondition::Any(self.read_list(key, value, depth)?),
                "NOT" => FilterCondition::Not(Box::new(self.read_negated(key, value, depth)?)),
                key => self.read_key(key, value)?,
            });
        }
        Ok(FilterCondition::All(conditions))
    }

    /// Reads the condition that a `NOT` negates. Of a list, every condition must be false.
    fn read_negated(self, key: &str, value: &Json, depth: usize) -> Result<FilterCondition, Mem0Error> {
        match value.as_object() {
            Some(object) => self.read_object(object, depth + 1),
            None => Ok(FilterCondition::Any(self.read_list(key, value, depth)?)),
        }
    }

    fn read_list(self, key: &str, value: &Json, depth: usize) -> Result<Vec<FilterCondition>, Mem0Error> {
        let invalid =
            || Mem0Error::bad_request(format!("{key} must be a list of at least one condition, each an object"));
        let list = value.as_array().filter(|list| !list.is_empty()).ok_or_else(invalid)?;
        list.iter().map(|value| self.read_object(value.as_object().ok_or_else(invalid)?, depth + 1)).collect()
    }

    fn read_key(self, key: &str, value: &Json) -> Result<FilterCondition, Mem0Error> {
        let name = owner::NAMES.iter().find(|(_, alias)| *alias == key).map_or(key, |(name, _)| name);
        let target = match (name, self) {
            ("user_id", _) => FilterTarget::User,
            ("agent_id", _) => FilterTarget::Plain(Field::Agent),
            ("run_id", _) => FilterTarget::Plain(Field::Session),
            ("app_id", _) => FilterTarget::Plain(Field::Metadata(keys::APP.into())),
            ("created_at" | "timestamp", _) => FilterTarget::Time(Field::OccurredAt),
            ("updated_at", _) => FilterTarget::Updated,
            ("expiration_date", _) => FilterTarget::Expires,
            ("actor_id", Self::OpenSource) => FilterTarget::Plain(Field::Speaker),
            ("role", Self::OpenSource) => FilterTarget::Plain(Field::Role),
            ("text", Self::Platform) => FilterTarget::Text,
            ("keywords" | "keywords_search", Self::Platform) => FilterTarget::Keywords,
            ("categories", Self::Platform) => FilterTarget::Categories,
            ("memory_ids", Self::Platform) => FilterTarget::Ids,
            ("metadata", Self::Platform) => return self.read_metadata(value),
            (_, Self::OpenSource) => FilterTarget::Metadata(key.to_owned()),
            (_, Self::Platform) => {
                return Err(Mem0Error::bad_request(format!(
                    "unknown filter {key:?}; known are AND, OR, NOT, user_id, agent_id, app_id, run_id, created_at, \
                     updated_at, timestamp, expiration_date, text, categories, metadata, keywords, keywords_search \
                     and memory_ids"
                )));
            }
        };
        self.read_condition(&target, key, value)
    }

    /// Reads an object with a condition for each metadata key.
    fn read_metadata(self, value: &Json) -> Result<FilterCondition, Mem0Error> {
        let invalid = || Mem0Error::bad_request("the filter metadata must be an object with a condition for each key");
        let mut conditions = Vec::new();
        for (key, value) in value.as_object().ok_or_else(invalid)? {
            let target = FilterTarget::Metadata(key.clone());
            conditions.push(self.read_condition(&target, &format!("metadata.{key}"), value)?);
        }
        Ok(FilterCondition::All(conditions))
    }

    /// Reads the value of a key: a value to equal, a list of such values, or an object of operators.
    fn read_condition(self, target: &FilterTarget, key: &str, value: &Json) -> Result<FilterCondition, Mem0Error> {
        match value {
            Json::Object(operators) if operators.is_empty() => {
                Err(Mem0Error::bad_request(format!("the filter {key} is an empty object; it must contain an operator")))
            }
            Json::Object(operators) => {
                let conditions = operators.iter().map(|(op, value)| self.read_operator(target, key, op, value));
                Ok(FilterCondition::All(conditions.collect::<Result<_, _>>()?))
            }
            Json::Array(_) => self.read_operator(target, key, "in", value),
            // A bare keyword is searched in the text, in upper and lower case.
            Json::String(_) if matches!(target, FilterTarget::Keywords) => {
                self.read_operator(target, key, "icontains", value)
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
                self.read_operator(target, key, "eq", value)
            }
        }
    }

    /// Reads one operator of a condition, with its value.
    fn read_operator(
        self,
        target: &FilterTarget,
        key: &str,
        op: &str,
        value: &Json,
    ) -> Result<FilterCondition, Mem0Error> {
        let unknown = || {
            let operators = match self {
                Self::OpenSource => "eq, ne, in, nin, gt, gte, lt, lte, contains and icontains",
                Self::Platform => "eq, ne, in, gt, gte, lt, lte, contains and icontains",
            };
            Mem0Error::bad_request(format!(
                "the filter {key} does not support the operator {op:?}; the operators are {operators}"
            ))
        };
        let negated = |op: &str| Ok(FilterCondition::Not(Box::new(self.read_operator(target, key, op, value)?)));
        match op {
            "*" => return Err(unknown()),
            "ne" => return negated("eq"),
            "nin" if self == Self::OpenSource => return negated("in"),
            "in" => {
                let invalid = || Mem0Error::bad_request(format!("the operator in of the filter {key} needs a list"));
                let list = value.as_array().ok_or_else(invalid)?;
                // Users are a part of the scope and no condition on records, so that their number has no limit.
                if matches!(target, FilterTarget::User) && list.iter().all(|value| value != "*") {
                    let users = list.iter().map(|value| non_empty_text(key, value));
                    return Ok(FilterCondition::Users(users.collect::<Result<_, _>>()?));
                }
                if list.len() > MAX_LIST_VALUES {
                    let count = list.len();
                    let message =
                        format!("the list of the filter {key} has {count} values; the maximum is {MAX_LIST_VALUES}");
                    return Err(Mem0Error::bad_request(message));
                }
                let conditions = list.iter().map(|value| self.read_operator(target, key, "eq", value));
                return Ok(FilterCondition::Any(conditions.collect::<Result<_, _>>()?));
            }
            "eq" if value == "*" => return Ok(target.exists()),
            "contains" | "icontains" => {
                let case = if op == "contains" { CaseSensitivity::Exact } else { CaseSensitivity::Folded };
                return target.contains(non_empty_text(key, value)?, case).ok_or_else(unknown);
            }
            _ => {}
        }
        let op = match op {
            "eq" => Op::Eq,
            "gt" => Op::Gt,
            "gte" => Op::Ge,
            "lt" => Op::Lt,
            "lte" => Op::Le,
            _ => return Err(unknown()),
        };
        target.compare(key, op, value)
    }
}

impl FilterTarget {
    /// Returns the condition that a memory has this part.
    fn exists(&self) -> FilterCondition {
        let filter = match self {
            Self::User => return FilterCondition::AnyUser,
            Self::Plain(field) | Self::Time(field) => Filter::Exists(field.clone()),
            Self::Expires => Filter::Exists(metadata(keys::EXPIRES)),
            Self::Categories => Filter::Or(vec![Filter::Exists(Field::Tags), Filter::Exists(metadata("type"))]),
            Self::Metadata(key) => return metadata_condition(key, exists),
            Self::Updated | Self::Text | Self::Keywords | Self::Ids => return FilterCondition::always(),
        };
        FilterCondition::Field(filter)
    }

    /// Returns the condition that this part contains a text. `None` if it is not a text.
    fn contains(&self, part: String, case: CaseSensitivity) -> Option<FilterCondition> {
        match self {
            Self::Text | Self::Keywords => Some(FilterCondition::Contains(TextField::Text, part, case)),
            Self::Categories => Some(category(&part)),
            Self::Metadata(key) => {
                Some(FilterCondition::Contains(TextField::Metadata(keys::stored_key(key).into_owned()), part, case))
            }
            Self::User | Self::Plain(_) | Self::Time(_) | Self::Updated | Self::Expires | Self::Ids => None,
        }
    }

    /// Returns the condition that compares this part with a value.
    fn compare(&self, key: &str, op: Op, value: &Json) -> Result<FilterCondition, Mem0Error> {
        let unordered = |condition: FilterCondition| match op {
            Op::Eq => Ok(condition),
            Op::Lt | Op::Le | Op::Gt | Op::Ge | _ => Err(Mem0Error::bad_request(format!(
                "the values of the filter {key} have no order; it supports eq but not gt or lt"
            ))),
        };
        let filter = |field: Field, value: FilterValue| FilterCondition::Field(Filter::Compare(field, op, value));
        match self {
            Self::User => unordered(FilterCondition::Users([non_empty_text(key, value)?].into())),
            Self::Plain(field) => unordered(filter(field.clone(), FilterValue::Text(non_empty_text(key, value)?))),
            Self::Categories => unordered(category(&non_empty_text(key, value)?)),
            Self::Text | Self::Keywords => {
                // Matches a part of the text, because callers do not know the exact text of a memory.
                let part = non_empty_text(key, value)?;
                unordered(FilterCondition::Contains(TextField::Text, part, CaseSensitivity::Exact))
            }
            Self::Ids => {
                let id = non_empty_text(key, value)?;
                let invalid = |_| Mem0Error::bad_request(format!("{id:?} in the filter {key} should be a valid UUID"));
                let id = RecordId::from_str(&id).map_err(invalid)?;
                unordered(FilterCondition::Field(Filter::eq(Field::Id, id.to_string().as_str())))
            }
            Self::Expires => Ok(filter(metadata(keys::EXPIRES), FilterValue::Text(day(key, value)?))),
            Self::Time(field) => Ok(FilterCondition::Field(time_filter(key, op, value, |op, time| {
                Filter::Compare(field.clone(), op, FilterValue::Time(time))
            })?)),
            Self::Updated => Ok(FilterCondition::Field(time_filter(key, op, value, updated_filter)?)),
            Self::Metadata(name) => {
                let value = match value {
                    Json::Number(number) if !is_exact(number) => {
                        let compare = |key: &str| FilterCondition::Number(key.to_owned(), op, number.clone());
                        return Ok(metadata_condition(name, compare));
                    }
                    Json::String(text) => FilterValue::Text(text.clone()),
                    Json::Number(number) => FilterValue::Number(number.as_f64().unwrap_or(f64::NAN)),
                    Json::Bool(flag) => FilterValue::Bool(*flag),
                    Json::Null if op == Op::Eq => {
                        return Ok(FilterCondition::Not(Box::new(metadata_condition(name, exists))));
                    }
                    Json::Null | Json::Array(_) | Json::Object(_) => {
                        return Err(Mem0Error::bad_request(format!(
                            "the filter {key} needs a text, a number or a boolean"
                        )));
                    }
                };
                let compare = |key: &str| Filter::Compare(metadata(key), op, value.clone());
                Ok(metadata_condition(name, |key| FilterCondition::Field(compare(key))))
            }
        }
    }
}

fn metadata(key: &str) -> Field {
    Field::Metadata(key.to_owned())
}

/// Returns a condition on a caller's metadata key, under its stored name. Records that are not stored by mem0's routes
/// and are not facts have the plain name.
fn metadata_condition(name: &str, condition: impl Fn(&str) -> FilterCondition) -> FilterCondition {
    let stored_name = keys::stored_key(name);
    let stored_matches = condition(&stored_name);
    if stored_name == name || name.starts_with("mem0.") {
        return stored_matches;
    }
    let is_no_fact = FilterCondition::Field(Filter::ne(Field::Kind, Kind::FACT.as_str()));
    FilterCondition::Any(vec![stored_matches, is_no_fact.and(condition(name))])
}

fn exists(key: &str) -> FilterCondition {
    FilterCondition::Field(Filter::Exists(metadata(key)))
}

/// Returns true if the filters of a store compare a number exactly: they round integers beyond 2^53.
fn is_exact(number: &Number) -> bool {
    number.is_f64() || FilterValue::deserialize(number).is_ok()
}

/// Returns the condition that a memory has this category: as a tag, or as the type of a fact.
fn category(name: &str) -> FilterCondition {
    let is_fact = Filter::eq(Field::Kind, Kind::FACT.as_str());
    let is_fact_of_type = Filter::And(vec![is_fact, Filter::eq(metadata("type"), name)]);
    FilterCondition::Field(Filter::Or(vec![Filter::eq(Field::Tags, name), is_fact_of_type]))
}

/// Reads a text. `null` and the empty text are refused, because an owner of this name would match all owners.
fn non_empty_text(key: &str, value: &Json) -> Result<String, Mem0Error> {
    let text = value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    text.ok_or_else(|| Mem0Error::bad_request(format!("the filter {key} needs a text that is not empty")))
}

/// Compares the time of the last change. A memory that was never changed has the time of its creation.
fn updated_filter(op: Op, time: Timestamp) -> Filter {
    let updated = metadata(keys::UPDATED);
    let created_matches = Filter::Compare(Field::OccurredAt, op, FilterValue::Time(time));
    let never_updated = Filter::Not(Box::new(Filter::Exists(updated.clone())));
    let updated_matches = Filter::Compare(updated, op, FilterValue::Number(time.as_micros() as f64));
    Filter::Or(vec![updated_matches, Filter::And(vec![never_updated, created_matches])])
}

/// Compares with a point in time. A time equals a day if it lies within it.
fn time_filter(
    key: &str,
    op: Op,
    value: &Json,
    compare: impl Fn(Op, Timestamp) -> Filter,
) -> Result<Filter, Mem0Error> {
    let time = moment(value).ok_or_else(|| {
        Mem0Error::bad_request(format!("the filter {key} needs a time such as 2026-03-02T20:15:00Z, a day, or seconds"))
    })?;
    if op == Op::Eq && is_whole_day(value) {
        let tomorrow = time.after(std::time::Duration::from_secs(24 * 60 * 60));
        return Ok(Filter::And(vec![compare(Op::Ge, time), compare(Op::Lt, tomorrow)]));
    }
    Ok(compare(op, time))
}
