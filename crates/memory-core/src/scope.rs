//! Scopes: tenant, user, agent, session and branch.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// The address of a record, or the range of records that a caller can read and write.
///
/// A scope is an authorisation and not a filter. It is the first argument of every call of a store or of the engine,
/// and no result contains anything outside of it. The scope of a *record* is its address. The scope of a *call* covers
/// every address with the same values in the dimensions that it sets. A dimension that it does not set covers all
/// values. The tenant is always set, so no call can read several tenants:
///
/// ```compile_fail
/// let everything = memory_engine_core::Scope::default();
/// ```
///
/// ```
/// # use memory_engine_core::Scope;
/// let lin = Scope::user("lin")?;
/// let monday = Scope::user("lin")?.with_agent("kai")?.with_session("monday")?;
/// assert!(lin.covers(&monday) && !monday.covers(&lin));
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Scope {
    tenant: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
}

impl Scope {
    /// The tenant of programs that have only one.
    pub const DEFAULT_TENANT: &'static str = "default";
    /// Maximum length of a name, in bytes.
    pub const MAX_NAME_BYTES: usize = 256;
    /// The beginning of the names of agents that stand for a project: a repository or a folder in which coding agents
    /// work.
    pub const PROJECT_PREFIX: &'static str = "project:";

    /// Returns the scope of a tenant with all its users.
    ///
    /// # Errors
    /// `InvalidInput` if the name is empty, is longer than [`Scope::MAX_NAME_BYTES`], contains a control character, or
    /// begins or ends with white space.
    pub fn tenant_wide(tenant: impl Into<String>) -> Result<Self> {
        let tenant = valid_name("tenant", tenant.into())?;
        Ok(Self { tenant, user: None, agent: None, session: None, branch: None })
    }

    /// Returns the scope of a user of the default tenant.
    ///
    /// # Errors
    /// As [`Scope::tenant_wide`].
    pub fn user(user: impl Into<String>) -> Result<Self> {
        Self::tenant_wide(Self::DEFAULT_TENANT)?.with_user(user)
    }

    /// Sets the user (mem0: `user_id`).
    ///
    /// # Errors
    /// As [`Scope::tenant_wide`].
    pub fn with_user(mut self, user: impl Into<String>) -> Result<Self> {
        self.user = Some(valid_name("user", user.into())?);
        Ok(self)
    }

    /// Sets the agent: a persona or an application of the user (mem0: `agent_id`).
    ///
    /// # Errors
    /// As [`Scope::tenant_wide`].
    pub fn with_agent(mut self, agent: impl Into<String>) -> Result<Self> {
        self.agent = Some(valid_name("agent", agent.into())?);
        Ok(self)
    }

    /// Sets the project, as the agent `project:NAME`. A recall within a project, in no particular session, also covers
    /// the user's memories without an agent, and never those of another project.
    ///
    /// # Errors
    /// As [`Scope::tenant_wide`].
    pub fn with_project(self, name: &str) -> Result<Self> {
        self.with_agent(format!("{}{name}", Self::PROJECT_PREFIX))
    }

    /// Sets the session: one conversation (mem0: `run_id`).
    ///
    /// # Errors
    /// As [`Scope::tenant_wide`].
    pub fn with_session(mut self, session: impl Into<String>) -> Result<Self> {
        self.session = Some(valid_name("session", session.into())?);
        Ok(self)
    }

    /// Sets the branch of a forked conversation.
    ///
    /// # Errors
    /// As [`Scope::tenant_wide`].
    pub fn with_branch(mut self, branch: impl Into<String>) -> Result<Self> {
        self.branch = Some(valid_name("branch", branch.into())?);
        Ok(self)
    }

    /// Returns the tenant.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Returns the user, if set.
    pub fn user_name(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Returns the agent, if set.
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// Returns the name of the project, if the agent stands for one.
    pub fn project(&self) -> Option<&str> {
        self.agent()?.strip_prefix(Self::PROJECT_PREFIX)
    }

    /// Returns the session, if set.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Returns the branch, if set.
    pub fn branch(&self) -> Option<&str> {
        self.branch.as_deref()
    }

    /// Returns the dimensions below the tenant with their names, widest first.
    pub fn dimensions(&self) -> [(&'static str, Option<&str>); 4] {
        [("user", self.user_name()), ("agent", self.agent()), ("session", self.session()), ("branch", self.branch())]
    }

    /// Returns true if a caller with this scope may access a record at `address`.
    pub fn covers(&self, address: &Scope) -> bool {
        let covers_name = |own: &Option<String>, other: &Option<String>| own.is_none() || own == other;
        self.tenant == address.tenant
            && covers_name(&self.user, &address.user)
            && covers_name(&self.agent, &address.agent)
            && covers_name(&self.session, &address.session)
            && covers_name(&self.branch, &address.branch)
    }

    /// Returns the narrowest scope that covers both, or `None` for two tenants.
    #[must_use]
    pub fn common_with(&self, other: &Scope) -> Option<Scope> {
        let common = |own: &Option<String>, other: &Option<String>| own.clone().filter(|_| own == other);
        (self.tenant == other.tenant).then(|| Self {
            tenant: self.tenant.clone(),
            user: common(&self.user, &other.user),
            agent: common(&self.agent, &other.agent),
            session: common(&self.session, &other.session),
            branch: common(&self.branch, &other.branch),
        })
    }

    /// Checks that this scope covers an address.
    ///
    /// # Errors
    /// `Unauthorized` if it does not.
    pub fn authorize(&self, operation: &'static str, address: &Scope) -> Result<()> {
        if self.covers(address) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unauthorized,
            operation,
            format!("the record's address ({address}) lies outside the caller's scope ({self})"),
        ))
    }

    /// Returns the scope of the tenant and the user alone.
    ///
    /// Ids and tombstones are unique within a namespace. Namespaces share no data, so they are the unit of sharding.
    #[must_use]
    pub fn namespace(&self) -> Scope {
        Self { tenant: self.tenant.clone(), user: self.user.clone(), agent: None, session: None, branch: None }
    }
}

/// Checks the name of a dimension.
fn valid_name(dimension: &'static str, value: String) -> Result<String> {
    let problem = if value.is_empty() {
        "is empty; leave it unset to mean all"
    } else if value.len() > Scope::MAX_NAME_BYTES {
        "is longer than 256 bytes"
    } else if value.chars().any(char::is_control) {
        "holds a control character"
    } else if value.trim() != value {
        "begins or ends with white space"
    } else {
        return Ok(value);
    };
    Err(Error::invalid("scope", format!("the {dimension} name {problem}")))
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tenant {}", self.tenant)?;
        for (dimension, value) in self.dimensions() {
            if let Some(value) = value {
                write!(f, ", {dimension} {value}")?;
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct UncheckedScope {
            tenant: String,
            user: Option<String>,
            agent: Option<String>,
            session: Option<String>,
            branch: Option<String>,
        }
        let unchecked = UncheckedScope::deserialize(deserializer)?;
        let optional_name =
            |dimension, value: Option<String>| value.map(|value| valid_name(dimension, value)).transpose();
        let check = || -> Result<Self> {
            Ok(Self {
                tenant: valid_name("tenant", unchecked.tenant)?,
                user: optional_name("user", unchecked.user)?,
                agent: optional_name("agent", unchecked.agent)?,
                session: optional_name("session", unchecked.session)?,
                branch: optional_name("branch", unchecked.branch)?,
            })
        };
        check().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unset_dimension_covers_all_values_and_a_set_one_only_its_value() {
        let user = Scope::user("lin").unwrap();
        let session = user.clone().with_session("s").unwrap();
        assert!(user.covers(&session) && session.covers(&session));
        assert!(!session.covers(&user), "an address without a session is in no session");
        assert!(!Scope::user("mo").unwrap().covers(&session));
        assert!(!Scope::tenant_wide("other").unwrap().covers(&session));
    }

    #[test]
    fn a_common_scope_has_the_dimensions_that_both_share() {
        let lin = Scope::user("lin").unwrap();
        let at = |agent: &str, session: &str| lin.clone().with_agent(agent).unwrap().with_session(session).unwrap();
        assert_eq!(at("a", "s").common_with(&at("b", "s")), Some(lin.clone().with_session("s").unwrap()));
        assert_eq!(at("a", "s").common_with(&Scope::user("mo").unwrap()), Some(Scope::tenant_wide("default").unwrap()));
        assert_eq!(lin.common_with(&Scope::tenant_wide("other").unwrap()), None);
    }

    #[test]
    fn the_error_of_an_invalid_name_has_the_dimension() {
        for invalid in ["", " lin", "a\0b", &"x".repeat(257)] {
            let e = Scope::user(invalid).unwrap_err();
            assert!(e.to_string().contains("the user name"), "{e}");
        }
    }

    #[test]
    fn an_address_outside_of_the_scope_is_unauthorized() {
        let lin = Scope::user("lin").unwrap();
        let e = lin.authorize("put", &Scope::user("mo").unwrap()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unauthorized);
    }
}
