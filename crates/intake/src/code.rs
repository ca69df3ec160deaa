//! Code in a text of Markdown, whose marks mean nothing.

use std::ops::Range;

/// The ranges of code in a text: fenced blocks that are closed, and spans in backticks on one line. In order.
#[derive(Debug)]
pub(crate) struct CodeRanges(Vec<Range<usize>>);

impl CodeRanges {
    pub(crate) fn of(text: &str) -> Self {
        let mut ranges = Vec::new();
        let mut line_start = 0;
        let mut fence: Option<(usize, char, usize)> = None;
        for line in text.split_inclusive('\n') {
            let line_end = line_start + line.len();
            match (fence, fence_of(line)) {
                (None, Some((mark, length))) => fence = Some((line_start, mark, length)),
                (Some((start, mark, length)), Some(closing)) if closing.0 == mark && closing.1 >= length => {
                    ranges.push(start..line_end);
                    fence = None;
                }
                _ => {}
            }
            line_start = line_end;
        }
        let fenced = Self(ranges);
        let mut all = fenced.0.clone();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            if !fenced.contain(start) {
                add_spans(line, start, &mut all);
            }
            start += line.len();
        }
        all.sort_by_key(|range| range.start);
        Self(all)
    }

    /// Returns true if a position is in code.
    pub(crate) fn contain(&self, position: usize) -> bool {
        let after = self.0.partition_point(|range| range.start <= position);
        after > 0 && position < self.0[after - 1].end
    }
}

/// Returns the mark and the length of the fence that a line consists of or begins with.
fn fence_of(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    (length >= 3 && !line[length..].contains(mark)).then_some((mark, length))
}

/// Adds the code spans of a line: from a run of backticks to the next run of the same length.
fn add_spans(line: &str, line_start: usize, ranges: &mut Vec<Range<usize>>) {
    let mut open: Option<(usize, usize)> = None;
    let mut position = 0;
    while let Some(offset) = line[position..].find('`') {
        let start = position + offset;
        let length = line[start..].bytes().take_while(|byte| *byte == b'`').count();
        position = start + length;
        match open {
            None => open = Some((start, length)),
            Some((from, wanted)) if wanted == length => {
                ranges.push(line_start + from..line_start + position);
                open = None;
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_in_code_are_found() {
        let text = "a `b` c\n```\nd\n```\ne ``f ` g`` h `i\n```\nj";
        let code = CodeRanges::of(text);
        let in_code: String =
            text.char_indices().filter(|(at, c)| c.is_alphabetic() && code.contain(*at)).map(|(_, c)| c).collect();
        assert_eq!(in_code, "bdfg");
    }
}
