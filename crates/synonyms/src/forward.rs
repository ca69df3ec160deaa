//! Implements each trait `T` for `Arc<T>` and `Box<T>` too.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{Result, Scope};

use crate::{
    group::SynonymGroup,
    pair::PairVerdict,
    store::{ApplicableGroups, SynonymStore},
};

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: SynonymStore + ?Sized> SynonymStore for $pointer<T> {
            async fn list(&self, scope: &Scope) -> Result<Vec<SynonymGroup>> {
                (**self).list(scope).await
            }
            async fn applicable_groups(&self, scope: &Scope) -> Result<ApplicableGroups> {
                (**self).applicable_groups(scope).await
            }
            async fn put(&self, scope: &Scope, groups: &[SynonymGroup]) -> Result<()> {
                (**self).put(scope, groups).await
            }
            async fn remove(&self, scope: &Scope, terms: &[String]) -> Result<u64> {
                (**self).remove(scope, terms).await
            }
            async fn verdicts(&self, scope: &Scope) -> Result<Vec<PairVerdict>> {
                (**self).verdicts(scope).await
            }
            async fn judge(&self, scope: &Scope, verdicts: &[PairVerdict]) -> Result<()> {
                (**self).judge(scope, verdicts).await
            }
            async fn clear(&self, scope: &Scope) -> Result<u64> {
                (**self).clear(scope).await
            }
        }
    )*};
}

forward!(Arc, Box);
