//! Detects injected memories in turns, so that they are not extracted and stored again.

use std::{collections::BTreeSet, sync::LazyLock};

use memory_engine_context::GatewayFrame;
use memory_engine_core::text::{is_han, normalize};
use memory_engine_text::sentences;

/// Headings of the memory lists of `memory-engine-context`, folded.
const LIST_HEADINGS: &[&str] = &["relevant long-term memory"];

/// The first and last lines of the gateway's blocks, in both languages.
static BLOCK_FRAMES: LazyLock<[BlockFrame; 2]> =
    LazyLock::new(|| [GatewayFrame::chinese(), GatewayFrame::english()].map(|frame| BlockFrame::of(&frame)));

/// The beginnings of the first and the last line of a block, folded and without fences.
struct BlockFrame {
    opening: String,
    closing: String,
}

impl BlockFrame {
    fn of(frame: &GatewayFrame) -> Self {
        let is_text = |line: &&str| !is_fence(line);
        let first = frame.opening.lines().find(is_text).unwrap_or_default();
        let last = frame.closing.lines().rfind(is_text).unwrap_or_default();
        let beginning = |line: &str, ends: &[char]| normalize(line.split(ends).next().unwrap_or_default().trim());
        Self { opening: beginning(first, &['-']), closing: beginning(last, &[',', '，', ':', '：']) }
    }

    /// Returns true if a folded line of this block begins with `beginning`, which is not empty.
    fn begins(line: &str, beginning: &str) -> bool {
        !beginning.is_empty() && line.starts_with(beginning)
    }
}

/// Returns true if a folded line is the first of a block.
fn is_block_opening(line: &str) -> bool {
    BLOCK_FRAMES.iter().any(|frame| BlockFrame::begins(line, &frame.opening))
}

/// Returns true if a folded line is the last of a block.
fn is_block_closing(line: &str) -> bool {
    BLOCK_FRAMES.iter().any(|frame| BlockFrame::begins(line, &frame.closing))
}

/// Returns the text without injected memories: the gateway's block from its first to its last line, and lists of
/// memories from their heading to their last item. The text around them is unchanged.
///
/// ```
/// let text = "You are Krueger.\n\nRelevant long-term memory:\n- 用户对海鲜过敏\n\nBe brief.";
/// assert_eq!(memory_engine_summarizer::without_injected(text), "You are Krueger.\n\n\nBe brief.");
/// ```
pub fn without_injected(text: &str) -> String {
    if !may_contain_block(text) {
        return text.to_owned();
    }
    let mut output = String::with_capacity(text.len());
    let mut state = BlockState::Outside;
    for line in text.split_inclusive('\n') {
        let folded = normalize(line.trim());
        state = match state {
            BlockState::Block if is_block_closing(&folded) => BlockState::Closing,
            BlockState::Block => BlockState::Block,
            BlockState::Closing if is_fence(&folded) => {
                state = BlockState::Outside;
                continue;
            }
            BlockState::List if folded.starts_with("- ") => BlockState::List,
            BlockState::Outside | BlockState::Closing | BlockState::List => block_started_by(&folded),
        };
        match state {
            BlockState::Outside => output.push_str(line),
            // The fence before the block belongs to it.
            BlockState::Block if is_block_opening(&folded) => {
                let before = output.trim_end();
                if before.ends_with("---") && is_fence(before.rsplit('\n').next().unwrap_or_default()) {
                    output.truncate(before.trim_end_matches('-').len());
                }
            }
            BlockState::Block | BlockState::Closing | BlockState::List => {}
        }
    }
    output
}

/// The part of the text that a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockState {
    /// Not an injected memory.
    Outside,
    Block,
    /// The last line of a block. A fence may follow.
    Closing,
    List,
}

/// Returns false if a text certainly has no block, without folding it.
fn may_contain_block(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let openings = BLOCK_FRAMES.iter().map(|frame| frame.opening.trim_start_matches('['));
    openings.chain(LIST_HEADINGS.iter().copied()).any(|opening| lower.contains(opening))
}

fn block_started_by(folded: &str) -> BlockState {
    match folded {
        line if is_block_opening(line) => BlockState::Block,
        line if LIST_HEADINGS.iter().any(|heading| line.starts_with(heading)) && line.ends_with(':') => {
            BlockState::List
        }
        _ => BlockState::Outside,
    }
}

fn is_fence(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && line.chars().all(|c| c == '-')
}

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
mod tests;
