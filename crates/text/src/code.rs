use std::{collections::BTreeMap, ops::Range};

/// A block of code between two fences: lines of three or more "`" or "~".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FencedBlock {
    /// The lines of the block with its fences, in bytes of the text.
    pub range: Range<usize>,
    /// False if the closing fence is missing. The block then reaches to the end of the text.
    pub is_closed: bool,
}

/// Returns the fenced blocks of code in a text of Markdown, in order.
///
/// A block ends at a line that ends with a fence of the same mark that is at least as long. Markdown wants the fence on
/// a line of its own; people also write it behind the last line of code.
///
/// ```
/// let text = "Run this:\n~~~\n```\nmake ship\n~~~\nThen wait.";
/// let blocks = memory_engine_text::fenced_blocks(text);
/// assert_eq!(&text[blocks[0].range.clone()], "~~~\n```\nmake ship\n~~~\n");
/// ```
pub fn fenced_blocks(text: &str) -> Vec<FencedBlock> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, char, usize)> = None;
    let mut line_start = 0;
    for line in text.split_inclusive('\n') {
        let line_end = line_start + line.len();
        match open {
            None => open = opening_fence(line).map(|(mark, length)| (line_start, mark, length)),
            Some((start, mark, length)) if closes(line.trim(), mark, length) => {
                blocks.push(FencedBlock { range: start..line_end, is_closed: true });
                open = None;
            }
            Some(_) => {}
        }
        line_start = line_end;
    }
    blocks.extend(open.map(|(start, ..)| FencedBlock { range: start..text.len(), is_closed: false }));
    blocks
}

/// Returns true if a part of a text, such as a sentence of [`sentences`](crate::sentences), is a block of code.
pub fn is_code_block(part: &str) -> bool {
    part.lines().next().and_then(opening_fence).is_some()
}

/// Returns the mark and the length of the fence that a line begins with.
fn opening_fence(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    (length >= 3 && !line[length..].contains(mark)).then_some((mark, length))
}

fn closes(line: &str, mark: char, length: usize) -> bool {
    line.chars().rev().take_while(|c| *c == mark).count() >= length
}

/// The code in a text of Markdown, whose marks mean nothing: closed blocks, and spans in backticks on one line.
#[derive(Debug)]
pub struct CodeRanges(Vec<Range<usize>>);

impl CodeRanges {
    /// Finds the code in a text.
    pub fn of(text: &str) -> Self {
        let blocks = fenced_blocks(text).into_iter().filter(|block| block.is_closed).map(|block| block.range);
        let blocks = Self(blocks.collect());
        let mut all = blocks.0.clone();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            if !blocks.contain(start) {
                add_spans(line, start, &mut all);
            }
            start += line.len();
        }
        all.sort_by_key(|range| range.start);
        Self(all)
    }

    /// Returns true if a position, in bytes, is in code.
    pub fn contain(&self, position: usize) -> bool {
        let after = self.0.partition_point(|range| range.start <= position);
        after > 0 && position < self.0[after - 1].end
    }
}

/// Adds the code spans of a line: from a run of backticks to the next run of the same length. A run without another one
/// of its length is text.
fn add_spans(line: &str, line_start: usize, ranges: &mut Vec<Range<usize>>) {
    let runs = runs_of_backticks(line);
    // The runs of each length, the last one first.
    let mut later: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, run) in runs.iter().enumerate().rev() {
        later.entry(run.len()).or_default().push(index);
    }
    let mut next = 0;
    while let Some(run) = runs.get(next) {
        let same = later.entry(run.len()).or_default();
        while same.last().is_some_and(|index| *index <= next) {
            same.pop();
        }
        let partner = same.last().copied();
        if let Some(partner) = partner {
            ranges.push(line_start + run.start..line_start + runs[partner].end);
        }
        next = partner.unwrap_or(next) + 1;
    }
}

fn runs_of_backticks(line: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in line.match_indices('`') {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_in_code_are_found() {
        let text = "a `b` c\n```\nd\n```\ne ``f ` g`` h `i\nx `` y `b` z\n```\nj";
        let code = CodeRanges::of(text);
        let in_code: String =
            text.char_indices().filter(|(at, c)| c.is_alphabetic() && code.contain(*at)).map(|(_, c)| c).collect();
        assert_eq!(in_code, "bdfgb");
    }

    #[test]
    fn blocks_end_at_their_own_fence() {
        for (text, blocks) in [
            ("a\n```rust\nb\n~~~\nc\n```\nd", vec!["```rust\nb\n~~~\nc\n```\n"]),
            ("````\n```\na\n```\n````\nb", vec!["````\n```\na\n```\n````\n"]),
            ("```\nmake ship```\na\n  ~~~\nb", vec!["```\nmake ship```\n", "  ~~~\nb"]),
            ("```\na\n```rust\nb\n```\nc", vec!["```\na\n```rust\nb\n```\n"]),
            ("```ls``` lists\na", vec![]),
        ] {
            let found = fenced_blocks(text).into_iter().map(|block| &text[block.range]);
            assert_eq!(found.collect::<Vec<_>>(), blocks, "{text}");
        }
    }
}
