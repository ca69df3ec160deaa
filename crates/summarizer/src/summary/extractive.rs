//! Extractive summaries: the most central sentences of a conversation, in its own words.

use std::collections::BTreeSet;

use async_trait::async_trait;
use jiff::civil::Date;
use memory_engine_context::is_question;
use memory_engine_core::{Error, Language, Record, Result};
use memory_engine_intake::without_injected;
use memory_engine_text::{Words, is_code_block, sentences};

use crate::{
    data::data,
    metadata::RuleMetadata,
    role,
    summary::{
        graph_rank::{overlap, ranks},
        types::{Summarizer, Summary, SummaryRequest},
    },
    terms::terms,
    text::one_line,
};

data! {
    DATA = "zh/summary.toml", "en/summary.toml";
    Words: courtesies, first_person;
}

/// Selects the most central sentences and writes them in their order, with dates and speakers.
///
/// Sentences are ranked by TextRank (Mihalcea and Tarau, 2004): a sentence that shares words with many others is
/// central. Statements of people about themselves have a higher weight than those of a model, and answers a higher one
/// than questions. A short answer is written with its question. No sentence repeats another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ExtractiveSummarizer {}

/// Maximum number of sentences that are ranked. The earliest are left out.
const MAX_SENTENCES: usize = 240;
/// Maximum length of a sentence in a summary, in characters.
const SENTENCE_MAX_CHARS: usize = 220;
/// Minimum number of terms of a sentence in a summary.
const SENTENCE_MIN_TERMS: usize = 2;
/// Maximum length of an answer that is written with its question, and of that question, in characters.
const SHORT_ANSWER_MAX_CHARS: usize = 14;
const QUESTION_MAX_CHARS: usize = 60;
/// A sentence whose overlap with a selected one is larger is left out as a repetition.
const MAX_OVERLAP: f64 = 0.5;

/// A sentence that may become part of the summary.
struct SentenceCandidate {
    /// The speaker of the beginning of the text.
    speaker: String,
    /// The speaker of the end of the text: another one if the text is a question and its answer.
    last_speaker: String,
    day: Date,
    text: String,
    terms: BTreeSet<String>,
    weight: f64,
}

/// A question at the end of a turn, which the next turn may answer.
struct OpenQuestion {
    speaker: String,
    text: String,
}

impl ExtractiveSummarizer {
    /// Returns the summary of turns, like [`Summarizer::summarize`] but not async.
    ///
    /// # Errors
    /// `InvalidInput` without a turn, or if `max_chars` is below 40.
    pub fn summary(&self, turns: &[Record], request: &SummaryRequest) -> Result<Summary> {
        let messages: Vec<&Record> = turns.iter().filter(|turn| role::is_said(turn)).collect();
        if messages.is_empty() {
            return Err(Error::invalid("summarize", "there is no turn to summarize; pass at least one message"));
        }
        if request.max_chars < 40 {
            return Err(Error::invalid("summarize", "max_chars must be at least 40"));
        }
        let texts: Vec<String> = messages.iter().map(|turn| without_injected(&turn.text)).collect();
        let all = texts.join("\n");
        let language = request.language.unwrap_or_else(|| Language::of(&all));
        let candidates = candidates(&messages, &texts, request, language);
        let text = select(&candidates, request.max_chars, language);
        let described = RuleMetadata::default().describe(&all);
        Ok(Summary {
            entities: described.entities.into_iter().filter(|name| text.contains(name.as_str())).collect(),
            text,
            language,
            topic: described.topic,
            covered: messages.iter().map(|turn| turn.id).collect(),
            degraded: None,
        })
    }
}

#[async_trait]
impl Summarizer for ExtractiveSummarizer {
    async fn summarize(&self, turns: &[Record], request: &SummaryRequest) -> Result<Summary> {
        self.summary(turns, request)
    }
}

/// Returns the sentences of turns that may become part of the summary.
fn candidates(
    turns: &[&Record],
    texts: &[String],
    request: &SummaryRequest,
    language: Language,
) -> Vec<SentenceCandidate> {
    // The names of the speakers are in many sentences and would make all of them central.
    let names: BTreeSet<String> = turns.iter().filter_map(|turn| turn.named_speaker()).flat_map(terms).collect();
    let zone = request.zone_or_utc();
    let mut candidates: Vec<SentenceCandidate> = Vec::new();
    let mut open_question: Option<OpenQuestion> = None;
    for (turn, text) in turns.iter().zip(texts) {
        let speaker = speaker(turn, language);
        let day = turn.occurred_at.in_zone(&zone).date();
        let sentences: Vec<String> =
            sentences(text).into_iter().map(|range| without_list_marker(&text[range])).collect();
        for (n, sentence) in sentences.iter().enumerate() {
            let is_question = is_question(sentence);
            let is_short_answer = n == 0 && !is_question && sentence.chars().count() <= SHORT_ANSWER_MAX_CHARS;
            let question = open_question.take().filter(|_| is_short_answer);
            let asked = question.as_ref().map(|question| question.text.as_str()).unwrap_or_default();
            let mut terms: BTreeSet<String> = terms(&format!("{asked} {sentence}")).into_iter().collect();
            let (first_speaker, text) = match question {
                Some(question) if question.speaker != speaker => {
                    let label = speaker_label(&speaker, language);
                    (question.speaker, format!("{} {label}{sentence}", question.text))
                }
                Some(question) => (question.speaker, format!("{} {sentence}", question.text)),
                None => (speaker.clone(), sentence.clone()),
            };
            terms.retain(|term| !names.contains(term));
            if terms.len() >= SENTENCE_MIN_TERMS && is_prose(&text) {
                let weight = weight(&text, is_question, role::is_assistant(turn), n == 0);
                let last_speaker = speaker.clone();
                candidates.push(SentenceCandidate { speaker: first_speaker, last_speaker, day, text, terms, weight });
            }
        }
        let last_question =
            sentences.into_iter().last().filter(|last| is_question(last) && last.chars().count() <= QUESTION_MAX_CHARS);
        open_question = last_question.map(|text| OpenQuestion { speaker, text });
    }
    let surplus = candidates.len().saturating_sub(MAX_SENTENCES);
    candidates.drain(..surplus);
    candidates
}

fn speaker(turn: &Record, language: Language) -> String {
    match turn.named_speaker() {
        Some(name) => one_line(name),
        None if role::is_assistant(turn) => language.pick("助手", "Assistant").to_owned(),
        None => language.pick("用户", "User").to_owned(),
    }
}

/// Returns a speaker with the colon before what they say.
fn speaker_label(speaker: &str, language: Language) -> String {
    format!("{speaker}{}", language.pick("：", ": "))
}

/// Returns false for code, data, links and sentences that are too long.
fn is_prose(sentence: &str) -> bool {
    let is_data = is_code_block(sentence) || sentence.starts_with('[') || sentence.contains("://");
    !is_data && sentence.chars().count() <= SENTENCE_MAX_CHARS
}

/// Returns the factor for the rank of a sentence. A plain statement of a person has the factor 1.
fn weight(sentence: &str, is_question: bool, is_of_assistant: bool, is_first: bool) -> f64 {
    let factors = [
        (is_of_assistant, 0.6),
        (is_question, 0.5),
        // Numbers and dates are often asked for later; the first sentence of a turn usually names its topic.
        (sentence.chars().any(|c| c.is_ascii_digit()), 1.15),
        (is_first, 1.1),
        // Courtesies carry little information.
        (is_courtesy(sentence), 0.4),
        (DATA.first_person.any_in(sentence), 1.25),
    ];
    factors.iter().filter(|(applies, _)| *applies).fold(1.0, |weight, (_, factor)| weight * factor)
}

/// Returns a sentence on one line, without list markers and list numbers.
fn without_list_marker(sentence: &str) -> String {
    let bare = sentence.trim_start_matches(['-', '*', '#', '>', ' ', '•']).replace("**", "");
    let digits = bare.len() - bare.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = &bare[digits..];
    let is_numbered =
        digits > 0 && digits < 3 && (rest.starts_with(". ") || rest.starts_with(") ") || rest.starts_with('、'));
    one_line(if is_numbered { rest.trim_start_matches(['.', ')', '、', ' ']) } else { &bare })
}

/// Returns true if a sentence thanks, wishes, praises or greets.
fn is_courtesy(sentence: &str) -> bool {
    DATA.courtesies.any_starts(&sentence.to_lowercase())
}

/// Returns the best sentences that fit into `max_chars`, as one text.
fn select(candidates: &[SentenceCandidate], max_chars: usize, language: Language) -> String {
    let ranks = ranks(&candidates.iter().map(|candidate| &candidate.terms).collect::<Vec<_>>());
    // A very long sentence has many links and uses up the space of others.
    let score = |n: usize| ranks[n] * candidates[n].weight / (1.0 + candidates[n].text.chars().count() as f64 / 160.0);
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|a, b| score(*b).total_cmp(&score(*a)).then(a.cmp(b)));
    let mut selected: Vec<usize> = Vec::new();
    for n in order {
        let is_repetition =
            selected.iter().any(|known| overlap(&candidates[*known].terms, &candidates[n].terms) > MAX_OVERLAP);
        if is_repetition {
            continue;
        }
        let index = selected.partition_point(|known| *known < n);
        selected.insert(index, n);
        if render_sentences(&selected, candidates, language).chars().count() > max_chars {
            selected.remove(index);
        }
    }
    render_sentences(&selected, candidates, language)
}

/// Returns sentences as one text in their order, with the date when the day changes and the speaker when another one
/// speaks.
fn render_sentences(selected: &[usize], candidates: &[SentenceCandidate], language: Language) -> String {
    let mut text = String::new();
    let mut previous: Option<&SentenceCandidate> = None;
    for candidate in selected.iter().map(|n| &candidates[*n]) {
        let new_day = previous.is_none_or(|previous| previous.day != candidate.day);
        let new_speaker = new_day || previous.is_none_or(|previous| previous.last_speaker != candidate.speaker);
        if new_day {
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.push_str(&format!("[{}] ", candidate.day));
        } else if new_speaker || previous.is_some_and(|previous| has_no_end_mark(&previous.text)) {
            text.push(' ');
        }
        if new_speaker {
            text.push_str(&speaker_label(&candidate.speaker, language));
        } else if !text.ends_with([' ', '。', '！', '？']) {
            text.push(' ');
        }
        text.push_str(&candidate.text);
        if has_no_end_mark(&candidate.text) {
            text.push_str(language.pick("。", "."));
        }
        previous = Some(candidate);
    }
    text
}

/// Returns true if a sentence has no punctuation mark at its end.
fn has_no_end_mark(text: &str) -> bool {
    text.chars().next_back().is_some_and(|c| c.is_alphanumeric())
}
