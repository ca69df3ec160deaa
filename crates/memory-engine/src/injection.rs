//! Memories put before a model that did not ask for them: when, which, and in which form.

use std::{collections::BTreeSet, time::Duration};

use memory_engine_context::{Action, Decision, GatewayBlock, InjectionRules, Message};
use memory_engine_core::{
    ContentHash, Error, ErrorKind, Field, Filter, FilterValue, Kind, Op, Record, Result, ScanQuery, Scope,
};
use memory_engine_recall::{Degraded, RecallOptions, RecallQuery, Retrievers};
use tokio::time::timeout;

use crate::engine::MemoryEngine;

/// Turns in a round: what the user said, and the answer.
const TURNS_A_ROUND: usize = 2;
/// How many memories more are looked for where the conversation may hold those that are found.
const MORE: usize = 20;

/// Decides by rules whether a message calls for memories, finds them, and lays them out for the system prompt.
///
/// It never fails and takes no longer than a recall may: what goes wrong is named, and the rest is injected.
///
/// ```
/// use memory_engine::{Injector, MemoryEngine, Scope, Turn, context::Message};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let lin = Scope::user("lin")?;
/// memory.remember(&lin, Turn::user("我们约好周五去爬山").with_scene("daily")).await?;
///
/// let injector = Injector::new(memory);
/// let asked = Message { round: 5, scene: "daily", text: "还记得我们约好去爬山吗" };
/// let injection = injector.inject(&lin, &asked).await;
/// assert!(injection.text.contains("周五去爬山")); // for the end of the system prompt
/// let small_talk = Message { round: 6, scene: "daily", text: "吃饭了吗" };
/// assert_eq!(injector.inject(&lin, &small_talk).await.text, "");
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Injector {
    engine: MemoryEngine,
    rules: InjectionRules,
    block: GatewayBlock,
    limit: usize,
    deadline: Duration,
}

/// What is to be injected for a message.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Injection {
    /// Which rule held.
    pub decision: Decision,
    /// What to append to the system prompt; empty when there is nothing to inject.
    pub text: String,
    /// The records in it, in its order.
    pub records: Vec<Record>,
    /// What did not work, and why.
    pub degraded: Vec<Degraded>,
}

/// What was found for one message, best first.
#[derive(Debug, Default)]
struct Material {
    summaries: Vec<Record>,
    memories: Vec<Record>,
    degraded: Vec<Degraded>,
    /// What the conversation holds.
    known: BTreeSet<ContentHash>,
}

impl Material {
    /// How many to look for, so that so many are left.
    fn looked_for(&self, limit: usize) -> usize {
        limit + self.known.len().min(MORE)
    }

    /// The first of these that the conversation does not hold.
    fn fresh(&self, records: impl IntoIterator<Item = Record>, limit: usize) -> Vec<Record> {
        records.into_iter().filter(|record| !self.known.contains(&record.content_hash())).take(limit).collect()
    }

    fn lacks(&mut self, error: &Error) {
        self.degraded.push(Degraded { stage: "injection", reason: error.to_string() });
    }

    fn or_nothing(&mut self, outcome: Result<Vec<Record>>) -> Vec<Record> {
        outcome.unwrap_or_else(|e| {
            self.lacks(&e);
            Vec::new()
        })
    }
}

impl Injector {
    /// With the rules and the form of the chat gateway's document, and five memories at the most.
    pub fn new(engine: MemoryEngine) -> Self {
        let deadline = engine.options().deadline;
        Self { engine, rules: InjectionRules::default(), block: GatewayBlock::default(), limit: 5, deadline }
    }

    /// By these rules.
    pub fn with_rules(mut self, rules: InjectionRules) -> Self {
        self.rules = rules;
        self
    }

    /// In this form.
    pub fn with_block(mut self, block: GatewayBlock) -> Self {
        self.block = block;
        self
    }

    /// At most so many memories that were found.
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Within this time, and not that of the engine's recalls.
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// What to inject for a message, from everything within `scope` that its scene may see.
    pub async fn inject(&self, scope: &Scope, message: &Message<'_>) -> Injection {
        self.inject_into(scope, message, &[]).await
    }

    /// As [`inject`](Self::inject), without what the conversation holds already, word for word: it would be said twice.
    pub async fn inject_into(&self, scope: &Scope, message: &Message<'_>, conversation: &[&str]) -> Injection {
        let decision = self.rules.decide(message);
        let mut material = Material::default();
        if decision.action != Action::Nothing {
            material.known = conversation.iter().map(|text| ContentHash::of(text)).collect();
        }
        let time = self.deadline;
        if let Err(error) = self.engine.indexed_store().check_open("injection") {
            material.lacks(&error);
        } else if timeout(time, self.find(scope, message, &decision.action, &mut material)).await.is_err() {
            material.lacks(&Error::new(
                ErrorKind::Timeout,
                "injection",
                format!("not ready after {} ms", time.as_millis()),
            ));
        }
        let rendered = self.block.render(&material.summaries, &material.memories);
        let all: Vec<Record> = material.summaries.into_iter().chain(material.memories).collect();
        let record = |id| all.iter().find(|record| record.id == id).cloned();
        let records = rendered.included.into_iter().filter_map(record).collect();
        Injection { decision, text: rendered.text, records, degraded: material.degraded }
    }

    /// Finds part after part; what one part lacks does not cost the others.
    async fn find(&self, scope: &Scope, message: &Message<'_>, action: &Action, material: &mut Material) {
        let options = self.recall_options(material);
        let question = || RecallQuery::new(message.text).with_options(options);
        match action {
            Action::Nothing => {}
            Action::Search => self.search(scope, question().in_scene(message.scene), material).await,
            Action::SearchScene(scene) => {
                let within = Filter::eq(Field::Scene, scene.as_str());
                self.search(scope, question().with_filter(within), material).await;
            }
            Action::Latest { summaries, rounds, search } => {
                if *search {
                    self.search(scope, question().in_scene(message.scene), material).await;
                }
                let kind = |kind: Kind| Filter::eq(Field::Kind, kind.as_str());
                let newest = self.newest(scope, message, kind(Kind::SUMMARY), *summaries).await;
                material.summaries = material.or_nothing(newest);
                let turns = rounds.saturating_mul(TURNS_A_ROUND);
                let newest = self.newest(scope, message, kind(Kind::TURN), material.looked_for(turns)).await;
                let found = material.or_nothing(newest);
                let fresh = material.fresh(found, turns);
                material.memories.extend(fresh);
            }
            Action::SameEmotion { emotion, words, within } => {
                self.same_emotion(scope, message, (emotion, words), *within, material).await;
            }
        }
    }

    /// A recall ends a little earlier, so that what it has found by then is injected.
    fn recall_options(&self, material: &Material) -> RecallOptions {
        let options = self.engine.options().with_limit(material.looked_for(self.limit));
        options.with_deadline(options.deadline.min(self.deadline.mul_f64(0.9)))
    }

    /// What fits the question by itself.
    async fn search(&self, scope: &Scope, query: RecallQuery, material: &mut Material) {
        match self.engine.recall(scope, query).await {
            Ok(recall) => {
                let relevant = recall.relevant().map(|hit| hit.record.clone());
                let fresh = material.fresh(relevant, self.limit);
                material.memories.extend(fresh);
                material.degraded.extend(recall.degraded);
            }
            Err(e) => material.lacks(&e),
        }
    }

    async fn newest(&self, scope: &Scope, message: &Message<'_>, filter: Filter, limit: usize) -> Result<Vec<Record>> {
        let seen = self.engine.scene_policy().filter(message.scene);
        let active = Filter::eq(Field::State, "active");
        let filter = [filter, active].into_iter().chain(seen).reduce(Filter::and);
        let query = filter.map_or_else(|| ScanQuery::newest(limit), |f| ScanQuery::newest(limit).with_filter(f));
        Ok(self.engine.timeline(scope, &query).await?.records)
    }

    /// What was said lately in the same feeling: what is labelled with it, and what holds its words.
    async fn same_emotion(
        &self,
        scope: &Scope,
        message: &Message<'_>,
        (emotion, words): (&str, &[String]),
        within: Duration,
        material: &mut Material,
    ) {
        let now = self.engine.clock().now().as_micros();
        let since = now.saturating_sub(i64::try_from(within.as_micros()).unwrap_or(i64::MAX));
        let lately = Filter::compare(Field::OccurredAt, Op::Ge, memory_engine_core::Timestamp::from_micros(since));
        let names =
            words.iter().map(String::as_str).chain([emotion]).map(|w| FilterValue::Text(w.to_owned())).collect();
        let labelled = Filter::In(Field::Emotion, names).and(lately.clone());
        let options = self.recall_options(material);
        let newest = self.newest(scope, message, labelled, options.limit).await;
        let found = material.or_nothing(newest);
        material.memories = material.fresh(found, self.limit);
        let query = RecallQuery::new(words.join(" ")).with_retrievers(Retrievers::KeywordOnly).with_filter(lately);
        let recall = match self.engine.recall(scope, query.in_scene(message.scene).with_options(options)).await {
            Ok(recall) => recall,
            Err(e) => return material.lacks(&e),
        };
        let holds =
            |record: &Record| words.iter().any(|word| record.text.to_lowercase().contains(&word.to_lowercase()));
        let unlabelled = recall.hits.into_iter().map(|hit| hit.record).filter(|r| r.emotion.is_none() && holds(r));
        let fresh = material.fresh(unlabelled, self.limit);
        material.memories.extend(fresh);
        material.memories.truncate(self.limit);
        material.degraded.extend(recall.degraded);
    }
}
