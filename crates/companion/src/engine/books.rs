//! The books: the state and the log of affection.

use memory_engine_core::{Error, ErrorKind, Outcome, PutMode, Record, RecordId, Result, Scope, Write, Written};

use super::companion::Companion;
use crate::{
    affection::{Change, Reason},
    record::{affection_record, state_record},
    state::CompanionState,
};

/// How often a turn is written again on top of others before it is given up.
pub(super) const ATTEMPTS: usize = 16;
/// How often a user can have everything forgotten and begin anew: the id of what was deleted is never used again.
const BEGINNINGS: usize = 64;
/// How many of these are looked for at once.
const AT_ONCE: usize = 4;

impl Companion {
    /// How the relationship with the user at this address stands; as at the beginning, where there is none. Changes nothing.
    ///
    /// # Errors
    /// The store's.
    pub async fn state(&self, scope: &Scope) -> Result<CompanionState> {
        Ok(self.read_state(scope).await?.map(|(_, state)| state).unwrap_or_default())
    }

    /// The state with its record.
    pub(super) async fn read_state(&self, scope: &Scope) -> Result<Option<(Record, CompanionState)>> {
        for first in (0..BEGINNINGS).step_by(AT_ONCE) {
            let ids: Vec<RecordId> = (first..first + AT_ONCE).map(|n| beginning(scope, n)).collect();
            let found = self.engine.get_all(scope, &ids).await?.into_iter().flatten().next();
            if let Some(record) = found {
                let state = CompanionState::of(&record)?;
                return Ok(Some((record, state)));
            }
            // The first one is free, unless it was deleted.
            if !self.is_buried(scope, ids[AT_ONCE - 1]).await? {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// The state with its record, which is made where there is none.
    pub(super) async fn open_state(&self, scope: &Scope) -> Result<(Record, CompanionState)> {
        if scope.user_name().is_none() {
            return Err(Error::invalid("companion", "the address names no user; a companion belongs to one"));
        }
        for _ in 0..ATTEMPTS {
            if let Some(found) = self.read_state(scope).await? {
                return Ok(found);
            }
            for n in 0..BEGINNINGS {
                let id = beginning(scope, n);
                let state = CompanionState::default();
                let record = state_record(id, scope, &state, &self.pack.stages, self.engine.clock());
                match self.commit(scope, vec![Write::new(record, PutMode::Create)]).await {
                    Ok(written) if written.iter().any(|w| matches!(w.outcome, Outcome::Barred(_))) => {}
                    // Made, by us or by another: it is read as it is now.
                    Ok(_) => break,
                    Err(e) if e.kind() == ErrorKind::Conflict => break,
                    Err(e) => return Err(e),
                }
            }
        }
        Err(Error::new(ErrorKind::Conflict, "companion", "the state was deleted again and again; try once more"))
    }

    /// Whether a record of this id was deleted.
    pub(super) async fn is_buried(&self, scope: &Scope, id: RecordId) -> Result<bool> {
        let before = u128::from_be_bytes(*id.as_bytes()).checked_sub(1);
        let before = before.map(|n| RecordId::from_bytes(n.to_be_bytes()));
        let next = self.engine.tombstones(scope, before, 1).await?;
        Ok(next.first().is_some_and(|tombstone| tombstone.id == id))
    }

    /// Writes all or none; what is said in it waits for the same jobs as any other turn.
    pub(super) async fn commit(&self, scope: &Scope, mut writes: Vec<Write>) -> Result<Vec<Written>> {
        for write in &mut writes {
            write.jobs = self.engine.jobs_for(&write.record);
        }
        self.engine.write(scope, writes).await
    }

    /// The write of a state that was read at this revision.
    pub(super) fn keep(&self, read: &Record, state: &CompanionState) -> Write {
        let record = state_record(read.id, &read.scope, state, &self.pack.stages, self.engine.clock());
        Write::new(record, PutMode::Update { revision: read.revision })
    }

    /// The lines of the log. Each goes by what changed affection, so that the same change is never logged twice.
    pub(super) fn log(&self, state: &Record, changes: &[Change], cause: &str) -> impl Iterator<Item = Write> {
        let line = |change: &Change| {
            let cause = match &change.reason {
                Reason::Message => format!("message/{cause}"),
                Reason::Moment(_) => format!("moment/{cause}"),
                Reason::Streak(_) => format!("streak/{}", change.day),
                Reason::Idle(_) => format!("idle/{}", change.day),
            };
            let record = affection_record(state.id, &state.scope, change, &cause, self.engine.clock());
            Write::upsert(record)
        };
        changes.iter().map(line).collect::<Vec<_>>().into_iter()
    }

    /// Takes off what days without a message have cost until yesterday, and gives how affection changed. The next message does
    /// the same; this is for those who show affection to users who stay away.
    ///
    /// # Errors
    /// The store's; `Conflict` when others write without end.
    pub async fn settle(&self, scope: &Scope) -> Result<Vec<Change>> {
        for _ in 0..ATTEMPTS {
            let Some((record, mut state)) = self.read_state(scope).await? else { return Ok(Vec::new()) };
            let today = self.engine.clock().now().in_zone(&self.zone).date();
            let changes = state.bond.settle(today, &self.pack.affection, &self.pack.stages);
            let writes = [self.keep(&record, &state)].into_iter().chain(self.log(&record, &changes, "")).collect();
            match self.commit(scope, writes).await {
                Ok(_) => return Ok(changes),
                Err(e) if e.kind() == ErrorKind::Conflict => tokio::task::yield_now().await,
                Err(e) => return Err(e),
            }
        }
        Err(crowded())
    }
}

/// The id of the state of the that-many-th beginning.
fn beginning(scope: &Scope, n: usize) -> RecordId {
    RecordId::named(scope, &format!("companion/{n}"))
}

pub(super) fn crowded() -> Error {
    Error::new(ErrorKind::Conflict, "companion", "too many turns of this user at once; try again")
}
