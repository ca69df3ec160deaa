//! Automatic injection of memories into a prompt.

use std::{collections::BTreeSet, time::Duration};

use memory_engine_context::{Action, GatewayBlock, IncomingMessage, InjectionDecision, InjectionRules, Rule};
use memory_engine_core::{
    ContentHash, Error, ErrorKind, Field, Filter, FilterValue, Kind, Language, Op, Phrases, Record, Result, Role,
    ScanQuery, Scope,
};
use memory_engine_recall::{Degraded, RecallOptions, RecallQuery, Retrievers};
use tokio::time::timeout;

use crate::engine::MemoryEngine;

/// Turns per round: a message of the user and the reply.
const TURNS_A_ROUND: usize = 2;
/// Number of latest turns, and of latest summaries, among which the previous conversation is looked for.
const PREVIOUS_SESSION_TURNS: usize = 200;
/// Maximum number of summaries of the previous conversation: one for each of its scenes, or for each few rounds.
const PREVIOUS_SESSION_SUMMARIES: usize = 3;
/// Maximum number of additional candidates, in case the conversation already contains some of the results.
const MAX_EXTRA_CANDIDATES: usize = 20;

/// Decides by rules whether a message calls for memories, recalls them, and renders them for the system prompt.
///
/// Rules, frame and dates exist in Chinese and in English. The engine's [language](MemoryEngine::language) decides; if
/// it is not set, the language of the message does. Times are in the engine's [zone](MemoryEngine::zone).
///
/// An injection does not fail and takes at most as long as a recall: stages that fail are named in
/// [`Injection::degraded`], and the rest is injected.
///
/// ```
/// use memory_engine::{Injector, MemoryEngine, Scope, Turn, context::IncomingMessage};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let lin = Scope::user("lin")?;
/// memory.remember(&lin, Turn::user("我们约好周五去爬山").with_scene("daily")).await?;
///
/// let injector = Injector::new(memory.clone());
/// let asked = IncomingMessage { round: 5, scene: "daily", text: "还记得我们约好去爬山吗" };
/// let injection = injector.inject(&lin, &asked).await;
/// assert!(injection.text.contains("周五去爬山")); // for the end of the system prompt
/// memory.remember(&lin, Turn::user("My dog is called Biscuit.").with_scene("daily")).await?;
/// let asked = IncomingMessage { round: 6, scene: "daily", text: "Do you remember my dog's name?" };
/// assert!(injector.inject(&lin, &asked).await.text.contains("User: My dog is called Biscuit."));
/// let small_talk = IncomingMessage { round: 7, scene: "daily", text: "吃饭了吗" };
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

/// The memories to inject for a message.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Injection {
    /// The rule that applied.
    pub decision: InjectionDecision,
    /// The text to append to the system prompt. Empty if there is nothing to inject.
    pub text: String,
    /// The records in the text, in its order.
    pub records: Vec<Record>,
    /// The stages that failed, with the reason.
    pub degraded: Vec<Degraded>,
}

/// The results for one message, best first.
#[derive(Debug, Default)]
struct Material {
    /// Memories that answer the message. They come before the others.
    relevant: Vec<Record>,
    summaries: Vec<Record>,
    memories: Vec<Record>,
    degraded: Vec<Degraded>,
    /// The texts of the conversation.
    known: BTreeSet<ContentHash>,
}

impl Material {
    /// Returns the number of candidates, so that `limit` are left without those of the conversation.
    fn candidates(&self, limit: usize) -> usize {
        limit + self.known.len().min(MAX_EXTRA_CANDIDATES)
    }

    /// Returns the first of these that the conversation does not contain.
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
    /// Uses the default rules, the default block and at most five memories.
    pub fn new(engine: MemoryEngine) -> Self {
        let deadline = engine.options().deadline;
        let block = GatewayBlock::default().with_zone(engine.zone().clone());
        Self { engine, rules: InjectionRules::default(), block, limit: 5, deadline }
    }

    /// Sets the rules.
    pub fn with_rules(mut self, rules: InjectionRules) -> Self {
        self.rules = rules;
        self
    }

    /// Sets the form of the text. A block without a zone uses the engine's.
    pub fn with_block(mut self, block: GatewayBlock) -> Self {
        self.block = block;
        self.block.zone.get_or_insert_with(|| self.engine.zone().clone());
        self
    }

    /// Sets the maximum number of recalled memories. Default: 5.
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the time limit. Default: that of the engine's recalls.
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Returns the memories to inject for a message, from everything within `scope` that is visible from its scene.
    pub async fn inject(&self, scope: &Scope, message: &IncomingMessage<'_>) -> Injection {
        self.inject_into(scope, message, &[]).await
    }

    /// Like [`inject`](Self::inject), without memories whose text is already in the conversation, word for word.
    pub async fn inject_into(&self, scope: &Scope, message: &IncomingMessage<'_>, conversation: &[&str]) -> Injection {
        let language = self.engine.language().unwrap_or_else(|| Language::of(message.text));
        let decision = self.rules.decide_in(message, language);
        let mut material = Material::default();
        if decision.action != Action::Nothing {
            material.known = conversation.iter().map(|text| ContentHash::of(text)).collect();
        }
        let time = self.deadline;
        if let Err(error) = self.engine.indexed_store().check_open("injection") {
            material.lacks(&error);
        } else if timeout(time, self.find(scope, message, &decision, &mut material)).await.is_err() {
            material.lacks(&Error::new(
                ErrorKind::Timeout,
                "injection",
                format!("not ready after {} ms", time.as_millis()),
            ));
        }
        let is_wordless = !message.text.chars().any(char::is_alphabetic);
        let rendered = match self.engine.language() {
            // A message without words has no language, and nothing is searched for it.
            None if is_wordless => self.block.render(&material.summaries, &material.memories),
            _ => {
                self.block.render_relevant_first(language, &material.relevant, &material.summaries, &material.memories)
            }
        };
        let all: Vec<Record> =
            material.relevant.into_iter().chain(material.summaries).chain(material.memories).collect();
        let record = |id| all.iter().find(|record| record.id == id).cloned();
        let records: Vec<Record> = rendered.included.into_iter().filter_map(record).collect();
        let decision =
            if decision.rule == Rule::Relevant && records.is_empty() { InjectionDecision::nothing() } else { decision };
        Injection { decision, text: rendered.text, records, degraded: material.degraded }
    }

    /// Fills in the parts one after the other. A part that fails does not stop the others.
    async fn find(
        &self,
        scope: &Scope,
        message: &IncomingMessage<'_>,
        decision: &InjectionDecision,
        material: &mut Material,
    ) {
        let options = self.recall_options(material);
        let text = decision.search_text.as_deref().unwrap_or(message.text);
        let question = || RecallQuery::new(text).with_options(options);
        match &decision.action {
            Action::Nothing => {}
            Action::Search => self.search(scope, question().in_scene(message.scene), material).await,
            Action::PreviousSession => self.previous_session(scope, message, material).await,
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
                let newest = self.newest(scope, message, kind(Kind::TURN), material.candidates(turns)).await;
                let found = material.or_nothing(newest);
                let fresh = material.fresh(found, turns);
                material.memories.extend(fresh);
            }
            Action::SameEmotion { emotion, words, within } => {
                self.same_emotion(scope, message, (emotion, words), *within, material).await;
            }
            // A later version of the rules may want what this one cannot find.
            _ => {}
        }
    }

    /// The options of recalls: they end a little before the injection, so that their results are used.
    fn recall_options(&self, material: &Material) -> RecallOptions {
        let options = self.engine.options().with_limit(material.candidates(self.limit));
        options.with_deadline(options.deadline.min(self.deadline.mul_f64(0.9)))
    }

    /// Recalls what is relevant to the query. Statements come before questions: an earlier question is often the most
    /// similar record, and seldom an answer.
    async fn search(&self, scope: &Scope, query: RecallQuery, material: &mut Material) {
        match self.engine.recall(scope, query).await {
            Ok(recall) => {
                let relevant = recall.relevant().map(|hit| hit.record.clone());
                let (questions, statements): (Vec<Record>, Vec<Record>) = relevant.partition(is_question_turn);
                material.relevant = material.fresh(statements.into_iter().chain(questions), self.limit);
                material.degraded.extend(recall.degraded);
            }
            Err(e) => material.lacks(&e),
        }
    }

    /// Adds the latest summaries of the conversation before this one, or the most informative statements of its user.
    async fn previous_session(&self, scope: &Scope, message: &IncomingMessage<'_>, material: &mut Material) {
        let of_kind = |kind: Kind| Filter::eq(Field::Kind, kind.as_str());
        let newest = self.newest(scope, message, of_kind(Kind::TURN), PREVIOUS_SESSION_TURNS).await;
        let turns = material.or_nothing(newest);
        let session = |record: &Record| record.scope.session().map(str::to_owned);
        // The latest turn of this conversation tells its session: earlier ones may have been said elsewhere, too.
        let latest_known = turns.iter().find(|turn| material.known.contains(&turn.content_hash())).map(session);
        let current = latest_known.unwrap_or_else(|| scope.session().map(str::to_owned));
        let is_other = |turn: &&Record| current.is_none() || session(turn) != current;
        let Some(previous) = turns.iter().find(is_other).map(session) else { return };
        let newest = self.newest(scope, message, of_kind(Kind::SUMMARY), PREVIOUS_SESSION_TURNS).await;
        let summaries = material.or_nothing(newest);
        material.summaries = summaries
            .into_iter()
            .filter(|summary| session(summary) == previous)
            .take(PREVIOUS_SESSION_SUMMARIES)
            .collect();
        if material.summaries.is_empty() {
            let turns = turns.into_iter().filter(|turn| session(turn) == previous);
            let statements = most_informative(turns.filter(|turn| !is_question_turn(turn)).collect(), self.limit);
            let fresh = material.fresh(statements, self.limit);
            material.memories.extend(fresh);
        }
    }

    async fn newest(
        &self,
        scope: &Scope,
        message: &IncomingMessage<'_>,
        filter: Filter,
        limit: usize,
    ) -> Result<Vec<Record>> {
        let seen = self.engine.scene_policy().filter(message.scene);
        let active = Filter::eq(Field::State, "active");
        let filter = [filter, active].into_iter().chain(seen).reduce(Filter::and);
        let query = filter.map_or_else(|| ScanQuery::newest(limit), |f| ScanQuery::newest(limit).with_filter(f));
        Ok(self.engine.timeline(scope, &query).await?.records)
    }

    /// Adds recent turns with the same feeling: those labelled with it, and those that contain its words.
    async fn same_emotion(
        &self,
        scope: &Scope,
        message: &IncomingMessage<'_>,
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
        let phrases = Phrases::new(words);
        let holds = |record: &Record| phrases.find(&record.text).is_some();
        let unlabelled = recall.hits.into_iter().map(|hit| hit.record).filter(|r| r.emotion.is_none() && holds(r));
        let fresh = material.fresh(unlabelled, self.limit);
        material.memories.extend(fresh);
        material.memories.truncate(self.limit);
        material.degraded.extend(recall.degraded);
    }
}

/// Returns the turns of the user with the most different words, in their order.
fn most_informative(turns: Vec<Record>, limit: usize) -> Vec<Record> {
    let is_by_user = |turn: &Record| turn.role.as_ref() != Some(&Role::ASSISTANT);
    let different_words = |turn: &Record| {
        let folded = memory_engine_core::phrases::fold(&turn.text);
        let is_word_end = |c: char| !c.is_alphanumeric();
        let words: BTreeSet<&str> = folded.split(is_word_end).filter(|word| word.is_ascii()).collect();
        let han: BTreeSet<char> = folded.chars().filter(|c| memory_engine_core::text::is_han(*c)).collect();
        words.len() + han.len()
    };
    let mut by_words: Vec<(usize, Record)> =
        turns.into_iter().filter(is_by_user).map(|turn| (different_words(&turn), turn)).collect();
    by_words.sort_by_key(|(words, _)| std::cmp::Reverse(*words));
    by_words.truncate(limit);
    by_words.sort_by_key(|(_, turn)| turn.occurred_at);
    by_words.into_iter().map(|(_, turn)| turn).collect()
}

fn is_question_turn(record: &Record) -> bool {
    record.kind == Kind::TURN && memory_engine_context::is_question(&record.text)
}
