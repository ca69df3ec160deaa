//! Summaries of what was said, in the words in which it was said.

use std::collections::BTreeSet;

use async_trait::async_trait;
use jiff::civil::Date;
use memory_engine_core::{Error, Language, Record, Result};

use crate::{
    data::{Words, data},
    echo::without_injected,
    metadata::RuleMetadata,
    sentence::sentences,
    spoken,
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

/// Picks the sentences that stand for most of the others, and tells them in their order with their dates and speakers.
///
/// Sentences are ranked as in TextRank (Mihalcea and Tarau 2004): one that shares words with many is central. What the
/// person says of themselves weighs more than what a model says, a question less than an answer; a short answer comes
/// with its question. No sentence repeats another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ExtractiveSummarizer {}

/// Maximum number of sentences that are ranked; the earliest are left out.
const MAX_SENTENCES: usize = 240;
/// A longer sentence is not told. In characters.
const SENTENCE_MAX_CHARS: usize = 220;
/// A sentence of fewer terms is not told.
const SENTENCE_MIN_TERMS: usize = 2;
/// A longer answer is told without its question, and a longer question is not told with its answer. In characters.
const SHORT_ANSWER_MAX_CHARS: usize = 14;
const QUESTION_MAX_CHARS: usize = 60;
/// A sentence that shares more of its terms with another repeats it.
const MAX_OVERLAP: f64 = 0.5;

/// A sentence that may be told.
struct Candidate {
    speaker: String,
    day: Date,
    text: String,
    terms: BTreeSet<String>,
    weight: f64,
}

impl ExtractiveSummarizer {
    /// The summary of turns; as [`Summarizer::summarize`], at once.
    ///
    /// # Errors
    /// `InvalidInput` when there is no turn, or no room for a sentence.
    pub fn summary(&self, turns: &[Record], request: &SummaryRequest) -> Result<Summary> {
        let spoken: Vec<&Record> = turns.iter().filter(|turn| spoken::is_said(turn)).collect();
        if spoken.is_empty() {
            return Err(Error::invalid("summarize", "there is no turn to summarize; hand over what was said"));
        }
        if request.max_chars < 40 {
            return Err(Error::invalid(
                "summarize",
                "a summary needs room for a sentence; allow 40 characters or more",
            ));
        }
        let said: Vec<String> = spoken.iter().map(|turn| without_injected(&turn.text)).collect();
        let all = said.join("\n");
        let language = request.language.unwrap_or_else(|| Language::of(&all));
        let candidates = candidates(&spoken, &said, request, language);
        let text = told(&candidates, request.max_chars, language);
        let described = RuleMetadata::default().describe(&all);
        Ok(Summary {
            entities: described.entities.into_iter().filter(|name| text.contains(name.as_str())).collect(),
            text,
            language,
            topic: described.topic,
            covered: spoken.iter().map(|turn| turn.id).collect(),
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

fn candidates(turns: &[&Record], said: &[String], request: &SummaryRequest, language: Language) -> Vec<Candidate> {
    // The names of the speakers are in every other sentence, and make none of them central.
    let names: BTreeSet<String> = turns.iter().filter_map(|turn| turn.named_speaker()).flat_map(terms).collect();
    let zone = request.zone_or_utc();
    let mut found: Vec<Candidate> = Vec::new();
    let mut asked: Option<String> = None;
    for (turn, text) in turns.iter().zip(said) {
        let speaker = speaker(turn, language);
        let day = turn.occurred_at.in_zone(&zone).date();
        let sentences: Vec<String> = sentences(text).into_iter().map(|range| plain(&text[range])).collect();
        for (n, sentence) in sentences.iter().enumerate() {
            let asks = is_question(sentence);
            let answers = n == 0 && !asks && sentence.chars().count() <= SHORT_ANSWER_MAX_CHARS;
            let text = match asked.take().filter(|_| answers) {
                Some(question) => format!("{question} {sentence}"),
                None => sentence.clone(),
            };
            let mut terms: BTreeSet<String> = terms(&text).into_iter().collect();
            terms.retain(|term| !names.contains(term));
            if terms.len() >= SENTENCE_MIN_TERMS && is_tellable(&text) {
                let weight = weight(&text, asks, spoken::is_assistant(turn), n == 0);
                found.push(Candidate { speaker: speaker.clone(), day, text, terms, weight });
            }
        }
        asked =
            sentences.into_iter().last().filter(|last| is_question(last) && last.chars().count() <= QUESTION_MAX_CHARS);
    }
    let over = found.len().saturating_sub(MAX_SENTENCES);
    found.drain(..over);
    found
}

fn speaker(turn: &Record, language: Language) -> String {
    match turn.named_speaker() {
        Some(name) => one_line(name),
        None if spoken::is_assistant(turn) => language.pick("助手", "Assistant").to_owned(),
        None => language.pick("用户", "User").to_owned(),
    }
}

fn is_question(sentence: &str) -> bool {
    sentence.ends_with(['?', '？', '吗'])
}

fn is_tellable(sentence: &str) -> bool {
    let is_data = sentence.starts_with("```") || sentence.starts_with('[') || sentence.contains("://");
    !is_data && sentence.chars().count() <= SENTENCE_MAX_CHARS
}

/// Returns by how much a sentence weighs more or less than one that a person states.
fn weight(sentence: &str, asks: bool, of_assistant: bool, first: bool) -> f64 {
    let factors = [
        (of_assistant, 0.6),
        (asks, 0.5),
        // A number or a date is what one looks for later; the first sentence of a turn says what it is about.
        (sentence.chars().any(|c| c.is_ascii_digit()), 1.15),
        (first, 1.1),
        // A sentence that is to please the other tells little.
        (is_courtesy(sentence), 0.4),
        (DATA.first_person.any_in(sentence), 1.25),
    ];
    factors.iter().filter(|(applies, _)| *applies).fold(1.0, |weight, (_, factor)| weight * factor)
}

/// A sentence on one line, without the marks and the numbers of lists.
fn plain(sentence: &str) -> String {
    let bare = sentence.trim_start_matches(['-', '*', '#', '>', ' ', '•']).replace("**", "");
    let digits = bare.len() - bare.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = &bare[digits..];
    let numbered =
        digits > 0 && digits < 3 && (rest.starts_with(". ") || rest.starts_with(") ") || rest.starts_with('、'));
    one_line(if numbered { rest.trim_start_matches(['.', ')', '、', ' ']) } else { &bare })
}

/// Returns true if a sentence thanks, wishes, praises or greets.
fn is_courtesy(sentence: &str) -> bool {
    DATA.courtesies.any_starts(&sentence.to_lowercase())
}

/// The best sentences that fit, laid out.
fn told(candidates: &[Candidate], max_chars: usize, language: Language) -> String {
    let ranks = ranks(&candidates.iter().map(|candidate| &candidate.terms).collect::<Vec<_>>());
    // A very long sentence has many links, and leaves little room for others.
    let score = |n: usize| ranks[n] * candidates[n].weight / (1.0 + candidates[n].text.chars().count() as f64 / 160.0);
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|a, b| score(*b).total_cmp(&score(*a)).then(a.cmp(b)));
    let mut kept: Vec<usize> = Vec::new();
    for n in order {
        let repeats = kept.iter().any(|known| overlap(&candidates[*known].terms, &candidates[n].terms) > MAX_OVERLAP);
        if repeats {
            continue;
        }
        let place = kept.partition_point(|known| *known < n);
        kept.insert(place, n);
        if written(&kept, candidates, language).chars().count() > max_chars {
            kept.remove(place);
        }
    }
    written(&kept, candidates, language)
}

/// Sentences in their order: a date where the day changes, a speaker where another speaks.
fn written(kept: &[usize], candidates: &[Candidate], language: Language) -> String {
    let mut text = String::new();
    let mut before: Option<&Candidate> = None;
    for candidate in kept.iter().map(|n| &candidates[*n]) {
        let new_day = before.is_none_or(|before| before.day != candidate.day);
        let new_speaker = new_day || before.is_none_or(|before| before.speaker != candidate.speaker);
        if new_day {
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.push_str(&format!("[{}] ", candidate.day));
        } else if new_speaker || before.is_some_and(|before| ends_open(&before.text)) {
            text.push(' ');
        }
        if new_speaker {
            text.push_str(&candidate.speaker);
            text.push_str(language.pick("：", ": "));
        } else if !text.ends_with([' ', '。', '！', '？']) {
            text.push(' ');
        }
        text.push_str(&candidate.text);
        if ends_open(&candidate.text) {
            text.push_str(language.pick("。", "."));
        }
        before = Some(candidate);
    }
    text
}

/// Returns true if a sentence has no punctuation mark at its end.
fn ends_open(text: &str) -> bool {
    text.chars().next_back().is_some_and(|c| c.is_alphanumeric())
}
