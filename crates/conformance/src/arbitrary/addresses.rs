//! Random addresses.

use memory_engine_core::Scope;
use proptest::prelude::*;

/// Random addresses below a tenant. Some names occur in several dimensions, and some contain separators.
pub(crate) fn addresses() -> impl Strategy<Value = RandomAddress> {
    let name = |names: &'static [&'static str]| proptest::option::weighted(0.7, proptest::sample::select(names));
    let dimensions = (name(&["a", "A", "a/b"]), name(&["b", "%"]), name(&["a", "b/b"]), name(&["b", "_"]));
    dimensions.prop_map(|(user, agent, session, branch)| RandomAddress { user, agent, session, branch })
}

/// The dimensions of an address below the tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RandomAddress {
    pub(crate) user: Option<&'static str>,
    pub(crate) agent: Option<&'static str>,
    pub(crate) session: Option<&'static str>,
    pub(crate) branch: Option<&'static str>,
}

impl RandomAddress {
    /// Returns the address in a tenant.
    pub(crate) fn in_tenant(&self, tenant: &str) -> Scope {
        let mut scope = Scope::tenant_wide(tenant).unwrap();
        if let Some(user) = self.user {
            scope = scope.with_user(user).unwrap();
        }
        if let Some(agent) = self.agent {
            scope = scope.with_agent(agent).unwrap();
        }
        if let Some(session) = self.session {
            scope = scope.with_session(session).unwrap();
        }
        if let Some(branch) = self.branch {
            scope = scope.with_branch(branch).unwrap();
        }
        scope
    }
}
