//! Everyday synonyms, of which a pair is suggested if both words are used.

use memory_engine_text::data;
use serde::Deserialize;

use super::corpus::{Corpus, WordId};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lexicon {
    /// Groups of people and things.
    things: Vec<Vec<String>>,
    /// Groups of qualities and actions.
    qualities: Vec<Vec<String>>,
}

data!(LEXICON: Lexicon = "en/lexicon.toml", "zh/lexicon.toml");

/// A pair of the lexicon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LexiconPair {
    pub(super) words: (WordId, WordId),
    /// True for people and things, false for qualities and actions.
    pub(super) is_thing: bool,
}

/// Returns the pairs of the lexicon whose words are both used. A word in several groups belongs to the only group that
/// is used otherwise, or to none.
pub(super) fn lexicon_pairs(corpus: &Corpus<'_>, is_used: impl Fn(WordId) -> bool) -> Vec<LexiconPair> {
    let groups = LEXICON.things.iter().map(|group| (group, true));
    let groups = groups.chain(LEXICON.qualities.iter().map(|group| (group, false)));
    let used: Vec<(Vec<WordId>, bool)> = groups
        .map(|(group, is_thing)| {
            let mut ids: Vec<WordId> =
                group.iter().filter_map(|word| corpus.id(word)).filter(|id| is_used(*id)).collect();
            ids.sort_unstable();
            ids.dedup();
            (ids, is_thing)
        })
        .filter(|(ids, _)| ids.len() > 1)
        .collect();
    let groups_with = |id: &WordId| used.iter().filter(|(ids, _)| ids.contains(id)).count();
    let mut pairs = Vec::new();
    for (ids, is_thing) in &used {
        let ids: Vec<WordId> = ids.iter().copied().filter(|id| groups_with(id) == 1).collect();
        for (n, a) in ids.iter().enumerate() {
            pairs.extend(ids[n + 1..].iter().map(|b| LexiconPair { words: (*a, *b), is_thing: *is_thing }));
        }
    }
    pairs
}

/// Returns true if the lexicon has the word.
pub(super) fn is_in_lexicon(word: &str) -> bool {
    let lists = LEXICON.things.iter().chain(&LEXICON.qualities);
    lists.flatten().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_at_least_two_words() {
        for group in LEXICON.things.iter().chain(&LEXICON.qualities) {
            assert!(group.len() > 1, "{group:?}");
            let distinct: std::collections::BTreeSet<_> = group.iter().collect();
            assert_eq!(distinct.len(), group.len(), "{group:?}");
        }
    }
}
