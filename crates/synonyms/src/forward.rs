//! Implements each trait `T` for `Arc<T>` and `Box<T>` too.

use async_trait::async_trait;
use memory_engine_core::{Result, Scope};

use crate::{
    group::SynonymGroup,
    pair::PairVerdict,
    store::{ApplicableGroups, SynonymStore},
};

memory_engine_core::forward! {
    #[async_trait]
    impl SynonymStore {
        async fn list(&self, scope: &Scope) -> Result<Vec<SynonymGroup>>;
        async fn applicable_groups(&self, scope: &Scope) -> Result<ApplicableGroups>;
        async fn put(&self, scope: &Scope, groups: &[SynonymGroup]) -> Result<()>;
        async fn remove(&self, scope: &Scope, terms: &[String]) -> Result<u64>;
        async fn verdicts(&self, scope: &Scope) -> Result<Vec<PairVerdict>>;
        async fn judge(&self, scope: &Scope, verdicts: &[PairVerdict]) -> Result<()>;
        async fn clear(&self, scope: &Scope) -> Result<u64>;
    }
}
