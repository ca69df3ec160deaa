//! The contract.

use std::fmt::Debug;

use async_trait::async_trait;
use memory_engine_core::{Result, Scope};

use crate::{group::SynonymGroup, pair::PairVerdict};

/// Keeps groups of synonyms, and what was decided about pairs that were suggested.
///
/// Groups belong to a tenant or to one of its users: of a scope only the tenant and the user matter
/// ([`Scope::namespace`]), and a user's groups and the tenant's are apart.
/// [`applicable`](crate::SynonymStoreExt::applicable) brings both together.
///
/// # Cancel safety
/// Dropping a future either leaves the call undone or lets it finish unseen; never half of it.
#[async_trait]
pub trait SynonymStore: Debug + Send + Sync + 'static {
    /// The groups of this tenant or user, in the order of their [keys](SynonymGroup::key).
    async fn list(&self, scope: &Scope) -> Result<Vec<SynonymGroup>>;

    /// Keeps the groups, each in place of the one whose term reads the same; of two that do, the later. All or none.
    ///
    /// # Errors
    /// `InvalidInput` for a group that fails [`SynonymGroup::validate`].
    async fn put(&self, scope: &Scope, groups: &[SynonymGroup]) -> Result<()>;

    /// Removes the groups whose terms read like these; gives how many there were.
    async fn remove(&self, scope: &Scope, terms: &[String]) -> Result<u64>;

    /// Returns the decisions about pairs, in the order of the pairs.
    async fn verdicts(&self, scope: &Scope) -> Result<Vec<PairVerdict>>;

    /// Remembers what was decided, in place of what was decided before. It changes no group.
    async fn judge(&self, scope: &Scope, verdicts: &[PairVerdict]) -> Result<()>;

    /// Removes all groups and all verdicts of this user, or of this tenant and all its users; gives how many there
    /// were.
    async fn clear(&self, scope: &Scope) -> Result<u64>;
}

const _: fn(&dyn SynonymStore) = |_| {};
