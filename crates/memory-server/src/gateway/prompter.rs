//! Chooses the memories for a prompt.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use memory_engine::{
    Clock, Injector, Language, MemoryEngine, RecallQuery, Record, RecordId, Result, Scope,
    context::{GatewayBlock, IncomingMessage, Injection, RequestNotice},
    requests::MemoryRequest,
    scene::{SceneDetector, SessionLimits},
};
use tokio::time::{Instant, timeout, timeout_at};
use tracing::Instrument;

use super::{
    identity::Identity,
    options::GatewayOptions,
    prompt::Prompt,
    replacement::replaced_by_request,
    requests::{REQUEST_TIMEOUT, act_on_request},
    sessions::{SessionCache, read_last_turn},
    thread::{Thread, TurnKey},
};

/// The share of the deadline that injection may take. The rest is for returning its result.
const INJECTION_SHARE: f64 = 0.93;

/// Chooses the memories for a prompt, within a deadline. It never fails: on errors it returns a prompt with fewer or no
/// memories, which names the stages that failed.
#[derive(Debug)]
pub(super) struct Prompter {
    engine: MemoryEngine,
    injector: Injector,
    block: GatewayBlock,
    scenes: SceneDetector,
    sessions: Arc<SessionCache>,
    deadline: Duration,
    clock: Arc<dyn Clock>,
}

/// The session of a question.
struct OpenedSession {
    /// The scene of the question.
    scene: String,
    /// The stages that failed.
    degraded: Vec<&'static str>,
}

impl Prompter {
    /// # Errors
    /// `InvalidInput` for rules that are not valid.
    pub(super) fn new(engine: MemoryEngine, sessions: Arc<SessionCache>, options: &GatewayOptions) -> Result<Self> {
        options.rules.validate()?;
        let injector = Injector::new(engine.clone())
            .with_rules(options.rules.clone())
            .with_block(options.block.clone())
            .with_limit(options.max_memories)
            .with_deadline(options.memory_deadline.mul_f64(INJECTION_SHARE));
        let scenes = SceneDetector::new(&options.scenes, Arc::clone(&options.clock))?;
        let clock = Arc::clone(&options.clock);
        let block = options.block.clone();
        Ok(Self { engine, injector, block, scenes, sessions, deadline: options.memory_deadline, clock })
    }

    /// Adds a trace to every injection.
    #[cfg(feature = "ui")]
    pub(super) fn with_trace(mut self) -> Self {
        self.injector = self.injector.with_trace();
        self
    }

    /// Returns the memories for this request. Memories are recalled only for a question. A request that continues the
    /// previous exchange (tool results, a longer reply) gets the memories of its question. `turn` is the open turn.
    ///
    /// A `request` about the memory itself is done before the memories are chosen, unless it belongs to a play.
    pub(super) async fn prompt(
        &self,
        identity: &Identity,
        thread: &Thread,
        turn: Option<&TurnKey>,
        request: Option<&MemoryRequest>,
    ) -> Arc<Prompt> {
        let deadline = Instant::now() + self.deadline;
        let Some(question) = thread.question() else {
            return self.previous_prompt(identity, turn, deadline).await;
        };
        let mut opened = self.open(identity, question, deadline).await;
        let request = request.zip(turn).filter(|_| !self.is_play(&opened.scene));
        let mut notice = None;
        if let Some((request, turn)) = request {
            notice = Some(self.act(identity, thread, turn, request).await.unwrap_or_else(|stage| {
                opened.degraded.push(stage);
                RequestNotice::Failed
            }));
        }
        // The request has a time limit of its own.
        let deadline = if request.is_some() { Instant::now() + self.deadline } else { deadline };
        let (mut prompt, _) = self.prompt_in(identity, thread, question, opened, deadline).await;
        if let Some(notice) = notice {
            prompt.block = self.block.with_notice(Language::of(question), &prompt.block, &notice);
        }
        let prompt = Arc::new(prompt);
        self.sessions.set_prompt(&identity.address, turn, Arc::clone(&prompt));
        prompt
    }

    /// Returns true for the scene of plays.
    pub(super) fn is_play(&self, scene: &str) -> bool {
        scene == self.block.play
    }

    /// Acts on a request about the memory. Returns the name of the failure otherwise.
    async fn act(
        &self,
        identity: &Identity,
        thread: &Thread,
        turn: &TurnKey,
        request: &MemoryRequest,
    ) -> Result<RequestNotice, &'static str> {
        let last_key = self.sessions.last_turn(&identity.address).and_then(|last| last.key);
        let act = act_on_request(&self.engine, identity, thread, turn, last_key, request);
        match timeout(REQUEST_TIMEOUT, act).await {
            Ok(Ok(notice)) => Ok(notice),
            Ok(Err(error)) => {
                let (kind, operation) = (error.kind(), error.operation());
                tracing::warn!(?kind, operation, "a request about the memory failed");
                Err("request")
            }
            Err(_) => {
                tracing::warn!("a request about the memory took too long");
                Err("deadline")
            }
        }
    }

    /// Returns the memories for a question, and the injection that they are from; `None` if it failed.
    #[cfg(feature = "ui")]
    pub(super) async fn prompt_for(
        &self,
        identity: &Identity,
        thread: &Thread,
        question: &str,
        deadline: Instant,
    ) -> (Prompt, Option<Injection>) {
        let opened = self.open(identity, question, deadline).await;
        self.prompt_in(identity, thread, question, opened, deadline).await
    }

    /// Restores the session, and detects the scene of a question.
    async fn open(&self, identity: &Identity, question: &str, deadline: Instant) -> OpenedSession {
        let mut degraded = Vec::new();
        if self.sessions.last_turn(&identity.address).is_none() {
            degraded.extend(self.restore_session(&identity.address, deadline).await);
        }
        let scene = self.scenes.detect(&identity.address, &RecallQuery::new(question).text).scene;
        OpenedSession { scene, degraded }
    }

    /// Returns the memories for a question in a session, and the injection that they are from; `None` if it failed.
    async fn prompt_in(
        &self,
        identity: &Identity,
        thread: &Thread,
        question: &str,
        OpenedSession { scene, mut degraded }: OpenedSession,
        deadline: Instant,
    ) -> (Prompt, Option<Injection>) {
        // The rules read no more of a pasted document than the search does: a megabyte would take them seconds.
        let question = RecallQuery::new(question).text;
        let question = question.as_str();
        // Without them, a memory may repeat what the conversation contains. That is no reason to inject none.
        let replaced = self.replaced_records(identity, thread, deadline).await.unwrap_or_else(|stage| {
            degraded.push(stage);
            BTreeSet::new()
        });
        let injection = self.inject(identity, thread, question, &scene, replaced, deadline).await;
        let mut prompt = Prompt { scene: Some(scene), ..Prompt::default() };
        let mut done = None;
        match injection {
            Ok(injection) => {
                degraded.extend(injection.degraded.iter().map(|degraded| degraded.stage));
                prompt.rule = injection.decision.rule.as_str();
                prompt.ids = injection.records.iter().map(|record| record.id).collect();
                prompt.hashes = injection.records.iter().map(Record::content_hash).collect();
                prompt.block.clone_from(&injection.text);
                done = Some(injection);
            }
            Err(stage) => degraded.push(stage),
        }
        degraded.dedup();
        prompt.degraded = degraded;
        (prompt, done)
    }

    /// Returns the memories of the last question, or none if any of them has been deleted, retracted or edited since.
    async fn previous_prompt(&self, identity: &Identity, turn: Option<&TurnKey>, deadline: Instant) -> Arc<Prompt> {
        let previous = self.sessions.prompt(&identity.address, turn).unwrap_or_default();
        let previous = Prompt { rule: "continued", ..Prompt::clone(&previous) };
        let failed_stage = match timeout_at(deadline, self.engine.get_all(&identity.recall_scope, &previous.ids)).await
        {
            Ok(Ok(found)) if previous.is_unchanged(&found) => return Arc::new(previous),
            Ok(Ok(_)) => {
                let empty = Arc::new(Prompt { scene: previous.scene, rule: previous.rule, ..Prompt::default() });
                self.sessions.set_prompt(&identity.address, turn, Arc::clone(&empty));
                return empty;
            }
            Ok(Err(_)) => "store",
            Err(_) => "deadline",
        };
        Arc::new(Prompt {
            scene: previous.scene,
            rule: previous.rule,
            degraded: vec![failed_stage],
            ..Prompt::default()
        })
    }

    /// Returns the records that this request replaces, which must not be injected: the reply that it regenerates, and
    /// the turns that the client has removed from its history. Returns the name of the failure otherwise.
    async fn replaced_records(
        &self,
        identity: &Identity,
        thread: &Thread,
        deadline: Instant,
    ) -> Result<BTreeSet<RecordId>, &'static str> {
        let Some(key) = thread.key() else { return Ok(BTreeSet::new()) };
        let last_key = self.sessions.last_turn(&identity.address).and_then(|last| last.key);
        let now = self.clock.now();
        let replaced = replaced_by_request(&self.engine, &identity.address, &key, last_key.as_deref(), now);
        match timeout_at(deadline, replaced).await {
            Ok(Ok(replaced)) => Ok(replaced),
            Ok(Err(_)) => Err("session"),
            Err(_) => Err("deadline"),
        }
    }

    /// Runs the injector, without the records in `replaced`. Returns the name of the failure otherwise: `internal` for
    /// a panic, `deadline` for a time-out.
    async fn inject(
        &self,
        identity: &Identity,
        thread: &Thread,
        question: &str,
        scene: &str,
        replaced: BTreeSet<RecordId>,
        deadline: Instant,
    ) -> Result<Injection, &'static str> {
        let injector = self.injector.clone();
        // The round counts the history in the request, not the stored turns: a new chat window starts at round 1.
        let round = thread.rounds();
        let scope = identity.recall_scope.clone();
        let question = question.to_owned();
        let scene = scene.to_owned();
        let conversation: Vec<String> = thread.texts().into_iter().map(str::to_owned).collect();
        // A separate task, so that a panic does not end the request.
        let inject = async move {
            let message = IncomingMessage { round, scene: &scene, text: &question };
            let conversation: Vec<&str> = conversation.iter().map(String::as_str).collect();
            injector.inject_except(&scope, &message, &conversation, &replaced).await
        };
        let mut task = tokio::spawn(inject.in_current_span());
        match timeout_at(deadline, &mut task).await {
            Ok(Ok(injection)) => Ok(injection),
            Ok(Err(_)) => Err("internal"),
            Err(_) => {
                task.abort();
                Err("deadline")
            }
        }
    }

    /// Restores the last turn and the scene of a session that is not cached, for example after a restart. Returns the
    /// stage that failed.
    async fn restore_session(&self, address: &Scope, deadline: Instant) -> Option<&'static str> {
        match timeout_at(deadline, read_last_turn(&self.engine, address)).await {
            Ok(Ok((last, scenes))) => {
                self.sessions.set_last_turn(address, last);
                let now = self.clock.now();
                let time_to_live = SessionLimits::default().time_to_live;
                let mut recent = scenes.iter().take_while(|(occurred_at, _)| now < occurred_at.after(time_to_live));
                // A label is not the scene of a session, and the current rules may not contain a stored scene: then the
                // turn before is the one to look at.
                let _ = recent.find(|(_, scene)| self.scenes.set(address, scene).is_ok());
                None
            }
            Ok(Err(_)) => Some("session"),
            Err(_) => Some("deadline"),
        }
    }
}
