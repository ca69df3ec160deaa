//! Memories put before a model that did not ask for them: when, which, and in which form.

use std::time::Duration;

use memory_context::{Action, Decision, GatewayBlock, InjectionRules, Message};
use memory_core::{Field, Filter, Kind, Op, Record, Result, ScanQuery, Scope, Value};

use crate::{Arms, Degraded, MemoryEngine, RecallQuery};

/// Turns in a round: what the user said, and the answer.
const TURNS_A_ROUND: usize = 2;

/// Decides by rules whether a message calls for memories, finds them, and lays them out for the system prompt.
///
/// It never fails: what goes wrong is named, and nothing is injected for it.
#[derive(Debug, Clone)]
#[must_use]
pub struct Injector {
    engine: MemoryEngine,
    rules: InjectionRules,
    block: GatewayBlock,
    limit: usize,
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
}

impl Injector {
    /// With the rules and the form of the chat gateway's document, and five memories at the most.
    pub fn new(engine: MemoryEngine) -> Self {
        Self { engine, rules: InjectionRules::default(), block: GatewayBlock::default(), limit: 5 }
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

    /// What to inject for a message, from everything within `scope` that its scene may see.
    pub async fn inject(&self, scope: &Scope, message: &Message<'_>) -> Injection {
        let decision = self.rules.decide(message);
        let found = self.find(scope, message, &decision.action).await;
        let material = found.unwrap_or_else(|e| {
            let degraded = vec![Degraded { stage: "injection", reason: e.to_string() }];
            Material { degraded, ..Material::default() }
        });
        let rendered = self.block.render(&material.summaries, &material.memories);
        let all: Vec<Record> = material.summaries.into_iter().chain(material.memories).collect();
        let record = |id| all.iter().find(|record| record.id == id).cloned();
        let records = rendered.included.into_iter().filter_map(record).collect();
        Injection { decision, text: rendered.text, records, degraded: material.degraded }
    }

    async fn find(&self, scope: &Scope, message: &Message<'_>, action: &Action) -> Result<Material> {
        let question = || RecallQuery::new(message.text).with_limit(self.limit);
        match action {
            Action::Nothing => Ok(Material::default()),
            Action::Search => self.search(scope, question().in_scene(message.scene)).await,
            Action::SearchScene(scene) => {
                self.search(scope, question().with_filter(Filter::eq(Field::Scene, scene.as_str()))).await
            }
            Action::Latest { summaries, rounds, search } => {
                let mut material = match search {
                    true => self.search(scope, question().in_scene(message.scene)).await?,
                    false => Material::default(),
                };
                let kind = |kind: Kind| Filter::eq(Field::Kind, kind.as_str());
                material.summaries = self.newest(scope, message, kind(Kind::SUMMARY), *summaries).await?;
                let turns = self.newest(scope, message, kind(Kind::TURN), rounds * TURNS_A_ROUND).await?;
                material.memories.extend(turns);
                Ok(material)
            }
            Action::SameEmotion { emotion, words, within } => {
                self.same_emotion(scope, message, emotion, words, *within).await
            }
        }
    }

    /// What fits the question by itself.
    async fn search(&self, scope: &Scope, query: RecallQuery) -> Result<Material> {
        let recall = self.engine.recall(scope, query).await?;
        let memories = recall.relevant().map(|hit| hit.record.clone()).collect();
        Ok(Material { memories, degraded: recall.degraded, ..Material::default() })
    }

    async fn newest(&self, scope: &Scope, message: &Message<'_>, filter: Filter, limit: usize) -> Result<Vec<Record>> {
        let seen = self.engine.scene_policy().filter(message.scene);
        let active = Filter::eq(Field::State, "active");
        let filter = [filter, active].into_iter().chain(seen).reduce(Filter::and);
        let query = filter.map_or_else(|| ScanQuery::newest(limit), |f| ScanQuery::newest(limit).with_filter(f));
        Ok(self.engine.scan(scope, &query).await?.records)
    }

    /// What was said lately in the same feeling: what is labelled with it, and what holds its words.
    async fn same_emotion(
        &self,
        scope: &Scope,
        message: &Message<'_>,
        emotion: &str,
        words: &[String],
        within: Duration,
    ) -> Result<Material> {
        let now = self.engine.clock().now().as_micros();
        let since = now.saturating_sub(i64::try_from(within.as_micros()).unwrap_or(i64::MAX));
        let lately = Filter::compare(Field::OccurredAt, Op::Ge, memory_core::Timestamp::from_micros(since));
        let names = words.iter().map(String::as_str).chain([emotion]).map(|w| Value::Text(w.to_owned())).collect();
        let labelled = Filter::In(Field::Emotion, names).and(lately.clone());
        let mut memories = self.newest(scope, message, labelled, self.limit).await?;
        let query = RecallQuery::new(words.join(" ")).with_arms(Arms::KeywordOnly).with_filter(lately);
        let recall = self.engine.recall(scope, query.in_scene(message.scene).with_limit(self.limit)).await?;
        let holds =
            |record: &Record| words.iter().any(|word| record.text.to_lowercase().contains(&word.to_lowercase()));
        let unlabelled = recall.hits.into_iter().map(|hit| hit.record).filter(|r| r.emotion.is_none() && holds(r));
        memories.extend(unlabelled);
        memories.truncate(self.limit);
        Ok(Material { memories, degraded: recall.degraded, ..Material::default() })
    }
}
