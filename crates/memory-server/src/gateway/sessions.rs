//! A cache of the state of active conversations.

use std::{num::NonZeroUsize, sync::Arc};

use lru::LruCache;
use memory_engine::{Field, Filter, Kind, MemoryEngine, Result, ScanQuery, Scope, Timestamp};
use parking_lot::Mutex;

use super::{
    prompt::Prompt,
    thread::{ChatMessage, TurnKey},
    turn::TURN_KEY,
};

/// The state of the most recently used conversations. Lost turns can be read from the store again; a lost prompt only
/// means that a continued reply gets no memories.
#[derive(Debug)]
pub(super) struct SessionCache {
    sessions: Mutex<LruCache<Scope, CachedSession>>,
    /// By user and id of the response or conversation.
    continuations: Mutex<LruCache<(Scope, String), Arc<Continuation>>>,
}

#[derive(Debug, Default)]
struct CachedSession {
    last_turn: Option<LastTurn>,
    /// The prompts of open exchanges by the keys of their turns, oldest first. Agents of one session have an exchange
    /// each.
    prompts: Vec<(String, Arc<Prompt>)>,
}

/// Maximum number of cached prompts of a session.
const MAX_SESSION_PROMPTS: usize = 16;

/// The latest stored turn of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LastTurn {
    /// Its round. 0 if no turn is stored.
    pub(super) round: u32,
    /// Its key. `None` if it was not stored by a gateway.
    pub(super) key: Option<String>,
}

/// The end of the conversation before a request, which the service stores and the client does not repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Continuation {
    pub(super) session: String,
    /// The latest messages.
    pub(super) messages: Vec<ChatMessage>,
    /// The key of the latest complete turn.
    pub(super) parent: Option<String>,
}

impl SessionCache {
    pub(super) fn new(capacity: usize) -> Self {
        let capacity = NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN);
        Self { sessions: Mutex::new(LruCache::new(capacity)), continuations: Mutex::new(LruCache::new(capacity)) }
    }

    /// Returns the latest turn, if it is cached.
    pub(super) fn last_turn(&self, address: &Scope) -> Option<LastTurn> {
        self.sessions.lock().peek(address).and_then(|session| session.last_turn.clone())
    }

    pub(super) fn set_last_turn(&self, address: &Scope, last_turn: LastTurn) {
        self.update(address, |session| session.last_turn = Some(last_turn));
    }

    /// Returns what was injected for the question of this turn, or else for the latest question.
    pub(super) fn prompt(&self, address: &Scope, turn: Option<&TurnKey>) -> Option<Arc<Prompt>> {
        let sessions = self.sessions.lock();
        let prompts = &sessions.peek(address)?.prompts;
        let own = prompts.iter().find(|(key, _)| turn.is_some_and(|turn| *key == turn.key));
        own.or(prompts.last()).map(|(_, prompt)| Arc::clone(prompt))
    }

    /// Caches what was injected for the question of this turn, in place of the turn before it.
    pub(super) fn set_prompt(&self, address: &Scope, turn: Option<&TurnKey>, prompt: Arc<Prompt>) {
        let key = turn.map(|turn| turn.key.clone()).unwrap_or_default();
        let parent = turn.and_then(|turn| turn.parent.as_ref());
        self.update(address, |session| {
            let prompts = &mut session.prompts;
            prompts.retain(|(turn, _)| *turn != key && Some(turn) != parent);
            if prompts.len() == MAX_SESSION_PROMPTS {
                prompts.remove(0);
            }
            prompts.push((key, prompt));
        });
    }

    /// Returns what a request of this user with the id of a response or conversation continues, if it is cached.
    pub(super) fn continuation(&self, recall_scope: &Scope, id: &str) -> Option<Arc<Continuation>> {
        self.continuations.lock().get(&(recall_scope.clone(), id.to_owned())).cloned()
    }

    pub(super) fn set_continuation(&self, recall_scope: &Scope, id: &str, continuation: Arc<Continuation>) {
        self.continuations.lock().put((recall_scope.clone(), id.to_owned()), continuation);
    }

    fn update(&self, address: &Scope, update: impl FnOnce(&mut CachedSession)) {
        update(self.sessions.lock().get_or_insert_mut_ref(address, CachedSession::default));
    }
}

/// Maximum number of turns in which the scene of a session is looked up. The latest turns may have a label instead.
const SCENE_LOOKUP_TURNS: usize = 20;

/// Reads the latest stored turn of a session from the store. Also returns the times and scenes of its latest turns,
/// newest first.
pub(super) async fn read_last_turn(
    engine: &MemoryEngine,
    address: &Scope,
) -> Result<(LastTurn, Vec<(Timestamp, String)>)> {
    let page = engine.scan(address, &ScanQuery::newest(SCENE_LOOKUP_TURNS).with_filter(active_turns())).await?;
    let Some(turn) = page.records.first() else { return Ok((LastTurn::default(), Vec::new())) };
    let key = turn.metadata.get(TURN_KEY).and_then(|key| key.as_str()).map(str::to_owned);
    let last = LastTurn { round: turn.source.round.unwrap_or(0), key };
    let scenes = page.records.into_iter().filter_map(|turn| Some((turn.occurred_at, turn.scene?)));
    Ok((last, scenes.collect()))
}

/// Returns the filter of turns that are neither retracted nor superseded.
pub(super) fn active_turns() -> Filter {
    Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, "active"))
}

#[cfg(test)]
mod tests;
