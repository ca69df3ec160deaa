//! Handles the events of agents on a memory.

use std::{sync::Arc, time::Duration};

use memory_engine::{
    Error, ErrorKind, Field, Filter, Injector, Kind, Language, MemoryEngine, Record, RecordId, Result, Role, ScanQuery,
    Scope, Turn,
    context::{
        EstimatedTokens, GatewayBlock, IncomingMessage, Injection, InjectionRules, OpeningContext, RenderedOpening,
    },
    recall::Retrievers,
    requests::{ChatCommand, MemoryRequest},
    store::ContentHash,
};
use memory_engine_intake::{model_words, prompt_words};
use tokio::time::timeout;

use crate::{
    event::{HookEvent, HookKind, SessionBeginning},
    session::{InjectedMemories, LatestRequests},
};

/// The scene of all turns.
const SCENE: &str = "daily";
/// Number of latest turns of a session that are known to be in the model's context.
const SESSION_TURNS: usize = 100;

/// Handles the events of agents on a memory: recalls before a prompt, and stores prompts and replies.
#[derive(Debug, Clone)]
#[must_use]
pub struct AgentHooks {
    engine: MemoryEngine,
    injector: Injector,
    options: HookOptions,
    injected: Arc<InjectedMemories>,
    requests: Arc<LatestRequests>,
}

/// The options of [`AgentHooks`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookOptions {
    /// Maximum number of tokens of the context at the start of a session. Default: 1200.
    pub opening_tokens: usize,
    /// Maximum number of memories per prompt. Default: 5.
    pub max_memories: usize,
    /// Maximum number of characters of the memories per prompt. Default: 500 in Chinese, 1500 in English.
    pub max_chars: Option<usize>,
    /// Time limit of an event. Default: 1 s.
    pub deadline: Duration,
    /// The retrievers of the search for a prompt. Default: all.
    pub retrievers: Retrievers,
    /// The requests about the memory itself that a person can make. Default: all.
    pub commands: Vec<ChatCommand>,
}

impl Default for HookOptions {
    fn default() -> Self {
        Self {
            opening_tokens: 1200,
            max_memories: Injector::DEFAULT_LIMIT,
            max_chars: None,
            deadline: Duration::from_secs(1),
            retrievers: Retrievers::All,
            commands: ChatCommand::ALL.to_vec(),
        }
    }
}

/// The answer to an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookAnswer {
    /// The text for the model's context. Empty if nothing is relevant.
    pub context: String,
    /// The records in the text, in its order.
    pub memories: Vec<RecordId>,
    /// The record of the prompt or the reply, if it is stored.
    pub stored: Option<RecordId>,
    /// The failures, with their reasons.
    pub degraded: Vec<String>,
}

/// The memories for a prompt, which was not handled.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PromptPreview {
    /// The scene of the prompt.
    pub scene: &'static str,
    /// Its round in the session, from 1.
    pub round: u32,
    /// The memories, with a trace.
    pub injection: Injection,
}

impl AgentHooks {
    /// Creates a handler with the default options.
    pub fn new(engine: MemoryEngine) -> Self {
        let options = HookOptions::default();
        let injector = injector(&engine, &options);
        let requests = Arc::new(LatestRequests::new());
        Self { engine, injector, options, injected: Arc::new(InjectedMemories::new()), requests }
    }

    /// Returns the engine.
    pub fn engine(&self) -> &MemoryEngine {
        &self.engine
    }

    /// Sets the options.
    pub fn with_options(mut self, options: HookOptions) -> Self {
        self.injector = injector(&self.engine, &options);
        self.options = options;
        self
    }

    /// Handles an event. `user` is the scope whose memories are recalled; turns are stored in the session of the event
    /// within it.
    ///
    /// It never fails and takes at most [`HookOptions::deadline`]: failures are named in [`HookAnswer::degraded`].
    pub async fn handle(&self, user: &Scope, event: &HookEvent) -> HookAnswer {
        let mut answer = HookAnswer::default();
        let handled = match timeout(self.options.deadline, self.handle_event(user, event, &mut answer)).await {
            Ok(result) => result,
            Err(_) => {
                let message = format!("not ready after {} ms", self.options.deadline.as_millis());
                Err(Error::new(ErrorKind::Timeout, "hook", message))
            }
        };
        answer.degraded.extend(handled.err().map(|error| error.to_string()));
        answer
    }

    async fn handle_event(&self, user: &Scope, event: &HookEvent, answer: &mut HookAnswer) -> Result<()> {
        let session = user.clone().with_session(&event.session)?;
        match event.kind {
            HookKind::SessionStart(SessionBeginning::Empty) => self.open_session(user, &session, answer).await,
            HookKind::UserPrompt => match event.user_words() {
                Some(words) => self.answer_prompt(user, &session, event, &words, answer).await,
                None => Ok(()),
            },
            HookKind::Reply => {
                answer.stored = self.store_reply(&session, event).await?;
                Ok(())
            }
            HookKind::SessionEnd => {
                self.injected.clear(&session);
                self.requests.set(&session, None);
                Ok(())
            }
            HookKind::SessionStart(SessionBeginning::Continued) | HookKind::Other => Ok(()),
        }
    }

    async fn open_session(&self, user: &Scope, session: &Scope, answer: &mut HookAnswer) -> Result<()> {
        self.injected.clear(session);
        let rendered = self.preview_opening(user).await?;
        self.injected.add(session, &rendered.records);
        answer.context = rendered.text;
        answer.memories = rendered.records;
        Ok(())
    }

    /// Acts on a request about the memory itself, and recalls memories for it. It is not stored.
    async fn answer_request(
        &self,
        user: &Scope,
        session: &Scope,
        event: &HookEvent,
        (words, request): (&str, &MemoryRequest),
        answer: &mut HookAnswer,
    ) -> Result<()> {
        let was_stored = self.requests.get(session).is_none();
        self.requests.set(session, Some(words));
        let requests = self.engine.requests();
        let mut taken_out = 0;
        match request {
            MemoryRequest::OffTheRecord => {
                let turn = event.turn_id.clone().unwrap_or_else(|| ContentHash::of(words).to_string());
                let id = RecordId::named(session, &message_id(&turn, "user"));
                requests.block(session, &[(id, words)]).await?;
            }
            MemoryRequest::TakeOutPrevious if was_stored => {
                taken_out = requests.take_out_latest(session, words).await?;
            }
            MemoryRequest::TakeOutPrevious | MemoryRequest::Forget { .. } | MemoryRequest::Undo => {}
        }
        let notice = requests.act(user, request, taken_out).await?;
        let turns = self.session_turns(session).await?;
        let injection = self.inject(&self.injector, user, session, &turns, words).await;
        answer.memories = injection.records.iter().map(|record| record.id).collect();
        answer.context = GatewayBlock::default().with_notice(Language::of(words), &injection.text, &notice);
        self.injected.add(session, &answer.memories);
        Ok(())
    }

    /// Recalls memories for a prompt and stores it.
    async fn answer_prompt(
        &self,
        user: &Scope,
        session: &Scope,
        event: &HookEvent,
        words: &str,
        answer: &mut HookAnswer,
    ) -> Result<()> {
        let previous = self.requests.get(session);
        let commands = &self.options.commands;
        if let Some(request) = self.engine.requests().find(user, commands, words, previous.as_deref()).await? {
            return self.answer_request(user, session, event, (words, &request), answer).await;
        }
        self.requests.set(session, None);
        let turns = self.session_turns(session).await?;
        let round = next_round(&turns);
        let inject = self.inject(&self.injector, user, session, &turns, words);
        let (injection, stored) = tokio::join!(inject, self.store_prompt(session, event, words, turns.last(), round));
        answer.memories = injection.records.iter().map(|record| record.id).collect();
        answer.context = injection.text;
        answer.degraded.extend(injection.degraded.iter().map(|stage| format!("{}: {}", stage.stage, stage.reason)));
        self.injected.add(session, &answer.memories);
        answer.stored = Some(stored?);
        Ok(())
    }

    /// Returns the memories for a prompt, without those that the session contains already.
    async fn inject(
        &self,
        injector: &Injector,
        user: &Scope,
        session: &Scope,
        turns: &[Record],
        words: &str,
    ) -> Injection {
        let mut conversation: Vec<&str> = turns.iter().map(|turn| turn.text.as_str()).collect();
        conversation.push(words);
        let message = IncomingMessage { round: next_round(turns).into(), scene: SCENE, text: words };
        let excluded = self.injected.get(session);
        injector.inject_except(user, &message, &conversation, &excluded).await
    }

    /// Returns the memories that [`handle`](Self::handle) would inject for a prompt in this session, with a trace;
    /// `None` for a prompt without words of the user. It stores nothing, and later events of the session are handled as
    /// if it had not been called.
    ///
    /// # Errors
    /// `InvalidInput` for a session name that is not valid; the error of the store.
    pub async fn preview_prompt(&self, user: &Scope, session: &str, prompt: &str) -> Result<Option<PromptPreview>> {
        let Some(words) = prompt_words(prompt) else { return Ok(None) };
        let session = user.clone().with_session(session)?;
        let turns = self.session_turns(&session).await?;
        let injector = self.injector.clone().with_trace();
        let injection = self.inject(&injector, user, &session, &turns, &words).await;
        Ok(Some(PromptPreview { scene: SCENE, round: next_round(&turns), injection }))
    }

    /// Returns the context that [`handle`](Self::handle) would give to a session that starts empty. It changes nothing.
    ///
    /// # Errors
    /// The error of the store.
    pub async fn preview_opening(&self, user: &Scope) -> Result<RenderedOpening> {
        let opening = OpeningContext::load(&self.engine, user, Some(SCENE)).await?;
        let now = self.engine.settings().clock().now();
        opening.render(self.options.opening_tokens, now, self.engine.settings().zone(), &EstimatedTokens)
    }

    async fn store_prompt(
        &self,
        session: &Scope,
        event: &HookEvent,
        words: &str,
        last: Option<&Record>,
        round: u32,
    ) -> Result<RecordId> {
        let turn = Turn::user(words).with_scene(SCENE).with_round(round);
        let stored_words = self.engine.screening().mask_within(session, words).await?;
        match (&event.turn_id, last) {
            (Some(id), _) => self.engine.remember(session, turn.with_message_id(message_id(id, "user"))).await,
            // An agent without ids of turns may send an event twice.
            (None, Some(last)) if has_role(last, &Role::USER) && last.text == stored_words => Ok(last.id),
            (None, _) => self.engine.remember(session, turn).await,
        }
    }

    /// Stores the reply to a stored prompt. A reply to another prompt, such as that of a scheduled task, is not stored.
    async fn store_reply(&self, session: &Scope, event: &HookEvent) -> Result<Option<RecordId>> {
        let words = model_words(&event.text);
        // The reply to a request about the memory is not stored either.
        if words.trim().is_empty() || self.requests.get(session).is_some() {
            return Ok(None);
        }
        let turn = Turn::assistant(words).with_scene(SCENE);
        let (prompt, turn) = match &event.turn_id {
            Some(id) => {
                let prompt = RecordId::named(session, &message_id(id, "user"));
                let prompt = self.engine.get_all(session, &[prompt]).await?.into_iter().flatten().next();
                (prompt, turn.with_message_id(message_id(id, "assistant")))
            }
            None => {
                let last = self.session_turns(session).await?.pop();
                (last.filter(|last| has_role(last, &Role::USER)), turn)
            }
        };
        let Some(prompt) = prompt else { return Ok(None) };
        let turn = match prompt.source.round {
            Some(round) => turn.with_round(round),
            None => turn,
        };
        self.engine.remember(session, turn).await.map(Some)
    }

    /// Returns the latest turns of a session, oldest first.
    async fn session_turns(&self, session: &Scope) -> Result<Vec<Record>> {
        let is_turn = Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, "active"));
        let query = ScanQuery::newest(SESSION_TURNS).with_filter(is_turn);
        let mut turns = self.engine.history().timeline(session, &query).await?.records;
        turns.reverse();
        Ok(turns)
    }
}

fn injector(engine: &MemoryEngine, options: &HookOptions) -> Injector {
    let mut rules = InjectionRules::default();
    // The start of a session has its own event.
    rules.cold_start.enabled = false;
    let mut block = GatewayBlock::default();
    if let Some(max_chars) = options.max_chars {
        block = block.with_max_chars(max_chars);
    }
    Injector::new(engine.clone())
        .with_rules(rules)
        .with_block(block)
        .with_limit(options.max_memories)
        .with_deadline(options.deadline)
        .with_retrievers(options.retrievers)
}

/// Returns the round of a prompt after these turns.
fn next_round(turns: &[Record]) -> u32 {
    let rounds = turns.iter().filter(|turn| has_role(turn, &Role::USER)).count() + 1;
    u32::try_from(rounds).unwrap_or(u32::MAX)
}

fn has_role(turn: &Record, role: &Role) -> bool {
    turn.role.as_ref() == Some(role)
}

/// Returns the message id of a turn's prompt or reply.
fn message_id(turn_id: &str, role: &str) -> String {
    format!("hook/{turn_id}/{role}")
}
