//! Collects the memories that a decision of the rules asks for.

use std::{collections::BTreeMap, time::Duration};

use memory_engine_context::{
    Action, IncomingMessage, InjectionDecision, MAX_CONTEXT_MESSAGES, question_around_paste, weak_question,
};
use memory_engine_core::{
    ContentHash, Field, Filter, FilterValue, Kind, Op, Phrases, Record, RecordId, Result, Scope, Timestamp,
};

use super::{
    Injector,
    core::{Core, CoreClass},
    pinned::{MAX_PINNED, pinned_filter},
    recalled::RecalledMemories,
    trace::{MemoryOutcome, MemorySource},
};
use crate::{
    enhance::Enhancement,
    options::RecallOptions,
    query::{RecallQuery, Retrievers},
};

/// Turns per round: a message of the user and the reply.
const TURNS_PER_ROUND: usize = 2;
/// Number of additional candidates, because some of them are not injected: they only ask, or the conversation already
/// contains them.
const EXTRA_CANDIDATES: usize = 20;
/// Share of the time limit after which a recall must end.
const RECALL_TIME_SHARE: f64 = 0.9;

impl Injector {
    /// Adds the core, and the memories that the decision asks for.
    pub(super) async fn collect_memories(
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
            Core::load(&*self.pipeline, scope, Some(message.scene), usize::MAX).await
        } else {
            let pinned = self.newest_records(scope, message, pinned_filter(), MAX_PINNED).await;
            pinned.map(|pinned| Core::ranked(pinned, self.pipeline.parts().store.clock().now(), usize::MAX))
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

    /// Returns the options of a recall that begins now: it ends a little before the injection, so that its results are
    /// used.
    fn recall_options(&self, recalled: &RecalledMemories) -> RecallOptions {
        let options = self.pipeline.parts().options.with_limit(self.limit + EXTRA_CANDIDATES);
        let remaining = self.deadline.mul_f64(RECALL_TIME_SHARE).saturating_sub(recalled.started.elapsed());
        options.with_deadline(options.deadline.min(remaining))
    }

    /// Recalls the memories that are relevant to the query. Of a message with a pasted text, the question
    /// before or after it is searched for first, and the whole message if that finds nothing.
    async fn search(&self, scope: &Scope, query: RecallQuery, conversation: &[&str], recalled: &mut RecalledMemories) {
        if let Some(question) = question_around_paste(&query.text) {
            let asked = RecallQuery { text: question, ..query.clone() };
            self.search_text(scope, asked, conversation, recalled).await;
            if !recalled.relevant.is_empty() {
                return;
            }
        }
        let options = self.recall_options(recalled);
        self.search_text(scope, query.with_options(options), conversation, recalled).await;
    }

    /// Recalls the memories that are relevant to the text of the query. A query without a topic ("how did that go?") is
    /// searched for together with the conversation before it.
    async fn search_text(
        &self,
        scope: &Scope,
        query: RecallQuery,
        conversation: &[&str],
        recalled: &mut RecalledMemories,
    ) {
        let outcome = if weak_question(&query.text) && !conversation.is_empty() {
            let latest = &conversation[conversation.len().saturating_sub(MAX_CONTEXT_MESSAGES)..];
            let dialogue = latest.iter().map(|text| ("message", *text));
            let enhancement = Enhancement::new(dialogue).weak_at_once();
            self.pipeline.recall_enhanced(scope, &query, &enhancement).await.map(|enhanced| enhanced.recall)
        } else {
            self.pipeline.recall(scope, &query).await
        };
        match outcome {
            Ok(recall) => {
                recalled.consider_hits(&recall.hits);
                recalled.past.extend(recall.hits.iter().filter(|hit| hit.outdated).map(|hit| hit.record.id));
                // What repeats a better hit is relevant, too, but says nothing new.
                let relevant = recall.relevant().filter(|hit| hit.repeats.is_none());
                let mut relevant: Vec<Record> = relevant.map(|hit| hit.record.clone()).collect();
                recalled.remove_unasked_replies(&mut relevant);
                if scope.project().is_some() {
                    relevant.sort_by_key(|record| record.scope.project().is_none());
                }
                recalled.relevant = self.select(scope, relevant, self.limit, recalled).await;
                recalled.degraded.extend(recall.degraded);
            }
            Err(e) => recalled.add_failure(&e),
        }
    }

    /// Returns the newest active records that match the filter and are visible from the scene of the message.
    pub(super) async fn newest_records(
        &self,
        scope: &Scope,
        message: &IncomingMessage<'_>,
        filter: Filter,
        limit: usize,
    ) -> Result<Vec<Record>> {
        let mut filter = filter.and(Filter::eq(Field::State, "active"));
        if let Some(is_visible) = self.pipeline.parts().scene_policy.filter(message.scene) {
            filter = filter.and(is_visible);
        }
        self.pipeline.newest(scope, filter, limit).await
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
        let now = self.pipeline.parts().store.clock().now().as_micros();
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
        let recall = match self.pipeline.recall(scope, &query.in_scene(message.scene).with_options(options)).await {
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

pub(super) fn kind_filter(kind: Kind) -> Filter {
    Filter::eq(Field::Kind, kind.as_str())
}
