//! The profile, made anew from time to time.

use memory_engine_core::{Basis, ErrorKind, PutMode, Record, RecordId, Result, Scope, State, Write};
use memory_engine_summarizer::{Observed, Profile};

use super::{
    companion::Companion,
    ledger::{MAX_ATTEMPTS, contention},
};
use crate::{profile::profile_record, state::CompanionState};

/// After how many messages a profile is made anew.
const EVERY: u64 = 20;
/// From how many messages a profile is made that has none before it to go by.
const FROM_SCRATCH: usize = 200;

impl Companion {
    /// Makes the profile anew where it is time: after every 20 messages, and when the one there was is gone.
    pub(super) async fn refresh_if_due(&self, scope: &Scope, state: &CompanionState) -> Result<Option<CompanionState>> {
        let gone = match state.profile {
            Some(id) => self.engine.get(scope, id).await?.is_none(),
            None => true,
        };
        let due = state.total_messages / EVERY > state.profile_at / EVERY;
        if due || (gone && state.profile.is_some()) {
            return self.refresh_profile(scope).await.map(Some);
        }
        Ok(None)
    }

    /// Makes the profile anew from the messages since the last one, which stays as a superseded record, and gives the
    /// state with it. Without any message nothing changes.
    ///
    /// # Errors
    /// The summarizer's and the store's; `Conflict` when others write without end.
    pub async fn refresh_profile(&self, scope: &Scope) -> Result<CompanionState> {
        let mut made: Option<(Profile, Vec<Record>, Option<Record>)> = None;
        for _ in 0..MAX_ATTEMPTS {
            let (read, mut state) = self.open_state(scope).await?;
            let (profile, messages, before) = match made.take() {
                Some(made) => made,
                None => self.observe(scope, &state).await?,
            };
            if messages.is_empty() {
                return Ok(state);
            }
            let sources: Vec<&Record> = before.iter().chain(&messages).collect();
            let made_from: Vec<RecordId> = sources.iter().map(|record| record.id).collect();
            let words = (&self.pack.stages, self.pack.language);
            let record = profile_record(&profile, &state, words, scope, made_from, self.engine.clock());
            (state.profile, state.profile_at) = (Some(record.id), state.total_messages);
            let mut writes = vec![Write::new(record, PutMode::Create)];
            writes[0].based_on = sources.into_iter().map(Basis::of).collect();
            if let Some(before) = &before {
                let mut old = before.clone();
                (old.state, old.valid_until) =
                    (State::Superseded, Some(self.engine.clock().now().max(old.occurred_at)));
                writes.push(Write::new(old, PutMode::Update { revision: before.revision }));
            }
            writes.push(self.state_write(&read, &state));
            match self.commit(scope, writes).await {
                Ok(_) => return Ok(state),
                Err(e) if matches!(e.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => {
                    // When only the state has moved on, what was made still holds.
                    let ids: Vec<RecordId> = before.iter().chain(&messages).map(|record| record.id).collect();
                    let now = self.engine.get_all(scope, &ids).await?;
                    let held = before.iter().chain(&messages).zip(now);
                    let same = held.into_iter().all(|(was, is)| is.is_some_and(|is| is.revision == was.revision));
                    made = same.then_some((profile, messages, before));
                    tokio::task::yield_now().await;
                }
                Err(e) => return Err(e),
            }
        }
        Err(contention())
    }

    /// The profile as it would be now, what it is made from, and the one before it.
    async fn observe(&self, scope: &Scope, state: &CompanionState) -> Result<(Profile, Vec<Record>, Option<Record>)> {
        let before = match state.profile {
            Some(id) => self.engine.get(scope, id).await?.filter(|record| record.state == State::Active),
            None => None,
        };
        let since = if before.is_some() { state.profile_at } else { 0 };
        let new = usize::try_from(state.total_messages.saturating_sub(since)).unwrap_or(usize::MAX);
        let mut messages = self.newest(scope, new.min(FROM_SCRATCH)).await?;
        messages.reverse();
        let known = before.as_ref().map(Profile::of).unwrap_or_default();
        let observed = Observed::new(&messages, &self.pack.name, self.pack.language)
            .with_profile(known)
            .with_details(&self.pack.profile_details)
            .with_zone(self.zone.clone());
        let profile = self.profiles.summarize(&observed).await?;
        Ok((profile, messages, before))
    }
}
