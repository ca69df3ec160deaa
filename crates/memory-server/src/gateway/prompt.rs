//! What is put before the model, and when.

use std::{sync::Arc, time::Duration};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use memory_engine::{
    Clock, ContentHash, Field, Filter, Injection, Injector, Kind, MemoryEngine, Record, RecordId, Result, ScanQuery,
    SceneDetector, Scope, State,
    context::{EstimatedTokens, Message, Rule, TokenCounter},
    scene::SessionLimits,
};
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;

use super::{
    GatewayOptions,
    sessions::{Last, Sessions},
    thread::Thread,
    who::{Who, escaped},
};

/// What part of the deadline injecting has for itself: the rest is for handing it over.
const SHARE: f64 = 0.93;
/// How long after its last turn a conversation goes on in the scene that it was in, as [`SessionLimits`] has it.
const AFTERWARDS: fn() -> Duration = || SessionLimits::default().time_to_live;

/// What is put before the model with one request.
#[derive(Debug, Clone, Default)]
pub(super) struct Prompt {
    /// The block to append; empty for none.
    pub(super) block: String,
    /// The records in it.
    pub(super) ids: Vec<RecordId>,
    /// What each of them said.
    said: Vec<ContentHash>,
    /// The scene of the message.
    pub(super) scene: Option<String>,
    rule: &'static str,
    /// What did not work.
    degraded: Vec<&'static str>,
}

/// Decides what is put before the model, and finds it. It never fails, and is never late.
#[derive(Debug)]
pub(super) struct Prompter {
    engine: MemoryEngine,
    injector: Injector,
    scenes: SceneDetector,
    sessions: Arc<Sessions>,
    deadline: Duration,
    clock: Arc<dyn Clock>,
}

impl Prompter {
    /// # Errors
    /// `InvalidInput` for rules that are none.
    pub(super) fn new(engine: MemoryEngine, sessions: Arc<Sessions>, options: &GatewayOptions) -> Result<Self> {
        options.rules.validate()?;
        let injector = Injector::new(engine.clone())
            .with_rules(options.rules.clone())
            .with_block(options.block.clone())
            .with_limit(options.limit)
            .with_deadline(options.memory_deadline.mul_f64(SHARE));
        let scenes = SceneDetector::new(&options.scenes, Arc::clone(&options.clock))?;
        let (deadline, clock) = (options.memory_deadline, Arc::clone(&options.clock));
        Ok(Self { engine, injector, scenes, sessions, deadline, clock })
    }

    /// What to put before the model for this request. Only a question makes it look; whatever goes on with an earlier one gets
    /// what that one got.
    pub(super) async fn prompt(&self, who: &Who, thread: &Thread) -> Arc<Prompt> {
        let deadline = Instant::now() + self.deadline;
        let Some(question) = thread.question() else {
            return self.continued(who, deadline).await;
        };
        let mut degraded = Vec::new();
        if self.sessions.last(&who.address).is_none() {
            degraded.extend(self.resume(&who.address, deadline).await);
        }
        let scene = self.scenes.detect(&who.address, question).scene;
        let injection = self.injection(who, thread, question, &scene, deadline).await;
        let mut prompt = Prompt { scene: Some(scene), ..Prompt::default() };
        match injection {
            Ok(injection) => {
                degraded.extend(injection.degraded.iter().map(|degraded| degraded.stage));
                prompt.rule = rule_name(injection.decision.rule);
                prompt.ids = injection.records.iter().map(|record| record.id).collect();
                prompt.said = injection.records.iter().map(Record::content_hash).collect();
                prompt.block = injection.text;
            }
            Err(stage) => degraded.push(stage),
        }
        degraded.dedup();
        prompt.degraded = degraded;
        let prompt = Arc::new(prompt);
        self.sessions.set_prompt(&who.address, Arc::clone(&prompt));
        prompt
    }

    /// What the question got that this request goes on with; nothing, once any of it has been deleted, taken back or edited.
    async fn continued(&self, who: &Who, deadline: Instant) -> Arc<Prompt> {
        let last = self.sessions.prompt(&who.address).unwrap_or_default();
        let last = Prompt { rule: "continued", ..Prompt::clone(&last) };
        let degraded = match timeout_at(deadline, self.engine.get_all(&who.reach, &last.ids)).await {
            Ok(Ok(found)) if last.still_says(&found) => return Arc::new(last),
            Ok(Ok(_)) => {
                let nothing = Arc::new(Prompt { scene: last.scene, rule: last.rule, ..Prompt::default() });
                self.sessions.set_prompt(&who.address, Arc::clone(&nothing));
                return nothing;
            }
            Ok(Err(_)) => "store",
            Err(_) => "deadline",
        };
        Arc::new(Prompt { scene: last.scene, rule: last.rule, degraded: vec![degraded], ..Prompt::default() })
    }

    /// The injection; or, where the memory breaks down or takes too long, what to say about it.
    async fn injection(
        &self,
        who: &Who,
        thread: &Thread,
        question: &str,
        scene: &str,
        deadline: Instant,
    ) -> Result<Injection, &'static str> {
        // A new window is one whose request holds no history; what the store knows of its session does not matter.
        let (injector, round, reach) = (self.injector.clone(), thread.rounds(), who.reach.clone());
        let (question, scene) = (question.to_owned(), scene.to_owned());
        let conversation: Vec<String> = thread.texts().into_iter().map(str::to_owned).collect();
        // In a task of its own: a panic in there is not one here.
        let inject = async move {
            let message = Message { round, scene: &scene, text: &question };
            let conversation: Vec<&str> = conversation.iter().map(String::as_str).collect();
            injector.inject_into(&reach, &message, &conversation).await
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

    /// Goes on with a session that is not in mind: after a restart it is in the round and the scene in which it was.
    async fn resume(&self, address: &Scope, deadline: Instant) -> Option<&'static str> {
        match timeout_at(deadline, last_turn(&self.engine, address)).await {
            Ok(Ok((last, scene))) => {
                self.sessions.set_last(address, last);
                let (at, scene) = scene?;
                if self.clock.now() < at.after(AFTERWARDS()) {
                    // A label is the scene of no session, and rules may have changed.
                    let _ = self.scenes.set(address, &scene);
                }
                None
            }
            Ok(Err(_)) => Some("session"),
            Err(_) => Some("deadline"),
        }
    }
}

/// When a turn was said, and in which scene.
type Staged = (memory_engine::Timestamp, String);

/// The latest turn of a session in the store, and the scene in which it was said.
pub(super) async fn last_turn(engine: &MemoryEngine, address: &Scope) -> Result<(Last, Option<Staged>)> {
    let turns = Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, "active"));
    let page = engine.scan(address, &ScanQuery::newest(1).with_filter(turns)).await?;
    let Some(turn) = page.records.into_iter().next() else { return Ok((Last::default(), None)) };
    let key = turn.metadata.get(super::turn::KEY).and_then(|key| key.as_str()).map(str::to_owned);
    let last = Last { round: turn.source.round.unwrap_or(0), key };
    Ok((last, turn.scene.map(|scene| (turn.occurred_at, scene))))
}

fn rule_name(rule: Rule) -> &'static str {
    match rule {
        Rule::ColdStart => "cold_start",
        Rule::PlotRecall => "plot_recall",
        Rule::Recall => "recall",
        Rule::Emotion => "emotion",
        Rule::Nothing => "nothing",
    }
}

impl Prompt {
    /// Whether these are its records, as they were.
    fn still_says(&self, found: &[Option<Record>]) -> bool {
        let same = |(found, said): (&Option<Record>, &ContentHash)| {
            found.as_ref().is_some_and(|record| record.state == State::Active && record.content_hash() == *said)
        };
        found.iter().zip(&self.said).all(same)
    }

    /// What is said about it in the headers of the answer.
    pub(super) fn headers(&self, also_degraded: Option<&'static str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut say = |name: &'static str, value: Option<HeaderValue>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        say("x-memory-rule", HeaderValue::from_str(self.rule).ok());
        say("x-memory-scene", self.scene.as_deref().and_then(escaped));
        if !self.block.is_empty() {
            let ids: Vec<String> = self.ids.iter().map(RecordId::to_string).collect();
            say("x-memory-ids", HeaderValue::try_from(ids.join(",")).ok());
            say("x-memory-tokens", Some(HeaderValue::from(EstimatedTokens.count(&self.block))));
        }
        let degraded: Vec<&str> = self.degraded.iter().copied().chain(also_degraded).collect();
        say("x-memory-degraded", HeaderValue::try_from(degraded.join(", ")).ok());
        headers
    }
}
