//! Detects injected text, which must not become a memory again.

use std::collections::BTreeSet;

use memory_engine_core::text::{is_han, normalize};

use crate::sentence::sentences;

/// Headings of the memory blocks of `memory-engine-context`, folded.
const LIST_HEADINGS: &[&str] = &["relevant long-term memory"];
const BLOCK_OPENING: &str = "[记忆参考";
const BLOCK_CLOSING: &str = "带时间戳的内容请注意时效性";

/// The text without the blocks of memories that stand in it: the gateway's block from its opening to its closing line,
/// and lists of memories from their heading to the end of their items. What stands around them is kept as it is.
///
/// ```
/// let text = "You are Krueger.\n\nRelevant long-term memory:\n- 用户对海鲜过敏\n\nBe brief.";
/// assert_eq!(memory_engine_summarizer::without_injected(text), "You are Krueger.\n\n\nBe brief.");
/// ```
pub fn without_injected(text: &str) -> String {
    if !may_hold(text) {
        return text.to_owned();
    }
    let mut kept = String::with_capacity(text.len());
    let mut inside = Inside::Nothing;
    for line in text.split_inclusive('\n') {
        let folded = normalize(line.trim());
        inside = match inside {
            Inside::Block if folded.contains(BLOCK_CLOSING) => Inside::Closing,
            Inside::Block => Inside::Block,
            Inside::Closing if is_fence(&folded) => {
                inside = Inside::Nothing;
                continue;
            }
            Inside::List if folded.starts_with("- ") => Inside::List,
            Inside::Nothing | Inside::Closing | Inside::List => begins(&folded),
        };
        match inside {
            Inside::Nothing => kept.push_str(line),
            // The fence before the block belongs to it.
            Inside::Block if folded.starts_with(BLOCK_OPENING) => {
                let before = kept.trim_end();
                if before.ends_with("---") && is_fence(before.rsplit('\n').next().unwrap_or_default()) {
                    kept.truncate(before.trim_end_matches('-').len());
                }
            }
            Inside::Block | Inside::Closing | Inside::List => {}
        }
    }
    kept
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    Block,
    Closing,
    List,
}

fn may_hold(text: &str) -> bool {
    text.contains("记忆参考") || text.to_ascii_lowercase().contains(LIST_HEADINGS[0])
}

fn begins(folded: &str) -> Inside {
    match folded {
        line if line.starts_with(BLOCK_OPENING) => Inside::Block,
        line if LIST_HEADINGS.iter().any(|heading| line.starts_with(heading)) && line.ends_with(':') => Inside::List,
        _ => Inside::Nothing,
    }
}

fn is_fence(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && line.chars().all(|c| c == '-')
}

/// Returns true if a text repeats memories that were injected before it: most of each of its sentences is in one of
/// them. An empty text repeats nothing.
///
/// ```
/// use memory_engine_summarizer::is_echo;
///
/// assert!(is_echo("记得的，用户对海鲜过敏。", &["用户对海鲜过敏"]));
/// assert!(!is_echo("我对花生也过敏", &["用户对海鲜过敏"]));
/// ```
pub fn is_echo(text: &str, injected: &[&str]) -> bool {
    let known: Vec<BTreeSet<String>> = injected.iter().flat_map(|text| units(text)).collect();
    let said = units(text);
    !said.is_empty() && said.iter().all(|said| repeats(said, &known))
}

/// Returns true if a sentence contains, or is nearly all of, a known one.
fn repeats(said: &BTreeSet<String>, known: &[BTreeSet<String>]) -> bool {
    known.iter().any(|known| {
        let shared = known.intersection(said).count();
        let (of_known, of_said) = (ratio(shared, known.len()), ratio(shared, said.len()));
        // Repeated whole with little around it, or in part with nothing around it.
        (of_known >= 0.8 && of_said >= 0.5) || (of_said >= 0.85 && shared >= 3)
    })
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The sentences of a text, each as the set of its words and pairs of Chinese characters.
fn units(text: &str) -> Vec<BTreeSet<String>> {
    let text = normalize(text);
    let sets = sentences(&text).into_iter().map(|range| features(&text[range]));
    sets.filter(|set| !set.is_empty()).collect()
}

/// The words of a folded text, and the pairs of its Chinese characters.
pub(crate) fn features(folded: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut word = String::new();
    let mut before: Option<char> = None;
    for c in folded.chars().chain([' ']) {
        if let Some(before) = before.filter(|_| is_han(c)) {
            found.insert([before, c].iter().collect());
        }
        before = is_han(c).then_some(c);
        if c.is_alphanumeric() && !is_han(c) {
            word.push(c);
        } else if !word.is_empty() && c != '\'' && c != '’' {
            found.insert(std::mem::take(&mut word));
        }
    }
    found
}

#[cfg(test)]
mod tests;
