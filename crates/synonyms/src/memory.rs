//! A synonym store in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use memory_engine_core::sync::RwLock;
use memory_engine_core::{Result, Scope, phrases::fold};

use crate::{
    group::SynonymGroup,
    pair::{PairVerdict, WordPair},
    store::SynonymStore,
};

/// A [`SynonymStore`] in memory. Its content is lost when the process ends.
#[derive(Debug, Default)]
pub struct MemorySynonymStore(RwLock<BTreeMap<Scope, OwnerEntries>>);

/// The groups and verdicts of one tenant or user.
#[derive(Debug, Default)]
struct OwnerEntries {
    groups: BTreeMap<String, SynonymGroup>,
    verdicts: BTreeMap<WordPair, bool>,
}

impl MemorySynonymStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl SynonymStore for MemorySynonymStore {
    async fn list(&self, scope: &Scope) -> Result<Vec<SynonymGroup>> {
        let owners = self.0.read();
        Ok(owners.get(&scope.namespace()).map(|entries| entries.groups.values().cloned().collect()).unwrap_or_default())
    }

    async fn put(&self, scope: &Scope, groups: &[SynonymGroup]) -> Result<()> {
        groups.iter().try_for_each(SynonymGroup::validate)?;
        let mut owners = self.0.write();
        let entries = owners.entry(scope.namespace()).or_default();
        entries.groups.extend(groups.iter().map(|group| (group.key(), group.clone())));
        Ok(())
    }

    async fn remove(&self, scope: &Scope, terms: &[String]) -> Result<u64> {
        let mut owners = self.0.write();
        let Some(entries) = owners.get_mut(&scope.namespace()) else { return Ok(0) };
        let removed = terms.iter().filter(|term| entries.groups.remove(&fold(term)).is_some()).count();
        Ok(removed as u64)
    }

    async fn verdicts(&self, scope: &Scope) -> Result<Vec<PairVerdict>> {
        let owners = self.0.read();
        let Some(entries) = owners.get(&scope.namespace()) else { return Ok(Vec::new()) };
        let verdict = |(pair, accepted): (&WordPair, &bool)| PairVerdict { pair: pair.clone(), accepted: *accepted };
        Ok(entries.verdicts.iter().map(verdict).collect())
    }

    async fn judge(&self, scope: &Scope, verdicts: &[PairVerdict]) -> Result<()> {
        let mut owners = self.0.write();
        let entries = owners.entry(scope.namespace()).or_default();
        entries.verdicts.extend(verdicts.iter().map(|verdict| (verdict.pair.clone(), verdict.accepted)));
        Ok(())
    }

    async fn clear(&self, scope: &Scope) -> Result<u64> {
        let scope = scope.namespace();
        let mut removed = 0;
        self.0.write().retain(|owner, entries| {
            let is_covered = scope.covers(owner);
            if is_covered {
                removed += entries.groups.len() + entries.verdicts.len();
            }
            !is_covered
        });
        Ok(removed as u64)
    }
}
