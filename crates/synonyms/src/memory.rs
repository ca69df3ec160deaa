//! The store that keeps its groups in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use memory_engine_core::sync::RwLock;
use memory_engine_core::{Result, Scope, phrases::fold};

use crate::{
    group::SynonymGroup,
    pair::{PairVerdict, WordPair},
    store::SynonymStore,
};

/// A [`SynonymStore`] in memory, gone with the process.
#[derive(Debug, Default)]
pub struct MemorySynonymStore(RwLock<BTreeMap<Scope, OwnerEntries>>);

/// The groups and verdicts of one tenant or user.
#[derive(Debug, Default)]
struct OwnerEntries {
    groups: BTreeMap<String, SynonymGroup>,
    verdicts: BTreeMap<WordPair, bool>,
}

impl MemorySynonymStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl SynonymStore for MemorySynonymStore {
    async fn list(&self, scope: &Scope) -> Result<Vec<SynonymGroup>> {
        let shelves = self.0.read();
        Ok(shelves.get(&scope.namespace()).map(|s| s.groups.values().cloned().collect()).unwrap_or_default())
    }

    async fn put(&self, scope: &Scope, groups: &[SynonymGroup]) -> Result<()> {
        groups.iter().try_for_each(SynonymGroup::validate)?;
        let mut shelves = self.0.write();
        let shelf = shelves.entry(scope.namespace()).or_default();
        shelf.groups.extend(groups.iter().map(|group| (group.key(), group.clone())));
        Ok(())
    }

    async fn remove(&self, scope: &Scope, terms: &[String]) -> Result<u64> {
        let mut shelves = self.0.write();
        let Some(shelf) = shelves.get_mut(&scope.namespace()) else { return Ok(0) };
        let gone = terms.iter().filter(|term| shelf.groups.remove(&fold(term)).is_some()).count();
        Ok(gone as u64)
    }

    async fn verdicts(&self, scope: &Scope) -> Result<Vec<PairVerdict>> {
        let shelves = self.0.read();
        let Some(shelf) = shelves.get(&scope.namespace()) else { return Ok(Vec::new()) };
        let verdict = |(pair, accepted): (&WordPair, &bool)| PairVerdict { pair: pair.clone(), accepted: *accepted };
        Ok(shelf.verdicts.iter().map(verdict).collect())
    }

    async fn judge(&self, scope: &Scope, verdicts: &[PairVerdict]) -> Result<()> {
        let mut shelves = self.0.write();
        let shelf = shelves.entry(scope.namespace()).or_default();
        shelf.verdicts.extend(verdicts.iter().map(|verdict| (verdict.pair.clone(), verdict.accepted)));
        Ok(())
    }

    async fn clear(&self, scope: &Scope) -> Result<u64> {
        let scope = scope.namespace();
        let mut gone = 0;
        self.0.write().retain(|owner, shelf| {
            let kept = !scope.covers(owner);
            gone += if kept { 0 } else { shelf.groups.len() + shelf.verdicts.len() };
            kept
        });
        Ok(gone as u64)
    }
}
