//! Summaries of what was said, in the words in which it was said.

use std::collections::BTreeSet;

use async_trait::async_trait;
use jiff::civil::Date;
use memory_engine_core::{Error, Record, Result};

use super::{Summarizer, Summary, SummaryRequest};
use crate::{Language, RuleMetadata, echo::without_injected, fact::one_line, sentences, spoken, terms::terms};

/// Picks the sentences that stand for most of the others, and tells them in their order with their dates and speakers.
///
/// Sentences are ranked as in TextRank (Mihalcea and Tarau 2004): one that shares words with many is central. What the
/// person says of themselves weighs more than what a model says, a question less than an answer; a short answer comes with
/// its question. No sentence repeats another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ExtractiveSummarizer {}

/// How many sentences are ranked: those beyond are left out, the earliest first.
const MOST_SENTENCES: usize = 240;
/// The longest sentence that is worth telling, in characters, and the shortest answer that needs its question.
const LONGEST: usize = 220;
const SHORT_ANSWER: usize = 14;
/// How much two sentences may share before one repeats the other.
const REPEATED: f64 = 0.5;

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
    let mut found: Vec<Candidate> = Vec::new();
    // Who is spoken to is in every other sentence, and makes none of them central.
    let names: BTreeSet<String> = turns.iter().filter_map(|turn| turn.named_speaker()).flat_map(terms).collect();
    let mut asked: Option<String> = None;
    for (turn, text) in turns.iter().zip(said) {
        let assistant = spoken::is_assistant(turn);
        let speaker = match turn.named_speaker() {
            Some(name) => one_line(name),
            None if assistant => language.pick("助手", "Assistant").to_owned(),
            None => language.pick("用户", "User").to_owned(),
        };
        let ranges = sentences(text);
        let last = ranges.len().saturating_sub(1);
        let mut question = None;
        for (n, range) in ranges.into_iter().enumerate() {
            let sentence = plain(&text[range]);
            let length = sentence.chars().count();
            let asks = sentence.ends_with(['?', '？']) || sentence.ends_with('吗');
            if n == last && asks && length <= 60 {
                question = Some(sentence.clone());
            }
            let answers = n == 0 && length <= SHORT_ANSWER && !asks;
            let told = match asked.take().filter(|_| answers) {
                Some(question) => format!("{question} {sentence}"),
                None => sentence,
            };
            let mut terms: BTreeSet<String> = terms(&told).into_iter().collect();
            terms.retain(|term| !names.contains(term));
            let tellable = !told.starts_with("```")
                && !told.starts_with('[')
                && !told.contains("://")
                && told.chars().count() <= LONGEST;
            if terms.len() < 2 || !tellable {
                continue;
            }
            let mut weight = if assistant { 0.6 } else { 1.0 };
            weight *= if asks { 0.5 } else { 1.0 };
            // A number or a date is what one looks for later; the first sentence of a turn says what it is about.
            weight *= if told.chars().any(|c| c.is_ascii_digit()) { 1.15 } else { 1.0 };
            weight *= if n == 0 { 1.1 } else { 1.0 };
            // What is said to please the other tells little.
            weight *= if is_courtesy(&told) { 0.4 } else { 1.0 };
            weight *= if told.contains('我') || told.contains("I ") || told.contains("I'") || told.contains("my ") {
                1.25
            } else {
                1.0
            };
            let day = turn.occurred_at.in_zone(&request.zone).date();
            found.push(Candidate { speaker: speaker.clone(), day, text: told, terms, weight });
        }
        asked = question;
    }
    let over = found.len().saturating_sub(MOST_SENTENCES);
    found.drain(..over);
    found
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

/// Whether a sentence thanks, wishes, praises or greets.
fn is_courtesy(sentence: &str) -> bool {
    const OPENINGS: &[&str] = &[
        "wow",
        "thanks",
        "thank you",
        "congrat",
        "glad ",
        "great to hear",
        "hey",
        "hi ",
        "hi,",
        "hello",
        "good luck",
        "that's great",
        "that's awesome",
        "sounds",
        "awesome",
        "you're ",
        "you've ",
        "bye",
        "aww",
        "cool",
        "nice",
        "absolutely",
        "i'd be happy to",
        "feel free",
        "let me know",
        "if you have any",
        "remember,",
        "谢谢",
        "恭喜",
        "加油",
        "祝",
        "不客气",
        "你好",
        "再见",
        "晚安",
        "太棒了",
        "好的",
        "没问题",
        "如果你",
        "希望你",
        "哈哈",
    ];
    let folded = sentence.to_lowercase();
    OPENINGS.iter().any(|opening| folded.starts_with(opening))
}

/// How central each sentence is, by a walk over those it shares words with.
fn ranks(candidates: &[Candidate]) -> Vec<f64> {
    let count = candidates.len();
    let mut links = vec![vec![0.0_f64; count]; count];
    for a in 0..count {
        for b in 0..a {
            let (one, other) = (&candidates[a].terms, &candidates[b].terms);
            let shared = one.intersection(other).count() as f64;
            let size = ((one.len() + 1) as f64).ln() + ((other.len() + 1) as f64).ln();
            (links[a][b], links[b][a]) = (shared / size, shared / size);
        }
    }
    let sums: Vec<f64> = links.iter().map(|row| row.iter().sum()).collect();
    let mut ranks = vec![1.0; count];
    for _ in 0..30 {
        let flow = |to: usize| -> f64 {
            (0..count).filter(|from| sums[*from] > 0.0).map(|from| links[from][to] / sums[from] * ranks[from]).sum()
        };
        ranks = (0..count).map(|to| 0.15 + 0.85 * flow(to)).collect();
    }
    ranks
}

fn overlap(one: &BTreeSet<String>, other: &BTreeSet<String>) -> f64 {
    let shared = one.intersection(other).count() as f64;
    shared / one.len().min(other.len()).max(1) as f64
}

/// The best sentences that fit, laid out.
fn told(candidates: &[Candidate], max_chars: usize, language: Language) -> String {
    let ranks = ranks(candidates);
    // A very long sentence has many links, and little room beside it.
    let score = |n: usize| ranks[n] * candidates[n].weight / (1.0 + candidates[n].text.chars().count() as f64 / 160.0);
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|a, b| score(*b).total_cmp(&score(*a)).then(a.cmp(b)));
    let mut kept: Vec<usize> = Vec::new();
    for n in order {
        let repeats = kept.iter().any(|known| overlap(&candidates[*known].terms, &candidates[n].terms) > REPEATED);
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

/// Whether a sentence has no mark at its end.
fn ends_open(text: &str) -> bool {
    text.chars().next_back().is_some_and(|c| c.is_alphanumeric())
}
