//! Retrieves memories for the prompt of the next message.
//!
//! Reasons: `docs/design/decisions/0027-stories-query-by-sentence.md`.

use futures::future::join_all;
use memory_engine::{
    Recall, RecallQuery,
    context::pinned_records,
    graph::{Citation, GraphFacts, GraphFactsQuery, KeyEntity, KeyRelation},
};
use memory_engine_context::{StoryEntity, StoryRelation};
use memory_engine_core::{Error, ErrorKind, Field, Filter, FilterValue, Op, Record, RecordId, Result, Scope};
use tokio::time::timeout;

use crate::{
    memory::{StoryContext, StoryMemory, degraded_stage, require_branch},
    message::StoryTurn,
    mode::MemoryMode,
    snippets::{cites_sources, repeats_recent, select_snippets, with_citation},
};

/// Maximum number of search queries per message, each a sentence.
const MAX_QUESTIONS: usize = 4;

impl StoryMemory {
    /// Returns the memories for the prompt of the next message. They are empty if the mode is off.
    ///
    /// The queries are the pending interventions and the last sentences of the latest message. Recent messages, which
    /// are already in the prompt, are excluded. The searches and the graph lookup run at the same time, each within
    /// the [deadline of a recall](memory_engine::RecallOptions::deadline).
    pub async fn context(&self, scope: &Scope, turn: &StoryTurn) -> StoryContext {
        if !self.mode.is_on() {
            return StoryContext::default();
        }
        match require_branch(scope) {
            Ok(()) => self.retrieve(scope, turn).await,
            Err(error) => StoryContext { degraded: vec![degraded_stage("story", &error)], ..StoryContext::default() },
        }
    }

    async fn retrieve(&self, scope: &Scope, turn: &StoryTurn) -> StoryContext {
        let (found, facts) =
            tokio::join!(self.with_deadline(self.recalls(scope, turn)), self.with_deadline(self.facts(scope, turn)));
        let mut context = StoryContext::default();
        let recalls = found.unwrap_or_else(|error| vec![Err(error)]);
        let mut successful = Vec::new();
        for recall in recalls {
            let degraded = match recall {
                Ok(mut recall) => {
                    let degraded = std::mem::take(&mut recall.degraded);
                    successful.push(recall);
                    degraded
                }
                Err(error) => vec![degraded_stage("snippets", &error)],
            };
            // A stage that fails usually fails for every query; it is listed once.
            for stage in degraded {
                if !context.degraded.contains(&stage) {
                    context.degraded.push(stage);
                }
            }
        }
        match facts.and_then(|facts| facts) {
            Ok(facts) => context.facts = facts,
            Err(error) => context.degraded.push(degraded_stage("graph", &error)),
        }
        let limit = self.options.sections.snippets;
        let pinned = pinned_records(&self.engine, scope, limit.div_ceil(2));
        let mut snippets = match self.with_deadline(pinned).await.flatten() {
            Ok(pinned) => pinned.into_iter().filter(|record| !repeats_recent(record, turn)).collect(),
            Err(error) => {
                context.degraded.push(degraded_stage("pinned", &error));
                Vec::new()
            }
        };
        let is_pinned = |record: &Record, pinned: &[Record]| pinned.iter().any(|pinned| pinned.id == record.id);
        let mut others = select_snippets(&successful, turn, limit);
        others.retain(|record| !is_pinned(record, &snippets));
        others.truncate(limit.saturating_sub(snippets.len()));
        snippets.append(&mut others);
        let cited = match self.with_deadline(self.with_citations(&snippets)).await.flatten() {
            Ok(cited) => cited,
            Err(error) => {
                context.degraded.push(degraded_stage("citations", &error));
                snippets.iter().filter(|record| !cites_sources(record)).cloned().collect()
            }
        };
        let entities: Vec<StoryEntity> = context.facts.entities.iter().map(entity).collect();
        let relations: Vec<StoryRelation> = context.facts.relations.iter().map(relation).collect();
        match self.options.sections.build(&cited, &entities, &relations, &self.counter) {
            Ok(built) => {
                let shown = built.layer("snippets").map(|layer| layer.included.clone()).unwrap_or_default();
                let record = |id: &RecordId| snippets.iter().find(|record| record.id == *id).cloned();
                context.snippets = shown.iter().filter_map(record).collect();
                context.text = built.text;
                context.tokens = built.tokens;
            }
            Err(error) => context.degraded.push(degraded_stage("sections", &error)),
        }
        context
    }

    /// Returns the snippets with the citations of the prompt. Summaries cite the messages that they cover; a summary of
    /// unknown messages is left out.
    async fn with_citations(&self, snippets: &[Record]) -> Result<Vec<Record>> {
        let cited = snippets.iter().map(|record| async move {
            if !cites_sources(record) {
                return Ok(Some(record.clone()));
            }
            // The messages are on the branch of their summary, which may be a parent of the branch of the story.
            let sources = self.engine.get_all(&record.scope, &record.derived_from).await?;
            let sources: Vec<Record> = sources.into_iter().flatten().collect();
            Ok(with_citation(record, &sources))
        });
        join_all(cited).await.into_iter().filter_map(Result::transpose).collect()
    }

    async fn with_deadline<T>(&self, part: impl Future<Output = T>) -> Result<T> {
        let time = self.engine.settings().recall_options().deadline;
        let timed_out = |_| Error::new(ErrorKind::Timeout, "story", format!("not ready after {} ms", time.as_millis()));
        timeout(time, part).await.map_err(timed_out)
    }

    /// Searches with each query.
    async fn recalls(&self, scope: &Scope, turn: &StoryTurn) -> Vec<Result<Recall>> {
        let graph =
            if self.mode == MemoryMode::Graph { self.engine.settings().recall_options().graph_weight } else { 0.0 };
        let mut options =
            self.engine.settings().recall_options().with_graph_weight(graph).with_graph_hops(self.options.hops);
        options =
            options.with_half_life(self.options.half_life).with_min_recency_weight(self.options.min_recency_weight);
        // The model tells the story, so its messages count as much as the user's.
        options.assistant_penalty = 0.0;
        let filter = self.exclusion_filter(turn);
        let limit = self.options.sections.snippets.saturating_mul(2).max(1);
        let recalls = turn.questions(MAX_QUESTIONS).into_iter().map(|question| {
            let query = RecallQuery::new(question).with_limit(limit).with_options(options).with_context(turn.texts());
            let query = filter.iter().cloned().fold(query, RecallQuery::with_filter);
            self.engine.recall(scope, query)
        });
        join_all(recalls).await
    }

    /// Returns the facts of the graph about the named entities.
    async fn facts(&self, scope: &Scope, turn: &StoryTurn) -> Result<GraphFacts> {
        let sections = &self.options.sections;
        if self.mode != MemoryMode::Graph || turn.texts().all(str::is_empty) {
            return Ok(GraphFacts::default());
        }
        let query = GraphFactsQuery::about(turn.texts())
            .with_hops(self.options.hops)
            .with_limits(sections.entities, sections.relations)
            .with_filter(self.exclusion_filter(turn))
            .at(self.engine.settings().clock().now());
        self.engine.graph().facts(scope, &query).await
    }

    /// Returns the filter for records with the minimum confidence that are not in the prompt yet.
    fn exclusion_filter(&self, turn: &StoryTurn) -> Option<Filter> {
        let latest = turn.recent.iter().rev().take(Filter::MAX_LEAVES / 2);
        let recent_ids: Vec<FilterValue> = latest.map(|message| FilterValue::from(message.id.as_str())).collect();
        let not_recent =
            (!recent_ids.is_empty()).then(|| Filter::Not(Box::new(Filter::In(Field::MessageId, recent_ids))));
        let min_confidence = self.options.min_confidence;
        let confident = (min_confidence > 0.0).then(|| Filter::compare(Field::Confidence, Op::Ge, min_confidence));
        [not_recent, confident].into_iter().flatten().reduce(Filter::and)
    }
}

fn entity(found: &KeyEntity) -> StoryEntity {
    let about = if found.aliases.is_empty() { String::new() } else { format!("also {}", found.aliases.join(", ")) };
    StoryEntity::new(&found.name, found.kind.as_str()).with_about(about).with_evidence(cite(&found.citation))
}

fn relation(found: &KeyRelation) -> StoryRelation {
    StoryRelation::new(&found.source, &found.relation, &found.target, cite(&found.citation))
}

/// Returns a citation in the form of the snippets.
fn cite(citation: &Citation) -> String {
    let message = citation.message_id.clone().unwrap_or_else(|| citation.record.to_string());
    citation.sequence.map_or(message.clone(), |sequence| format!("{message} / seq {sequence}"))
}
