//! The ledger of a companion: its state and the log of affection.
//!
//! Reasons: `docs/design/decisions/0026-companion-state-is-ledger-records.md`.

use memory_engine_core::retry::{WRITE_ATTEMPTS, retry_on_conflict};
use memory_engine_core::{Error, ErrorKind, Outcome, PutMode, Record, RecordId, Result, Scope, Write, WriteResult};

use super::companion::Companion;
use crate::{
    affection::{AffectionChange, AffectionReason},
    record::{affection_record, state_record},
    state::CompanionState,
};

/// Maximum number of state records of one user. A deleted id is never used again, so each new start needs another one.
const MAX_STATE_IDS: usize = 64;
/// Number of state ids that one read looks up.
const STATE_ID_BATCH: usize = 4;

impl Companion {
    /// Returns the state of the relationship with the user of `scope`, or the initial state if there is none.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn state(&self, scope: &Scope) -> Result<CompanionState> {
        Ok(self.read_state(scope).await?.map(|(_, state)| state).unwrap_or_default())
    }

    /// Returns the state and its record.
    pub(super) async fn read_state(&self, scope: &Scope) -> Result<Option<(Record, CompanionState)>> {
        for first in (0..MAX_STATE_IDS).step_by(STATE_ID_BATCH) {
            let ids: Vec<RecordId> = (first..first + STATE_ID_BATCH).map(|n| state_id(scope, n)).collect();
            let found = self.engine.get_all(scope, &ids).await?.into_iter().flatten().next();
            if let Some(record) = found {
                let state = CompanionState::of(&record)?;
                return Ok(Some((record, state)));
            }
            // If the last id of the batch was never used, there are no later ones.
            if !self.is_deleted(scope, ids[STATE_ID_BATCH - 1]).await? {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Returns the state and its record, which is created if there is none.
    pub(super) async fn open_state(&self, scope: &Scope) -> Result<(Record, CompanionState)> {
        retry_on_conflict(WRITE_ATTEMPTS, || self.try_open_state(scope)).await
    }

    /// As [`open_state`](Self::open_state), for callers that retry by themselves.
    pub(super) async fn try_open_state(&self, scope: &Scope) -> Result<(Record, CompanionState)> {
        if scope.user_name().is_none() {
            return Err(Error::invalid("companion", "the scope has no user; a companion needs one"));
        }
        if let Some(found) = self.read_state(scope).await? {
            return Ok(found);
        }
        for n in 0..MAX_STATE_IDS {
            let id = state_id(scope, n);
            let state = CompanionState::default();
            let record = state_record(id, scope, &state, &self.pack.stages, self.engine.settings().clock());
            let written = self.commit(scope, vec![Write::new(record, PutMode::Create)]).await?;
            if !written.iter().any(|written| matches!(written.outcome, Outcome::Blocked(_))) {
                break;
            }
        }
        let created = self.read_state(scope).await?;
        let deleted = "the state was deleted repeatedly during the call; try again";
        created.ok_or_else(|| Error::new(ErrorKind::Conflict, "companion", deleted))
    }

    /// Returns true if a record with this id was deleted.
    pub(super) async fn is_deleted(&self, scope: &Scope, id: RecordId) -> Result<bool> {
        // Tombstones are listed after an id, in the order of their ids.
        let previous = u128::from_be_bytes(*id.as_bytes()).checked_sub(1);
        let previous = previous.map(|id| RecordId::from_bytes(id.to_be_bytes()));
        let next = self.engine.admin().tombstones(scope, previous, 1).await?;
        Ok(next.first().is_some_and(|tombstone| tombstone.id == id))
    }

    /// Writes all records or none. Turns among them get the same background jobs as any other turn.
    pub(super) async fn commit(&self, scope: &Scope, mut writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        for write in &mut writes {
            write.jobs = self.engine.admin().jobs_for(&write.record);
        }
        self.engine.admin().write(scope, writes).await
    }

    /// Returns the write that replaces the state record `previous`.
    pub(super) fn state_write(&self, previous: &Record, state: &CompanionState) -> Write {
        let clock = self.engine.settings().clock();
        let record = state_record(previous.id, &previous.scope, state, &self.pack.stages, clock);
        Write::new(record, PutMode::Update { revision: previous.revision })
    }

    /// Returns the log entries of these changes. The cause is part of the id, so that no change is logged twice.
    pub(super) fn log_writes(
        &self,
        state: &Record,
        changes: &[AffectionChange],
        cause: &str,
    ) -> impl Iterator<Item = Write> {
        let entry = |change: &AffectionChange| {
            let cause = match &change.reason {
                AffectionReason::Message => format!("message/{cause}"),
                AffectionReason::Moment(_) => format!("moment/{cause}"),
                AffectionReason::Streak(_) => format!("streak/{}", change.day),
                AffectionReason::Idle(_) => format!("idle/{}", change.day),
            };
            let record = affection_record(state.id, &state.scope, change, &cause, self.engine.settings().clock());
            Write::upsert(record)
        };
        changes.iter().map(entry).collect::<Vec<_>>().into_iter()
    }

    /// Charges the days without a message until yesterday, and returns the changes of affection. The next message does
    /// the same; call this before showing affection to a user who stays away.
    ///
    /// # Errors
    /// The errors of the store; `Conflict` if concurrent writes never end.
    pub async fn charge_idle_days(&self, scope: &Scope) -> Result<Vec<AffectionChange>> {
        retry_on_conflict(WRITE_ATTEMPTS, || async {
            let Some((record, mut state)) = self.read_state(scope).await? else { return Ok(Vec::new()) };
            let today = self.engine.settings().clock().now().in_zone(&self.zone).date();
            let changes = state.bond.charge_idle_days(today, &self.pack.affection, &self.pack.stages);
            let state_write = self.state_write(&record, &state);
            let writes = [state_write].into_iter().chain(self.log_writes(&record, &changes, "")).collect();
            self.commit(scope, writes).await?;
            Ok(changes)
        })
        .await
    }
}

/// Returns the id of the state after `n` deletions.
fn state_id(scope: &Scope, n: usize) -> RecordId {
    RecordId::named(scope, &format!("companion/{n}"))
}
