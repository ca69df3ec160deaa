//! Topics: statements of the user that matter for a message although they share no word with it.
//!
//! "Any snack ideas?" raises the topic food, for which "shrimp makes my throat swell" matters. A language model would
//! see that by itself; here the data files say which messages raise a topic, which words its statements contain, and
//! which of them constrain the answer.

use std::{cmp::Reverse, collections::BTreeSet, sync::LazyLock};

use memory_engine_context::is_question;
use memory_engine_core::{Field, Filter, Kind, Record, RecordId, Result, Role, ScanQuery, Score, text::is_han};
use memory_engine_keyword_store::{Clause, KeywordQuery};
use memory_engine_scene::PLOT;
use memory_engine_text::{RegexError, RegexIndex, RegexOptions, Words};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;
use tokio::time::Instant;

use crate::{
    hit::{RecallHit, Retriever, RetrieverHit},
    run::RecallRun,
    trace::Stage,
};

/// Memory limit of the compiled expressions that are kept, in bytes.
const KEPT_EXPRESSIONS_MAX_BYTES: usize = 4 << 20;
/// Maximum length of a message that seeks something without saying so, in characters.
const FRAGMENT_MAX_CHARS: usize = 100;
/// Minimum length of such a message. Shorter ones are search terms.
const FRAGMENT_MIN_WORDS: usize = 3;
const FRAGMENT_MIN_HAN: usize = 5;
/// Maximum length of a message that can raise a topic, in bytes. Longer ones have enough words for the retrievers.
const MESSAGE_MAX_BYTES: usize = 2000;
/// Minimum length of a quotation that is not the speaker's own statement, in characters.
const QUOTE_MIN_CHARS: usize = 12;
/// Number of the first hits that stay before the statements, whatever their relevance: a topic can be raised by words
/// that matter less than the question.
const MIN_HITS_BEFORE_STATEMENTS: usize = 2;
/// Number of the user's latest turns and facts among which statements are sought without a search.
const LATEST_STATEMENTS: usize = 100;
/// Number of records that are found by the words of the topics.
const MAX_FOUND: usize = 100;
/// Maximum length of a statement, in bytes. Longer texts are letters and documents.
const STATEMENT_MAX_BYTES: usize = 2000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TopicFile {
    advises: Vec<String>,
    seeks: Vec<String>,
    recalls: Vec<String>,
    tells: Vec<String>,
    knowledge: Vec<String>,
    attitudes: Vec<String>,
    constraints: Vec<ConstraintData>,
    topics: Vec<TopicData>,
}

/// The part of one language of a kind of constraint, such as an allergy.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConstraintData {
    /// The names of the topics for which it matters.
    topics: Words,
    signs: Words,
    #[serde(rename = "match")]
    forms: Vec<String>,
}

/// The part of one language of a topic. The data file describes the fields.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TopicData {
    name: String,
    asks: Vec<String>,
    #[serde(default)]
    raises: Vec<String>,
    words: Words,
    #[serde(default)]
    signs: Words,
    #[serde(default)]
    constraints: Vec<String>,
}

memory_engine_text::data!(DATA: TopicFile = "en/topics.toml", "zh/topics.toml");

/// The list of the data files that an expression belongs to: what is true of a text that matches it.
#[derive(Debug, Clone, Copy)]
enum Meaning {
    /// A message seeks something.
    Seeks,
    /// A message wants advice.
    Advises,
    /// A message asks what was said or has happened.
    Recalls,
    /// A message that seeks something raises the topic.
    Asks(&'static str),
    /// A message raises the topic.
    Raises(&'static str),
    /// A message tells something, and seeks nothing by that.
    Tells,
    /// A message raises no topic.
    AboutTheWorld,
    /// A statement says something about its speaker.
    Attitude,
    /// A statement contains a word of the topic.
    Word(&'static str),
    /// A statement constrains the answer to a message of the topic.
    Constraint(&'static str),
    /// A statement constrains the answer to a message of the topics of this kind of constraint.
    SharedConstraint(&'static ConstraintData),
}

struct Expressions {
    index: RegexIndex,
    meanings: Vec<Meaning>,
}

#[expect(clippy::expect_used, reason = "the expressions are part of the crate, and a test reads them")]
static EXPRESSIONS: LazyLock<Expressions> =
    LazyLock::new(|| Expressions::new().expect("the expressions of the data files are valid"));

impl Expressions {
    fn new() -> std::result::Result<Self, RegexError> {
        let (mut texts, mut meanings) = (Vec::new(), Vec::new());
        let mut add = |expressions: &[String], meaning: Meaning| {
            for expression in expressions {
                // Long expressions are written in several lines.
                texts.push(expression.replace('\n', ""));
                meanings.push(meaning);
            }
        };
        add(&DATA.advises, Meaning::Advises);
        add(&DATA.seeks, Meaning::Seeks);
        add(&DATA.recalls, Meaning::Recalls);
        add(&DATA.tells, Meaning::Tells);
        add(&DATA.knowledge, Meaning::AboutTheWorld);
        add(&DATA.attitudes, Meaning::Attitude);
        for data in &DATA.constraints {
            add(&data.forms, Meaning::SharedConstraint(data));
        }
        for data in &DATA.topics {
            // The parts of a topic in several languages have one name.
            let topic = data.name.as_str();
            add(&data.asks, Meaning::Asks(topic));
            add(&data.raises, Meaning::Raises(topic));
            add(&data.constraints, Meaning::Constraint(topic));
            add(&word_expression(&data.words), Meaning::Word(topic));
        }
        let index = RegexOptions::ignoring_case().index(&texts, KEPT_EXPRESSIONS_MAX_BYTES)?;
        Ok(Self { index, meanings })
    }

    /// Prepares a text to be matched.
    fn matcher(&'static self, text: &str) -> Matcher {
        let text = text.replace('’', "'");
        Matcher { candidates: self.index.candidates(&text), text, expressions: self }
    }
}

/// A text, with the expressions that can match it.
struct Matcher {
    text: String,
    candidates: Vec<usize>,
    expressions: &'static Expressions,
}

impl Matcher {
    /// Returns the meanings of the expressions that match. Only those that are wanted are tried, because that takes
    /// most of the time.
    fn found(&self, is_wanted: impl Fn(Meaning) -> bool) -> impl Iterator<Item = Meaning> {
        let Expressions { index, meanings, .. } = self.expressions;
        let wanted = self.candidates.iter().filter(move |position| is_wanted(meanings[**position]));
        wanted.filter(|position| index.is_match(**position, &self.text)).map(|position| meanings[*position])
    }

    fn has(&self, is_wanted: impl Fn(Meaning) -> bool) -> bool {
        self.found(is_wanted).next().is_some()
    }
}

/// Returns an expression for the words of a topic; none if it has no words. English words also match in the plural.
fn word_expression(words: &Words) -> Vec<String> {
    let alternatives: Vec<String> = words.iter().map(regex_of_word).collect();
    if alternatives.is_empty() { Vec::new() } else { vec![alternatives.join("|")] }
}

fn regex_of_word(word: &str) -> String {
    if word.is_ascii() { format!(r"\b{word}(?:s|es)?\b") } else { word.to_owned() }
}

/// The names of the topics that a message raises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Topics(BTreeSet<&'static str>);

/// The rank of a statement among those for a topic, the lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// Says what its speaker likes, does, owns or is.
    Preference,
    /// Limits what would be a good answer: an allergy, a fear, a budget.
    Constraint,
    /// A constraint that contains a word of the topic.
    ConstraintOfTopic,
}

impl Topics {
    /// Returns the topics that a message raises; `None` if it raises none.
    pub(crate) fn of_message(text: &str) -> Option<Self> {
        if text.len() > MESSAGE_MAX_BYTES {
            return None;
        }
        let message = EXPRESSIONS.matcher(text);
        if message.has(|meaning| matches!(meaning, Meaning::AboutTheWorld)) {
            return None;
        }
        let is_open = || {
            message.has(|meaning| matches!(meaning, Meaning::Seeks))
                || (is_fragment(text) && !message.has(|meaning| matches!(meaning, Meaning::Tells)))
        };
        let seeks = message.has(|meaning| matches!(meaning, Meaning::Advises))
            || (!message.has(|meaning| matches!(meaning, Meaning::Recalls)) && is_open());
        let raised = |meaning| {
            if let Meaning::Raises(topic) = meaning {
                return Some(topic);
            }
            if let Meaning::Asks(topic) = meaning { seeks.then_some(topic) } else { None }
        };
        let names: BTreeSet<&str> = message.found(|meaning| raised(meaning).is_some()).filter_map(raised).collect();
        (!names.is_empty()).then_some(Self(names))
    }

    /// Returns the words to search for, of all languages.
    pub(crate) fn search_words(&self) -> Vec<&'static str> {
        let constraints = DATA.constraints.iter().filter(|data| self.are_limited_by(data));
        let topics = DATA.topics.iter().filter(|data| self.0.contains(data.name.as_str()));
        let words = topics.flat_map(|data| data.words.iter().chain(data.signs.iter()));
        constraints.flat_map(|data| data.signs.iter()).chain(words).collect()
    }

    /// Returns how much a record matters for the topics; `None` if it does not.
    pub(crate) fn weight_of(&self, record: &Record) -> Option<Weight> {
        let statement = EXPRESSIONS.matcher(&without_quotes(&record.text));
        let constrains = statement.has(|meaning| {
            matches!(meaning, Meaning::Constraint(topic) if self.0.contains(topic))
                || matches!(meaning, Meaning::SharedConstraint(data) if self.are_limited_by(data))
        });
        let has_word = statement.has(|meaning| matches!(meaning, Meaning::Word(topic) if self.0.contains(topic)));
        if !(constrains || has_word) || (record.kind == Kind::TURN && is_question(&record.text)) {
            return None;
        }
        // Every fact is about the user. A message that asked for something is no lasting preference.
        let is_preference = || {
            record.kind == Kind::FACT
                || (statement.has(|meaning| matches!(meaning, Meaning::Attitude))
                    && !statement.has(|meaning| matches!(meaning, Meaning::Advises | Meaning::Seeks)))
        };
        match (constrains, has_word) {
            (true, true) => Some(Weight::ConstraintOfTopic),
            (true, false) => Some(Weight::Constraint),
            (false, _) => is_preference().then_some(Weight::Preference),
        }
    }

    fn are_limited_by(&self, constraint: &ConstraintData) -> bool {
        self.0.iter().any(|name| constraint.topics.contains(name))
    }
}

/// Returns true if a message raises a topic, such as food, so that a recall adds what matters for it. The first call
/// loads the rules.
pub fn raises_topic(message: &str) -> bool {
    Topics::of_message(message).is_some()
}

/// Returns true for a short message that can seek something without saying so: "three days in Lisbon".
fn is_fragment(text: &str) -> bool {
    let han = text.chars().filter(|c| is_han(*c)).count();
    let words = text.split_whitespace().count();
    text.chars().count() <= FRAGMENT_MAX_CHARS && (words >= FRAGMENT_MIN_WORDS || han >= FRAGMENT_MIN_HAN)
}

impl RecallRun<'_> {
    /// Puts the statements that matter for the topic of the query behind the possible answers, and before the other
    /// hits. The hits stay as they are if the query raises no topic, or if the statements cannot be read in time.
    pub(crate) async fn with_topic_hits(&mut self, hits: Vec<RecallHit>) -> Vec<RecallHit> {
        let limit = self.plan.options.topic_limit;
        // The topics of a dialogue before the question are not those of the question.
        let is_past_or_dialogue = self.plan.query.as_of.is_some() || self.plan.query.has_context;
        // What one user likes or cannot eat says nothing to another.
        let is_of_user = self.scope.is_of_one_user();
        if limit == 0 || !is_of_user || !self.plan.ranks_by_features() || is_past_or_dialogue {
            return hits;
        }
        let Some(topics) = Topics::of_message(&self.plan.query.text) else { return hits };
        let started = Instant::now();
        let outcome = self.trace.limit(Stage::Topics, self.topic_statements(&topics)).await;
        let statements = self.trace.finish(Stage::Topics, started, outcome);
        self.insert_statements(hits, statements, limit)
    }

    /// Returns the records that matter for the topics, the weightiest and then the newest first.
    async fn topic_statements(&self, topics: &Topics) -> Result<Vec<(Weight, Record)>> {
        let words = topics.search_words().join(" ");
        let clauses = self.parts.store.analysis().query_clauses(words).await?;
        let terms = clauses.into_iter().flat_map(|clause| clause.terms).collect();
        let is_of_user = Filter::eq(Field::Role, Role::USER.as_str());
        let is_own = Filter::Or(vec![is_of_user.clone(), Filter::Not(Box::new(Filter::Exists(Field::Role)))]);
        let query =
            KeywordQuery::new(vec![Clause { terms, weight: 1.0 }], MAX_FOUND).with_filter(Some(self.admitted(is_own)));
        let hits = self.scope.search_keywords(self.parts.store.keywords().as_ref(), query).await?;
        let ids: Vec<RecordId> = hits.into_iter().map(|hit| hit.id).collect();
        let found = self.records(&ids).await?.into_iter().flatten();
        // Expressions match more than the words that were searched for.
        let is_said = Filter::eq(Field::Kind, Kind::TURN.as_str()).and(is_of_user);
        let is_stated = Filter::Or(vec![is_said, Filter::eq(Field::Kind, Kind::FACT.as_str())]);
        let latest = ScanQuery::newest(LATEST_STATEMENTS).with_filter(self.admitted(is_stated));
        let latest = self.scope.scan(&self.parts.store, &latest).await?.records;
        let mut seen = FxHashSet::default();
        let mut statements: Vec<(Weight, Record)> = found
            .chain(latest)
            .filter(|record| seen.insert(record.id))
            .filter(|record| is_statement(record) && self.is_of_query_scene(record) && self.plan.admits(record))
            .filter_map(|record| Some((topics.weight_of(&record)?, record)))
            .collect();
        statements.sort_by_key(|(weight, record)| Reverse((*weight, record.occurred_at, record.id)));
        Ok(without_sources(statements))
    }

    /// Returns the filter of the query together with another one.
    fn admitted(&self, filter: Filter) -> Filter {
        self.plan.filter.clone().into_iter().fold(filter, Filter::and)
    }

    /// Returns false for a statement within a play, unless the query is asked there: what is true of a character is not
    /// true of the user.
    fn is_of_query_scene(&self, record: &Record) -> bool {
        record.scene.as_deref() != Some(PLOT) || self.plan.query.scene.as_deref() == Some(PLOT)
    }

    /// Inserts up to `limit` statements behind the possible answers. One that is a hit already is moved and counts as
    /// relevant. Where there is no room for all, constraints take the places of the last possible answers, but not of
    /// the first half.
    fn insert_statements(
        &self,
        hits: Vec<RecallHit>,
        statements: Vec<(Weight, Record)>,
        limit: usize,
    ) -> Vec<RecallHit> {
        // A hit with half of the minimum relevance is a possible answer.
        let min_relevance = self.plan.options.min_relevance / 2.0;
        let is_possible = |hit: &RecallHit| hit.relevant || hit.relevance >= min_relevance;
        let mut placed: Vec<RecallHit> = hits;
        let mut others = placed.split_off(placed.len().min(MIN_HITS_BEFORE_STATEMENTS));
        placed.extend(others.extract_if(.., |hit| is_possible(hit)));
        let known: FxHashSet<RecordId> = placed.iter().filter(|hit| hit.relevant).map(|hit| hit.record.id).collect();
        let unknown = statements.into_iter().filter(|(_, record)| !known.contains(&record.id));
        let added: Vec<(Weight, Record)> = unknown.take(limit).collect();
        let constraints = added.iter().filter(|(weight, _)| *weight >= Weight::Constraint).count();
        let half = self.plan.limit.div_ceil(2);
        placed.truncate(self.plan.limit.saturating_sub(constraints).max(half));
        let score = placed.last().or(others.first()).map_or(Score::new(1.0), |hit| hit.score);
        for ((_, record), rank) in added.into_iter().zip(1..) {
            let list = if placed.iter().any(|hit| hit.record.id == record.id) { &mut placed } else { &mut others };
            let other = list.iter().position(|hit| hit.record.id == record.id).map(|index| list.remove(index));
            let mut hit = other.unwrap_or_else(|| RecallHit::new(record));
            hit.relevant = true;
            hit.relevance = hit.relevance.max(self.plan.options.min_relevance);
            hit.score = score;
            hit.repeats = None;
            hit.found_by.push(RetrieverHit { retriever: Retriever::Topic, rank, score });
            placed.push(hit);
        }
        placed.extend(others);
        placed.truncate(self.plan.limit);
        // The scores order the hits.
        let mut lowest = Score::new(f64::MAX);
        for hit in &mut placed {
            hit.score = hit.score.min(lowest);
            lowest = hit.score;
        }
        placed
    }
}

/// Returns true for a record that states something about the user: a message of the user, a fact or a note.
fn is_statement(record: &Record) -> bool {
    let is_derived_text = [Kind::SUMMARY, Kind::CHUNK, Kind::PROFILE].contains(&record.kind);
    let is_own = record.role.as_ref().is_none_or(|role| *role == Role::USER);
    is_own && !is_derived_text && record.text.len() <= STATEMENT_MAX_BYTES
}

/// Returns the text without quoted sentences, such as lyrics, a letter or the words of another person. A quoted word
/// stays.
fn without_quotes(text: &str) -> String {
    let mut rest = text;
    let mut own = String::new();
    while let Some((before, close, after)) = rest
        .char_indices()
        .find_map(|(start, open)| Some((&rest[..start], closing_mark(open)?, &rest[start + open.len_utf8()..])))
    {
        // A quotation that does not end is none.
        let Some((quote, behind)) = after.split_once(close) else { break };
        own.push_str(before);
        if quote.chars().count() < QUOTE_MIN_CHARS {
            own.push_str(quote);
        }
        rest = behind;
    }
    own + rest
}

fn closing_mark(open: char) -> Option<char> {
    match open {
        '"' => Some('"'),
        '“' => Some('”'),
        '「' => Some('」'),
        '『' => Some('』'),
        _ => None,
    }
}

/// Removes the turns from which a fact of the list was read that matters as much. A turn can say more than its fact.
fn without_sources(mut statements: Vec<(Weight, Record)>) -> Vec<(Weight, Record)> {
    let mut weights: FxHashMap<RecordId, Weight> = FxHashMap::default();
    for (weight, fact) in statements.iter().filter(|(_, record)| record.kind == Kind::FACT) {
        for source in &fact.derived_from {
            let greatest = weights.entry(*source).or_insert(*weight);
            *greatest = (*greatest).max(*weight);
        }
    }
    statements.retain(|(weight, record)| weights.get(&record.id).is_none_or(|of_fact| of_fact < weight));
    statements
}

#[cfg(test)]
mod tests;
