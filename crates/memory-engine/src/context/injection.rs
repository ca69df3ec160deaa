//! Automatic injection of memories into a prompt.

mod again;
mod considered;
mod informative;
mod injected;
mod recalled;
mod repeats;
mod trace;
mod updates;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use memory_engine_context::{
    Action, GatewayBlock, IncomingMessage, InjectionDecision, InjectionRules, MAX_CONTEXT_MESSAGES, Rule,
    is_backchannel, weak_question,
};
use memory_engine_core::{
    ContentHash, Error, ErrorKind, Field, Filter, FilterValue, Kind, Language, Op, Phrases, Record, RecordId, Result,
    ScanQuery, Scope, Timestamp,
};
use memory_engine_recall::{Degraded, Enhancement, RecallOptions, RecallQuery, Retrievers};
use tokio::time::timeout;

use crate::{
    context::{
        core::{Core, CoreClass},
        pinned::{MAX_PINNED, pinned_filter},
    },
    engine::MemoryEngine,
};
use informative::most_informative;
pub use injected::InjectedMemories;
use recalled::{RecalledMemories, has_content};
pub use trace::{ConsideredMemory, InjectionTrace, MemoryOutcome, MemorySource};

/// Turns per round: a message of the user and the reply.
const TURNS_PER_ROUND: usize = 2;
/// Number of latest turns, and of latest summaries, in which the previous conversation is searched for.
const PREVIOUS_SESSION_SCAN_ROWS: usize = 200;
/// Maximum number of summaries of the previous conversation that are injected.
const PREVIOUS_SESSION_MAX_SUMMARIES: usize = 3;
/// Maximum number of statements of the previous conversation that are injected in place of its summaries.
const PREVIOUS_SESSION_MAX_STATEMENTS: usize = 12;
/// Number of additional candidates, because some of them are not injected: they only ask, or the conversation already
/// contains them.
const EXTRA_CANDIDATES: usize = 20;
/// Number of latest messages of a conversation that decide about the language of the frame.
const LANGUAGE_MESSAGES: usize = 5;
/// Share of the time limit after which a recall must end.
const RECALL_TIME_SHARE: f64 = 0.9;

/// Decides by rules whether a message calls for memories, recalls them, and renders them for the system prompt.
///
/// Rules, frame and dates exist in Chinese and in English. The engine's [language](crate::Settings::language) decides;
/// if it is not set, the language of the message decides about the rules, and that of the latest messages of the
/// conversation about the frame. Times are in the engine's [zone](crate::Settings::zone).
///
/// The [core](crate::context::Core) is part of every injection, also if no other rule applies, except in a silent
/// scene. A statement stands in the text once, whether as a fact, as a message or in a summary, and not if the
/// conversation already contains it.
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
    retrievers: Retrievers,
    traces: bool,
}

/// The memories to inject for a message.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Injection {
    /// The rule that applied; none if it only asks for relevant memories, and there are none.
    pub decision: InjectionDecision,
    /// The text to append to the system prompt. Empty if there is nothing to inject.
    pub text: String,
    /// The records in the text, in its order, with their stored texts: the text may have a part of their sentences.
    pub records: Vec<Record>,
    /// Those of them that belong to the core: they would be there with any message.
    pub core: Vec<RecordId>,
    /// Their ids, with which [`Injector::inject_again`] makes the text again.
    pub memories: InjectedMemories,
    /// The stages that failed, with the reason.
    pub degraded: Vec<Degraded>,
    /// The memories that were considered, if the injector [keeps a trace](Injector::with_trace).
    pub trace: Option<InjectionTrace>,
}

impl Injector {
    /// Default of the maximum number of recalled memories.
    pub const DEFAULT_LIMIT: usize = 5;

    /// Creates an injector with the default rules, the default block and at most five memories.
    pub fn new(engine: MemoryEngine) -> Self {
        let deadline = engine.settings().recall_options().deadline;
        let block = GatewayBlock::default().with_zone(engine.settings().zone().clone());
        let rules = InjectionRules::default();
        let limit = Self::DEFAULT_LIMIT;
        Self { engine, rules, block, limit, deadline, retrievers: Retrievers::default(), traces: false }
    }

    /// Sets the rules.
    pub fn with_rules(mut self, rules: InjectionRules) -> Self {
        self.rules = rules;
        self
    }

    /// Sets the form of the text. A block without a zone uses the engine's.
    pub fn with_block(mut self, block: GatewayBlock) -> Self {
        self.block = block;
        self.block.zone.get_or_insert_with(|| self.engine.settings().zone().clone());
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

    /// Sets the retrievers of the searches. Default: all.
    pub fn with_retrievers(mut self, retrievers: Retrievers) -> Self {
        self.retrievers = retrievers;
        self
    }

    /// Adds a trace to every injection: the memories that were considered, and why each is in the text or not.
    pub fn with_trace(mut self) -> Self {
        self.traces = true;
        self
    }

    /// Returns the memories to inject for a message, from everything within `scope` that is visible from its scene.
    pub async fn inject(&self, scope: &Scope, message: &IncomingMessage<'_>) -> Injection {
        self.inject_into(scope, message, &[]).await
    }

    /// Like [`inject`](Self::inject), without memories that the conversation already contains: turns with the text of
    /// one of its messages, and facts and summaries of which every source is such a turn.
    pub async fn inject_into(&self, scope: &Scope, message: &IncomingMessage<'_>, conversation: &[&str]) -> Injection {
        self.inject_except(scope, message, conversation, &BTreeSet::new()).await
    }

    /// Like [`inject_into`](Self::inject_into), also without these records, and without facts and summaries of which
    /// every source is one of them or in the conversation. For records that are about to be replaced, such as a reply
    /// that the user rejected.
    pub async fn inject_except(
        &self,
        scope: &Scope,
        message: &IncomingMessage<'_>,
        conversation: &[&str],
        excluded: &BTreeSet<RecordId>,
    ) -> Injection {
        let language = self.engine.settings().language().unwrap_or_else(|| Language::of(message.text));
        let decision = self.rules.decide_in(message, language);
        let mut recalled = RecalledMemories::new(excluded.clone(), self.traces);
        // Replies of the model answer questions about the past, and belong to a play.
        recalled.includes_replies = decision.rule != Rule::Relevant || message.scene == self.block.play;
        if let Err(error) = self.engine.indexed_store().check_open("injection") {
            recalled.add_failure(&error);
        } else {
            let work = self.collect_memories(scope, message, &decision, conversation, &mut recalled);
            // Memories that were collected before the deadline are injected.
            if timeout(self.deadline, work).await.is_err() {
                let reason = format!("not ready after {} ms", self.deadline.as_millis());
                recalled.add_failure(&Error::new(ErrorKind::Timeout, "injection", reason));
            }
        }
        self.render(message, conversation, recalled, decision)
    }

    /// Renders the collected memories.
    fn render(
        &self,
        message: &IncomingMessage<'_>,
        conversation: &[&str],
        mut recalled: RecalledMemories,
        decision: InjectionDecision,
    ) -> Injection {
        let block_language = self.engine.settings().language().or_else(|| conversation_language(message, conversation));
        let block_language = block_language.unwrap_or_else(|| recalled.language());
        let max_chars_each = block_language.pick(&self.block.chinese, &self.block.english).max_chars_each;
        let mut shown = recalled.without_repeats(conversation, max_chars_each);
        let mut rendered = self.block.render_memories(block_language, shown.as_block(&recalled.past));
        // The core must not depend on a message for which there is no room.
        let restored = shown.restore_unstated_core(&rendered.included);
        if !restored.is_empty() {
            recalled.consider(MemorySource::Core, &restored);
            rendered = self.block.render_memories(block_language, shown.as_block(&recalled.past));
        }
        let degraded = std::mem::take(&mut recalled.degraded);
        let trace = self.trace(&mut recalled, &rendered, block_language, &decision);
        let past = std::mem::take(&mut recalled.past);
        let all = recalled.into_records();
        let record = |id| all.iter().find(|record| record.id == id).cloned();
        let records: Vec<Record> = rendered.included.into_iter().filter_map(record).collect();
        let memories = InjectedMemories::of(shown.as_block(&past), &records);
        let has_recalled = records.iter().any(|record| !memories.core.contains(&record.id));
        let core = records.iter().map(|record| record.id).filter(|id| memories.core.contains(id)).collect();
        let decision =
            if decision.rule == Rule::Relevant && !has_recalled { InjectionDecision::nothing() } else { decision };
        Injection { decision, text: rendered.text, records, core, memories, degraded, trace }
    }

    /// Adds the core, and the memories that the decision asks for.
    async fn collect_memories(
        &self,
        scope: &Scope,
        message: &IncomingMessage<'_>,
        decision: &InjectionDecision,
        conversation: &[&str],
        recalled: &mut RecalledMemories,
    ) {
        if self.rules.is_silent(message.scene) {
            return;
        }
        recalled.set_conversation(conversation.iter().map(|text| ContentHash::of(text)).collect());
        self.add_core(scope, message, recalled).await;
        self.recall_memories(scope, message, decision, conversation, recalled).await;
        recalled.remove_core_from_others();
        if let Err(error) = self.add_updates(scope, message, recalled).await {
            recalled.add_failure(&error);
        }
    }

    /// Adds the memories that always matter, unless the conversation contains all that they are derived from.
    async fn add_core(&self, scope: &Scope, message: &IncomingMessage<'_>, recalled: &mut RecalledMemories) {
        let core = if self.rules.core.enabled {
            Core::load(&self.engine, scope, Some(message.scene), usize::MAX).await
        } else {
            let pinned = self.newest_records(scope, message, pinned_filter(), MAX_PINNED).await;
            pinned.map(|pinned| Core::ranked(pinned, self.engine.settings().clock().now(), usize::MAX))
        };
        let core = match core {
            Ok(core) => core,
            Err(error) => return recalled.add_failure(&error),
        };
        let mut tokens: BTreeMap<RecordId, usize> = BTreeMap::new();
        let mut records = Vec::new();
        for entry in core.entries {
            let source = if entry.class == CoreClass::Pinned { MemorySource::Pinned } else { MemorySource::Core };
            recalled.consider(source, std::slice::from_ref(&entry.record));
            tokens.insert(entry.record.id, entry.tokens);
            records.push(entry.record);
        }
        // What the conversation contains must not use up the budget.
        let records = self.without_conversation(scope, records, usize::MAX, recalled).await;
        let mut remaining = self.rules.core.max_tokens;
        for record in records {
            match remaining.checked_sub(tokens.get(&record.id).copied().unwrap_or_default()) {
                Some(rest) => {
                    remaining = rest;
                    recalled.core.push(record);
                }
                None => recalled.reject(&[record], MemoryOutcome::OverCoreBudget),
            }
        }
    }

    /// Adds the memories that the decision asks for. A search that fails does not stop the others.
    async fn recall_memories(
        &self,
        scope: &Scope,
        message: &IncomingMessage<'_>,
        decision: &InjectionDecision,
        conversation: &[&str],
        recalled: &mut RecalledMemories,
    ) {
        let conversation: Vec<&str> = conversation.iter().copied().filter(|text| *text != message.text).collect();
        let conversation = conversation.as_slice();
        let text = decision.search_text.as_deref().unwrap_or(message.text);
        let query = RecallQuery::new(text).with_options(self.recall_options(recalled)).with_retrievers(self.retrievers);
        match &decision.action {
            Action::Nothing => {}
            Action::Search => {
                self.search(scope, query.in_scene(message.scene), conversation, recalled).await;
            }
            Action::PreviousSession => self.previous_session(scope, message, recalled).await,
            Action::AboutUser => self.about_user(scope, message, recalled).await,
            Action::SearchScene(scene) => {
                let within = Filter::eq(Field::Scene, scene.as_str());
                self.search(scope, query.with_filter(within), conversation, recalled).await;
            }
            Action::Latest { summaries, rounds, search } => {
                if *search {
                    self.search(scope, query.in_scene(message.scene), conversation, recalled).await;
                }
                self.latest(scope, message, *summaries, rounds.saturating_mul(TURNS_PER_ROUND), recalled).await;
            }
            Action::SameEmotion { emotion, words, within, search } => {
                if *search {
                    self.search(scope, query.in_scene(message.scene), conversation, recalled).await;
                }
                self.same_emotion(scope, message, (emotion, words), *within, recalled).await;
            }
        }
    }

    /// Adds the latest summaries and turns.
    async fn latest(
        &self,
        scope: &Scope,
        message: &IncomingMessage<'_>,
        max_summaries: usize,
        max_turns: usize,
        recalled: &mut RecalledMemories,
    ) {
        let limit = max_summaries + EXTRA_CANDIDATES;
        let summaries = self.newest_records(scope, message, kind_filter(Kind::SUMMARY), limit).await;
        let summaries = recalled.records_or_failure(summaries);
        recalled.consider(MemorySource::LatestSummaries, &summaries);
        recalled.summaries = self.select(scope, summaries, max_summaries, recalled).await;
        let limit = max_turns + EXTRA_CANDIDATES;
        let turns = self.newest_records(scope, message, kind_filter(Kind::TURN), limit).await;
        let turns = recalled.records_or_failure(turns);
        recalled.consider(MemorySource::LatestTurns, &turns);
        let turns = self.without_conversation(scope, turns, max_turns, recalled).await;
        recalled.others.extend(turns);
    }

    /// Adds the profile and the latest facts of the user, or the previous session if there are neither, and no core.
    async fn about_user(&self, scope: &Scope, message: &IncomingMessage<'_>, recalled: &mut RecalledMemories) {
        let profile = self.newest_records(scope, message, kind_filter(Kind::PROFILE), 1).await;
        let profile = recalled.records_or_failure(profile);
        recalled.consider(MemorySource::Profile, &profile);
        recalled.summaries = self.select(scope, profile, 1, recalled).await;
        let limit = self.limit + EXTRA_CANDIDATES;
        let facts = self.newest_records(scope, message, kind_filter(Kind::FACT), limit).await;
        let facts = recalled.records_or_failure(facts);
        recalled.consider(MemorySource::Facts, &facts);
        recalled.relevant = self.select(scope, facts, self.limit, recalled).await;
        if recalled.relevant.is_empty() && recalled.summaries.is_empty() && recalled.core.is_empty() {
            self.previous_session(scope, message, recalled).await;
        }
    }

    /// Returns the first records that have content and that the conversation does not contain.
    async fn select(
        &self,
        scope: &Scope,
        records: Vec<Record>,
        limit: usize,
        recalled: &mut RecalledMemories,
    ) -> Vec<Record> {
        let (with_content, empty): (Vec<Record>, Vec<Record>) = records.into_iter().partition(has_content);
        recalled.reject(&empty, MemoryOutcome::NoContent);
        self.without_conversation(scope, with_content, limit, recalled).await
    }

    /// Returns the first records that the conversation does not contain.
    async fn without_conversation(
        &self,
        scope: &Scope,
        mut records: Vec<Record>,
        limit: usize,
        recalled: &mut RecalledMemories,
    ) -> Vec<Record> {
        recalled.remove_conversation_and_excluded(&mut records);
        if recalled.has_conversation() {
            self.remove_derived_from_conversation(scope, &mut records, recalled).await;
        }
        recalled.reject(records.get(limit..).unwrap_or_default(), MemoryOutcome::OverLimit);
        records.truncate(limit);
        records
    }

    /// Removes the records of which every source is in the conversation.
    async fn remove_derived_from_conversation(
        &self,
        scope: &Scope,
        records: &mut Vec<Record>,
        recalled: &mut RecalledMemories,
    ) {
        let sources: BTreeSet<RecordId> = records.iter().flat_map(|record| record.derived_from.clone()).collect();
        if sources.is_empty() {
            return;
        }
        let sources: Vec<RecordId> = sources.into_iter().collect();
        let found = match self.engine.get_all(scope, &sources).await {
            Ok(found) => found,
            Err(e) => return recalled.add_failure(&e),
        };
        let is_in_conversation = |source: &Record| recalled.is_in_conversation(source);
        let in_conversation: BTreeMap<RecordId, bool> =
            found.iter().flatten().map(|source| (source.id, is_in_conversation(source))).collect();
        let repeats_conversation = |record: &Record| {
            let mut sources = record.derived_from.iter();
            !record.derived_from.is_empty() && sources.all(|id| in_conversation.get(id) == Some(&true))
        };
        let (repeats, others): (Vec<Record>, Vec<Record>) = records.drain(..).partition(repeats_conversation);
        recalled.reject(&repeats, MemoryOutcome::DerivedFromConversation);
        *records = others;
    }

    /// Returns the options of a recall that begins now: it ends a little before the injection, so that its results are
    /// used.
    fn recall_options(&self, recalled: &RecalledMemories) -> RecallOptions {
        let options = self.engine.settings().recall_options().with_limit(self.limit + EXTRA_CANDIDATES);
        let remaining = self.deadline.mul_f64(RECALL_TIME_SHARE).saturating_sub(recalled.started.elapsed());
        options.with_deadline(options.deadline.min(remaining))
    }

    /// Recalls the memories that are relevant to the query. A query without a topic ("how did that go?") is searched
    /// for together with the conversation before it.
    async fn search(&self, scope: &Scope, query: RecallQuery, conversation: &[&str], recalled: &mut RecalledMemories) {
        let outcome = if weak_question(&query.text) && !conversation.is_empty() {
            let latest = &conversation[conversation.len().saturating_sub(MAX_CONTEXT_MESSAGES)..];
            let dialogue = latest.iter().map(|text| ("message", *text));
            let enhancement = Enhancement::new(dialogue).weak_at_once();
            self.engine.recall_enhanced(scope, query, &enhancement).await.map(|enhanced| enhanced.recall)
        } else {
            self.engine.recall(scope, query).await
        };
        match outcome {
            Ok(recall) => {
                recalled.consider_hits(&recall.hits);
                recalled.past.extend(recall.hits.iter().filter(|hit| hit.outdated).map(|hit| hit.record.id));
                // What repeats a better hit is relevant, too, but says nothing new.
                let relevant = recall.relevant().filter(|hit| hit.repeats.is_none());
                let mut relevant: Vec<Record> = relevant.map(|hit| hit.record.clone()).collect();
                recalled.remove_unasked_replies(&mut relevant);
                recalled.relevant = self.select(scope, relevant, self.limit, recalled).await;
                recalled.degraded.extend(recall.degraded);
            }
            Err(e) => recalled.add_failure(&e),
        }
    }

    /// Adds the statements of the user in the conversation before this one. If they are too many, adds its latest
    /// summaries, or the most informative statements. A conversation with neither of them is skipped.
    ///
    /// The session of this conversation is that of the latest turn in `conversation`, else that of the scope. If there
    /// is neither, the latest session counts as the previous one.
    async fn previous_session(&self, scope: &Scope, message: &IncomingMessage<'_>, recalled: &mut RecalledMemories) {
        let turns = self.newest_records(scope, message, kind_filter(Kind::TURN), PREVIOUS_SESSION_SCAN_ROWS).await;
        let turns = recalled.records_or_failure(turns);
        let session = |record: &Record| record.scope.session().map(str::to_owned);
        // The latest turn decides, because the text of an earlier one may occur in another session, too. A turn without
        // content ("OK") occurs in many.
        let is_own = |turn: &&Record| recalled.is_in_conversation(turn) && !is_backchannel(&turn.text);
        let session_of_latest = turns.iter().find(is_own).map(session);
        let current = session_of_latest.unwrap_or_else(|| scope.session().map(str::to_owned));
        let summaries =
            self.newest_records(scope, message, kind_filter(Kind::SUMMARY), PREVIOUS_SESSION_SCAN_ROWS).await;
        let summaries = recalled.records_or_failure(summaries);
        let mut seen = BTreeSet::new();
        let mut earlier_sessions: Vec<Option<String>> = turns.iter().map(session).collect();
        earlier_sessions.retain(|other| (current.is_none() || *other != current) && seen.insert(other.clone()));
        for previous in earlier_sessions {
            let of_session = |records: &[Record]| -> Vec<Record> {
                records.iter().filter(|record| session(record) == previous).cloned().collect()
            };
            let turns = of_session(&turns);
            recalled.consider(MemorySource::PreviousSession, &turns);
            let statements = self.select(scope, turns, PREVIOUS_SESSION_SCAN_ROWS, recalled).await;
            let mut statements = most_informative(statements, usize::MAX);
            // The newest come first if there is no room for all.
            statements.reverse();
            if (1..=PREVIOUS_SESSION_MAX_STATEMENTS).contains(&statements.len()) {
                recalled.others.extend(statements);
                return;
            }
            let summaries = of_session(&summaries);
            recalled.consider(MemorySource::PreviousSession, &summaries);
            recalled.summaries = self.select(scope, summaries, PREVIOUS_SESSION_MAX_SUMMARIES, recalled).await;
            if !recalled.summaries.is_empty() {
                return;
            }
            if !statements.is_empty() {
                recalled.others.extend(most_informative(statements, self.limit).into_iter().rev());
                return;
            }
        }
    }

    /// Returns the newest active records that match the filter and are visible from the scene of the message.
    async fn newest_records(
        &self,
        scope: &Scope,
        message: &IncomingMessage<'_>,
        filter: Filter,
        limit: usize,
    ) -> Result<Vec<Record>> {
        let mut filter = filter.and(Filter::eq(Field::State, "active"));
        if let Some(is_visible) = self.engine.settings().scene_policy().filter(message.scene) {
            filter = filter.and(is_visible);
        }
        let query = ScanQuery::newest(limit).with_filter(filter);
        Ok(self.engine.history().timeline(scope, &query).await?.records)
    }

    /// Adds recent turns with the same feeling: those labelled with it, and those that contain its words.
    async fn same_emotion(
        &self,
        scope: &Scope,
        message: &IncomingMessage<'_>,
        (emotion, words): (&str, &[String]),
        within: Duration,
        recalled: &mut RecalledMemories,
    ) {
        let now = self.engine.settings().clock().now().as_micros();
        let since = now.saturating_sub(i64::try_from(within.as_micros()).unwrap_or(i64::MAX));
        let is_recent = Filter::compare(Field::OccurredAt, Op::Ge, Timestamp::from_micros(since));
        let labels = words.iter().map(String::as_str).chain([emotion]);
        let labels = labels.map(|label| FilterValue::Text(label.to_owned())).collect();
        let is_labelled = Filter::In(Field::Emotion, labels).and(is_recent.clone());
        let limit = self.limit + EXTRA_CANDIDATES;
        let labelled = self.newest_records(scope, message, is_labelled, limit).await;
        let labelled = recalled.records_or_failure(labelled);
        recalled.consider(MemorySource::Emotion, &labelled);
        recalled.others = self.select(scope, labelled, self.limit, recalled).await;
        // The background labels turns later. Those without a label are found by their words.
        let options = self.recall_options(recalled);
        let query = RecallQuery::new(words.join(" ")).with_retrievers(Retrievers::KeywordOnly).with_filter(is_recent);
        let recall = match self.engine.recall(scope, query.in_scene(message.scene).with_options(options)).await {
            Ok(recall) => recall,
            Err(e) => return recalled.add_failure(&e),
        };
        let phrases = Phrases::new(words);
        let is_unlabelled_match = |record: &Record| record.emotion.is_none() && phrases.find(&record.text).is_some();
        let unlabelled: Vec<Record> =
            recall.hits.into_iter().map(|hit| hit.record).filter(is_unlabelled_match).collect();
        recalled.consider(MemorySource::Emotion, &unlabelled);
        let unlabelled = self.select(scope, unlabelled, self.limit, recalled).await;
        recalled.others.extend(unlabelled);
        let rest = recalled.others.split_off(self.limit.min(recalled.others.len()));
        recalled.reject(&rest, MemoryOutcome::OverLimit);
        recalled.degraded.extend(recall.degraded);
    }
}

/// Returns the language of the latest messages of a conversation. A single message may be a quote, a name or "OK".
/// `None` if they contain no letters.
fn conversation_language(message: &IncomingMessage<'_>, conversation: &[&str]) -> Option<Language> {
    let earlier = conversation.iter().copied().filter(|text| *text != message.text);
    let mut texts: Vec<&str> = earlier.rev().take(LANGUAGE_MESSAGES - 1).collect();
    texts.push(message.text);
    let text = texts.join("\n");
    text.chars().any(char::is_alphabetic).then(|| Language::of(&text))
}

fn kind_filter(kind: Kind) -> Filter {
    Filter::eq(Field::Kind, kind.as_str())
}
