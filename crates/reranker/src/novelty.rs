//! Not saying the same thing twice.

use memory_engine_core::text;
use rustc_hash::FxHashSet;

const COMPARED: usize = 2000;

/// Finds texts that say what a text before them has said.
///
/// Two texts are near-duplicates when the pairs of neighbouring characters of one are, but for a small part, those of
/// the other: Jaccard similarity of the pairs of normalised text, white space and punctuation left out. Of a long text
/// the first 2,000 characters are compared.
#[derive(Debug, Clone)]
pub struct Novelty {
    /// Minimum similarity of a near-duplicate, 0 to 1. Above 1 there are none.
    threshold: f64,
    seen: Vec<FxHashSet<(char, char)>>,
}

impl Novelty {
    /// Nothing seen yet.
    pub fn new(threshold: f64) -> Self {
        Self { threshold, seen: Vec::new() }
    }

    /// Returns the index of the earlier text that this one repeats. A text that repeats none is added.
    pub fn repeats(&mut self, text: &str) -> Option<usize> {
        if self.threshold > 1.0 {
            return None;
        }
        let pairs = pairs(text);
        let found = self.seen.iter().position(|old| similarity(old, &pairs) >= self.threshold);
        // One place for each text, so that the numbers are those of the caller; a repeater is never compared with.
        self.seen.push(if found.is_some() { FxHashSet::default() } else { pairs });
        found
    }
}

fn pairs(text: &str) -> FxHashSet<(char, char)> {
    let end = text.char_indices().nth(COMPARED).map_or(text.len(), |(end, _)| end);
    let characters: Vec<char> = text::normalize(&text[..end]).chars().filter(|c| c.is_alphanumeric()).collect();
    match characters.as_slice() {
        [one] => FxHashSet::from_iter([(*one, *one)]),
        many => many.windows(2).map(|w| (w[0], w[1])).collect(),
    }
}

fn similarity(a: &FxHashSet<(char, char)>, b: &FxHashSet<(char, char)>) -> f64 {
    let (small, large) = if a.len() < b.len() { (a, b) } else { (b, a) };
    if small.is_empty() {
        return 0.0;
    }
    let shared = small.intersection(large).count();
    shared as f64 / (a.len() + b.len() - shared) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_only_looks_different_repeats() {
        let mut novelty = Novelty::new(0.9);
        assert_eq!(novelty.repeats("我对海鲜过敏。"), None);
        assert_eq!(novelty.repeats("I like tea"), None);
        assert_eq!(novelty.repeats("我對海鮮過敏！"), Some(0));
        assert_eq!(novelty.repeats("I LIKE TEA..."), Some(1));
        assert_eq!(novelty.repeats("我对花生过敏"), None);
        assert_eq!(novelty.repeats("..."), None);
        assert_eq!(novelty.repeats("!!!"), None, "marks alone say nothing that could be repeated");
    }

    #[test]
    fn a_threshold_above_one_lets_everything_pass() {
        let mut novelty = Novelty::new(1.1);
        assert_eq!([novelty.repeats("same"), novelty.repeats("same")], [None, None]);
    }
}
