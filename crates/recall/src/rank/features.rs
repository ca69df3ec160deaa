//! Computes the features of the candidates.

use std::{collections::BTreeSet, hash::Hash};

use memory_engine_core::{Kind, Phrases, Record, RecordId, Role};
use memory_engine_reranker::{Feature, FeatureValues, position_among};
use memory_engine_vector_store::MaxSim;
use rustc_hash::FxHashMap;

use super::{
    date_question::{asks_for_a_date, names_a_date},
    document_terms::DocumentTerms,
    feature_input::FeatureInput,
    first_person::is_in_first_person,
    late_interaction::{Similarities, TokenSimilarities},
    number_question::{asks_for_a_number, names_a_number},
    relevance::add_relevance,
    tense::add_validity,
};
use crate::{
    candidate::Candidate,
    neighbors::{NeighborPair, best_neighbors},
};

/// Queries of at least this many characters get no speaker and date features: they are texts about many things.
const LONG_TEXT_MIN_CHARS: usize = 300;
/// Maximum number of terms of a short question.
const SHORT_QUESTION_MAX_TERMS: u32 = 20;
/// Number of candidates with the best keyword shares that count for the session and the day, ties included.
const SESSION_CANDIDATES: usize = 30;

const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// Returns the features of each candidate.
pub(super) fn compute(input: &FeatureInput<'_>) -> Vec<FeatureValues> {
    let mut values = vec![FeatureValues::default(); input.candidates.len()];
    add_keywords(input, &mut values);
    add_vector(input, &mut values);
    add_token_similarities(input, &mut values);
    let evidence = compute_evidence(input, &values);
    add_neighbors(input, &evidence, &mut values);
    add_answers(input, &evidence, &mut values);
    add_codes(input, &mut values);
    add_sessions(input, &evidence, &mut values);
    add_speakers(input, &mut values);
    add_date_asked(input, &mut values);
    add_number_asked(input, &mut values);
    add_first_person(input, &mut values);
    add_relevance(input, &mut values);
    // Reads the word coverage, which is a feature of relevance.
    add_validity(input, &mut values);
    for ((values, (_, record)), terms) in values.iter_mut().zip(input.candidates).zip(input.terms) {
        values[Feature::QuestionTurn] = indicator(ends_with_a_short_question(record, terms));
        let is_assistant = record.role.as_ref() == Some(&Role::ASSISTANT) || record.kind == Kind::SUMMARY;
        values[Feature::Assistant] = indicator(is_assistant) * input.plan.options.assistant_penalty;
    }
    values
}

fn indicator(is_set: bool) -> f64 {
    if is_set { 1.0 } else { 0.0 }
}

fn add_keywords(input: &FeatureInput<'_>, values: &mut [FeatureValues]) {
    let word_scores = input.candidates.iter().filter_map(|(candidate, _)| candidate.word_score);
    let best_words = word_scores.fold(0.0, f64::max).max(f64::EPSILON);
    for (values, (candidate, _)) in values.iter_mut().zip(input.candidates) {
        let share = |shares: &FxHashMap<RecordId, f64>| shares.get(&candidate.id).copied().unwrap_or(0.0);
        let whole = share(input.keyword_shares);
        values[Feature::Keyword] = whole;
        if let Some(words) = candidate.word_score {
            values[Feature::DateMatch] = whole - words / best_words;
        }
        values[Feature::KeywordSentence] = if input.sentence_shares.is_empty() {
            whole
        } else {
            input.sentence_shares.iter().map(share).fold(0.0, f64::max)
        };
    }
}

fn add_vector(input: &FeatureInput<'_>, values: &mut [FeatureValues]) {
    if !input.plan.has_semantics() {
        return;
    }
    let known = input.candidates.iter().filter_map(|(candidate, _)| candidate.similarity);
    // A candidate without a similarity is at most as similar as the least similar one.
    let least = known.fold(f64::INFINITY, f64::min);
    let similarities: Vec<f64> = input.candidates.iter().map(|(c, _)| c.similarity.unwrap_or(least)).collect();
    for (at, (values, position)) in values.iter_mut().zip(position_among(&similarities)).enumerate() {
        let is_comparable = input.token_similarities.is_comparable(at);
        values[Feature::Vector] = if is_comparable { position } else { values[Feature::Keyword] };
    }
}

/// Adds the token-by-token similarities, scaled among the candidates.
fn add_token_similarities(input: &FeatureInput<'_>, values: &mut [FeatureValues]) {
    let TokenSimilarities { tokens, words, .. } = input.token_similarities;
    for (values, similarity) in values.iter_mut().zip(&tokens.whole) {
        values[Feature::TokenSimilarity] = similarity.map_or(0.0, |similarity| f64::from(similarity.of_query));
    }
    for (values, positions) in values.iter_mut().zip(positions(tokens)) {
        // Without a similarity the words that both have in common decide, such as a name in a text of another language.
        let keyword = values[Feature::Keyword];
        values[Feature::MaxSim] = positions.of_query.unwrap_or(keyword);
        values[Feature::MaxSimSentence] = positions.of_sentence.unwrap_or(keyword);
        values[Feature::MaxSimText] = positions.of_text.unwrap_or(keyword);
    }
    let personal = indicator(input.query_terms.is_first_person());
    for (values, positions) in values.iter_mut().zip(positions(words)) {
        let keyword = values[Feature::Keyword];
        values[Feature::WordMaxSim] = positions.of_sentence.unwrap_or(keyword);
        values[Feature::WordMaxSimPersonal] = personal * values[Feature::WordMaxSim];
        values[Feature::WordMaxSimText] = positions.of_text.unwrap_or(keyword);
    }
}

/// The similarities of a candidate, scaled among the candidates. `None` if it cannot be compared.
struct Positions {
    of_query: Option<f64>,
    /// That of the sentence that fits best.
    of_sentence: Option<f64>,
    of_text: Option<f64>,
}

/// Returns the positions of the candidates; none if no candidate can be compared.
fn positions(similarities: &Similarities) -> Vec<Positions> {
    let Similarities { whole, sentences } = similarities;
    if whole.iter().all(Option::is_none) {
        return Vec::new();
    }
    let of_text = scale(whole.iter().map(|similarity| similarity.map(|similarity| similarity.of_text)));
    let by_sentence: Vec<Vec<Option<f64>>> = sentences.iter().map(|sentence| scale_of_query(sentence)).collect();
    let of_sentence = |at: usize| by_sentence.iter().filter_map(|positions| positions[at]).reduce(f64::max);
    let of_query = scale_of_query(whole).into_iter().zip(of_text).enumerate();
    of_query
        .map(|(at, (of_query, of_text))| Positions { of_query, of_sentence: of_sentence(at).or(of_query), of_text })
        .collect()
}

fn scale_of_query(similarities: &[Option<MaxSim>]) -> Vec<Option<f64>> {
    scale(similarities.iter().map(|similarity| similarity.map(|similarity| similarity.of_query)))
}

/// Scales similarities with [`position_among`]. Missing ones stay missing.
fn scale(similarities: impl Iterator<Item = Option<f32>>) -> Vec<Option<f64>> {
    let similarities: Vec<Option<f64>> = similarities.map(|similarity| similarity.map(f64::from)).collect();
    let known: Vec<f64> = similarities.iter().flatten().copied().collect();
    let mut positions = position_among(&known).into_iter();
    similarities.into_iter().map(|similarity| similarity.and_then(|_| positions.next())).collect()
}

/// Returns how well each record answers the query, for the features of the records around it: its keyword share, or the
/// mean of that and its token-by-token similarity.
fn compute_evidence(input: &FeatureInput<'_>, values: &[FeatureValues]) -> FxHashMap<RecordId, f64> {
    let mut evidence = input.keyword_shares.clone();
    if input.token_similarities.is_empty() {
        return evidence;
    }
    evidence.values_mut().for_each(|share| *share *= 0.5);
    for (values, (candidate, _)) in values.iter().zip(input.candidates) {
        *evidence.entry(candidate.id).or_insert(0.0) += 0.5 * values[Feature::MaxSim].max(0.0);
    }
    evidence
}

fn add_neighbors(input: &FeatureInput<'_>, evidence: &FxHashMap<RecordId, f64>, values: &mut [FeatureValues]) {
    let best = best_neighbors(input.neighbors, evidence);
    for (values, (candidate, _)) in values.iter_mut().zip(input.candidates) {
        values[Feature::Neighbor] = best.get(&candidate.id).copied().unwrap_or(0.0);
    }
}

/// Adds the evidence of the question that a candidate replies to.
fn add_answers(input: &FeatureInput<'_>, evidence: &FxHashMap<RecordId, f64>, values: &mut [FeatureValues]) {
    let ends_with_question = |(_, record): &&(Candidate, Record)| ends_with_a_question(&record.text);
    let questions = input.candidates.iter().filter(ends_with_question);
    let questions: FxHashMap<RecordId, f64> =
        questions.filter_map(|(candidate, _)| Some((candidate.id, *evidence.get(&candidate.id)?))).collect();
    let answered = |NeighborPair(question, answer): &NeighborPair| Some((*answer, *questions.get(question)?));
    let answers: FxHashMap<RecordId, f64> = input.neighbors.iter().filter_map(answered).collect();
    for (values, (candidate, _)) in values.iter_mut().zip(input.candidates) {
        values[Feature::AnswersQuestion] = answers.get(&candidate.id).copied().unwrap_or(0.0);
    }
}

/// Returns true if a text ends with a question mark, also before quotation marks and emoji.
fn ends_with_a_question(text: &str) -> bool {
    text.rsplit(char::is_alphanumeric).next().is_some_and(|end| end.contains(['?', '？']))
}

fn add_codes(input: &FeatureInput<'_>, values: &mut [FeatureValues]) {
    let codes = input.query_terms.codes();
    for (values, terms) in values.iter_mut().zip(input.terms) {
        let held = codes.iter().filter(|code| terms.set.has_any_of(code)).count();
        values[Feature::Code] = held as f64 / codes.len().max(1) as f64;
    }
}

/// Adds the session and day features: what happened together is likely to be asked about together.
fn add_sessions(input: &FeatureInput<'_>, evidence: &FxHashMap<RecordId, f64>, values: &mut [FeatureValues]) {
    let evidence_of = |(candidate, _): &(Candidate, Record)| evidence.get(&candidate.id).copied().unwrap_or(0.0);
    let mut scores: Vec<f64> = input.candidates.iter().map(evidence_of).collect();
    let mut sorted = scores.clone();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let threshold = sorted.get(SESSION_CANDIDATES - 1).copied().unwrap_or(0.0);
    for score in &mut scores {
        if *score < threshold {
            *score = 0.0;
        }
    }
    let sessions = input.candidates.iter().map(|(_, record)| record.scope.session());
    for (values, share) in values.iter_mut().zip(group_shares(sessions, &scores)) {
        values[Feature::Session] = share;
    }
    let days = input.candidates.iter().map(|(_, record)| Some(record.occurred_at.as_micros().div_euclid(DAY_MICROS)));
    for (values, share) in values.iter_mut().zip(group_shares(days, &scores)) {
        values[Feature::Day] = share;
    }
}

/// Returns the score of the other members of each candidate's group, as a share of the group with the greatest score.
/// All shares are 0 if there is one group only.
fn group_shares<G: Eq + Hash + Copy>(groups: impl Iterator<Item = Option<G>>, scores: &[f64]) -> Vec<f64> {
    let groups: Vec<Option<G>> = groups.collect();
    let mut sums: FxHashMap<G, f64> = FxHashMap::default();
    for (group, score) in groups.iter().zip(scores) {
        if let Some(group) = group {
            *sums.entry(*group).or_insert(0.0) += score;
        }
    }
    let largest = sums.values().copied().fold(0.0, f64::max);
    if sums.len() < 2 || largest <= 0.0 {
        return vec![0.0; scores.len()];
    }
    let share = |(group, score): (Option<G>, &f64)| {
        let sum = group.and_then(|group| sums.get(&group)).copied().unwrap_or(*score);
        (sum - score) / largest
    };
    groups.into_iter().zip(scores).map(share).collect()
}

fn add_speakers(input: &FeatureInput<'_>, values: &mut [FeatureValues]) {
    let query = &input.plan.query.text;
    if query.chars().count() >= LONG_TEXT_MIN_CHARS {
        return;
    }
    let speakers: BTreeSet<&str> =
        input.candidates.iter().filter_map(|(_, record)| record.speaker.as_deref()).collect();
    let is_named = |speaker: &&str| Phrases::new([*speaker]).find(query).is_some();
    let named: Vec<&str> = speakers.iter().copied().filter(is_named).collect();
    let [named_speaker] = named[..] else { return };
    if speakers.len() == 1 {
        return;
    }
    for (values, (_, record)) in values.iter_mut().zip(input.candidates) {
        values[Feature::Speaker] = if record.speaker.as_deref() == Some(named_speaker) { 1.0 } else { -1.0 };
    }
}

fn add_date_asked(input: &FeatureInput<'_>, values: &mut [FeatureValues]) {
    let query = &input.plan.query.text;
    if query.chars().count() >= LONG_TEXT_MIN_CHARS || !asks_for_a_date(query) {
        return;
    }
    for (values, (_, record)) in values.iter_mut().zip(input.candidates) {
        values[Feature::DateAsked] = indicator(names_a_date(record, &input.plan.zone));
    }
}

fn add_number_asked(input: &FeatureInput<'_>, values: &mut [FeatureValues]) {
    let query = &input.plan.query.text;
    if query.chars().count() >= LONG_TEXT_MIN_CHARS || !asks_for_a_number(query) {
        return;
    }
    for (values, (_, record)) in values.iter_mut().zip(input.candidates) {
        values[Feature::NumberAsked] = indicator(names_a_number(&record.text));
    }
}

fn add_first_person(input: &FeatureInput<'_>, values: &mut [FeatureValues]) {
    if !input.query_terms.is_first_person() {
        return;
    }
    for (values, (_, record)) in values.iter_mut().zip(input.candidates) {
        values[Feature::FirstPerson] = indicator(is_in_first_person(&record.text));
    }
}

/// A short message that ends with a question seldom holds the answer to another one, even if it states something first.
fn ends_with_a_short_question(record: &Record, terms: &DocumentTerms) -> bool {
    record.text.trim_end().ends_with(['?', '？']) && terms.length <= SHORT_QUESTION_MAX_TERMS
}
