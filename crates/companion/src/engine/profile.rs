//! Refreshes the profile of the user every 20 messages.

use memory_engine_core::{Basis, ErrorKind, PutMode, Record, RecordId, Result, Scope, State, Write};
use memory_engine_summarizer::{Observed, Profile};

use super::{
    companion::Companion,
    ledger::{MAX_ATTEMPTS, contention},
};
use crate::{profile::profile_record, state::CompanionState};

/// Number of messages between two profiles.
const PROFILE_INTERVAL_MESSAGES: u64 = 20;
/// Maximum number of messages that a profile is made from.
const PROFILE_MAX_MESSAGES: usize = 200;

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
        // The profile of a failed attempt, if the next attempt can reuse it.
        let mut reusable: Option<(Profile, Vec<Record>, Option<Record>)> = None;
        for _ in 0..MAX_ATTEMPTS {
            let (state_record, mut state) = self.open_state(scope).await?;
            let (profile, messages, before) = match reusable.take() {
                Some(reusable) => reusable,
                None => self.observe(scope, &state).await?,
            };
            if messages.is_empty() {
                return Ok(state);
            }
            let sources: Vec<&Record> = before.iter().chain(&messages).collect();
            let source_ids: Vec<RecordId> = sources.iter().map(|record| record.id).collect();
            let stages = (&self.pack.stages, self.pack.language);
            let record = profile_record(&profile, &state, stages, scope, source_ids, self.engine.settings().clock());
            state.profile = Some(record.id);
            state.profile_at = state.total_messages;
            let mut profile_write = Write::new(record, PutMode::Create);
            profile_write.based_on = sources.into_iter().map(Basis::of).collect();
            let mut writes = vec![profile_write];
            if let Some(before) = &before {
                let mut superseded = before.clone();
                superseded.state = State::Superseded;
                superseded.valid_until = Some(self.engine.settings().clock().now().max(superseded.occurred_at));
                writes.push(Write::new(superseded, PutMode::Update { revision: before.revision }));
            }
            writes.push(self.state_write(&state_record, &state));
            match self.commit(scope, writes).await {
                Ok(_) => return Ok(state),
                Err(e) if matches!(e.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => {
                    // If only the state has changed, the new profile is still valid.
                    let ids: Vec<RecordId> = before.iter().chain(&messages).map(|record| record.id).collect();
                    let current = self.engine.get_all(scope, &ids).await?;
                    let mut pairs = before.iter().chain(&messages).zip(current);
                    let is_unchanged =
                        pairs.all(|(used, current)| current.is_some_and(|record| record.revision == used.revision));
                    reusable = is_unchanged.then_some((profile, messages, before));
                    tokio::task::yield_now().await;
                }
                Err(e) => return Err(e),
            }
        }
        Err(contention())
    }

    /// Returns a new profile, the messages that it is made from, and the previous profile.
    async fn observe(&self, scope: &Scope, state: &CompanionState) -> Result<(Profile, Vec<Record>, Option<Record>)> {
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
        Ok((profile, messages, before))
    }
}
