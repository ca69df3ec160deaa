//! The scope of memories: tenant, user, agent, session and branch.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// The owner of a memory, and the range of memories that a caller can see.
///
/// A scope is authority, never a filter: every call of a store or of the engine takes one first, and no answer holds
/// anything outside it. A *record's* scope is its address. A *reading* scope covers every address that agrees with it
/// in the dimensions that the reading scope sets; a dimension that it leaves unset covers all values below it. The
/// tenant is never unset, so nothing can be read without saying whose it is:
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
    /// The longest name of a dimension, in bytes.
    pub const MAX_NAME_BYTES: usize = 256;

    /// Everything of one tenant.
    ///
    /// # Errors
    /// `InvalidInput` when the name is empty, longer than [`Scope::MAX_NAME_BYTES`], holds a control character, or
    /// begins or ends with white space. So do all the `with_…` methods.
    pub fn tenant_wide(tenant: impl Into<String>) -> Result<Self> {
        let tenant = name("tenant", tenant.into())?;
        Ok(Self { tenant, user: None, agent: None, session: None, branch: None })
    }

    /// Everything of one user of the default tenant.
    ///
    /// # Errors
    /// As [`Scope::tenant_wide`].
    pub fn user(user: impl Into<String>) -> Result<Self> {
        Self::tenant_wide(Self::DEFAULT_TENANT)?.with_user(user)
    }

    /// Narrows to a user (mem0: `user_id`).
    ///
    /// # Errors
    /// As [`Scope::tenant_wide`].
    pub fn with_user(mut self, user: impl Into<String>) -> Result<Self> {
        self.user = Some(name("user", user.into())?);
        Ok(self)
    }

    /// Narrows to an agent, a persona or an application of the user (mem0: `agent_id`).
    ///
    /// # Errors
    /// As [`Scope::tenant_wide`].
    pub fn with_agent(mut self, agent: impl Into<String>) -> Result<Self> {
        self.agent = Some(name("agent", agent.into())?);
        Ok(self)
    }

    /// Narrows to one conversation (mem0: `run_id`).
    ///
    /// # Errors
    /// As [`Scope::tenant_wide`].
    pub fn with_session(mut self, session: impl Into<String>) -> Result<Self> {
        self.session = Some(name("session", session.into())?);
        Ok(self)
    }

    /// Narrows to one branch of a conversation that forks.
    ///
    /// # Errors
    /// As [`Scope::tenant_wide`].
    pub fn with_branch(mut self, branch: impl Into<String>) -> Result<Self> {
        self.branch = Some(name("branch", branch.into())?);
        Ok(self)
    }

    /// The tenant.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The user, if set.
    pub fn user_name(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The agent, if set.
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// The session, if set.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The branch, if set.
    pub fn branch(&self) -> Option<&str> {
        self.branch.as_deref()
    }

    /// The dimensions below the tenant, from the widest to the narrowest, each with its name.
    pub fn dimensions(&self) -> [(&'static str, Option<&str>); 4] {
        [("user", self.user_name()), ("agent", self.agent()), ("session", self.session()), ("branch", self.branch())]
    }

    /// Returns true if a reader with this scope may see a record at `address`.
    pub fn covers(&self, address: &Scope) -> bool {
        let within = |mine: &Option<String>, theirs: &Option<String>| mine.is_none() || mine == theirs;
        self.tenant == address.tenant
            && within(&self.user, &address.user)
            && within(&self.agent, &address.agent)
            && within(&self.session, &address.session)
            && within(&self.branch, &address.branch)
    }

    /// Refuses an address that this scope does not cover.
    ///
    /// # Errors
    /// `Unauthorized` when it does not.
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

    /// The smallest part of the world that never shares anything with another: tenant and user.
    ///
    /// Ids and tombstones are unique within it, and a database that is spread over many servers is cut along it.
    #[must_use]
    pub fn namespace(&self) -> Scope {
        Self { tenant: self.tenant.clone(), user: self.user.clone(), agent: None, session: None, branch: None }
    }
}

fn name(dimension: &'static str, value: String) -> Result<String> {
    let wrong = if value.is_empty() {
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
    Err(Error::invalid("scope", format!("the {dimension} name {wrong}")))
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
        struct Raw {
            tenant: String,
            user: Option<String>,
            agent: Option<String>,
            session: Option<String>,
            branch: Option<String>,
        }
        let raw = Raw::deserialize(deserializer)?;
        let checked = |dimension, value: Option<String>| value.map(|v| name(dimension, v)).transpose();
        let build = || -> Result<Self> {
            Ok(Self {
                tenant: name("tenant", raw.tenant)?,
                user: checked("user", raw.user)?,
                agent: checked("agent", raw.agent)?,
                session: checked("session", raw.session)?,
                branch: checked("branch", raw.branch)?,
            })
        };
        build().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unset_dimension_covers_all_values_and_a_set_one_only_its_own() {
        let user = Scope::user("lin").unwrap();
        let session = user.clone().with_session("s").unwrap();
        assert!(user.covers(&session) && session.covers(&session));
        assert!(!session.covers(&user), "an address without a session lies in no session");
        assert!(!Scope::user("mo").unwrap().covers(&session));
        assert!(!Scope::tenant_wide("other").unwrap().covers(&session));
    }

    #[test]
    fn odd_names_are_refused_with_the_dimension_named() {
        for bad in ["", " lin", "a\0b", &"x".repeat(257)] {
            let e = Scope::user(bad).unwrap_err();
            assert!(e.to_string().contains("the user name"), "{e}");
        }
    }

    #[test]
    fn an_address_outside_is_refused() {
        let lin = Scope::user("lin").unwrap();
        let e = lin.authorize("put", &Scope::user("mo").unwrap()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unauthorized);
    }
}
