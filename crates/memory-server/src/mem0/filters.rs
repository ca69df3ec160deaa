//! The two grammars of mem0's filters: in the open-source server an unknown key is a metadata key, on the platform it
//! is refused.

use std::str::FromStr;

use memory_engine::{Field, Filter, FilterValue, Kind, Op, RecordId, Timestamp};
use serde_json::{Map, Value as Json};

use super::{
    condition::{CaseSensitivity, FilterCondition, TextField},
    error::Mem0Error,
    metadata as keys, owner,
    params::Dialect,
    time::{day, is_whole_day, moment},
};

/// Maximum nesting depth of filters.
const MAX_DEPTH: usize = 16;

/// The part of a memory that a filter's key stands for.
#[derive(Debug, Clone)]
enum Subject {
    User,
    Plain(Field),
    Time(Field),
    Updated,
    Expires,
    Text,
    Words,
    Categories,
    Ids,
    Metadata(String),
}

impl Dialect {
    /// Reads a filter: an object whose keys all have to hold.
    ///
    /// # Errors
    /// 400 for an operator or, on the platform, a key that is not known, and for a value that the key does not take: a
    /// condition that is not understood is never left out.
    pub(super) fn read_filter(self, filter: &Map<String, Json>) -> Result<FilterCondition, Mem0Error> {
        self.object(filter, 0)
    }

    fn object(self, filter: &Map<String, Json>, depth: usize) -> Result<FilterCondition, Mem0Error> {
        if depth > MAX_DEPTH {
            return Err(Mem0Error::bad_request(format!("the filters are nested more than {MAX_DEPTH} deep")));
        }
        let one = |(key, value): (&String, &Json)| match key.as_str() {
            "AND" => Ok(FilterCondition::All(self.list(key, value, depth)?)),
            "OR" => Ok(FilterCondition::Any(self.list(key, value, depth)?)),
            // None of a list may hold.
            "NOT" => match value {
                Json::Object(inner) => Ok(FilterCondition::Not(Box::new(self.object(inner, depth + 1)?))),
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                    Ok(FilterCondition::Not(Box::new(FilterCondition::Any(self.list(key, value, depth)?))))
                }
            },
            key => self.key(key, value),
        };
        Ok(FilterCondition::All(filter.iter().map(one).collect::<Result<_, _>>()?))
    }

    fn list(self, key: &str, value: &Json, depth: usize) -> Result<Vec<FilterCondition>, Mem0Error> {
        let wrong = || Mem0Error::bad_request(format!("{key} takes a list of conditions, each an object"));
        let inner = |value: &Json| self.object(value.as_object().ok_or_else(wrong)?, depth + 1);
        let list = value.as_array().filter(|list| !list.is_empty()).ok_or_else(wrong)?;
        list.iter().map(inner).collect()
    }

    fn key(self, key: &str, value: &Json) -> Result<FilterCondition, Mem0Error> {
        let known = owner::NAMES.iter().find(|(_, alias)| *alias == key).map_or(key, |(name, _)| name);
        let subject = match (known, self) {
            ("user_id", _) => Subject::User,
            ("agent_id", _) => Subject::Plain(Field::Agent),
            ("run_id", _) => Subject::Plain(Field::Session),
            ("app_id", _) => Subject::Plain(Field::Metadata(keys::APP.into())),
            ("created_at" | "timestamp", _) => Subject::Time(Field::OccurredAt),
            ("updated_at", _) => Subject::Updated,
            ("expiration_date", _) => Subject::Expires,
            ("actor_id", Self::OpenSource) => Subject::Plain(Field::Speaker),
            ("role", Self::OpenSource) => Subject::Plain(Field::Role),
            ("text", Self::Platform) => Subject::Text,
            ("keywords" | "keywords_search", Self::Platform) => Subject::Words,
            ("categories", Self::Platform) => Subject::Categories,
            ("memory_ids", Self::Platform) => Subject::Ids,
            ("metadata", Self::Platform) => return self.metadata(value),
            (_, Self::OpenSource) => Subject::Metadata(key.to_owned()),
            (_, Self::Platform) => {
                return Err(Mem0Error::bad_request(format!(
                    "there is no filter {key:?}; known are AND, OR, NOT, user_id, agent_id, app_id, run_id, created_at, \
                     updated_at, timestamp, expiration_date, text, categories, metadata, keywords, keywords_search and memory_ids"
                )));
            }
        };
        self.conditions(&subject, key, value)
    }

    /// Each key of an object of metadata has to be as it says.
    fn metadata(self, value: &Json) -> Result<FilterCondition, Mem0Error> {
        let wrong = || Mem0Error::bad_request("the filter metadata takes an object of keys and what they have to be");
        let one = |(key, value): (&String, &Json)| {
            self.conditions(&Subject::Metadata(key.clone()), &format!("metadata.{key}"), value)
        };
        Ok(FilterCondition::All(value.as_object().ok_or_else(wrong)?.iter().map(one).collect::<Result<_, _>>()?))
    }

    /// Returns the condition of a value: equality, or that of its operators.
    fn conditions(self, subject: &Subject, key: &str, value: &Json) -> Result<FilterCondition, Mem0Error> {
        match value {
            Json::Object(operators) if operators.is_empty() => {
                Err(Mem0Error::bad_request(format!("the filter {key} is an empty object; it says nothing")))
            }
            Json::Object(operators) => {
                let one = |(op, value): (&String, &Json)| self.condition(subject, key, op, value);
                Ok(FilterCondition::All(operators.iter().map(one).collect::<Result<_, _>>()?))
            }
            Json::Array(_) => self.condition(subject, key, "in", value),
            // What is called keywords is looked for in the text.
            Json::String(_) if matches!(subject, Subject::Words) => self.condition(subject, key, "icontains", value),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => self.condition(subject, key, "eq", value),
        }
    }

    fn condition(self, subject: &Subject, key: &str, op: &str, value: &Json) -> Result<FilterCondition, Mem0Error> {
        let unknown = || {
            let known = match self {
                Self::OpenSource => "eq, ne, in, nin, gt, gte, lt, lte, contains and icontains",
                Self::Platform => "eq, ne, in, gt, gte, lt, lte, contains and icontains",
            };
            Mem0Error::bad_request(format!("the filter {key} takes no operator {op:?}; there are {known}"))
        };
        let negated = |op: &str| Ok(FilterCondition::Not(Box::new(self.condition(subject, key, op, value)?)));
        match op {
            "*" => return Err(unknown()),
            "ne" => return negated("eq"),
            "nin" if self == Self::OpenSource => return negated("in"),
            "in" => {
                let wrong = || Mem0Error::bad_request(format!("the filter {key} takes a list after {op:?}"));
                let list = value.as_array().ok_or_else(wrong)?;
                let one = |value: &Json| self.condition(subject, key, "eq", value);
                return Ok(FilterCondition::Any(list.iter().map(one).collect::<Result<_, _>>()?));
            }
            "eq" if value == "*" => return Ok(subject.exists()),
            "contains" | "icontains" => {
                let case = if op == "contains" { CaseSensitivity::Exact } else { CaseSensitivity::Folded };
                return subject.contains(text(key, value)?, case).ok_or_else(unknown);
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
        subject.compares(key, op, value)
    }
}

impl Subject {
    fn exists(&self) -> FilterCondition {
        let filter = match self {
            Self::User => return FilterCondition::AnyUser,
            Self::Plain(field) | Self::Time(field) => Filter::Exists(field.clone()),
            Self::Expires => Filter::Exists(metadata(keys::EXPIRES)),
            Self::Categories => Filter::Or(vec![Filter::Exists(Field::Tags), Filter::Exists(metadata("type"))]),
            Self::Metadata(key) => return metadata_condition(key, Filter::Exists),
            Self::Updated | Self::Text | Self::Words | Self::Ids => return FilterCondition::always(),
        };
        FilterCondition::Field(filter)
    }

    fn contains(&self, part: String, case: CaseSensitivity) -> Option<FilterCondition> {
        match self {
            Self::Text | Self::Words => Some(FilterCondition::Contains(TextField::Text, part, case)),
            Self::Categories => Some(category(&part)),
            Self::Metadata(key) => {
                Some(FilterCondition::Contains(TextField::Metadata(keys::stored_key(key).into_owned()), part, case))
            }
            Self::User | Self::Plain(_) | Self::Time(_) | Self::Updated | Self::Expires | Self::Ids => None,
        }
    }

    fn compares(&self, key: &str, op: Op, value: &Json) -> Result<FilterCondition, Mem0Error> {
        let unordered = |condition: FilterCondition| match op {
            Op::Eq => Ok(condition),
            Op::Lt | Op::Le | Op::Gt | Op::Ge => {
                Err(Mem0Error::bad_request(format!("the filter {key} has no order: it is equal or not")))
            }
            _ => Err(Mem0Error::bad_request(format!("the filter {key} is equal or not"))),
        };
        let filter = |field: Field, value: FilterValue| FilterCondition::Field(Filter::Compare(field, op, value));
        match self {
            Self::User => unordered(FilterCondition::User(text(key, value)?)),
            Self::Plain(field) => unordered(filter(field.clone(), FilterValue::Text(text(key, value)?))),
            Self::Categories => unordered(category(&text(key, value)?)),
            Self::Text | Self::Words => {
                // Matches a part of the text, since callers do not know memories word for word.
                let wanted = text(key, value)?;
                unordered(FilterCondition::Contains(TextField::Text, wanted, CaseSensitivity::Exact))
            }
            Self::Ids => {
                let id = text(key, value)?;
                let wrong = |_| Mem0Error::bad_request(format!("{id:?} in the filter {key} should be a valid UUID"));
                let id = RecordId::from_str(&id).map_err(wrong)?;
                unordered(FilterCondition::Field(Filter::eq(Field::Id, id.to_string().as_str())))
            }
            Self::Expires => Ok(filter(metadata(keys::EXPIRES), FilterValue::Text(day(key, value)?))),
            Self::Time(field) => Ok(FilterCondition::Field(at(key, op, value, |op, time| {
                Filter::Compare(field.clone(), op, FilterValue::Time(time))
            })?)),
            Self::Updated => Ok(FilterCondition::Field(at(key, op, value, |op, time| {
                // What was never changed was last changed when it was made.
                let changed = metadata(keys::UPDATED);
                let made = Filter::Compare(Field::OccurredAt, op, FilterValue::Time(time));
                let never = Filter::Not(Box::new(Filter::Exists(changed.clone())));
                let later = Filter::Compare(changed, op, FilterValue::Number(time.as_micros() as f64));
                Filter::Or(vec![later, Filter::And(vec![never, made])])
            })?)),
            Self::Metadata(name) => {
                let value = match value {
                    Json::String(text) => FilterValue::Text(text.clone()),
                    Json::Number(number) => FilterValue::Number(number.as_f64().unwrap_or(f64::NAN)),
                    Json::Bool(flag) => FilterValue::Bool(*flag),
                    Json::Null if op == Op::Eq => {
                        return Ok(FilterCondition::Not(Box::new(metadata_condition(name, Filter::Exists))));
                    }
                    Json::Null | Json::Array(_) | Json::Object(_) => {
                        return Err(Mem0Error::bad_request(format!(
                            "the filter {key} takes a text, a number or a flag"
                        )));
                    }
                };
                Ok(metadata_condition(name, |field| Filter::Compare(field, op, value.clone())))
            }
        }
    }
}

fn metadata(key: &str) -> Field {
    Field::Metadata(key.to_owned())
}

/// A condition on a caller's note, under the name that it is kept by. What these routes did not store has it under its
/// own.
fn metadata_condition(name: &str, filter: impl Fn(Field) -> Filter) -> FilterCondition {
    let kept = keys::stored_key(name);
    let aside = filter(metadata(&kept));
    if kept == name || name.starts_with("mem0.") {
        return FilterCondition::Field(aside);
    }
    let no_fact = Filter::ne(Field::Kind, Kind::FACT.as_str());
    FilterCondition::Field(Filter::Or(vec![aside, Filter::And(vec![no_fact, filter(metadata(name))])]))
}

/// Categories are tags, and what sort of fact it is.
fn category(name: &str) -> FilterCondition {
    let sort = Filter::And(vec![Filter::eq(Field::Kind, Kind::FACT.as_str()), Filter::eq(metadata("type"), name)]);
    FilterCondition::Field(Filter::Or(vec![Filter::eq(Field::Tags, name), sort]))
}

fn text(key: &str, value: &Json) -> Result<String, Mem0Error> {
    // An owner that is null would be everybody's.
    let text = value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    text.ok_or_else(|| Mem0Error::bad_request(format!("the filter {key} takes a text that is not empty")))
}

/// Compares with a point in time; being equal to a day is lying within it.
fn at(key: &str, op: Op, value: &Json, compare: impl Fn(Op, Timestamp) -> Filter) -> Result<Filter, Mem0Error> {
    let time = moment(value).ok_or_else(|| {
        Mem0Error::bad_request(format!("the filter {key} takes a time such as 2026-03-02T20:15:00Z, a day, or seconds"))
    })?;
    if op == Op::Eq && is_whole_day(value) {
        let tomorrow = time.after(std::time::Duration::from_secs(24 * 60 * 60));
        return Ok(Filter::And(vec![compare(Op::Ge, time), compare(Op::Lt, tomorrow)]));
    }
    Ok(compare(op, time))
}
