//! The words of all texts, and their use.

use std::hash::{BuildHasher, Hash};

use memory_engine_core::phrases::fold;
use memory_engine_keyword_store::{Analyzer, TextAnalyzer, WordSpan, words};
use memory_engine_text::SentenceRules;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::{
    address::{follows_greeting, is_capitalised, is_in_longer_name},
    source::SourceText,
};

/// Maximum length of a text that is read, in bytes; the rest is cut off.
const TEXT_MAX_BYTES: usize = 4_000;
/// Maximum number of sessions that are remembered for each word.
const MAX_SESSIONS: usize = 8;
/// Maximum number of spellings that are remembered for each word.
const MAX_FORMS: usize = 4;

/// The number of a word in a corpus. Inflected forms of an English word are one word.
pub(super) type WordId = u32;

/// The use of a word.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// Folded spellings with their counts.
    forms: Vec<(String, u32)>,
    /// Number of texts with the word.
    pub(super) records: u32,
    last_text: Option<u32>,
    /// The first sessions with the word, at most [`MAX_SESSIONS`].
    sessions: Vec<u32>,
    /// The first text with the word.
    pub(super) first_text: usize,
    /// Number of occurrences with a capital inside a sentence.
    capitalised: u32,
    /// Number of occurrences without a capital.
    lower_case: u32,
    /// Number of occurrences after a greeting, and of texts whose speaker has this name.
    addressed: u32,
    /// Number of occurrences next to another word with a capital.
    in_longer_name: u32,
}

impl Usage {
    /// Returns the most frequent spelling, folded.
    pub(super) fn form(&self) -> &str {
        self.forms.iter().max_by_key(|(_, count)| *count).map(|(form, _)| form.as_str()).unwrap_or_default()
    }

    /// Returns the spellings, folded.
    pub(super) fn forms(&self) -> impl Iterator<Item = &str> {
        self.forms.iter().map(|(form, _)| form.as_str())
    }

    /// Returns true if the word occurs in this spelling.
    pub(super) fn has_form(&self, form: &str) -> bool {
        self.forms.iter().any(|(known, _)| known == form)
    }

    /// Returns the number of sessions, up to [`MAX_SESSIONS`].
    pub(super) fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Returns true for a word of an alphabet that is almost always written with a capital.
    pub(super) fn is_name(&self) -> bool {
        self.capitalised >= 2 && self.lower_case * 10 <= self.capitalised
    }

    /// Returns true for the name of a person: one that is used as an address or as the name of a speaker.
    pub(super) fn is_person(&self) -> bool {
        self.addressed > 0 && (self.is_name() || self.capitalised + self.lower_case == 0)
    }

    /// Returns true if the word is mostly a part of a longer name, as a surname is.
    pub(super) fn is_part_of_name(&self) -> bool {
        self.in_longer_name * 3 > self.capitalised
    }

    fn count(&mut self, form: &str, text: u32, session: u32) {
        if let Some((_, count)) = self.forms.iter_mut().find(|(known, _)| known == form) {
            *count += 1;
        } else if self.forms.len() < MAX_FORMS {
            self.forms.push((form.to_owned(), 1));
        }
        if self.last_text == Some(text) {
            return;
        }
        if self.last_text.is_none() {
            self.first_text = text as usize;
        }
        self.last_text = Some(text);
        self.records += 1;
        if self.sessions.len() < MAX_SESSIONS && !self.sessions.contains(&session) {
            self.sessions.push(session);
        }
    }
}

/// All words of the texts, in sentences. A sentence that occurs several times is read once.
#[derive(Debug, Default)]
pub(super) struct Corpus<'t> {
    ids_by_form: FxHashMap<String, WordId>,
    ids_by_term: FxHashMap<String, WordId>,
    usages: Vec<Usage>,
    tokens: Vec<WordId>,
    /// The end of each sentence in `tokens`.
    sentence_ends: Vec<usize>,
    /// The text of each sentence, with the number of its source.
    pub(super) sentences: Vec<(usize, &'t str)>,
}

impl<'t> Corpus<'t> {
    /// Reads texts until they have `max_tokens` words.
    pub(super) fn read(texts: &[SourceText<'t>], max_tokens: usize) -> Self {
        let mut corpus = Self::default();
        let mut sessions: FxHashMap<&str, u32> = FxHashMap::default();
        let mut seen: FxHashSet<u64> = FxHashSet::default();
        let mut speakers: FxHashSet<&str> = FxHashSet::default();
        for (number, source) in texts.iter().enumerate() {
            if corpus.tokens.len() >= max_tokens {
                break;
            }
            let text_number = u32::try_from(number).unwrap_or(u32::MAX);
            let next_session = u32::try_from(sessions.len()).unwrap_or(u32::MAX);
            // Numbers of texts without a session begin at the other end.
            let session =
                source.session.map_or(u32::MAX - text_number, |name| *sessions.entry(name).or_insert(next_session));
            speakers.extend(source.speaker);
            for sentence in SentenceRules::MESSAGE.texts(truncated(source.text)) {
                if seen.insert(hash(sentence)) {
                    corpus.read_sentence(sentence, number, text_number, session);
                }
            }
        }
        for speaker in speakers {
            let first_name = speaker.split_whitespace().next().map(fold).unwrap_or_default();
            if let Some(id) = corpus.id(&first_name) {
                corpus.usages[id as usize].addressed += 1;
            }
        }
        corpus
    }

    fn read_sentence(&mut self, sentence: &'t str, number: usize, text: u32, session: u32) {
        for WordSpan { start, text: word } in words(sentence) {
            let form = fold(word);
            if !is_word(&form) {
                continue;
            }
            let id = self.intern(&form);
            let usage = &mut self.usages[id as usize];
            usage.count(&form, text, session);
            let before = &sentence[..start];
            if !is_capitalised(word) {
                usage.lower_case += u32::from(word.is_ascii());
            } else if before.contains(char::is_alphanumeric) {
                usage.capitalised += 1;
                usage.addressed += u32::from(follows_greeting(before));
                usage.in_longer_name += u32::from(is_in_longer_name(before, &sentence[start + word.len()..]));
            }
            self.tokens.push(id);
        }
        self.sentence_ends.push(self.tokens.len());
        self.sentences.push((number, sentence));
    }

    fn intern(&mut self, form: &str) -> WordId {
        if let Some(id) = self.ids_by_form.get(form) {
            return *id;
        }
        let next = WordId::try_from(self.usages.len()).unwrap_or(WordId::MAX);
        let id = *self.ids_by_term.entry(term(form)).or_insert(next);
        if id == next {
            self.usages.push(Usage::default());
        }
        self.ids_by_form.insert(form.to_owned(), id);
        id
    }

    /// Returns the number of a word, in any form.
    pub(super) fn id(&self, word: &str) -> Option<WordId> {
        let form = fold(word);
        self.ids_by_form.get(&form).or_else(|| self.ids_by_term.get(&term(&form))).copied()
    }

    pub(super) fn usage(&self, id: WordId) -> &Usage {
        &self.usages[id as usize]
    }

    /// Returns all words.
    pub(super) fn word_ids(&self) -> impl Iterator<Item = WordId> {
        0..WordId::try_from(self.usages.len()).unwrap_or(WordId::MAX)
    }

    /// Returns the words of a sentence.
    pub(super) fn words_of(&self, sentence: usize) -> &[WordId] {
        let start = sentence.checked_sub(1).map_or(0, |previous| self.sentence_ends[previous]);
        &self.tokens[start..self.sentence_ends[sentence]]
    }
}

/// Returns the singular of an English word, or the word. Irregular forms (child, children) have the same term, too.
/// Stems are not used, since they join words of different meaning (feel, feeling).
fn term(form: &str) -> String {
    if !form.is_ascii() {
        return form.to_owned();
    }
    let clauses = TextAnalyzer.query(form);
    if let [clause] = clauses.as_slice()
        && clause.terms.iter().any(|term| term.term == form)
        && clause.terms.len() > 1
        && let Some(least) = clause.terms.iter().map(|term| &term.term).min()
    {
        return least.clone();
    }
    singular(form)
}

fn singular(form: &str) -> String {
    let ends_with = |endings: &[&str]| endings.iter().any(|ending| form.ends_with(ending));
    let without = |letters: usize| form[..form.len() - letters].to_owned();
    match form.len() {
        length if length < 4 => form.to_owned(),
        _ if ends_with(&["sses", "shes", "ches", "xes"]) => without(2),
        length if length > 4 && form.ends_with("ies") => without(3) + "y",
        _ if form.ends_with('s') && !ends_with(&["ss", "us", "is", "'s"]) => without(1),
        _ => form.to_owned(),
    }
}

/// Returns true unless a word is a number or a single letter.
fn is_word(form: &str) -> bool {
    form.chars().any(char::is_alphabetic) && (form.chars().count() > 1 || !form.is_ascii())
}

fn truncated(text: &str) -> &str {
    let mut end = text.len().min(TEXT_MAX_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn hash(value: impl Hash) -> u64 {
    FxBuildHasher.hash_one(value)
}
