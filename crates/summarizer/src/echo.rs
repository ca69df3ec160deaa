//! Detects replies that only repeat injected memories, so that they are not extracted and stored again.

use std::collections::BTreeSet;

use memory_engine_core::text::{is_han, normalize};
use memory_engine_text::sentences;

/// Returns true if a text only repeats injected memories: each of its sentences overlaps largely with one of them.
/// Returns false for an empty text.
///
/// ```
/// use memory_engine_summarizer::is_echo;
///
/// assert!(is_echo("记得的，用户对海鲜过敏。", &["用户对海鲜过敏"]));
/// assert!(!is_echo("我对花生也过敏", &["用户对海鲜过敏"]));
/// ```
pub fn is_echo(text: &str, injected: &[&str]) -> bool {
    let known: Vec<BTreeSet<String>> = injected.iter().flat_map(|text| sentence_features(text)).collect();
    let sentences = sentence_features(text);
    !sentences.is_empty() && sentences.iter().all(|sentence| repeats_any(sentence, &known))
}

/// Returns true if a sentence contains most of a known one, or consists mostly of its words.
fn repeats_any(sentence: &BTreeSet<String>, known: &[BTreeSet<String>]) -> bool {
    known.iter().any(|known| {
        let shared = known.intersection(sentence).count();
        let known_share = ratio(shared, known.len());
        let sentence_share = ratio(shared, sentence.len());
        // The known sentence with few other words, or a part of it with almost no other words.
        (known_share >= 0.8 && sentence_share >= 0.5) || (sentence_share >= 0.85 && shared >= 3)
    })
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Returns the sentences of a text, each as its set of [`features`]. Sentences without features are left out.
fn sentence_features(text: &str) -> Vec<BTreeSet<String>> {
    let text = normalize(text);
    let sets = sentences(&text).into_iter().map(|range| features(&text[range]));
    sets.filter(|set| !set.is_empty()).collect()
}

/// Returns the words and the Chinese character bigrams of a folded text.
pub(crate) fn features(folded: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut word = String::new();
    let mut previous: Option<char> = None;
    for c in folded.chars().chain([' ']) {
        if let Some(previous) = previous.filter(|_| is_han(c)) {
            found.insert([previous, c].iter().collect());
        }
        previous = is_han(c).then_some(c);
        if c.is_alphanumeric() && !is_han(c) {
            word.push(c);
        } else if !word.is_empty() && c != '\'' && c != '’' {
            found.insert(std::mem::take(&mut word));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echoes_are_distinguished_from_new_statements() {
        let injected = ["The user is allergic to shellfish.", "用户下周三要面试"];
        for echo in [
            "The user is allergic to shellfish!",
            "I remember: the user is allergic to shellfish.",
            "用户下周三要面试。",
        ] {
            assert!(is_echo(echo, &injected), "{echo}");
        }
        for news in
            ["I am allergic to peanuts too", "", "下周三的面试改到周五了，地点在虹桥", "The user moved to Berlin."]
        {
            assert!(!is_echo(news, &injected), "{news}");
        }
    }
}
