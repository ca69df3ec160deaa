//! Memories that were put into a prompt earlier, and come back within a message.

use memory_engine_core::text::normalize;
use memory_engine_text::data;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct InjectedForms {
    blocks: Vec<BlockForm>,
    lists: Vec<String>,
    openings: Vec<OpeningForm>,
}

/// The beginnings of the first and the last line of a block, folded and without fences.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockForm {
    opening: String,
    closing: String,
}

/// The first line and the headings of a context at the beginning of a conversation, folded.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OpeningForm {
    line: String,
    headings: Vec<String>,
}

data!(FORMS: InjectedForms = "injected.toml");

/// Returns the text without injected memories: the gateway's block from its first to its last line, the context of the
/// beginning of a conversation, and lists of memories from their heading to their last item. The text around them is
/// unchanged.
///
/// ```
/// let text = "You are Krueger.\n\nRelevant long-term memory:\n- 用户对海鲜过敏\n\nBe brief.";
/// assert_eq!(memory_engine_intake::without_injected(text), "You are Krueger.\n\n\nBe brief.");
/// ```
pub fn without_injected(text: &str) -> String {
    if !may_contain_memories(text) {
        return text.to_owned();
    }
    let mut output = String::with_capacity(text.len());
    let mut section = Section::Outside;
    let mut closings = FORMS.blocks.iter().map(|block| closing_lines(text, block)).collect::<Vec<_>>();
    for line in text.split_inclusive('\n') {
        let folded = normalize(line.trim());
        if section == Section::Closing && is_fence(&folded) {
            section = Section::Outside;
            continue;
        }
        let was_outside = section == Section::Outside;
        section = section.continued(&folded).unwrap_or_else(|| started_by(&folded, &closings));
        for (block, left) in FORMS.blocks.iter().zip(&mut closings) {
            *left -= usize::from(folded.starts_with(&block.closing));
        }
        if section == Section::Outside {
            output.push_str(line);
        } else if was_outside && matches!(section, Section::Block | Section::OpenBlock) {
            // The fence before the block belongs to it.
            remove_last_fence(&mut output);
        }
    }
    output
}

/// The part of the text that a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    /// Not an injected memory.
    Outside,
    Block,
    /// The last line of a block. A fence may follow.
    Closing,
    /// A block whose last line is missing. It ends where a line is neither a heading nor a memory.
    OpenBlock,
    List,
    /// The first line, a heading or a memory of the context of a beginning.
    Opening,
    /// The profile in it, which is free text up to an empty line.
    Profile,
    /// An empty line in it. A heading may follow.
    OpeningGap,
}

impl Section {
    /// Returns the section that a folded line continues this one with; `None` if it ends before the line.
    fn continued(self, line: &str) -> Option<Self> {
        let is_heading = || FORMS.openings.iter().any(|opening| opening.headings.iter().any(|heading| heading == line));
        let is_profile = || FORMS.openings.iter().any(|opening| opening.headings[1] == line);
        match self {
            Self::Block if FORMS.blocks.iter().any(|block| line.starts_with(&block.closing)) => Some(Self::Closing),
            Self::Block => Some(Self::Block),
            Self::OpenBlock => {
                let is_memory = line.starts_with(['[', '-']) || line.starts_with(|c: char| c.is_ascii_digit());
                (line.is_empty() || is_memory).then_some(Self::OpenBlock)
            }
            Self::List => line.starts_with("- ").then_some(Self::List),
            Self::Opening | Self::Profile | Self::OpeningGap if is_profile() => Some(Self::Profile),
            Self::Opening | Self::Profile | Self::OpeningGap if is_heading() => Some(Self::Opening),
            Self::Opening | Self::Profile | Self::OpeningGap if line.is_empty() => Some(Self::OpeningGap),
            Self::Opening => line.starts_with("- ").then_some(Self::Opening),
            Self::Profile => Some(Self::Profile),
            Self::OpeningGap | Self::Outside | Self::Closing => None,
        }
    }
}

/// Returns the section that a folded line begins. `closings` has the number of last lines that follow, for each form of
/// a block.
fn started_by(line: &str, closings: &[usize]) -> Section {
    for (block, closings) in FORMS.blocks.iter().zip(closings) {
        if line.starts_with(&block.opening) {
            return if *closings > 0 { Section::Block } else { Section::OpenBlock };
        }
    }
    if FORMS.lists.iter().any(|heading| line.starts_with(heading)) && line.ends_with(':') {
        return Section::List;
    }
    let begins_opening = FORMS.openings.iter().any(|opening| line.starts_with(&opening.line));
    if begins_opening { Section::Opening } else { Section::Outside }
}

fn closing_lines(text: &str, block: &BlockForm) -> usize {
    text.lines().filter(|line| normalize(line.trim()).starts_with(&block.closing)).count()
}

fn remove_last_fence(output: &mut String) {
    let before = output.trim_end();
    if is_fence(before.rsplit('\n').next().unwrap_or_default()) {
        output.truncate(before.trim_end_matches('-').len());
    }
}

/// Returns false if a text certainly has no injected memories, without folding it.
fn may_contain_memories(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let blocks = FORMS.blocks.iter().map(|block| block.opening.trim_start_matches('['));
    let openings = FORMS.openings.iter().filter_map(|opening| opening.line.split(':').next());
    blocks.chain(openings).chain(FORMS.lists.iter().map(String::as_str)).any(|beginning| lower.contains(beginning))
}

fn is_fence(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && line.chars().all(|c| c == '-')
}

#[cfg(test)]
mod tests;
