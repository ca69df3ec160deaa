//! The owner of memories, under mem0's names.

use memory_engine::{Field, Filter, Scope};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{condition::FilterCondition, error::Mem0Error, metadata, params::ParamGroup};
use crate::access::{Access, Owner};

/// The owner of memories, under mem0's names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MemoryOwner {
    pub(super) user: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) run: Option<String>,
    pub(super) app: Option<String>,
}

/// mem0's names for the parts of an owner, each with the spelling of the JavaScript client.
pub(super) const NAMES: [(&str, &str); 4] =
    [("user_id", "userId"), ("agent_id", "agentId"), ("run_id", "runId"), ("app_id", "appId")];

/// The owner in a request.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct OwnerParams {
    /// The user. Default: the only user of the key.
    #[schemars(regex(pattern = r"\S"))]
    user_id: Option<String>,
    /// The agent.
    #[schemars(regex(pattern = r"\S"))]
    agent_id: Option<String>,
    /// The conversation.
    #[schemars(regex(pattern = r"\S"))]
    run_id: Option<String>,
    /// The application.
    #[schemars(regex(pattern = r"\S"))]
    app_id: Option<String>,
    #[schemars(skip)]
    #[serde(rename = "userId")]
    user_alias: Option<String>,
    #[schemars(skip)]
    #[serde(rename = "agentId")]
    agent_alias: Option<String>,
    #[schemars(skip)]
    #[serde(rename = "runId")]
    run_alias: Option<String>,
    #[schemars(skip)]
    #[serde(rename = "appId")]
    app_alias: Option<String>,
}

impl ParamGroup for OwnerParams {}

impl OwnerParams {
    pub(super) fn is_empty(&self) -> bool {
        let names = [&self.user_id, &self.agent_id, &self.run_id, &self.app_id];
        let aliases = [&self.user_alias, &self.agent_alias, &self.run_alias, &self.app_alias];
        names.into_iter().chain(aliases).all(Option::is_none)
    }

    /// Returns the owner.
    ///
    /// # Errors
    /// 400 for an empty name, and for two spellings that differ.
    pub(super) fn owner(self) -> Result<MemoryOwner, Mem0Error> {
        let [user, agent, run, app] = NAMES;
        Ok(MemoryOwner {
            user: merge_spellings(user, self.user_id, self.user_alias)?,
            agent: merge_spellings(agent, self.agent_id, self.agent_alias)?,
            run: merge_spellings(run, self.run_id, self.run_alias)?,
            app: merge_spellings(app, self.app_id, self.app_alias)?,
        })
    }
}

/// Returns the value of a parameter that has two spellings.
fn merge_spellings(
    (name, alias): (&str, &str),
    value: Option<String>,
    alias_value: Option<String>,
) -> Result<Option<String>, Mem0Error> {
    if value.is_some() && alias_value.is_some() && value != alias_value {
        return Err(Mem0Error::bad_request(format!("{name} and {alias} have different values")));
    }
    let id = value.or(alias_value);
    match &id {
        Some(id) if id.trim().is_empty() => Err(Mem0Error::bad_request(format!("{name} is empty"))),
        _ => Ok(id),
    }
}

/// Returns true if a filter names an owner at its top level.
pub(super) fn names_an_owner(filter: &Map<String, Value>) -> bool {
    NAMES.iter().any(|(name, alias)| filter.contains_key(*name) || filter.contains_key(*alias))
}

impl MemoryOwner {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn scope_owner(&self) -> Owner {
        Owner { user: self.user.clone(), agent: self.agent.clone(), session: self.run.clone(), branch: None }
    }

    /// Returns the address at which memories of this owner are stored.
    pub(super) fn address(&self, access: &Access) -> Result<Scope, Mem0Error> {
        Ok(access.scope(&self.scope_owner())?)
    }

    /// Returns the scopes of this owner that the key reaches. Without a user there is one for each user of the key.
    pub(super) fn scopes(&self, access: &Access) -> Result<Vec<Scope>, Mem0Error> {
        if self.user.is_some() || access.is_for_all_users() {
            return Ok(vec![self.address(access)?]);
        }
        let mut scopes = Vec::new();
        for scope in access.scopes()? {
            let user = scope.user_name().map(str::to_owned);
            scopes.push(access.scope(&Owner { user, ..self.scope_owner() })?);
        }
        Ok(scopes)
    }

    /// Refuses an empty owner, unless the key is for certain users.
    pub(super) fn require_named(&self, access: &Access) -> Result<(), Mem0Error> {
        if self.is_empty() && access.is_for_all_users() {
            let message = "At least one identifier (user_id, agent_id, run_id) is required.";
            return Err(Mem0Error::bad_request(message));
        }
        Ok(())
    }

    /// Returns the filter for the part of the owner that a scope does not contain: the app.
    pub(super) fn filter(&self) -> Filter {
        let app = self.app.as_deref().map(|app| Filter::eq(Field::Metadata(metadata::APP.into()), app));
        app.unwrap_or(Filter::And(Vec::new()))
    }

    pub(super) fn condition(&self) -> FilterCondition {
        FilterCondition::Field(self.filter())
    }
}
