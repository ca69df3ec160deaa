//! Forgetting.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Deleted, Filter, Record, RecordId, Removed, Result, ScanQuery, Scope, Tombstone};
use serde::Serialize;

use crate::MemoryEngine;

/// How many records one transaction removes.
const PAGE: usize = 500;

/// What is to be forgotten within a scope.
///
/// ```
/// use memory_engine::{Field, Filter, Forget, MemoryEngine, Scope};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let monday = Scope::user("lin")?.with_session("monday")?;
/// let id = memory.remember(&monday, "a secret").await?;
/// memory.remember(&monday, "another one").await?;
///
/// assert_eq!(memory.forget(&monday, id).await?.records(), 1);
/// let those = Filter::eq(Field::Session, "monday");
/// assert_eq!(memory.forget(&monday, Forget::Matching(those)).await?.records(), 1);
/// assert_eq!(memory.forget(&Scope::user("lin")?, Forget::Everything).await?.records(), 0);
/// assert!(memory.recall(&monday, "secret").await?.hits.is_empty());
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
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

/// What was forgotten, and where it was removed: each number is counted where it is removed, and none is an estimate.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Forgotten {
    /// The records, with what was kept beside them.
    #[serde(flatten)]
    pub removed: Removed,
    /// How many groups of synonyms, and verdicts about pairs of words.
    pub synonyms: u64,
}

impl Forgotten {
    /// How many records, of whatever kind.
    pub fn records(&self) -> u64 {
        self.removed.total()
    }
}

/// Whose facts and whose profiles went.
#[derive(Debug, Default)]
struct Touched {
    facts: BTreeSet<Scope>,
    profiles: BTreeSet<Scope>,
}

impl MemoryEngine {
    /// Forgets records within `scope`, and says what that has removed where: each goes from every index in one transaction
    /// and leaves a tombstone, so that it does not come back. Many are removed in several transactions; when one of them
    /// fails, those before it hold, and the call can be repeated.
    pub async fn forget(&self, scope: &Scope, what: impl Into<Forget>) -> Result<Forgotten> {
        let what = what.into();
        let forgets_all = what == Forget::Everything;
        // A fact may have taken the place of another, which then holds again: once all are gone that are to go.
        let (mut forgotten, mut people) = (Forgotten::default(), Touched::default());
        match what {
            Forget::Ids(ids) => {
                for ids in ids.chunks(PAGE) {
                    forgotten.removed += self.forget_page(scope, ids, &mut people).await?;
                }
            }
            Forget::Matching(filter) => forgotten.removed = self.forget_matching(scope, filter, &mut people).await?,
            Forget::Everything => {
                forgotten.removed = self.forget_matching(scope, Filter::And(Vec::new()), &mut people).await?;
            }
        }
        self.settle_touched(people).await?;
        if forgets_all && *scope == scope.namespace() {
            forgotten.synonyms = self.synonyms().store().clear(scope).await?;
            self.synonyms().forget(scope);
        }
        Ok(forgotten)
    }

    /// Has what is left of facts and profiles be as if what is gone had never been.
    async fn settle_touched(&self, people: Touched) -> Result<()> {
        for person in people.facts {
            self.settle_facts(&person, &[], &[]).await?;
        }
        self.renew_profiles(&people.profiles).await
    }

    async fn forget_matching(&self, scope: &Scope, filter: Filter, people: &mut Touched) -> Result<Removed> {
        let (mut removed, page) = (Removed::default(), ScanQuery::oldest(PAGE).with_filter(filter));
        loop {
            let records = self.scan(scope, &page).await?.records;
            if records.is_empty() {
                return Ok(removed);
            }
            let ids: Vec<RecordId> = records.iter().map(|record| record.id).collect();
            removed += self.forget_page(scope, &ids, people).await?;
        }
    }

    /// Forgets some records, and notes whose facts are among them.
    async fn forget_page(&self, scope: &Scope, ids: &[RecordId], people: &mut Touched) -> Result<Removed> {
        people.facts.extend(self.are_facts_among(scope, ids).await?);
        people.profiles.extend(self.are_profiles_among(scope, ids).await?);
        let Deleted { ids: gone, mut removed } = self.records().delete(scope, ids).await?;
        // All that were asked for, not only what was there: an earlier call may have stopped half-way.
        removed += self.unindex(scope, ids).await?;
        // What was made from them may live outside this scope, in the memory of the same user.
        let withdrawn: Vec<RecordId> = gone.iter().filter(|id| !ids.contains(id)).copied().collect();
        if !withdrawn.is_empty() {
            removed += self.unindex(&scope.namespace(), &withdrawn).await?;
            self.wake();
        }
        Ok(removed)
    }

    /// A page of tombstones by id, those after `after`.
    ///
    /// ```
    /// use memory_engine::{MemoryEngine, Scope};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let (here, there) = (MemoryEngine::builder().in_memory(), MemoryEngine::builder().in_memory());
    /// let (here, there) = (here.build().await?, there.build().await?);
    /// let lin = Scope::user("lin")?;
    /// let id = here.remember(&lin, "a secret").await?;
    /// here.forget(&lin, id).await?;
    /// let tombstones = here.tombstones(&lin, None, 100).await?;
    /// assert_eq!(there.bury(&lin, &tombstones).await?, 1); // what was forgotten here stays away there, too
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    pub async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>> {
        self.records().tombstones(scope, after, limit).await
    }

    /// Takes in tombstones of another store: removes what they name, keeps it away from now on, and counts the new ones.
    pub async fn bury(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64> {
        let mut named: BTreeMap<Scope, Vec<RecordId>> = BTreeMap::new();
        for tombstone in tombstones {
            named.entry(tombstone.scope.namespace()).or_default().push(tombstone.id);
        }
        let mut people = Touched::default();
        for (user, ids) in &mut named {
            people.facts.extend(self.are_facts_among(user, ids).await?);
            people.profiles.extend(self.are_profiles_among(user, ids).await?);
            ids.extend(self.records().derived(user, ids).await?);
        }
        let new = self.records().bury(scope, tombstones).await?;
        for (user, ids) in &named {
            self.unindex(user, ids).await?;
        }
        self.settle_touched(people).await?;
        self.wake();
        Ok(new)
    }

    /// Takes records that are gone or not to be indexed any more out of the indexes, for stores that do not do so in the
    /// transaction that removes them, and counts what it took.
    pub(crate) async fn unindex(&self, scope: &Scope, ids: &[RecordId]) -> Result<Removed> {
        let now = self.get_all(scope, ids).await?;
        let gone = |record: &Option<Record>| !record.as_ref().is_some_and(Record::is_indexed);
        let ids: Vec<RecordId> = ids.iter().zip(&now).filter(|(_, now)| gone(now)).map(|(id, _)| *id).collect();
        let (keywords, vectors) =
            (self.keywords().delete(scope, &ids).await?, self.vectors().delete(scope, &ids).await?);
        let mut removed = self.graph_parts().store.delete(scope, &ids).await?;
        removed.keywords += keywords;
        removed.vectors += vectors;
        Ok(removed)
    }
}
