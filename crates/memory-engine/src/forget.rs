//! Forgetting.

use std::collections::{BTreeMap, BTreeSet};

use memory_core::{Filter, Record, RecordId, Result, ScanQuery, Scope, Tombstone};

use crate::MemoryEngine;

/// How many records one transaction removes.
const PAGE: usize = 500;

/// What is to be forgotten within a scope.
#[derive(Debug, Clone, PartialEq)]
pub enum Forget {
    /// The records with these ids.
    Ids(Vec<RecordId>),
    /// The records that match.
    Matching(Filter),
    /// Everything within the scope. Of a whole user or tenant the synonyms go too, and what was decided about them. The scene
    /// that a conversation is in is kept by a [`SceneDetector`](crate::SceneDetector), outside the engine:
    /// [`forget`](crate::SceneDetector::forget) it there.
    Everything,
}

impl From<RecordId> for Forget {
    fn from(id: RecordId) -> Self {
        Self::Ids(vec![id])
    }
}

impl From<Vec<RecordId>> for Forget {
    fn from(ids: Vec<RecordId>) -> Self {
        Self::Ids(ids)
    }
}

impl MemoryEngine {
    /// Forgets records within `scope`, and counts them: each is removed from every index in one transaction and leaves a
    /// tombstone, so that it does not come back. Many are removed in several transactions; when one of them fails, those
    /// before it hold, and the call can be repeated.
    pub async fn forget(&self, scope: &Scope, what: impl Into<Forget>) -> Result<u64> {
        let what = what.into();
        let forgets_all = what == Forget::Everything;
        // A fact may have taken the place of another, which then holds again: once all are gone that are to go.
        let (mut count, mut people) = (0, BTreeSet::new());
        match what {
            Forget::Ids(ids) => {
                for ids in ids.chunks(PAGE) {
                    count += self.forget_page(scope, ids, &mut people).await?;
                }
            }
            Forget::Matching(filter) => count = self.forget_matching(scope, filter, &mut people).await?,
            Forget::Everything => count = self.forget_matching(scope, Filter::And(Vec::new()), &mut people).await?,
        }
        for person in people {
            self.settle_facts(&person, &[], &[]).await?;
        }
        if forgets_all && *scope == scope.namespace() {
            self.synonyms().store().clear(scope).await?;
            self.synonyms().forget(scope);
        }
        Ok(count)
    }

    async fn forget_matching(&self, scope: &Scope, filter: Filter, people: &mut BTreeSet<Scope>) -> Result<u64> {
        let (mut count, page) = (0, ScanQuery::oldest(PAGE).with_filter(filter));
        loop {
            let records = self.scan(scope, &page).await?.records;
            if records.is_empty() {
                return Ok(count);
            }
            let ids: Vec<RecordId> = records.iter().map(|record| record.id).collect();
            count += self.forget_page(scope, &ids, people).await?;
        }
    }

    /// Forgets some records, and notes whose facts are among them.
    async fn forget_page(&self, scope: &Scope, ids: &[RecordId], people: &mut BTreeSet<Scope>) -> Result<u64> {
        people.extend(self.are_facts_among(scope, ids).await?);
        let gone = self.records().delete(scope, ids).await?;
        // All that were asked for, not only what was there: an earlier call may have stopped half-way.
        self.unindex(scope, ids).await?;
        // What was made from them may live outside this scope, in the memory of the same user.
        let withdrawn: Vec<RecordId> = gone.iter().filter(|id| !ids.contains(id)).copied().collect();
        if !withdrawn.is_empty() {
            self.unindex(&scope.namespace(), &withdrawn).await?;
            self.wake();
        }
        Ok(gone.len() as u64)
    }

    /// A page of tombstones by id, those after `after`.
    pub async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>> {
        self.records().tombstones(scope, after, limit).await
    }

    /// Takes in tombstones of another store: removes what they name, keeps it away from now on, and counts the new ones.
    pub async fn bury(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64> {
        let mut named: BTreeMap<Scope, Vec<RecordId>> = BTreeMap::new();
        for tombstone in tombstones {
            named.entry(tombstone.scope.namespace()).or_default().push(tombstone.id);
        }
        let mut people = Vec::new();
        for (user, ids) in &mut named {
            people.extend(self.are_facts_among(user, ids).await?);
            ids.extend(self.records().derived(user, ids).await?);
        }
        let new = self.records().bury(scope, tombstones).await?;
        for (user, ids) in &named {
            self.unindex(user, ids).await?;
        }
        for person in people {
            self.settle_facts(&person, &[], &[]).await?;
        }
        self.wake();
        Ok(new)
    }

    /// Takes records that are gone or not to be indexed any more out of the indexes, for stores that do not do so in the
    /// transaction that removes them.
    pub(crate) async fn unindex(&self, scope: &Scope, ids: &[RecordId]) -> Result<()> {
        let now = self.get_all(scope, ids).await?;
        let gone = |record: &Option<Record>| !record.as_ref().is_some_and(Record::is_indexed);
        let ids: Vec<RecordId> = ids.iter().zip(&now).filter(|(_, now)| gone(now)).map(|(id, _)| *id).collect();
        self.keywords().delete(scope, &ids).await?;
        self.vectors().delete(scope, &ids).await?;
        self.graph_parts().store.delete(scope, &ids).await
    }
}
