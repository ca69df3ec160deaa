//! Requests about the memory itself: "don't remember this", "forget what I said about my ex", "undo that".

use std::sync::LazyLock;

use memory_engine_core::{
    Phrases, Record, RuleId,
    phrases::fold,
    text::{is_han, normalize},
};
use memory_engine_text::{Macros, RegexIndex, RegexOptions, Words, sentences};
use serde::Deserialize;

use crate::{
    data::{data, regex_text},
    fact::{ExtractedFact, assertion, canonical_name, names_slot},
    supersede::kin_of,
};

/// Maximum length of a text and of a sentence, in bytes. What is longer is pasted.
const TEXT_MAX_BYTES: usize = 20_000;
const SENTENCE_MAX_BYTES: usize = 600;
/// Number of sentences at the beginning and at the end of a message that may be a request.
const OUTER_SENTENCES: usize = 2;
/// Memory limit of the compiled expressions that are kept, in bytes.
const KEPT_EXPRESSIONS_MAX_BYTES: usize = 1 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestFile {
    parts: Macros,
    rules: Vec<RequestRule>,
    topic: TopicWords,
}

/// The words around a topic.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TopicWords {
    /// Topics that name nothing.
    vague: Words,
    leads: Words,
    tails: Words,
    fillers: Words,
    /// The endings of words in the singular and in the plural.
    plurals: Vec<[String; 2]>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestRule {
    #[cfg_attr(not(test), expect(dead_code, reason = "names the rule in the file"))]
    id: RuleId,
    kind: RequestKind,
    /// True if the message is nothing else. Default: false.
    #[serde(default)]
    whole: bool,
    r#match: Vec<String>,
    /// Expressions of sentences that are no such request, together with the sentence before. Default: none.
    #[serde(default)]
    unless: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RequestKind {
    Previous,
    OffTheRecord,
    Forget,
    Undo,
    UndoLast,
    Yes,
}

data!(DATA: RequestFile = "en/requests.toml", "zh/requests.toml");

/// The compiled expressions, each with the position of its rule.
struct RequestRules {
    index: RegexIndex,
    rules: Vec<usize>,
}

static RULES: LazyLock<RequestRules> = LazyLock::new(|| compile(|rule| &rule.r#match));
static EXCEPTIONS: LazyLock<RequestRules> = LazyLock::new(|| compile(|rule| &rule.unless));

fn compile(expressions: fn(&RequestRule) -> &[String]) -> RequestRules {
    let of_rule =
        |(rule, request)| expressions(request).iter().map(move |text| (rule, regex_text(&DATA.parts.expanded(text))));
    let (rules, texts): (Vec<usize>, Vec<String>) = DATA.rules.iter().enumerate().flat_map(of_rule).unzip();
    let index = RegexOptions::ignoring_case().index(&texts, KEPT_EXPRESSIONS_MAX_BYTES);
    #[expect(clippy::expect_used, reason = "the expressions are part of the crate, and a test compiles each of them")]
    let index = index.expect("an expression of requests.toml is invalid");
    RequestRules { index, rules }
}

/// A request of a person about the memory itself.
///
/// ```
/// use memory_engine_summarizer::MemoryRequest;
///
/// let of = |message| MemoryRequest::of_message(message, None);
/// assert_eq!(of("Off the record: I am seeing a therapist."), Some(MemoryRequest::OffTheRecord));
/// let forget = MemoryRequest::Forget { topic: "ex".into(), is_confirmed: false };
/// assert_eq!(of("Please forget everything about my ex."), Some(forget));
/// assert_eq!(of("Write a scene in which she says: forget what I said about the rent."), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryRequest {
    /// Nothing of this message is to be stored.
    OffTheRecord,
    /// The message before this one is to be taken out.
    TakeOutPrevious,
    /// The memories of a topic are to be forgotten.
    Forget {
        /// The topic, without articles.
        topic: String,
        /// True if the message agrees to an earlier request.
        is_confirmed: bool,
    },
    /// What was forgotten last is to be brought back.
    Undo,
}

/// What a message asks, before the message before it is read.
#[derive(Debug, PartialEq, Eq)]
enum FoundRequest {
    Request(MemoryRequest),
    UndoLast,
    Yes,
}

impl MemoryRequest {
    /// Returns the request in a message of a person. `previous` is the person's message before it: a yes is a request
    /// only after one to forget something, and so is a plain "undo that".
    ///
    /// Only sentences of the person count: no quotations, pasted mails, stage directions, or texts to be rewritten. Of
    /// several requests, the first one in the order of the kinds of the data files counts.
    pub fn of_message(message: &str, previous: Option<&str>) -> Option<Self> {
        let earlier = || previous.and_then(find).map(|(_, request)| request);
        match find(message)?.1 {
            FoundRequest::Request(request) => Some(request),
            FoundRequest::UndoLast => {
                let undoes = matches!(earlier()?, FoundRequest::Request(Self::Forget { .. }) | FoundRequest::Yes);
                undoes.then_some(Self::Undo)
            }
            FoundRequest::Yes => match earlier()? {
                FoundRequest::Request(Self::Forget { topic, .. }) => Some(Self::Forget { topic, is_confirmed: true }),
                FoundRequest::Request(_) | FoundRequest::UndoLast | FoundRequest::Yes => None,
            },
        }
    }
}

/// Returns the request at the beginning or the end of a message, and the position of its rule.
fn find(message: &str) -> Option<(usize, FoundRequest)> {
    let beginning = &message[..message.floor_char_boundary(TEXT_MAX_BYTES)];
    let end = &message[message.floor_char_boundary(message.len().saturating_sub(TEXT_MAX_BYTES))..];
    find_in(beginning).or_else(|| find_in(end).filter(|_| message.len() > TEXT_MAX_BYTES))
}

fn find_in(text: &str) -> Option<(usize, FoundRequest)> {
    let masked = assertion::mask(text);
    let ranges = sentences(&masked);
    let is_outer = |at: usize| at < OUTER_SENTENCES || at + OUTER_SENTENCES >= ranges.len();
    let outer = ranges.iter().enumerate().filter(|(at, range)| is_outer(*at) && range.len() <= SENTENCE_MAX_BYTES);
    let mut found = Vec::new();
    for (at, range) in outer {
        let sentence = assertion::normalise_sentence(masked[range.clone()].trim());
        // After a request to write something, "forget what I said" may belong to the text.
        let is_ordered = assertion::orders_text(&text[..range.start]);
        let before = ranges[at.saturating_sub(1)].start;
        let context = assertion::normalise_sentence(masked[before..range.end].trim());
        let is_other = |rule: usize| is_ordered && is_of_topic(rule) || is_exception(rule, &context);
        found.extend(requests_in(&sentence, false).filter(|(rule, _)| !is_other(*rule)));
    }
    if masked.len() <= SENTENCE_MAX_BYTES {
        found.extend(requests_in(&assertion::normalise_sentence(masked.trim()), true));
    }
    found.into_iter().min_by_key(|(rule, _)| (DATA.rules[*rule].kind, *rule))
}

/// Returns the requests of a sentence, or of a whole message, with the positions of their rules.
fn requests_in(text: &str, is_whole: bool) -> impl Iterator<Item = (usize, FoundRequest)> {
    RULES.index.candidates(text).into_iter().filter_map(move |expression| {
        let rule = RULES.rules[expression];
        if DATA.rules[rule].whole != is_whole {
            return None;
        }
        let groups = RULES.index.captures_iter(expression, text).next()?;
        // "Off the record: …" is no line of a speaker of that name.
        if groups.get(0)?.start() > 0 && assertion::is_of_other_speaker(text) {
            return None;
        }
        let request = match DATA.rules[rule].kind {
            RequestKind::Previous => FoundRequest::Request(MemoryRequest::TakeOutPrevious),
            RequestKind::OffTheRecord => FoundRequest::Request(MemoryRequest::OffTheRecord),
            RequestKind::Undo => FoundRequest::Request(MemoryRequest::Undo),
            RequestKind::UndoLast => FoundRequest::UndoLast,
            RequestKind::Yes => FoundRequest::Yes,
            RequestKind::Forget => {
                let topic = bare_topic(groups.name("topic")?.as_str())?;
                FoundRequest::Request(MemoryRequest::Forget { topic, is_confirmed: false })
            }
        };
        Some((rule, request))
    })
}

/// Returns true if a sentence, with the one before it, is an exception of a rule.
fn is_exception(rule: usize, context: &str) -> bool {
    let matches = |expression: usize| EXCEPTIONS.index.captures_iter(expression, context).next().is_some();
    let candidates = EXCEPTIONS.index.candidates(context).into_iter();
    candidates.filter(|expression| EXCEPTIONS.rules[*expression] == rule).any(matches)
}

fn is_of_topic(rule: usize) -> bool {
    matches!(DATA.rules[rule].kind, RequestKind::Forget | RequestKind::Undo)
}

/// Returns a topic without the words around it; `None` if it names nothing.
fn bare_topic(topic: &str) -> Option<String> {
    let TopicWords { vague, leads, tails, .. } = &DATA.topic;
    let mut rest = topic.trim().trim_matches('\'');
    loop {
        let is_too_short = rest.starts_with(is_han) && rest.chars().nth(1).is_none();
        if vague.contains(&rest.to_lowercase()) || is_too_short || rest.is_empty() {
            return None;
        }
        let shorter = if rest.starts_with(is_han) {
            leads.strip_start(rest).or_else(|| tails.strip_end(rest))
        } else {
            rest.split_once(' ').filter(|(first, _)| leads.contains(&first.to_lowercase())).map(|(_, rest)| rest)
        };
        // One character, as in 我妈, is in too many words.
        match shorter.map(str::trim).filter(|shorter| shorter.chars().nth(1).is_some()) {
            Some(shorter) => rest = shorter,
            None => return Some(rest.to_owned()),
        }
    }
}

/// Finds the texts and facts that name a topic.
///
/// ```
/// use memory_engine_summarizer::NamedTopic;
///
/// let topic = NamedTopic::new("trip to Norway");
/// assert!(topic.is_named_in("The trips through Norway were long."));
/// assert!(!topic.is_named_in("Norwegian is a language."));
/// ```
#[derive(Debug, Clone)]
pub struct NamedTopic {
    /// The topic in lower case.
    name: String,
    /// The forms of each word, all of which a text must have.
    words: Vec<Phrases>,
}

impl NamedTopic {
    /// Creates a topic. Articles and prepositions are not looked for.
    pub fn new(topic: &str) -> Self {
        let name = normalize(topic).trim().to_owned();
        let all: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let content: Vec<&str> = all.iter().copied().filter(|word| !DATA.topic.fillers.contains(word)).collect();
        let words = if content.is_empty() { all } else { content };
        let words = words.into_iter().map(|word| Phrases::new(word_forms(word))).collect();
        Self { name, words }
    }

    /// Returns true if a text contains every word of the topic, in the singular or plural.
    pub fn is_named_in(&self, text: &str) -> bool {
        let folded = fold(text);
        !self.words.is_empty() && self.words.iter().all(|word| word.find_folded(&folded).is_some())
    }

    /// Returns true if a fact names the topic, or if the topic names its attribute or its person: "job" names the
    /// facts about the job.
    pub fn is_of_fact(&self, record: &Record) -> bool {
        if self.is_named_in(&record.text) {
            return true;
        }
        let Some(fact) = ExtractedFact::from_record(record) else { return false };
        let relative = fact.subject.split_once('.').map(|(_, relative)| relative).or(kin_of(&fact.slot));
        self.is_named_in(&fact.value)
            || names_slot(&self.name, &fact.slot)
            || relative.is_some_and(|relative| relative == canonical_name(&self.name))
    }
}

/// Returns a word and its forms in the singular, or in the plural if it has none.
fn word_forms(word: &str) -> Vec<String> {
    let with_ending = |from: &str, to: &str| Some(word.strip_suffix(from)?.to_owned() + to);
    let endings = || DATA.topic.plurals.iter().map(|[singular, plural]| (singular.as_str(), plural.as_str()));
    let mut forms = vec![word.to_owned()];
    if !["ss", "us", "is"].iter().any(|ending| word.ends_with(ending)) {
        let singulars = endings().filter_map(|(singular, plural)| with_ending(plural, singular));
        forms.extend(singulars.filter(|singular| singular.len() > 2));
    }
    if forms.len() == 1 && word.ends_with(|c: char| c.is_ascii_alphabetic()) {
        forms.extend(endings().filter_map(|(singular, plural)| with_ending(singular, plural)));
    }
    forms
}

#[cfg(test)]
mod tests;
