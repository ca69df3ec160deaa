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
    /// The heading of the profile, which is free text.
    profile_heading: String,
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
    let mut blocks: Vec<BlockScan> = FORMS.blocks.iter().map(|form| BlockScan::new(form, text)).collect();
    for line in text.split_inclusive('\n') {
        let folded = normalize(line.trim());
        if section == Section::Closing && is_fence(&folded) {
            section = Section::Outside;
            continue;
        }
        let was_outside = section == Section::Outside;
        section = section.continued(&folded).unwrap_or_else(|| started_by(&folded, &blocks));
        blocks.iter_mut().filter(|block| block.form.closes(&folded)).for_each(|block| block.closings_left -= 1);
        if section == Section::Outside {
            output.push_str(line);
        } else if was_outside && matches!(section, Section::Block | Section::UnclosedBlock) {
            // The fence before the block belongs to it.
            remove_last_fence(&mut output);
        }
    }
    output
}

impl BlockForm {
    /// Returns true if a folded line is the last of a block.
    fn closes(&self, line: &str) -> bool {
        line.starts_with(&self.closing)
    }
}

/// A form of a block, and the number of its last lines in the rest of the text.
struct BlockScan {
    form: &'static BlockForm,
    closings_left: usize,
}

impl BlockScan {
    fn new(form: &'static BlockForm, text: &str) -> Self {
        let closings_left = text.lines().filter(|line| form.closes(&normalize(line.trim()))).count();
        Self { form, closings_left }
    }
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
    UnclosedBlock,
    List,
    /// The first line, a heading or a memory of the context at the beginning of a conversation.
    Context,
    /// The profile in such a context: free text up to an empty line.
    ContextProfile,
    /// An empty line in such a context. A heading may follow.
    ContextGap,
}

impl Section {
    /// Returns the section of the next line, which is folded; `None` if this section ends before it.
    fn continued(self, line: &str) -> Option<Self> {
        let is_heading = || FORMS.openings.iter().any(|opening| opening.headings.iter().any(|heading| heading == line));
        let is_profile = || FORMS.openings.iter().any(|opening| opening.profile_heading == line);
        match self {
            Self::Block if FORMS.blocks.iter().any(|block| block.closes(line)) => Some(Self::Closing),
            Self::Block => Some(Self::Block),
            Self::UnclosedBlock => {
                let is_memory = line.starts_with(['[', '-']) || line.starts_with(|c: char| c.is_ascii_digit());
                (line.is_empty() || is_memory).then_some(Self::UnclosedBlock)
            }
            Self::List => line.starts_with("- ").then_some(Self::List),
            Self::Context | Self::ContextProfile | Self::ContextGap if is_profile() => Some(Self::ContextProfile),
            Self::Context | Self::ContextProfile | Self::ContextGap if is_heading() => Some(Self::Context),
            Self::Context | Self::ContextProfile | Self::ContextGap if line.is_empty() => Some(Self::ContextGap),
            Self::Context => line.starts_with("- ").then_some(Self::Context),
            Self::ContextProfile => Some(Self::ContextProfile),
            Self::ContextGap | Self::Outside | Self::Closing => None,
        }
    }
}

/// Returns the section that a folded line begins.
fn started_by(line: &str, blocks: &[BlockScan]) -> Section {
    if let Some(block) = blocks.iter().find(|block| line.starts_with(&block.form.opening)) {
        return if block.closings_left > 0 { Section::Block } else { Section::UnclosedBlock };
    }
    if FORMS.lists.iter().any(|heading| line.starts_with(heading)) && line.ends_with(':') {
        return Section::List;
    }
    let begins_opening = FORMS.openings.iter().any(|opening| line.starts_with(&opening.line));
    if begins_opening { Section::Context } else { Section::Outside }
}

fn remove_last_fence(output: &mut String) {
    let before = output.trim_end();
    if is_fence(before.rsplit('\n').next().unwrap_or_default()) {
        output.truncate(before.trim_end_matches('-').len());
    }
}

/// Returns false if a text has no injected memories as we write them, without the cost of folding it.
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
