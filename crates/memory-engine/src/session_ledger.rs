//! The state of a session that no stored turn contains, as an entry of a ledger at the address of the session.

use memory_engine_core::{
    Clock, Error, ErrorKind, Kind, Outcome, PutMode, Record, RecordId, Result, Scope, Trust,
    retry::{WRITE_ATTEMPTS, retry_on},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{engine::MemoryEngine, verbs::remember::CHANGED_MEANWHILE};

/// The ledger of the states of sessions.
const LEDGER: &str = "session";
/// The metadata key of the state.
const STATE: &str = "state";
/// Maximum number of ids that are tried for a session. Each deletion of the session uses up one.
const MAX_ENTRIES: usize = 16;

/// The states that one door keeps for its sessions. A state is stored at the address of the session, is exported and
/// deleted with it, and all processes of a database share it. Keep texts of the user out of it: searches do not cover
/// it.
#[derive(Debug, Clone, Copy)]
pub struct SessionLedger {
    /// The beginning of the names of the entries, such as `gateway/session`.
    door: &'static str,
}

impl SessionLedger {
    /// Returns the ledger of a door.
    #[must_use]
    pub const fn new(door: &'static str) -> Self {
        Self { door }
    }

    /// Returns the state of a session; the default one if it has none, or one that another version wrote.
    ///
    /// # Errors
    /// The store's error.
    pub async fn read<S: DeserializeOwned + Default>(self, engine: &MemoryEngine, address: &Scope) -> Result<S> {
        Ok(state_of(self.entry(engine, address).await?.as_ref()))
    }

    /// Changes the state of a session. Repeats the change if another server changes the state at the same time. Writes
    /// nothing if the change leaves the state as it is.
    ///
    /// # Errors
    /// The store's error.
    pub async fn update<S: DeserializeOwned + Default + Serialize + PartialEq + Clone>(
        self,
        engine: &MemoryEngine,
        address: &Scope,
        change: impl Fn(&mut S),
    ) -> Result<()> {
        retry_on(CHANGED_MEANWHILE, WRITE_ATTEMPTS, || async {
            let entry = self.entry(engine, address).await?;
            let old: S = state_of(entry.as_ref());
            let mut state = old.clone();
            change(&mut state);
            if state == old { Ok(()) } else { self.store(engine, address, entry, &state).await }
        })
        .await
    }

    async fn store(
        self,
        engine: &MemoryEngine,
        address: &Scope,
        stored: Option<Record>,
        state: &impl Serialize,
    ) -> Result<()> {
        let state = serde_json::to_value(state)
            .map_err(|error| Error::new(ErrorKind::Internal, "store", "the state is no JSON").with_source(error))?;
        if let Some(mut entry) = stored {
            let mode = PutMode::Update { revision: entry.revision };
            entry.metadata.insert(STATE.into(), state.clone());
            return engine.store(address, vec![entry], mode).await.map(drop);
        }
        for id in self.entry_ids(address) {
            let mut entry = new_entry(address, id, engine.settings().clock());
            entry.metadata.insert(STATE.into(), state.clone());
            let written = engine.store(address, vec![entry], PutMode::Create).await?;
            if !written.iter().any(|written| matches!(written.outcome, Outcome::Blocked(_))) {
                return Ok(());
            }
        }
        tracing::warn!("a session that was forgotten {MAX_ENTRIES} times has no state");
        Ok(())
    }

    async fn entry(self, engine: &MemoryEngine, address: &Scope) -> Result<Option<Record>> {
        let ids: Vec<RecordId> = self.entry_ids(address).collect();
        Ok(engine.get_all(address, &ids).await?.into_iter().flatten().next())
    }

    /// Returns the ids that the entry of a session may have. A session that is forgotten and goes on gets the next one,
    /// because a deleted id is not stored again.
    fn entry_ids(self, address: &Scope) -> impl Iterator<Item = RecordId> {
        (0..MAX_ENTRIES).map(move |number| RecordId::named(address, &format!("{}/{number}", self.door)))
    }
}

fn state_of<S: DeserializeOwned + Default>(entry: Option<&Record>) -> S {
    let state = entry.and_then(|entry| entry.metadata.get(STATE).cloned());
    // The state only helps to repeat what was injected, so that one which another version wrote can be dropped.
    state.and_then(|state| serde_json::from_value(state).ok()).unwrap_or_default()
}

fn new_entry(address: &Scope, id: RecordId, clock: &dyn Clock) -> Record {
    let mut entry = Record::new(address.clone(), Kind::ledger(LEDGER), "the state of a session", clock);
    entry.id = id;
    entry.trust = Trust::Tool;
    entry
}
