//! The tenants and users that a command copies or merges.

use anyhow::{Context, Result, bail};
use clap::Args;
use memory_engine::{Database, Scope, admin};

/// The restriction of a command on two stores to a tenant or a user.
#[derive(Debug, Args)]
pub(crate) struct NamespaceArgs {
    /// Only this tenant
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// Only this user
    #[arg(long, short, value_name = "NAME")]
    user: Option<String>,
}

impl NamespaceArgs {
    /// Returns the tenants and users of a database that the command processes.
    ///
    /// # Errors
    /// If the database cannot be read, or has other tenants and users only.
    pub(crate) async fn namespaces(&self, database: &Database) -> Result<Vec<Scope>> {
        let mut namespaces = admin::namespaces(database).await.with_context(|| database.to_string())?;
        let is_empty = namespaces.is_empty();
        namespaces.retain(|scope| self.tenant.as_deref().is_none_or(|tenant| scope.tenant() == tenant));
        namespaces.retain(|scope| self.user.is_none() || scope.user_name() == self.user.as_deref());
        if !is_empty && namespaces.is_empty() {
            bail!("{database} has no tenant or user of this name");
        }
        Ok(namespaces)
    }

    /// Returns the part of a tenant that the command processes: the user, or the whole tenant.
    pub(crate) fn scope_within(&self, tenant: &str) -> Result<Scope> {
        let scope = Scope::tenant_wide(tenant)?;
        Ok(match &self.user {
            Some(user) => scope.with_user(user)?,
            None => scope,
        })
    }
}
