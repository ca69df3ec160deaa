//! The trait of synonym stores.

use std::fmt::Debug;

use async_trait::async_trait;
use memory_engine_core::{Result, Scope};

use crate::{group::SynonymGroup, pair::PairVerdict};

/// The groups that apply to a scope.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApplicableGroups {
    /// The groups of the tenant, and then those of the user.
    pub groups: Vec<SynonymGroup>,
    /// True if these groups apply to every user of the tenant, because no user has groups. A store that does not
    /// check this returns false.
    pub is_same_for_all_users: bool,
}

/// Stores groups of synonyms, and decisions about suggested pairs.
///
/// Groups belong to a tenant or to one of its users, so only the tenant and the user of a scope matter
/// ([`Scope::namespace`]). Groups of a user are separate from those of the tenant;
/// [`applicable`](crate::SynonymStoreExt::applicable) returns both.
///
/// # Cancel safety
/// If a future is dropped, its call has no effect or completes in the background. It is never applied in part.
#[async_trait]
pub trait SynonymStore: Debug + Send + Sync + 'static {
    /// Returns the groups of this tenant or user, in the order of their [keys](SynonymGroup::key).
    async fn list(&self, scope: &Scope) -> Result<Vec<SynonymGroup>>;

    /// Returns the groups that apply to a scope: those of its tenant, and then those of its user if it names one.
    ///
    /// The provided implementation calls [`list`](Self::list) for both. A store may read both with one request.
    async fn applicable_groups(&self, scope: &Scope) -> Result<ApplicableGroups> {
        let mut groups = self.list(&Scope::tenant_wide(scope.tenant())?).await?;
        if scope.user_name().is_some() {
            groups.extend(self.list(scope).await?);
        }
        Ok(ApplicableGroups { groups, is_same_for_all_users: false })
    }

    /// Stores all groups or none. Each one replaces the group with the same [key](SynonymGroup::key); of several with
    /// the same key the last one is stored.
    ///
    /// # Errors
    /// `InvalidInput` for a group that fails [`SynonymGroup::validate`].
    async fn put(&self, scope: &Scope, groups: &[SynonymGroup]) -> Result<()>;

    /// Removes the groups with these terms, in any spelling. Returns the number of removed groups.
    async fn remove(&self, scope: &Scope, terms: &[String]) -> Result<u64>;

    /// Returns the decisions about pairs, in the order of the pairs.
    async fn verdicts(&self, scope: &Scope) -> Result<Vec<PairVerdict>>;

    /// Stores decisions about pairs, and replaces earlier ones. Groups do not change.
    async fn judge(&self, scope: &Scope, verdicts: &[PairVerdict]) -> Result<()>;

    /// Removes all groups and decisions of this user, or of this tenant and all its users. Returns their number.
    async fn clear(&self, scope: &Scope) -> Result<u64>;
}

const _: fn(&dyn SynonymStore) = |_| {};
