//! Suggests pairs of synonyms from stored text.

mod address;
mod aliases;
mod contexts;
mod corpus;
mod evidence;
mod lexicon;
mod meaning;
mod names;
mod relations;
mod source;

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::Embedding;
use memory_engine_keyword_store::{Analyzer, TextAnalyzer};

use self::{
    aliases::stated_aliases,
    contexts::Contexts,
    corpus::{Corpus, WordId},
    lexicon::lexicon_pairs,
    meaning::near_pairs,
    names::short_names,
    relations::names_of_one_relation,
};
pub use self::{
    evidence::{PairEvidence, PairReason, Suggestion},
    source::SourceText,
};
use crate::{
    pair::{PairVerdict, WordPair},
    thesaurus::Thesaurus,
};

/// Minimum number of texts with a word that a sentence declares as another name.
const STATED_MIN_RECORDS: u32 = 2;
/// Maximum share of the sentences of the rarer word that contain both, if a sentence declares the pair.
const STATED_MAX_TOGETHER: f64 = 0.5;
/// Minimum similarity of the contexts of two names or of two words with near vectors, which may be different things.
const MIN_SIMILARITY: f64 = 0.12;

/// Suggests pairs of words that one user uses for the same thing. It changes nothing, and a person has to accept each
/// pair.
///
/// A pair needs a [reason](PairReason), and use in the texts: both words are in several texts and sessions, and seldom
/// in one sentence, since people say one word or the other. Words that only stand near each other are no pair. Without
/// a reason nothing is suggested.
///
/// At most [`max_tokens`](Self::max_tokens) words are read, and at most 4000 bytes of each text, so that time and
/// memory are limited. Pass the newest texts first.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Suggester {
    /// Minimum number of texts with each of the words. Default: 3.
    pub min_records: u32,
    /// Maximum share of the sentences of the rarer word that contain both words. Default: 0.2.
    pub max_together: f64,
    /// Minimum cosine similarity of the vectors of two words that have no other reason. Default: 0.98, for
    /// multilingual-e5-small.
    pub min_nearness: f64,
    /// Maximum number of words that are compared by their vectors, most frequent first. Default: 500.
    pub max_words: usize,
    /// Maximum number of words that are read from all texts; four million need about 100 MB. Default: 4 000 000.
    pub max_tokens: usize,
    /// Maximum number of suggested pairs, strongest first. Default: 50.
    pub limit: usize,
}

impl Default for Suggester {
    fn default() -> Self {
        Self { min_records: 3, max_together: 0.2, min_nearness: 0.98, max_words: 500, max_tokens: 4_000_000, limit: 50 }
    }
}

impl Suggester {
    /// Sets the maximum number of suggested pairs.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Returns the words that are compared by their vectors, most frequent first.
    pub fn words(&self, texts: &[SourceText<'_>]) -> Vec<String> {
        let corpus = Corpus::read(texts, self.max_tokens);
        let mut words: Vec<WordId> = corpus.word_ids().filter(|id| self.is_used(&corpus, *id)).collect();
        words.sort_by_key(|id| std::cmp::Reverse(corpus.usage(*id).records));
        words.truncate(self.max_words);
        words.into_iter().map(|id| corpus.usage(id).form().to_owned()).filter(|form| form.chars().count() > 1).collect()
    }

    /// Suggests pairs from texts and, if given, from the vectors of words. Pairs in the thesaurus and pairs with a
    /// decision are left out.
    pub fn suggest(
        &self,
        texts: &[SourceText<'_>],
        vectors: &[(String, Embedding)],
        known: &Thesaurus,
        verdicts: &[PairVerdict],
    ) -> Vec<Suggestion> {
        let corpus = Corpus::read(texts, self.max_tokens);
        let candidates = self.candidates(&corpus, vectors);
        let contexts = Contexts::new(&corpus, candidates.keys().flat_map(|(a, b)| [*a, *b]));
        // Words are compared in all their forms: a decision about "kids" is one about "kid".
        let ids = |pair: &WordPair| Some((corpus.id(pair.first())?, corpus.id(pair.second())?));
        let decided = verdicts.iter().filter_map(|verdict| ids(&verdict.pair));
        let decided: BTreeSet<(WordId, WordId)> = decided.map(|(a, b)| (a.min(b), a.max(b))).collect();
        let is_known = |a: WordId, b: WordId| {
            let mut pairs = corpus.usage(a).forms().flat_map(|a| corpus.usage(b).forms().map(move |b| (a, b)));
            pairs.any(|(a, b)| known.relates(a, b))
        };
        let mut suggestions: Vec<Suggestion> = candidates
            .into_iter()
            .filter_map(|((a, b), reason)| {
                let forms = [a, b].map(|id| corpus.usage(id).form());
                let pair = WordPair::new(forms[0], forms[1])?;
                if decided.contains(&(a, b)) || is_known(a, b) {
                    return None;
                }
                let (first, second) = if pair.first() == forms[0] { (a, b) } else { (b, a) };
                let together = contexts.together(first, second);
                let rarer = contexts.count(first).min(contexts.count(second)).max(1);
                let max_together = if reason == PairReason::Stated { STATED_MAX_TOGETHER } else { self.max_together };
                let similarity = contexts.similarity(first, second);
                if together as f64 > max_together * rarer as f64
                    || is_found_already(pair.first(), pair.second())
                    || similarity < min_similarity(reason)
                {
                    return None;
                }
                let evidence = PairEvidence {
                    reason,
                    records: [first, second].map(|id| corpus.usage(id).records),
                    together: u32::try_from(together).unwrap_or(u32::MAX),
                    similarity,
                    nearness: meaning::nearness(vectors, forms[0], forms[1]),
                    examples: [first, second].map(|id| texts[corpus.usage(id).first_text].id).to_vec(),
                };
                Some(Suggestion { pair, evidence })
            })
            .collect();
        let strength = |suggestion: &Suggestion| suggestion.evidence.strength();
        suggestions.sort_by(|a, b| strength(b).total_cmp(&strength(a)).then(a.pair.cmp(&b.pair)));
        suggestions.truncate(self.limit);
        suggestions
    }

    /// Returns true if a word is in enough texts, of at least two sessions.
    fn is_used(&self, corpus: &Corpus<'_>, id: WordId) -> bool {
        let usage = corpus.usage(id);
        usage.records >= self.min_records && usage.sessions() > 1
    }

    /// Returns all pairs with their strongest reason.
    fn candidates(
        &self,
        corpus: &Corpus<'_>,
        vectors: &[(String, Embedding)],
    ) -> BTreeMap<(WordId, WordId), PairReason> {
        let mut candidates: BTreeMap<(WordId, WordId), PairReason> = BTreeMap::new();
        let mut add = |a: WordId, b: WordId, reason: PairReason| {
            if a != b {
                let known = candidates.entry((a.min(b), a.max(b))).or_insert(reason);
                *known = (*known).min(reason);
            }
        };
        let is_used = |id: WordId| self.is_used(corpus, id);
        for (a, b) in stated_aliases(corpus) {
            if [a, b].iter().all(|id| corpus.usage(*id).records >= STATED_MIN_RECORDS) {
                add(a, b, PairReason::Stated);
            }
        }
        for (short, long) in short_names(corpus, is_used) {
            add(short, long, PairReason::ShortName);
        }
        for pair in lexicon_pairs(corpus, is_used) {
            let reason = if pair.is_thing { PairReason::Lexicon } else { PairReason::LexiconQuality };
            add(pair.words.0, pair.words.1, reason);
        }
        for (a, b) in names_of_one_relation(corpus, is_used) {
            add(a, b, PairReason::SharedRelation);
        }
        for (a, b) in near_pairs(vectors, self.min_nearness) {
            if let (Some(a), Some(b)) = (corpus.id(a), corpus.id(b))
                && is_used(a)
                && is_used(b)
            {
                add(a, b, PairReason::Meaning);
            }
        }
        candidates
    }
}

fn min_similarity(reason: PairReason) -> f64 {
    match reason {
        PairReason::ShortName | PairReason::SharedRelation | PairReason::Meaning => MIN_SIMILARITY,
        PairReason::Stated | PairReason::Lexicon | PairReason::LexiconQuality => f64::MIN,
    }
}

/// Returns true if a search for one of the words finds the other without a synonym: they share an index term, or one
/// contains the other in Chinese, which is indexed by characters.
fn is_found_already(a: &str, b: &str) -> bool {
    let terms = |word: &str| -> BTreeSet<String> {
        TextAnalyzer.query(word).into_iter().flat_map(|clause| clause.terms).map(|term| term.term).collect()
    };
    let contains = !a.is_ascii() && (a.contains(b) || b.contains(a));
    contains || (a.is_ascii() && !terms(a).is_disjoint(&terms(b)))
}
