//! Chooses the memories for a prompt.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use memory_engine::{
    Clock, Injector, Language, MemoryEngine, RecallQuery, RecordId, Result, Scope,
    context::{GatewayBlock, IncomingMessage, Injection, RequestNotice},
    requests::MemoryRequest,
    scene::{Detection, SceneDetector},
};
use tokio::time::{Instant, timeout, timeout_at};
use tracing::Instrument;

use super::{
    identity::Identity,
    options::GatewayOptions,
    prompt::Prompt,
    replacement::replaced_by_request,
    requests::{REQUEST_TIMEOUT, act_on_request},
    session_state::{OpenExchange, read_state},
    sessions::{LatestTurn, read_latest_turn, scene_after},
    thread::{Thread, TurnKey},
    turn::record_ids,
};

/// The share of the remaining time that injection may take. The rest is for returning its result.
const INJECTION_SHARE: f64 = 0.93;
/// Maximum number of earlier messages, of turns that are not stored, whose scenes are detected again.
const MAX_UNSTORED_MESSAGES: usize = 20;

/// Chooses the memories for a prompt, within a deadline. On errors it returns a prompt with fewer or no memories, which
/// names the stages that failed.
#[derive(Debug)]
pub(super) struct Prompter {
    engine: MemoryEngine,
    injector: Injector,
    block: GatewayBlock,
    scenes: SceneDetector,
    deadline: Duration,
    clock: Arc<dyn Clock>,
}

/// The session of a question.
struct OpenedSession {
    /// The key of the latest stored turn.
    latest_key: Option<String>,
    /// The scene of the question.
    detection: Detection,
    /// The stages that failed.
    degraded: Vec<&'static str>,
}

impl Prompter {
    /// # Errors
    /// `InvalidInput` for rules that are not valid.
    pub(super) fn new(engine: MemoryEngine, options: &GatewayOptions) -> Result<Self> {
        options.rules.validate()?;
        let injector = Injector::new(engine.clone())
            .with_rules(options.rules.clone())
            .with_block(options.block.clone())
            .with_limit(options.max_memories);
        let scenes = SceneDetector::new(&options.scenes, Arc::clone(&options.clock))?;
        let clock = Arc::clone(&options.clock);
        let block = options.block.clone();
        Ok(Self { engine, injector, block, scenes, deadline: options.memory_deadline, clock })
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
    ) -> Prompt {
        let deadline = Instant::now() + self.deadline;
        let Some(question) = thread.question() else {
            return self.continued_prompt(identity, thread, turn, request, deadline).await;
        };
        let mut opened = self.open_session(identity, thread, turn, question, deadline).await;
        let request = request.zip(turn).filter(|_| !self.is_play(&opened.detection.scene));
        let mut notice = None;
        if let Some((request, turn)) = request {
            // Without its session, the message may belong to a play, and a character may have said it.
            notice = Some(if opened.degraded.is_empty() {
                let act = self.act(identity, thread, turn, opened.latest_key.clone(), request);
                act.await.unwrap_or_else(|stage| {
                    opened.degraded.push(stage);
                    RequestNotice::Failed
                })
            } else {
                RequestNotice::Failed
            });
        }
        // The request has a time limit of its own.
        let deadline = if request.is_some() { Instant::now() + self.deadline } else { deadline };
        let (prompt, _) = self.prompt_for_question(identity, thread, turn, opened, deadline).await;
        self.with_notice(prompt, question, notice)
    }

    fn with_notice(&self, mut prompt: Prompt, question: &str, notice: Option<RequestNotice>) -> Prompt {
        if let Some(notice) = &notice {
            prompt.block = self.block.with_notice(Language::of(question), &prompt.block, notice);
        }
        Prompt { notice, ..prompt }
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
        latest_key: Option<String>,
        request: &MemoryRequest,
    ) -> Result<RequestNotice, &'static str> {
        let act = act_on_request(&self.engine, identity, thread, turn, latest_key, request);
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
        let turn = thread.key();
        let opened = self.open_session(identity, thread, turn.as_ref(), question, deadline).await;
        self.prompt_for_question(identity, thread, turn.as_ref(), opened, deadline).await
    }

    /// Reads the latest turn of the session, and detects the scene of a question.
    async fn open_session(
        &self,
        identity: &Identity,
        thread: &Thread,
        turn: Option<&TurnKey>,
        question: &str,
        deadline: Instant,
    ) -> OpenedSession {
        let (latest_key, scene, degraded) =
            match timeout_at(deadline, self.read_session(&identity.address, thread, turn)).await {
                Ok(Ok((latest, scene))) => (latest.key, scene, Vec::new()),
                Ok(Err(_)) => (None, String::new(), vec!["session"]),
                Err(_) => (None, String::new(), vec!["deadline"]),
            };
        OpenedSession { latest_key, detection: self.detect(&scene, question), degraded }
    }

    fn detect(&self, scene: &str, message: &str) -> Detection {
        self.scenes.detect_after(scene, &RecallQuery::new(message).text)
    }

    /// Returns the latest stored turn of a session, and the scene before the open turn: that after the turn before it,
    /// since the client may have gone back to an earlier one. Messages between them that are not stored may change it.
    async fn read_session(
        &self,
        address: &Scope,
        thread: &Thread,
        turn: Option<&TurnKey>,
    ) -> Result<(LatestTurn, String)> {
        let now = self.clock.now();
        let latest = read_latest_turn(&self.engine, address, now).await?;
        let mut scene = latest.scene.clone().unwrap_or_default();
        let Some(turn) = turn.filter(|turn| turn.parent.is_some() && turn.parent != latest.key) else {
            return Ok((latest, scene));
        };
        let is_latest = |earlier: &str| latest.key.as_deref() == Some(earlier);
        let unstored = match turn.history.iter().rev().position(|earlier| is_latest(&earlier.key)) {
            Some(count) => count,
            None => match self.scene_after_parent(address, turn).await? {
                Some(after_parent) => return Ok((latest, after_parent)),
                None => turn.history.len(),
            },
        };
        for message in thread.latest_words(unstored.min(MAX_UNSTORED_MESSAGES)) {
            scene = self.detect(&scene, message).current;
        }
        Ok((latest, scene))
    }

    /// Returns the scene of the session after the turn before the open one; `None` if that is not stored.
    async fn scene_after_parent(&self, address: &Scope, turn: &TurnKey) -> Result<Option<String>> {
        let Some(parent) = &turn.parent else { return Ok(None) };
        let found = self.engine.get_all(address, &record_ids(address, parent)).await?;
        Ok(found.iter().flatten().last().map(|record| scene_after(record, self.clock.now()).unwrap_or_default()))
    }

    /// Returns the memories for the open question of a session, and the injection that they are from; `None` if it
    /// failed.
    async fn prompt_for_question(
        &self,
        identity: &Identity,
        thread: &Thread,
        turn: Option<&TurnKey>,
        OpenedSession { latest_key, detection, mut degraded }: OpenedSession,
        deadline: Instant,
    ) -> (Prompt, Option<Injection>) {
        // Without them, a memory may repeat what the conversation contains. That is no reason to inject none.
        let replaced = self.replaced_records(&identity.address, turn, latest_key, deadline).await;
        let replaced = replaced.unwrap_or_else(|stage| {
            degraded.push(stage);
            BTreeSet::new()
        });
        let injection = self.inject(identity, thread, &detection.scene, replaced, deadline).await;
        let mut prompt =
            Prompt { scene: Some(detection.scene), session_scene: Some(detection.current), ..Prompt::default() };
        let mut done = None;
        match injection {
            Ok(injection) => {
                degraded.extend(injection.degraded.iter().map(|degraded| degraded.stage));
                prompt.set_memories(&injection);
                done = Some(injection);
            }
            Err(stage) => degraded.push(stage),
        }
        let mut named = BTreeSet::new();
        degraded.retain(|stage| named.insert(*stage));
        prompt.degraded = degraded;
        (prompt, done)
    }

    /// Returns the memories of the question before this request, with the name of the stage that failed if any.
    async fn continued_prompt(
        &self,
        identity: &Identity,
        thread: &Thread,
        turn: Option<&TurnKey>,
        request: Option<&MemoryRequest>,
        deadline: Instant,
    ) -> Prompt {
        let open = async {
            let Some(turn) = turn else { return Ok(None) };
            let state = read_state(&self.engine, &identity.address).await?;
            let Some(open) = state.open_exchange(&turn.key) else { return Ok(None) };
            self.repeat_prompt(identity, thread, open, request).await.map(Some)
        };
        let prompt = match timeout_at(deadline, open).await {
            Ok(Ok(Some(prompt))) => prompt,
            Ok(Ok(None)) => self.prompt_of_reply(identity, thread, turn, deadline).await,
            Ok(Err(_)) => Prompt { degraded: vec!["store"], ..Prompt::default() },
            Err(_) => Prompt { degraded: vec!["deadline"], ..Prompt::default() },
        };
        Prompt { rule: "continued", ..prompt }
    }

    /// Returns the memories of an exchange that waited for the results of tools, or none if any of them has been
    /// deleted, retracted or edited since.
    async fn repeat_prompt(
        &self,
        identity: &Identity,
        thread: &Thread,
        open: &OpenExchange,
        request: Option<&MemoryRequest>,
    ) -> Result<Prompt> {
        let scene = open.scene.clone().unwrap_or_default();
        let question = thread.open_exchange().user;
        let message =
            IncomingMessage { round: thread.rounds(), scene: &scene, text: &RecallQuery::new(question.as_str()).text };
        let (scope, memories) = (&identity.recall_scope, &open.memories);
        let injection = self.injector.inject_again(scope, &message, &thread.texts(), memories).await?;
        let mut prompt =
            Prompt { scene: open.scene.clone(), session_scene: open.session_scene.clone(), ..Prompt::default() };
        prompt.set_memories(&injection);
        let topic = match request {
            Some(MemoryRequest::Forget { topic, .. }) => topic,
            Some(MemoryRequest::OffTheRecord | MemoryRequest::TakeOutPrevious | MemoryRequest::Undo) | None => "",
        };
        let notice = open.notice.clone().map(|notice| notice.with_topic(topic));
        Ok(self.with_notice(prompt, &question, notice))
    }

    /// Returns the memories for a reply that the client asks to be continued.
    async fn prompt_of_reply(
        &self,
        identity: &Identity,
        thread: &Thread,
        turn: Option<&TurnKey>,
        deadline: Instant,
    ) -> Prompt {
        let question = thread.open_exchange().user;
        if question.is_empty() {
            return Prompt::default();
        }
        let opened = self.open_session(identity, thread, turn, &question, deadline).await;
        self.prompt_for_question(identity, thread, turn, opened, deadline).await.0
    }

    /// Returns the records that this request replaces, which must not be injected: the reply that it regenerates, and
    /// the turns that the client has removed from its history. Returns the name of the failure otherwise.
    async fn replaced_records(
        &self,
        address: &Scope,
        turn: Option<&TurnKey>,
        latest_key: Option<String>,
        deadline: Instant,
    ) -> Result<BTreeSet<RecordId>, &'static str> {
        let Some(turn) = turn else { return Ok(BTreeSet::new()) };
        let now = self.clock.now();
        let replaced = replaced_by_request(&self.engine, address, turn, latest_key.as_deref(), now);
        match timeout_at(deadline, replaced).await {
            Ok(Ok(replaced)) => Ok(replaced),
            Ok(Err(_)) => Err("session"),
            Err(_) => Err("deadline"),
        }
    }

    /// Runs the injector for the open question, without the records in `replaced`. Returns the name of the failure
    /// otherwise: `internal` for a panic, `deadline` for a time-out.
    async fn inject(
        &self,
        identity: &Identity,
        thread: &Thread,
        scene: &str,
        replaced: BTreeSet<RecordId>,
        deadline: Instant,
    ) -> Result<Injection, &'static str> {
        let time_left = deadline.saturating_duration_since(Instant::now());
        let injector = self.injector.clone().with_deadline(time_left.mul_f64(INJECTION_SHARE));
        // The round counts the history in the request, not the stored turns: a new chat window starts at round 1.
        let round = thread.rounds();
        let scope = identity.recall_scope.clone();
        // The rules read no more of a pasted document than the search does: a megabyte would take them seconds.
        let question = RecallQuery::new(thread.open_exchange().user).text;
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
}
