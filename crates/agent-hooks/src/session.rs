//! The sessions of agents: their scopes, and their states in the store.

use std::collections::BTreeSet;

use memory_engine::{MemoryEngine, RecordId, Result, Scope, store::SessionLedger};
use serde::{Deserialize, Serialize};

use crate::{event::HookEvent, projects::Projects};

/// The scene of all turns and notes.
pub(crate) const SCENE: &str = "daily";
/// The states of the sessions of agents.
pub(crate) const STATES: SessionLedger = SessionLedger::new("hook/session");
/// Maximum number of injected memories that a session lists, the latest ones.
const MAX_INJECTED: usize = 1000;

/// The scopes of an event.
#[derive(Debug)]
pub(crate) struct HookScopes {
    pub(crate) user: Scope,
    /// The scope of a recall: the project and the user's own memories, or all memories of the user.
    pub(crate) readable: Scope,
    /// The session in all projects, which has its state.
    pub(crate) session: Scope,
    /// The address of what is said: the session in the project.
    pub(crate) address: Scope,
}

impl HookScopes {
    /// # Errors
    /// `InvalidInput` for the name of a session or a project that is not valid; the store's.
    pub(crate) async fn of(engine: &MemoryEngine, user: &Scope, event: &HookEvent) -> Result<Self> {
        let session = user.clone().with_session(&event.session)?;
        let readable = match &event.project {
            Some(project) => {
                let entry = Projects::new(engine.clone(), user).canonical(project).await?;
                user.clone().with_project(&entry.project)?
            }
            None => user.clone(),
        };
        let address = readable.clone().with_session(&event.session)?;
        Ok(Self { user: user.clone(), readable, session, address })
    }
}

/// The state of a session that no stored turn contains.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct HookState {
    /// The memories that the session contains already, because an earlier answer added them, oldest first.
    injected: Vec<RecordId>,
    /// The latest prompt, if it was a request about the memory itself, which is not stored. Empty unless a later prompt
    /// can answer it.
    pub(crate) request: Option<String>,
}

impl HookState {
    pub(crate) fn injected(&self) -> BTreeSet<RecordId> {
        self.injected.iter().copied().collect()
    }

    pub(crate) fn add_injected(&mut self, memories: &[RecordId]) {
        self.injected.retain(|known| !memories.contains(known));
        self.injected.extend(memories);
        self.injected.drain(..self.injected.len().saturating_sub(MAX_INJECTED));
    }

    pub(crate) fn with_injected(mut self, memories: &[RecordId]) -> Self {
        self.add_injected(memories);
        self
    }
}
