//! The synonym store contract: each call runs on a thread of the store.

use async_trait::async_trait;
use memory_engine_core::{Result, Scope, phrases::fold};
use memory_engine_synonyms::{PairVerdict, SynonymGroup, SynonymStore};

use crate::{
    rows::scopes,
    store::{SqliteStore, writer::Residue},
    stores::removal_residue,
    synonyms,
};

#[async_trait]
impl SynonymStore for SqliteStore {
    async fn list(&self, scope: &Scope) -> Result<Vec<SynonymGroup>> {
        let scope = scope.clone();
        self.read("list synonyms", move |connection| synonyms::list(connection, &scope)).await
    }

    async fn put(&self, scope: &Scope, groups: &[SynonymGroup]) -> Result<()> {
        groups.iter().try_for_each(SynonymGroup::validate)?;
        let scope = scope.namespace();
        let groups = groups.to_vec();
        let residue = |replaced: &bool| if *replaced { Residue::Replaced } else { Residue::None };
        self.write("put synonyms", residue, move |connection| synonyms::put(connection, &scope, &groups)).await?;
        Ok(())
    }

    async fn remove(&self, scope: &Scope, terms: &[String]) -> Result<u64> {
        let scope = scope.clone();
        let keys = terms.iter().map(|term| fold(term)).collect::<Vec<_>>();
        self.write("remove synonyms", removal_residue, move |connection| match scopes::namespace(connection, &scope)? {
            None => Ok(0),
            Some(namespace) => {
                keys.iter().try_fold(0, |removed, key| Ok(removed + synonyms::remove(connection, namespace, key)?))
            }
        })
        .await
    }

    async fn verdicts(&self, scope: &Scope) -> Result<Vec<PairVerdict>> {
        let scope = scope.clone();
        self.read("list verdicts", move |connection| synonyms::verdicts(connection, &scope)).await
    }

    async fn judge(&self, scope: &Scope, verdicts: &[PairVerdict]) -> Result<()> {
        let scope = scope.namespace();
        let verdicts = verdicts.to_vec();
        let residue = |_: &()| Residue::Replaced;
        self.write("judge synonyms", residue, move |connection| synonyms::judge(connection, &scope, &verdicts)).await
    }

    async fn clear(&self, scope: &Scope) -> Result<u64> {
        self.write_covered("clear synonyms", removal_residue, &scope.namespace(), synonyms::clear).await
    }
}
