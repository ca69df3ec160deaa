//! Chooses the memories for a prompt.

use std::{sync::Arc, time::Duration};

use memory_engine::{
    Clock, Injector, MemoryEngine, Record, Result, Scope,
    context::{IncomingMessage, Injection},
    scene::{SceneDetector, SessionLimits},
};
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;

use super::{
    identity::Identity,
    options::GatewayOptions,
    prompt::Prompt,
    sessions::{SessionCache, last_turn},
    thread::Thread,
};

/// The share of the deadline that injection may take. The rest is for handing its result over.
const INJECTION_SHARE: f64 = 0.93;
/// Chooses the memories for a prompt. It does not fail and keeps its deadline: a prompt may be empty and name what
/// failed.
#[derive(Debug)]
pub(super) struct Prompter {
    engine: MemoryEngine,
    injector: Injector,
    scenes: SceneDetector,
    sessions: Arc<SessionCache>,
    deadline: Duration,
    clock: Arc<dyn Clock>,
}

impl Prompter {
    /// # Errors
    /// `InvalidInput` for rules that are none.
    pub(super) fn new(engine: MemoryEngine, sessions: Arc<SessionCache>, options: &GatewayOptions) -> Result<Self> {
        options.rules.validate()?;
        let injector = Injector::new(engine.clone())
            .with_rules(options.rules.clone())
            .with_block(options.block.clone())
            .with_limit(options.limit)
            .with_deadline(options.memory_deadline.mul_f64(INJECTION_SHARE));
        let scenes = SceneDetector::new(&options.scenes, Arc::clone(&options.clock))?;
        let (deadline, clock) = (options.memory_deadline, Arc::clone(&options.clock));
        Ok(Self { engine, injector, scenes, sessions, deadline, clock })
    }

    /// Returns the memories for this request. Only a question starts a recall; a request that continues an earlier
    /// question (tool results, a longer reply) gets the memories of that question.
    pub(super) async fn prompt(&self, identity: &Identity, thread: &Thread) -> Arc<Prompt> {
        let deadline = Instant::now() + self.deadline;
        let Some(question) = thread.question() else {
            return self.continued(identity, deadline).await;
        };
        let mut degraded = Vec::new();
        if self.sessions.last(&identity.address).is_none() {
            degraded.extend(self.resume(&identity.address, deadline).await);
        }
        let scene = self.scenes.detect(&identity.address, question).scene;
        let injection = self.injection(identity, thread, question, &scene, deadline).await;
        let mut prompt = Prompt { scene: Some(scene), ..Prompt::default() };
        match injection {
            Ok(injection) => {
                degraded.extend(injection.degraded.iter().map(|degraded| degraded.stage));
                prompt.rule = injection.decision.rule.as_str();
                prompt.ids = injection.records.iter().map(|record| record.id).collect();
                prompt.hashes = injection.records.iter().map(Record::content_hash).collect();
                prompt.block = injection.text;
            }
            Err(stage) => degraded.push(stage),
        }
        degraded.dedup();
        prompt.degraded = degraded;
        let prompt = Arc::new(prompt);
        self.sessions.set_prompt(&identity.address, Arc::clone(&prompt));
        prompt
    }

    /// Returns the memories of the last question, or none if any of them has been deleted, retracted or edited since.
    async fn continued(&self, identity: &Identity, deadline: Instant) -> Arc<Prompt> {
        let last = self.sessions.prompt(&identity.address).unwrap_or_default();
        let last = Prompt { rule: "continued", ..Prompt::clone(&last) };
        let degraded = match timeout_at(deadline, self.engine.get_all(&identity.reach, &last.ids)).await {
            Ok(Ok(found)) if last.is_unchanged(&found) => return Arc::new(last),
            Ok(Ok(_)) => {
                let nothing = Arc::new(Prompt { scene: last.scene, rule: last.rule, ..Prompt::default() });
                self.sessions.set_prompt(&identity.address, Arc::clone(&nothing));
                return nothing;
            }
            Ok(Err(_)) => "store",
            Err(_) => "deadline",
        };
        Arc::new(Prompt { scene: last.scene, rule: last.rule, degraded: vec![degraded], ..Prompt::default() })
    }

    /// Returns the injection, or the name of what failed: `internal` for a panic, `deadline` for a time-out.
    async fn injection(
        &self,
        identity: &Identity,
        thread: &Thread,
        question: &str,
        scene: &str,
        deadline: Instant,
    ) -> Result<Injection, &'static str> {
        // A new window is one whose request holds no history; what the store knows of its session does not matter.
        let (injector, round, reach) = (self.injector.clone(), thread.rounds(), identity.reach.clone());
        let (question, scene) = (question.to_owned(), scene.to_owned());
        let conversation: Vec<String> = thread.texts().into_iter().map(str::to_owned).collect();
        // In a task of its own: a panic in there is not one here.
        let inject = async move {
            let message = IncomingMessage { round, scene: &scene, text: &question };
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

    /// Restores round and scene of a session that is not cached, for example after a restart. Returns what failed.
    async fn resume(&self, address: &Scope, deadline: Instant) -> Option<&'static str> {
        match timeout_at(deadline, last_turn(&self.engine, address)).await {
            Ok(Ok((last, scene))) => {
                self.sessions.set_last(address, last);
                let (at, scene) = scene?;
                if self.clock.now() < at.after(SessionLimits::default().time_to_live) {
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
