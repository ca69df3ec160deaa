//! Conditions on memories, and the areas to search for them.

use std::{cmp::Ordering, collections::BTreeSet};

use memory_engine::{Field, Filter, FilterValue, Op, Record, Scope, Timestamp, compare_numbers};
use serde_json::{Number, Value as Json};

use super::error::Mem0Error;
use crate::access::{Access, Owner};

/// Maximum number of users that a condition may name. Each is searched separately.
const MAX_USERS: usize = 1000;

/// A condition on memories, as mem0's filters state it.
///
/// A user is not a field but a part of the scope, which only an [`Access`] can grant.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FilterCondition {
    /// The memory belongs to one of these users.
    Users(BTreeSet<String>),
    /// The memory belongs to any user.
    AnyUser,
    /// A condition that the store can evaluate.
    Field(Filter),
    /// The metadata value under this stored key is a number that compares like this, exactly.
    Number(String, Op, Number),
    /// A text contains another one.
    Contains(TextField, String, CaseSensitivity),
    /// All of the conditions are true. True for an empty list.
    All(Vec<FilterCondition>),
    /// At least one of the conditions is true. False for an empty list.
    Any(Vec<FilterCondition>),
    /// The condition is false.
    Not(Box<FilterCondition>),
}

/// The text that a condition searches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextField {
    /// The text of the memory.
    Text,
    /// The metadata value under this stored key.
    Metadata(String),
}

/// Decides whether upper and lower case letters are different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CaseSensitivity {
    /// Upper and lower case letters are different.
    Exact,
    /// Upper and lower case letters are equal.
    Folded,
}

/// A scope to search, with a filter and a condition that records must both fulfil.
#[derive(Debug, Clone)]
pub(super) struct SearchArea {
    pub(super) scope: Scope,
    pub(super) filter: Filter,
    /// The whole condition, if the filter cannot express it.
    pub(super) condition: Option<FilterCondition>,
    /// The time at which the memories were current; `None` for the present.
    pub(super) as_of: Option<Timestamp>,
}

/// The user that a record belongs to, as far as a condition distinguishes users.
#[derive(Debug, Clone, Copy)]
enum RecordOwner<'a> {
    User(&'a str),
    /// A user that the condition does not name.
    Unnamed,
    /// The record has no user.
    None,
}

impl FilterCondition {
    /// Returns the condition that every memory fulfils.
    pub(super) fn always() -> Self {
        Self::All(Vec::new())
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self::All(vec![self, other])
    }

    /// Returns true if the record fulfils the condition.
    pub(super) fn matches(&self, record: &Record) -> bool {
        match self {
            Self::Users(users) => record.scope.user_name().is_some_and(|user| users.contains(user)),
            Self::AnyUser => record.scope.user_name().is_some(),
            Self::Field(filter) => filter.matches(record),
            Self::Number(key, op, number) => {
                record.metadata.get(key).is_some_and(|value| number_compares(value, *op, number))
            }
            Self::Contains(TextField::Text, part, case) => case.text_contains(&record.text, part),
            Self::Contains(TextField::Metadata(key), part, case) => {
                record.metadata.get(key).is_some_and(|value| case.value_contains(value, part))
            }
            Self::All(conditions) => conditions.iter().all(|condition| condition.matches(record)),
            Self::Any(conditions) => conditions.iter().any(|condition| condition.matches(record)),
            Self::Not(condition) => !condition.matches(record),
        }
    }

    /// Adds the users that the condition names to `users`.
    fn collect_users<'a>(&'a self, users: &mut BTreeSet<&'a str>) {
        match self {
            Self::Users(named) => users.extend(named.iter().map(String::as_str)),
            Self::All(conditions) | Self::Any(conditions) => {
                conditions.iter().for_each(|condition| condition.collect_users(users));
            }
            Self::Not(condition) => condition.collect_users(users),
            Self::AnyUser | Self::Field(_) | Self::Number(..) | Self::Contains(..) => {}
        }
    }

    /// Returns true if a filter can express the condition exactly for records of one owner.
    fn is_expressible(&self) -> bool {
        match self {
            Self::Number(..) | Self::Contains(..) => false,
            Self::All(conditions) | Self::Any(conditions) => conditions.iter().all(Self::is_expressible),
            Self::Not(condition) => condition.is_expressible(),
            Self::Users(_) | Self::AnyUser | Self::Field(_) => true,
        }
    }

    /// Returns a filter that passes every record of this owner that fulfils the condition, and possibly others.
    ///
    /// A part that a filter cannot express is replaced by `fallback`. A caller passes true; a negation inverts it.
    fn to_filter(&self, owner: RecordOwner<'_>, fallback: bool) -> Filter {
        match self {
            Self::Users(users) => constant(matches!(owner, RecordOwner::User(name) if users.contains(name))),
            Self::AnyUser => constant(!matches!(owner, RecordOwner::None)),
            Self::Field(filter) => filter.clone(),
            Self::Number(..) | Self::Contains(..) => constant(fallback),
            Self::All(conditions) => all(conditions.iter().map(|condition| condition.to_filter(owner, fallback))),
            Self::Any(conditions) => any(conditions.iter().map(|condition| condition.to_filter(owner, fallback))),
            Self::Not(condition) => not(condition.to_filter(owner, !fallback)),
        }
    }

    /// Returns the areas within `scopes` that contain all memories which fulfil the condition.
    ///
    /// # Errors
    /// 403 if the condition names a user that the key does not reach, even in a negation; 400 for more than 1000 users.
    pub(super) fn areas(self, access: &Access, scopes: &[Scope]) -> Result<Vec<SearchArea>, Mem0Error> {
        let mut users = BTreeSet::new();
        self.collect_users(&mut users);
        if users.len() > MAX_USERS {
            let count = users.len();
            let message = format!("the filters name {count} users; the maximum is {MAX_USERS}");
            return Err(Mem0Error::bad_request(message));
        }
        for user in &users {
            access.scope(&Owner::user(*user))?;
        }
        let mut areas = Vec::new();
        for scope in scopes {
            let parts: Vec<(Scope, Filter)> = match scope.user_name() {
                Some(user) => vec![(scope.clone(), self.to_filter(RecordOwner::User(user), true))],
                None => self.parts_of_all_users(scope, &users)?,
            };
            // A part without a user contains records of several owners. If their filters differ, only the record shows
            // which of them applies.
            let has_user_per_part = parts.iter().all(|(scope, _)| scope.user_name().is_some());
            let is_exact = self.is_expressible()
                && (users.is_empty() || has_user_per_part)
                && (has_user_per_part || !self.depends_on_having_user());
            for (scope, filter) in parts.into_iter().filter(|(_, filter)| *filter != constant(false)) {
                filter.validate()?;
                let condition = (!is_exact).then(|| self.clone());
                areas.push(SearchArea { scope: narrow_scope(scope, &filter), filter, condition, as_of: None });
            }
        }
        Ok(areas)
    }

    /// Returns true if records of an unnamed user and records without a user have different filters.
    fn depends_on_having_user(&self) -> bool {
        self.to_filter(RecordOwner::Unnamed, true) != self.to_filter(RecordOwner::None, true)
    }

    /// Splits a scope of all users into one part per named user, if no other records can fulfil the condition.
    /// Otherwise the scope stays one part, and its filter passes the records of every owner.
    fn parts_of_all_users(&self, scope: &Scope, users: &BTreeSet<&str>) -> Result<Vec<(Scope, Filter)>, Mem0Error> {
        let other_records = any([self.to_filter(RecordOwner::Unnamed, true), self.to_filter(RecordOwner::None, true)]);
        let named_users = users.iter().map(|user| self.to_filter(RecordOwner::User(user), true));
        if other_records != constant(false) {
            return Ok(vec![(scope.clone(), any(named_users.chain([other_records])))]);
        }
        let mut parts = Vec::with_capacity(users.len());
        for (user, filter) in users.iter().zip(named_users) {
            parts.push((scope.clone().with_user(*user)?, filter));
        }
        Ok(parts)
    }
}

impl CaseSensitivity {
    fn text_contains(self, text: &str, part: &str) -> bool {
        match self {
            Self::Exact => text.contains(part),
            Self::Folded => text.to_lowercase().contains(&part.to_lowercase()),
        }
    }

    fn texts_equal(self, left: &str, right: &str) -> bool {
        match self {
            Self::Exact => left == right,
            Self::Folded => left.to_lowercase() == right.to_lowercase(),
        }
    }

    /// Returns true if a text contains `part`, or if an element of a list equals it.
    fn value_contains(self, value: &Json, part: &str) -> bool {
        match value {
            Json::String(text) => self.text_contains(text, part),
            Json::Array(values) => values.iter().filter_map(Json::as_str).any(|text| self.texts_equal(text, part)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => false,
        }
    }
}

/// Returns true if a value, or an element of a list, is a number that compares like this with `number`.
fn number_compares(value: &Json, op: Op, number: &Number) -> bool {
    let order = match value {
        Json::Number(value) => compare_numbers(value, number),
        Json::Array(values) => {
            return values.iter().any(|value| !value.is_array() && number_compares(value, op, number));
        }
        Json::Null | Json::Bool(_) | Json::String(_) | Json::Object(_) => None,
    };
    match op {
        Op::Eq => order == Some(Ordering::Equal),
        Op::Lt => order == Some(Ordering::Less),
        Op::Le => order.is_some_and(Ordering::is_le),
        Op::Gt => order == Some(Ordering::Greater),
        Op::Ge => order.is_some_and(Ordering::is_ge),
        _ => false,
    }
}

/// Adds the agent and the session that the filter requires to the scope. Searching a narrower scope is faster.
fn narrow_scope(scope: Scope, filter: &Filter) -> Scope {
    let mut narrow = scope.clone();
    if let (None, Some(agent)) = (scope.agent(), required_name(filter, &Field::Agent)) {
        narrow = narrow.clone().with_agent(agent).unwrap_or(narrow);
    }
    if let (None, Some(session)) = (scope.session(), required_name(filter, &Field::Session)) {
        narrow = narrow.clone().with_session(session).unwrap_or(narrow);
    }
    narrow
}

/// Returns the value of a field if the filter only passes records with this value.
fn required_name<'f>(filter: &'f Filter, field: &Field) -> Option<&'f str> {
    match filter {
        Filter::And(filters) => filters.iter().find_map(|filter| equal_text(filter, field)),
        Filter::Compare(..) | Filter::In(..) | Filter::Exists(_) | Filter::Or(_) | Filter::Not(_) | _ => {
            equal_text(filter, field)
        }
    }
}

/// Returns the text that a filter compares the field with, if it is a comparison for equality.
fn equal_text<'f>(filter: &'f Filter, field: &Field) -> Option<&'f str> {
    let Filter::Compare(compared, Op::Eq, FilterValue::Text(text)) = filter else { return None };
    (compared == field).then_some(text.as_str())
}

/// Returns a filter that passes every record, or none.
pub(super) fn constant(value: bool) -> Filter {
    if value { Filter::And(Vec::new()) } else { Filter::Or(Vec::new()) }
}

/// Joins filters with AND, without nesting.
fn all(filters: impl IntoIterator<Item = Filter>) -> Filter {
    let mut parts = Vec::new();
    for filter in filters {
        match filter {
            Filter::And(inner) => parts.extend(inner),
            Filter::Or(inner) if inner.is_empty() => return constant(false),
            other @ (Filter::Compare(..) | Filter::In(..) | Filter::Exists(_) | Filter::Or(_) | Filter::Not(_) | _) => {
                parts.push(other)
            }
        }
    }
    if parts.len() == 1 { parts.remove(0) } else { Filter::And(parts) }
}

/// Joins filters with OR, without nesting and adjacent duplicates.
fn any(filters: impl IntoIterator<Item = Filter>) -> Filter {
    let mut parts: Vec<Filter> = Vec::new();
    for filter in filters {
        match filter {
            Filter::Or(inner) => parts.extend(inner),
            Filter::And(inner) if inner.is_empty() => return constant(true),
            other
            @ (Filter::Compare(..) | Filter::In(..) | Filter::Exists(_) | Filter::And(_) | Filter::Not(_) | _) => {
                parts.push(other)
            }
        }
    }
    parts.dedup();
    if parts.len() == 1 { parts.remove(0) } else { Filter::Or(parts) }
}

/// Negates a filter, without double negation.
fn not(filter: Filter) -> Filter {
    match filter {
        Filter::And(inner) if inner.is_empty() => constant(false),
        Filter::Or(inner) if inner.is_empty() => constant(true),
        Filter::Not(inner) => *inner,
        other @ (Filter::Compare(..) | Filter::In(..) | Filter::Exists(_) | Filter::And(_) | Filter::Or(_) | _) => {
            Filter::Not(Box::new(other))
        }
    }
}

#[cfg(test)]
mod tests;
