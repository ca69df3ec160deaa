//! Conditions on memories, and the areas to search for them.

use std::collections::BTreeSet;

use memory_engine::{Field, Filter, FilterValue, Op, Record, Scope};
use serde_json::Value as Json;

use super::error::Mem0Error;
use crate::access::{Access, Owner};

/// A condition on memories, as mem0's filters state it.
///
/// A user is not a field but a part of the scope, which only an [`Access`] can grant.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FilterCondition {
    /// It belongs to this user.
    User(String),
    /// It belongs to some user.
    AnyUser,
    /// A condition that the store can evaluate.
    Field(Filter),
    /// A text holds another one.
    Contains(TextField, String, CaseSensitivity),
    /// All hold.
    All(Vec<FilterCondition>),
    /// At least one holds.
    Any(Vec<FilterCondition>),
    /// It does not hold.
    Not(Box<FilterCondition>),
}

/// The text that a condition is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextField {
    /// The text of the memory.
    Text,
    /// A metadata key, as it is kept.
    Metadata(String),
}

/// Case-sensitive or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CaseSensitivity {
    Exact,
    Folded,
}

/// A scope with a filter and a condition. All records that fulfil both are found.
#[derive(Debug, Clone)]
pub(super) struct SearchArea {
    pub(super) scope: Scope,
    pub(super) filter: Filter,
    /// The part that the filter cannot express. `None` if there is none.
    pub(super) condition: Option<FilterCondition>,
}

/// The users that a record can belong to.
#[derive(Debug, Clone, Copy)]
enum RecordOwner<'a> {
    User(&'a str),
    /// A user whom the condition does not name.
    Unnamed,
    None,
}

impl FilterCondition {
    /// The condition that everything fulfils.
    pub(super) fn always() -> Self {
        Self::All(Vec::new())
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self::All(vec![self, other])
    }

    /// Returns true if a record fulfils it.
    pub(super) fn matches(&self, record: &Record) -> bool {
        match self {
            Self::User(user) => record.scope.user_name() == Some(user),
            Self::AnyUser => record.scope.user_name().is_some(),
            Self::Field(filter) => filter.matches(record),
            Self::Contains(TextField::Text, part, case) => case.holds(&record.text, part),
            Self::Contains(TextField::Metadata(key), part, case) => {
                record.metadata.get(key).is_some_and(|value| case.found_in(value, part))
            }
            Self::All(all) => all.iter().all(|one| one.matches(record)),
            Self::Any(any) => any.iter().any(|one| one.matches(record)),
            Self::Not(one) => !one.matches(record),
        }
    }

    /// The users that it names.
    fn users<'a>(&'a self, found: &mut BTreeSet<&'a str>) {
        match self {
            Self::User(user) => drop(found.insert(user)),
            Self::All(some) | Self::Any(some) => some.iter().for_each(|one| one.users(found)),
            Self::Not(one) => one.users(found),
            Self::AnyUser | Self::Field(_) | Self::Contains(..) => {}
        }
    }

    /// Returns true if a filter can express all of it, once the owner of the records is known.
    fn is_plain(&self) -> bool {
        match self {
            Self::Contains(..) => false,
            Self::All(some) | Self::Any(some) => some.iter().all(Self::is_plain),
            Self::Not(one) => one.is_plain(),
            Self::User(_) | Self::AnyUser | Self::Field(_) => true,
        }
    }

    /// Returns the part for records of this owner, as a filter that passes every record that fulfils it. Conditions
    /// that a filter cannot express are replaced by true, and below a negation by false.
    fn left(&self, whose: RecordOwner<'_>, wide: bool) -> Filter {
        match self {
            Self::User(user) => constant(matches!(whose, RecordOwner::User(name) if name == user)),
            Self::AnyUser => constant(!matches!(whose, RecordOwner::None)),
            Self::Field(filter) => filter.clone(),
            Self::Contains(..) => constant(wide),
            Self::All(some) => all(some.iter().map(|one| one.left(whose, wide))),
            Self::Any(some) => any(some.iter().map(|one| one.left(whose, wide))),
            Self::Not(one) => not(one.left(whose, !wide)),
        }
    }

    /// Returns the areas that contain all memories which fulfil the condition. `scopes` are those that the request
    /// names.
    ///
    /// # Errors
    /// 403 if it names a user whom the key does not reach, even in a negation.
    pub(super) fn areas(self, access: &Access, scopes: &[Scope]) -> Result<Vec<SearchArea>, Mem0Error> {
        let mut users = BTreeSet::new();
        self.users(&mut users);
        for user in &users {
            access.scope(&Owner::user(*user))?;
        }
        let mut areas = Vec::new();
        for scope in scopes {
            let parts: Vec<(Scope, Filter)> = match scope.user_name() {
                Some(user) => vec![(scope.clone(), self.left(RecordOwner::User(user), true))],
                None => self.of_all_users(scope, &users)?,
            };
            // One scope of all users serves several kinds of owners: which of them a record has is seen at the record.
            let plain = self.is_plain() && (users.is_empty() || parts.iter().all(|(s, _)| s.user_name().is_some()));
            let plain = plain && !self.asks_for_a_user(&parts);
            for (scope, filter) in parts.into_iter().filter(|(_, filter)| *filter != constant(false)) {
                filter.validate()?;
                let condition = (!plain).then(|| self.clone());
                areas.push(SearchArea { scope: narrowed(scope, &filter), filter, condition });
            }
        }
        Ok(areas)
    }

    /// Returns true if it depends on whether a record has a user, and a part contains records with and without one.
    fn asks_for_a_user(&self, parts: &[(Scope, Filter)]) -> bool {
        let open = parts.iter().any(|(scope, _)| scope.user_name().is_none());
        open && self.left(RecordOwner::Unnamed, true) != self.left(RecordOwner::None, true)
    }

    /// Returns the users that it names, if it is only about them; otherwise all users together.
    fn of_all_users(&self, scope: &Scope, users: &BTreeSet<&str>) -> Result<Vec<(Scope, Filter)>, Mem0Error> {
        let others = any([self.left(RecordOwner::Unnamed, true), self.left(RecordOwner::None, true)]);
        if others == constant(false) {
            let of = |user: &&str| {
                let scope = within(scope, user)?;
                Ok((scope, self.left(RecordOwner::User(user), true)))
            };
            return users.iter().map(of).collect();
        }
        let named = users.iter().map(|user| self.left(RecordOwner::User(user), true));
        Ok(vec![(scope.clone(), any(named.chain([others])))])
    }
}

impl CaseSensitivity {
    fn holds(self, text: &str, part: &str) -> bool {
        match self {
            Self::Exact => text.contains(part),
            Self::Folded => text.to_lowercase().contains(&part.to_lowercase()),
        }
    }

    /// A list holds what is one of its elements; a text, what is a part of it.
    fn found_in(self, value: &Json, part: &str) -> bool {
        let same = |one: &str| match self {
            Self::Exact => one == part,
            Self::Folded => one.to_lowercase() == part.to_lowercase(),
        };
        match value {
            Json::String(text) => self.holds(text, part),
            Json::Array(values) => values.iter().any(|value| value.as_str().is_some_and(same)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => false,
        }
    }
}

/// Returns the scope of one user within `scope`, who is known to be covered by it.
fn within(scope: &Scope, user: &str) -> Result<Scope, Mem0Error> {
    Ok(scope.clone().with_user(user)?)
}

/// The scope of the agent and the session that a filter demands: a narrower scope is a faster search.
fn narrowed(scope: Scope, filter: &Filter) -> Scope {
    let demands = match filter {
        Filter::And(all) => all.as_slice(),
        one @ (Filter::Compare(..) | Filter::In(..) | Filter::Exists(_) | Filter::Or(_) | Filter::Not(_) | _) => {
            std::slice::from_ref(one)
        }
    };
    let demanded = |field: &Field| {
        demands.iter().find_map(|one| {
            let Filter::Compare(compared, Op::Eq, FilterValue::Text(name)) = one else { return None };
            (compared == field).then(|| name.clone())
        })
    };
    let mut narrow = scope.clone();
    if let (None, Some(agent)) = (scope.agent(), demanded(&Field::Agent)) {
        narrow = narrow.clone().with_agent(agent).unwrap_or(narrow);
    }
    if let (None, Some(session)) = (scope.session(), demanded(&Field::Session)) {
        narrow = narrow.clone().with_session(session).unwrap_or(narrow);
    }
    narrow
}

pub(super) fn constant(value: bool) -> Filter {
    if value { Filter::And(Vec::new()) } else { Filter::Or(Vec::new()) }
}

fn all(filters: impl IntoIterator<Item = Filter>) -> Filter {
    let mut left = Vec::new();
    for filter in filters {
        match filter {
            Filter::And(inner) => left.extend(inner),
            Filter::Or(inner) if inner.is_empty() => return constant(false),
            other @ (Filter::Compare(..) | Filter::In(..) | Filter::Exists(_) | Filter::Or(_) | Filter::Not(_) | _) => {
                left.push(other)
            }
        }
    }
    if left.len() == 1 { left.remove(0) } else { Filter::And(left) }
}

fn any(filters: impl IntoIterator<Item = Filter>) -> Filter {
    let mut left: Vec<Filter> = Vec::new();
    for filter in filters {
        match filter {
            Filter::Or(inner) => left.extend(inner),
            Filter::And(inner) if inner.is_empty() => return constant(true),
            other
            @ (Filter::Compare(..) | Filter::In(..) | Filter::Exists(_) | Filter::And(_) | Filter::Not(_) | _) => {
                left.push(other)
            }
        }
    }
    left.dedup();
    if left.len() == 1 { left.remove(0) } else { Filter::Or(left) }
}

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
