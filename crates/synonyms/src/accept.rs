//! Operations on any synonym store.

use async_trait::async_trait;
use memory_engine_core::{Error, Result, Scope, phrases::fold};

use crate::{
    group::SynonymGroup,
    pair::{PairVerdict, WordPair},
    store::SynonymStore,
};

/// Operations on any [`SynonymStore`].
#[async_trait]
pub trait SynonymStoreExt: SynonymStore {
    /// Returns the groups that apply to a scope: those of its tenant, and those of its user if it names one. If a
    /// user and the tenant have groups with the same term, both apply.
    ///
    /// # Errors
    /// The errors of [`SynonymStore::applicable_groups`].
    async fn applicable(&self, scope: &Scope) -> Result<Vec<SynonymGroup>> {
        Ok(self.applicable_groups(scope).await?.groups)
    }

    /// Accepts a suggestion. If one of the words is in a group, the other one joins it; otherwise both make a new
    /// group. The spelling of `a` and `b` is kept, and the decision is stored.
    ///
    /// # Errors
    /// `InvalidInput` for two words that are equal after folding, and the errors of [`SynonymStore::put`].
    async fn accept(&self, scope: &Scope, a: &str, b: &str) -> Result<SynonymGroup> {
        let pair = word_pair(a, b)?;
        let groups = self.list(scope).await?;
        let group_with = |word: &str| {
            let folded = fold(word);
            groups.iter().find(|group| group.words().any(|known| fold(known) == folded))
        };
        let (mut group, added) = match (group_with(a), group_with(b)) {
            (Some(group), _) => (group.clone(), b),
            (None, Some(group)) => (group.clone(), a),
            (None, None) => (SynonymGroup::new(a, Vec::<String>::new()), b),
        };
        let folded = fold(added);
        if group.words().all(|known| fold(known) != folded) {
            group.members.push(added.to_owned());
        }
        self.put(scope, std::slice::from_ref(&group)).await?;
        self.judge(scope, &[PairVerdict { pair, accepted: true }]).await?;
        Ok(group)
    }

    /// Rejects a suggestion permanently: it is not made again.
    ///
    /// # Errors
    /// `InvalidInput` for two words that are equal after folding, and the errors of [`SynonymStore::judge`].
    async fn reject(&self, scope: &Scope, a: &str, b: &str) -> Result<()> {
        self.judge(scope, &[PairVerdict { pair: word_pair(a, b)?, accepted: false }]).await
    }
}

impl<T: SynonymStore + ?Sized> SynonymStoreExt for T {}

fn word_pair(a: &str, b: &str) -> Result<WordPair> {
    WordPair::new(a, b).ok_or_else(|| {
        Error::invalid("synonyms", "the two words read the same, or one is empty; give two different words")
    })
}

#[cfg(test)]
mod tests;
