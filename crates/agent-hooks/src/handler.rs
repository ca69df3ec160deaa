//! Handles the events of agents on a memory.

use std::{collections::BTreeSet, time::Duration};

use memory_engine::{
    Error, ErrorKind, Field, Filter, Injector, Kind, Language, MemoryEngine, PutMode, Record, RecordId, Result, Role,
    ScanQuery, Scope, Turn,
    context::{
        EstimatedTokens, GatewayBlock, IncomingMessage, Injection, InjectionRules, OpeningContext, RenderedOpening,
        is_backchannel, is_question,
    },
    recall::Retrievers,
    requests::{ChatCommand, MemoryRequest},
    store::ContentHash,
};
use memory_engine_intake::{model_words, prompt_words};
use tokio::time::timeout;

use crate::{
    event::{HookEvent, HookKind, SessionBeginning},
    notes::{Conventions, notes_of},
    session::{HookScopes, HookState, SCENE, STATES},
    statement::{prose, statements},
};

/// Number of latest turns of a session that are known to be in the model's context.
const SESSION_TURNS: usize = 100;
/// Maximum number of characters of a message at the start of a session.
const MAX_THREAD_CHARS: usize = 200;

/// Handles the events of agents on a memory: recalls before a prompt, and stores prompts and replies.
#[derive(Debug, Clone)]
#[must_use]
pub struct AgentHooks {
    engine: MemoryEngine,
    injector: Injector,
    options: HookOptions,
}

/// The options of [`AgentHooks`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookOptions {
    /// Maximum number of tokens of the context at the start of a session. Default: 400.
    pub opening_tokens: usize,
    /// Maximum number of tokens of the conventions of a project, which every prompt in it gets. Default: 150.
    pub convention_tokens: usize,
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
            opening_tokens: 400,
            convention_tokens: 150,
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
        Self { engine, injector, options }
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

    /// Handles an event of a user. An event of a project recalls the memories of the project and the user's own; other
    /// events recall all memories of the user. What is said is stored in the session of the event: in the project, or,
    /// if it is about the person alone, for all projects.
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
        let scopes = HookScopes::of(&self.engine, user, event).await?;
        match event.kind {
            HookKind::SessionStart(SessionBeginning::Empty) => self.open_session(&scopes, answer).await,
            HookKind::UserPrompt => match event.user_words() {
                Some(words) => self.answer_prompt(&scopes, event, &words, answer).await,
                None => Ok(()),
            },
            HookKind::Reply => {
                answer.stored = self.store_reply(&scopes, event).await?;
                Ok(())
            }
            HookKind::SessionEnd => self.update_state(&scopes, |state| *state = HookState::default()).await,
            HookKind::SessionStart(SessionBeginning::Continued) | HookKind::Other => Ok(()),
        }
    }

    async fn open_session(&self, scopes: &HookScopes, answer: &mut HookAnswer) -> Result<()> {
        let rendered = self.preview_opening(&scopes.readable).await?;
        self.update_state(scopes, |state| *state = HookState::default().with_injected(&rendered.records)).await?;
        answer.context = rendered.text;
        answer.memories = rendered.records;
        Ok(())
    }

    async fn read_state(&self, scopes: &HookScopes) -> Result<HookState> {
        STATES.read(&self.engine, &scopes.session).await
    }

    async fn update_state(&self, scopes: &HookScopes, change: impl Fn(&mut HookState)) -> Result<()> {
        STATES.update(&self.engine, &scopes.session, change).await
    }

    /// Acts on a request about the memory itself, and recalls memories for it. It is not stored.
    async fn answer_request(
        &self,
        scopes: &HookScopes,
        event: &HookEvent,
        (words, request): (&str, &MemoryRequest),
        state: &HookState,
        answer: &mut HookAnswer,
    ) -> Result<()> {
        let requests = self.engine.requests();
        let turns = self.session_turns(&scopes.session).await?;
        let mut taken_out = 0;
        match request {
            MemoryRequest::OffTheRecord => {
                let turn = event.turn_id.clone().unwrap_or_else(|| ContentHash::of(words).to_string());
                let id = RecordId::named(&scopes.address, &message_id(&turn, "user"));
                requests.block(&scopes.address, &[(id, words)]).await?;
            }
            MemoryRequest::TakeOutPrevious if state.request.is_none() => {
                let address = turns.last().map_or(&scopes.address, |turn| &turn.scope);
                taken_out = requests.take_out_latest(address, words).await?;
            }
            MemoryRequest::TakeOutPrevious | MemoryRequest::Forget { .. } | MemoryRequest::Undo => {}
        }
        let notice = requests.act(&scopes.user, request, taken_out).await?;
        // A yes needs the question, and "undo that" what was forgotten. The words of other requests are kept nowhere.
        let is_open = ChatCommand::of(request) == ChatCommand::Forget;
        let kept =
            if is_open { self.engine.screening().mask_within(&scopes.session, words).await? } else { String::new() };
        let injection = self.inject(&self.injector, &scopes.readable, &turns, words, &state.injected()).await;
        answer.memories = injection.records.iter().map(|record| record.id).collect();
        answer.context = GatewayBlock::default().with_notice(Language::of(words), &injection.text, &notice);
        let injected = answer.memories.clone();
        self.update_state(scopes, |state| {
            state.request = Some(kept.clone());
            state.add_injected(&injected);
        })
        .await
    }

    /// Recalls memories for a prompt and stores it.
    async fn answer_prompt(
        &self,
        scopes: &HookScopes,
        event: &HookEvent,
        words: &str,
        answer: &mut HookAnswer,
    ) -> Result<()> {
        let state = self.read_state(scopes).await?;
        let previous = state.request.as_deref().filter(|request| !request.is_empty());
        let commands = &self.options.commands;
        if let Some(request) = self.engine.requests().find(&scopes.user, commands, words, previous).await? {
            return self.answer_request(scopes, event, (words, &request), &state, answer).await;
        }
        let turns = self.session_turns(&scopes.session).await?;
        let conventions = self.conventions(scopes).await?;
        let mut excluded = state.injected();
        excluded.extend(conventions.ids());
        let inject = self.inject(&self.injector, &scopes.readable, &turns, words, &excluded);
        let (injection, stored) = tokio::join!(inject, self.store_prompt(scopes, event, words, &turns));
        let injected: Vec<RecordId> = injection.records.iter().map(|record| record.id).collect();
        let language = Language::of(words);
        answer.context = conventions.add_to(&GatewayBlock::default(), language, &injection.text);
        answer.memories = conventions.notes.iter().map(|note| note.id).chain(injected.iter().copied()).collect();
        answer.degraded.extend(injection.degraded.iter().map(|stage| format!("{}: {}", stage.stage, stage.reason)));
        answer.stored = Some(stored?);
        self.update_state(scopes, |state| {
            state.request = None;
            state.add_injected(&injected);
        })
        .await
    }

    /// Returns the conventions of the project, and of the user in all projects.
    async fn conventions(&self, scopes: &HookScopes) -> Result<Conventions> {
        if scopes.readable.project().is_none() {
            return Ok(Conventions::default());
        }
        Conventions::load(&self.engine, &scopes.readable, self.options.convention_tokens).await
    }

    /// Returns the memories for a prompt, without the excluded ones.
    async fn inject(
        &self,
        injector: &Injector,
        readable: &Scope,
        turns: &[Record],
        words: &str,
        excluded: &BTreeSet<RecordId>,
    ) -> Injection {
        let mut conversation: Vec<&str> = turns.iter().map(|turn| turn.text.as_str()).collect();
        conversation.push(words);
        let message = IncomingMessage { round: next_round(turns).into(), scene: SCENE, text: words };
        injector.inject_except(readable, &message, &conversation, excluded).await
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
        let state: HookState = STATES.read(&self.engine, &session).await?;
        let injector = self.injector.clone().with_trace();
        let injection = self.inject(&injector, user, &turns, &words, &state.injected()).await;
        Ok(Some(PromptPreview { scene: SCENE, round: next_round(&turns), injection }))
    }

    /// Returns the context that [`handle`](Self::handle) would give to a session that starts empty, in the scope of a
    /// user or of a project of a user. It changes nothing.
    ///
    /// # Errors
    /// The error of the store.
    pub async fn preview_opening(&self, scope: &Scope) -> Result<RenderedOpening> {
        // Summaries of a coding session repeat its messages, with the code and the logs in them.
        let opening = OpeningContext::load(&self.engine, scope, Some(SCENE)).await?.with_messages(open_thread);
        let now = self.engine.settings().clock().now();
        opening.render(self.options.opening_tokens, now, self.engine.settings().zone(), &EstimatedTokens)
    }

    async fn store_prompt(
        &self,
        scopes: &HookScopes,
        event: &HookEvent,
        words: &str,
        turns: &[Record],
    ) -> Result<RecordId> {
        // Without a project, everything is the user's.
        let statements = if scopes.readable.project().is_some() { statements(words) } else { Vec::new() };
        let is_everywhere = !statements.is_empty() && statements.iter().all(|statement| statement.is_everywhere);
        let address = if is_everywhere { &scopes.session } else { &scopes.address };
        let turn = Turn::user(words).with_scene(SCENE).with_round(next_round(turns));
        let stored_words = self.engine.screening().mask_within(address, words).await?;
        let id = match (&event.turn_id, turns.last()) {
            (Some(id), _) => self.engine.remember(address, turn.with_message_id(message_id(id, "user"))).await?,
            // An agent without ids of turns may send an event twice.
            (None, Some(last)) if has_role(last, &Role::USER) && last.text == stored_words => return Ok(last.id),
            (None, _) => self.engine.remember(address, turn).await?,
        };
        let notes = notes_of(&statements, &scopes.readable, address, (id, words), &self.engine)?;
        if !notes.is_empty() {
            self.engine.store(&scopes.user, notes, PutMode::IfAbsent).await?;
        }
        Ok(id)
    }

    /// Stores the reply to a stored prompt. A reply to another prompt, such as that of a scheduled task, is not stored.
    async fn store_reply(&self, scopes: &HookScopes, event: &HookEvent) -> Result<Option<RecordId>> {
        let words = model_words(&event.text);
        // The reply to a request about the memory is not stored either.
        if words.trim().is_empty() || self.read_state(scopes).await?.request.is_some() {
            return Ok(None);
        }
        let turn = Turn::assistant(words).with_scene(SCENE);
        let (prompt, turn) = match &event.turn_id {
            Some(id) => {
                let name = message_id(id, "user");
                let ids = [&scopes.address, &scopes.session].map(|address| RecordId::named(address, &name));
                let prompt = self.engine.get_all(&scopes.session, &ids).await?.into_iter().flatten().next();
                (prompt, turn.with_message_id(message_id(id, "assistant")))
            }
            None => {
                let last = self.session_turns(&scopes.session).await?.pop();
                (last.filter(|last| has_role(last, &Role::USER)), turn)
            }
        };
        let Some(prompt) = prompt else { return Ok(None) };
        let turn = match prompt.source.round {
            Some(round) => turn.with_round(round),
            None => turn,
        };
        self.engine.remember(&prompt.scope, turn).await.map(Some)
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

/// Returns what a message says at the start of a later session; `None` for a reply, for code, for a message
/// that only asks, and for one without content.
fn open_thread(record: &Record) -> Option<String> {
    if !has_role(record, &Role::USER) {
        return None;
    }
    let text = prose(&record.text);
    let is_shown = text.chars().any(char::is_alphanumeric) && !is_backchannel(&text) && !is_question(&text);
    is_shown.then(|| match text.char_indices().nth(MAX_THREAD_CHARS) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text,
    })
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
