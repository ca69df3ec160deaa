//! Finding what belongs into the next prompt.

use std::collections::BTreeSet;

use futures::future::join_all;
use memory_engine::{
    Recall, RecallHit, RecallQuery,
    graph::{Citation, GraphFacts, GraphFactsQuery, KeyEntity, KeyRelation},
    recall::Retriever,
};
use memory_engine_context::{StoryEntity, StoryRelation};
use memory_engine_core::{Error, ErrorKind, Field, Filter, FilterValue, Op, Record, RecordId, Result, Scope};
use tokio::time::timeout;

use crate::{
    memory::{StoryContext, StoryMemory, degraded_stage, require_branch},
    message::StoryTurn,
    mode::MemoryMode,
};

/// From which score of the graph arm on a record is told that does not fit a question by itself: it says how two that
/// are named now stand to each other.
const MIN_RELATION_SCORE: f64 = 0.8;

impl StoryMemory {
    /// What to put into the prompt before the next message is generated: nothing, when the mode is off.
    ///
    /// It asks with what is to happen (the pending interventions) and the last sentences of what has just happened.
    /// What is in the prompt already, as one of the recent messages, is not told again. In each of its two parts, what
    /// is found and what the graph says, it takes no longer than a
    /// [recall may](memory_engine::RecallOptions::deadline).
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
            tokio::join!(self.in_time(self.recalls(scope, turn)), self.in_time(self.facts(scope, turn)));
        let mut context = StoryContext::default();
        let recalls = found.unwrap_or_else(|error| vec![Err(error)]);
        let mut answers = Vec::new();
        for recall in recalls {
            let degraded = match recall {
                Ok(mut recall) => {
                    let degraded = std::mem::take(&mut recall.degraded);
                    answers.push(recall);
                    degraded
                }
                Err(error) => vec![degraded_stage("snippets", &error)],
            };
            // What is out of order is so for each question.
            for one in degraded {
                if !context.degraded.contains(&one) {
                    context.degraded.push(one);
                }
            }
        }
        match facts.and_then(|facts| facts) {
            Ok(facts) => context.facts = facts,
            Err(error) => context.degraded.push(degraded_stage("graph", &error)),
        }
        let snippets = select_snippets(answers, turn, self.options.sections.snippets);
        let entities: Vec<StoryEntity> = context.facts.entities.iter().map(entity).collect();
        let relations: Vec<StoryRelation> = context.facts.relations.iter().map(relation).collect();
        match self.options.sections.build(&snippets, &entities, &relations, &self.counter) {
            Ok(built) => {
                let shown = built.layer("snippets").map(|layer| layer.included.clone()).unwrap_or_default();
                let record = |id: &RecordId| snippets.iter().find(|record| record.id == *id).cloned();
                context.snippets = shown.iter().filter_map(record).collect();
                (context.text, context.tokens) = (built.text, built.tokens);
            }
            Err(error) => context.degraded.push(degraded_stage("sections", &error)),
        }
        context
    }

    async fn in_time<T>(&self, part: impl Future<Output = T>) -> Result<T> {
        let time = self.engine.admin().recall_options().deadline;
        let late = |_| Error::new(ErrorKind::Timeout, "story", format!("not ready after {} ms", time.as_millis()));
        timeout(time, part).await.map_err(late)
    }

    /// What is found for each question.
    async fn recalls(&self, scope: &Scope, turn: &StoryTurn) -> Vec<Result<Recall>> {
        let graph =
            if self.mode == MemoryMode::Graph { self.engine.admin().recall_options().graph_weight } else { 0.0 };
        let mut options =
            self.engine.admin().recall_options().with_graph_weight(graph).with_graph_hops(self.options.hops);
        options = options.with_half_life(self.options.half_life).with_min_recency_weight(self.options.oldest);
        // In a story the model's voice is the story's.
        options.assistant_weight = 1.0;
        let filter = self.exclusion_filter(turn);
        let limit = self.options.sections.snippets.saturating_mul(2).max(1);
        let asked = turn.questions(self.options.questions).into_iter().map(|question| {
            let query = RecallQuery::new(question).with_limit(limit).with_options(options).with_context(turn.texts());
            let query = filter.iter().cloned().fold(query, RecallQuery::with_filter);
            self.engine.recall(scope, query)
        });
        join_all(asked).await
    }

    /// What the graph says about who and what is named.
    async fn facts(&self, scope: &Scope, turn: &StoryTurn) -> Result<GraphFacts> {
        let sections = &self.options.sections;
        if self.mode != MemoryMode::Graph || turn.texts().all(str::is_empty) {
            return Ok(GraphFacts::default());
        }
        let query = GraphFactsQuery::about(turn.texts())
            .with_hops(self.options.hops)
            .with_limits(sections.entities, sections.relations)
            .with_filter(self.exclusion_filter(turn))
            .at(self.engine.clock().now());
        self.engine.graph().facts(scope, &query).await
    }

    /// What is sure enough and not in the prompt already.
    fn exclusion_filter(&self, turn: &StoryTurn) -> Option<Filter> {
        let latest = turn.recent.iter().rev().take(Filter::MAX_LEAVES / 2);
        let told: Vec<FilterValue> = latest.map(|message| FilterValue::from(message.id.as_str())).collect();
        let exclusion_filter = (!told.is_empty()).then(|| Filter::Not(Box::new(Filter::In(Field::MessageId, told))));
        let least = self.options.min_confidence;
        let sure = (least > 0.0).then(|| Filter::compare(Field::Confidence, Op::Ge, least));
        [exclusion_filter, sure].into_iter().flatten().reduce(Filter::and)
    }
}

/// The best of each answer in turn, nothing twice: no message in two parts, no summary beside a message that it covers,
/// and none of what is in the prompt.
fn select_snippets(answers: Vec<Recall>, turn: &StoryTurn, limit: usize) -> Vec<Record> {
    let mut lists: Vec<_> =
        answers.into_iter().map(|recall| recall.hits.into_iter().filter(is_worth_showing)).collect();
    let (mut chosen, mut seen) = (Vec::<Record>::new(), BTreeSet::new());
    loop {
        let round: Vec<Record> = lists.iter_mut().filter_map(Iterator::next).map(|hit| hit.record).collect();
        if round.is_empty() {
            return chosen;
        }
        for record in round.into_iter().filter(|record| !repeats_recent(record, turn)) {
            let name = record.source.message_id.clone().unwrap_or_else(|| record.id.to_string());
            if !seen.insert(name) || chosen.iter().any(|one| record.derived_from.contains(&one.id)) {
                continue;
            }
            match chosen.iter().position(|one| one.derived_from.contains(&record.id)) {
                Some(summary) => chosen[summary] = record,
                None if chosen.len() < limit => chosen.push(record),
                None => {}
            }
        }
    }
}

fn is_worth_showing(hit: &RecallHit) -> bool {
    let ties = hit
        .found_by
        .iter()
        .any(|found| found.retriever == Retriever::Graph && found.score.value() >= MIN_RELATION_SCORE);
    hit.repeats.is_none() && (hit.relevant || ties)
}

/// Whether it was made from nothing but recent messages.
fn repeats_recent(record: &Record, turn: &StoryTurn) -> bool {
    let recent = |id: &RecordId| turn.recent.iter().any(|one| RecordId::named(&record.scope, &one.id) == *id);
    !record.derived_from.is_empty() && record.derived_from.iter().all(recent)
}

fn entity(found: &KeyEntity) -> StoryEntity {
    let about = if found.aliases.is_empty() { String::new() } else { format!("also {}", found.aliases.join(", ")) };
    StoryEntity::new(&found.name, found.kind.as_str()).with_about(about).with_evidence(cited(&found.citation))
}

fn relation(found: &KeyRelation) -> StoryRelation {
    StoryRelation::new(&found.source, &found.relation, &found.target, cited(&found.citation))
}

/// As a snippet is cited.
fn cited(citation: &Citation) -> String {
    let message = citation.message_id.clone().unwrap_or_else(|| citation.record.to_string());
    citation.sequence.map_or(message.clone(), |sequence| format!("{message} / seq {sequence}"))
}
