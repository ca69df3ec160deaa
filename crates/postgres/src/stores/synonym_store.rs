//! The synonym store contract: each call runs on a connection of the store.

use async_trait::async_trait;
use memory_engine_core::{Result, Scope, phrases::fold};
use memory_engine_synonyms::{ApplicableGroups, PairVerdict, SynonymGroup, SynonymStore};

use crate::{
    database::transaction::{with_reader, with_transaction},
    rows::{
        namespaces,
        scopes::{self, CoveredScope},
    },
    store::PostgresStore,
    synonyms,
};

#[async_trait]
impl SynonymStore for PostgresStore {
    async fn list(&self, scope: &Scope) -> Result<Vec<SynonymGroup>> {
        let namespace = scopes::namespace(scope);
        with_reader!(self, "list synonyms", |connection| synonyms::list(connection, namespace).await)
    }

    async fn applicable_groups(&self, scope: &Scope) -> Result<ApplicableGroups> {
        let tenant = scopes::namespace(&Scope::tenant_wide(scope.tenant())?);
        let namespace = scopes::namespace(scope);
        with_reader!(self, "list synonyms", |connection| synonyms::applicable_groups(connection, tenant, namespace)
            .await)
    }

    async fn put(&self, scope: &Scope, groups: &[SynonymGroup]) -> Result<()> {
        groups.iter().try_for_each(SynonymGroup::validate)?;
        if groups.is_empty() {
            return Ok(());
        }
        let scope = scope.namespace();
        with_transaction!(self, "put synonyms", |connection| synonyms::put(connection, &scope, groups).await)
    }

    async fn remove(&self, scope: &Scope, terms: &[String]) -> Result<u64> {
        let namespace = scopes::namespace(scope);
        let keys: Vec<String> = terms.iter().map(|term| fold(term)).collect();
        with_transaction!(self, "remove synonyms", |connection| {
            namespaces::lock_known(connection, &[namespace]).await?;
            let terms =
                synonyms::terms_with_keys(connection, namespace, |key| keys.iter().any(|removed| removed == key))
                    .await?;
            synonyms::remove(connection, namespace, &terms).await
        })
    }

    async fn verdicts(&self, scope: &Scope) -> Result<Vec<PairVerdict>> {
        let namespace = scopes::namespace(scope);
        with_reader!(self, "list verdicts", |connection| synonyms::verdicts(connection, namespace).await)
    }

    async fn judge(&self, scope: &Scope, verdicts: &[PairVerdict]) -> Result<()> {
        if verdicts.is_empty() {
            return Ok(());
        }
        let scope = scope.namespace();
        with_transaction!(self, "judge synonyms", |connection| synonyms::judge(connection, &scope, verdicts).await)
    }

    async fn clear(&self, scope: &Scope) -> Result<u64> {
        let covered = CoveredScope::of(&scope.namespace());
        with_transaction!(self, "clear synonyms", |connection| synonyms::clear(connection, &covered).await)
    }
}
