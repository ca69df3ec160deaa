//! Whose memories are meant.

use memory_engine::{Field, Filter, Scope};

use super::{condition::Condition, failure::Failure, fields::Fields, marks};
use crate::{Access, Owner};

/// Whose memories are meant, by mem0's names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) user: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) run: Option<String>,
    pub(super) app: Option<String>,
}

/// Each of mem0's names, with what the clients in JavaScript write.
pub(super) const NAMES: [(&str, &str); 4] =
    [("user_id", "userId"), ("agent_id", "agentId"), ("run_id", "runId"), ("app_id", "appId")];

impl Named {
    /// What the fields say, by either spelling.
    pub(super) fn read(fields: &mut Fields) -> Result<Self, Failure> {
        let mut named = Self::default();
        let places = [&mut named.user, &mut named.agent, &mut named.run, &mut named.app];
        for ((name, alias), place) in NAMES.into_iter().zip(places) {
            let (plain, other) = (fields.text(name), fields.text(alias));
            if plain.is_some() && other.is_some() && plain != other {
                return Err(Failure::bad_request(format!("{name} and {alias} say different things")));
            }
            *place = plain.or(other);
            let Some(id) = place else { continue };
            if id.trim().is_empty() {
                return Err(Failure::bad_request(format!("{name} is empty")));
            }
            if !fields.is_platform() && id.contains(char::is_whitespace) {
                return Err(Failure::bad_request(format!("{name} holds white space")));
            }
        }
        Ok(named)
    }

    pub(super) fn is_nobody(&self) -> bool {
        *self == Self::default()
    }

    fn owner(&self) -> Owner {
        Owner { user: self.user.clone(), agent: self.agent.clone(), session: self.run.clone(), branch: None }
    }

    /// The address at which this one's memories are stored.
    pub(super) fn address(&self, access: &Access) -> Result<Scope, Failure> {
        Ok(access.scope(&self.owner())?)
    }

    /// Everything of theirs within reach; of all users within reach, when none is named.
    pub(super) fn scopes(&self, access: &Access) -> Result<Vec<Scope>, Failure> {
        if self.user.is_some() || access.is_for_all_users() {
            return Ok(vec![self.address(access)?]);
        }
        let of = |scope: Scope| {
            let user = scope.user_name().map(str::to_owned);
            Ok(access.scope(&Owner { user, ..self.owner() })?)
        };
        access.scopes()?.into_iter().map(of).collect()
    }
}

/// Refuses a request for nobody in particular, unless its key says whose it is.
pub(super) fn somebody(named: &Named, access: &Access) -> Result<(), Failure> {
    if named.is_nobody() && access.is_for_all_users() {
        return Err(Failure::bad_request("At least one identifier (user_id, agent_id, run_id) is required."));
    }
    Ok(())
}

impl Named {
    /// What the scopes do not say of it.
    pub(super) fn condition(&self) -> Condition {
        let app = self.app.as_deref().map(|app| Filter::eq(Field::Metadata(marks::APP.into()), app));
        app.map_or_else(Condition::always, Condition::Field)
    }
}
