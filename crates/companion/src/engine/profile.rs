//! Refreshes the profile of the user every 20 messages.

use memory_engine_core::retry::{WRITE_ATTEMPTS, retry_on};
use memory_engine_core::sync::Mutex;
use memory_engine_core::{Basis, ErrorKind, PutMode, Record, RecordId, Result, Scope, State, Write};
use memory_engine_summarizer::{Observed, Profile};

use super::companion::Companion;
use crate::{profile::profile_record, state::CompanionState};

/// Number of messages between two profiles.
const PROFILE_INTERVAL_MESSAGES: u64 = 20;
/// Maximum number of messages that a profile is made from.
const PROFILE_MAX_MESSAGES: usize = 200;
/// The errors of a write whose records another writer has changed or deleted.
pub(super) const CHANGED: [ErrorKind; 2] = [ErrorKind::Conflict, ErrorKind::NotFound];

/// A new profile and its sources.
struct Observation {
    profile: Profile,
    messages: Vec<Record>,
    /// The record of the previous profile.
    before: Option<Record>,
}

impl Observation {
    /// Returns the records that the profile is made from.
    fn sources(&self) -> impl Iterator<Item = &Record> {
        self.before.iter().chain(&self.messages)
    }
}

impl Companion {
    /// Refreshes the profile if it is due: after every 20 messages, and if the latest profile was deleted.
    pub(super) async fn refresh_if_due(&self, scope: &Scope, state: &CompanionState) -> Result<Option<CompanionState>> {
        let is_missing = match state.profile {
            Some(id) => self.engine.get(scope, id).await?.is_none(),
            None => true,
        };
        let is_due = state.total_messages / PROFILE_INTERVAL_MESSAGES > state.profile_at / PROFILE_INTERVAL_MESSAGES;
        if is_due || (is_missing && state.profile.is_some()) {
            return self.refresh_profile(scope).await.map(Some);
        }
        Ok(None)
    }

    /// Makes a new profile from the latest one and the messages since, and returns the new state. The previous profile
    /// stays as a superseded record. Without any message nothing changes.
    ///
    /// # Errors
    /// The errors of the summarizer and the store; `Conflict` if concurrent writes never end.
    pub async fn refresh_profile(&self, scope: &Scope) -> Result<CompanionState> {
        // Writing a profile is slow. An attempt that fails leaves its profile to the next one, if it is still valid.
        let reusable = Mutex::new(None);
        retry_on(&CHANGED, WRITE_ATTEMPTS, || self.try_refresh_profile(scope, &reusable)).await
    }

    async fn try_refresh_profile(
        &self,
        scope: &Scope,
        reusable: &Mutex<Option<Observation>>,
    ) -> Result<CompanionState> {
        let (state_record, mut state) = self.open_state(scope).await?;
        let unused = reusable.lock().take();
        let observation = match unused {
            Some(observation) => observation,
            None => self.observe(scope, &state).await?,
        };
        if observation.messages.is_empty() {
            return Ok(state);
        }
        let mut writes = self.profile_writes(scope, &observation, &mut state);
        writes.push(self.state_write(&state_record, &state));
        let written = self.commit(scope, writes).await;
        let has_lost = written.as_ref().is_err_and(|error| CHANGED.contains(&error.kind()));
        if has_lost && self.is_current(scope, &observation).await? {
            *reusable.lock() = Some(observation);
        }
        written.map(|_| state)
    }

    /// Returns the writes of a profile and of the one that it supersedes, and notes it in the state.
    fn profile_writes(&self, scope: &Scope, observation: &Observation, state: &mut CompanionState) -> Vec<Write> {
        let clock = self.engine.settings().clock();
        let source_ids = observation.sources().map(|record| record.id).collect();
        let stages = (&self.pack.stages, self.pack.language);
        let record = profile_record(&observation.profile, state, stages, scope, source_ids, clock);
        state.profile = Some(record.id);
        state.profile_at = state.total_messages;
        let mut profile_write = Write::new(record, PutMode::Create);
        profile_write.based_on = observation.sources().map(Basis::of).collect();
        let mut writes = vec![profile_write];
        if let Some(before) = &observation.before {
            let mut superseded = before.clone();
            superseded.state = State::Superseded;
            superseded.valid_until = Some(clock.now().max(superseded.occurred_at));
            writes.push(Write::new(superseded, PutMode::Update { revision: before.revision }));
        }
        writes
    }

    /// Returns true if no source of the profile has changed.
    async fn is_current(&self, scope: &Scope, observation: &Observation) -> Result<bool> {
        let ids: Vec<RecordId> = observation.sources().map(|record| record.id).collect();
        let current = self.engine.get_all(scope, &ids).await?;
        let mut pairs = observation.sources().zip(current);
        Ok(pairs.all(|(used, current)| current.is_some_and(|record| record.revision == used.revision)))
    }

    /// Returns a new profile, made from the latest one and the messages since.
    async fn observe(&self, scope: &Scope, state: &CompanionState) -> Result<Observation> {
        let before = match state.profile {
            Some(id) => self.engine.get(scope, id).await?.filter(|record| record.state == State::Active),
            None => None,
        };
        let since = if before.is_some() { state.profile_at } else { 0 };
        let new_messages = usize::try_from(state.total_messages.saturating_sub(since)).unwrap_or(usize::MAX);
        let mut messages = self.newest(scope, new_messages.min(PROFILE_MAX_MESSAGES)).await?;
        messages.reverse();
        let previous = before.as_ref().map(Profile::of).unwrap_or_default();
        let observed = Observed::new(&messages, &self.pack.name, self.pack.language)
            .with_profile(previous)
            .with_details(&self.pack.profile_details)
            .with_zone(self.zone.clone());
        let profile = self.profiles.summarize(&observed).await?;
        Ok(Observation { profile, messages, before })
    }
}
