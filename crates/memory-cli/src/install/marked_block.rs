//! Blocks of text between two comments.

/// The comments around a block.
#[derive(Debug)]
pub(crate) struct MarkedBlock {
    begin: &'static str,
    end: &'static str,
}

pub(crate) const MARKDOWN: MarkedBlock =
    MarkedBlock { begin: "<!-- memory-engine:begin -->", end: "<!-- memory-engine:end -->" };
pub(crate) const HASH: MarkedBlock = MarkedBlock { begin: "# memory-engine:begin", end: "# memory-engine:end" };

impl MarkedBlock {
    /// Returns the text with this block, in place of an earlier one or at the end.
    pub(crate) fn install(&self, old: &str, block: &str) -> String {
        let line_end = if old.contains("\r\n") { "\r\n" } else { "\n" };
        let lines = [self.begin].into_iter().chain(block.trim_end().lines()).chain([self.end]);
        let block: String = lines.map(|line| format!("{line}{line_end}")).collect();
        match self.find(old) {
            Some((start, end)) => format!("{}{block}{}", &old[..start], &old[end..]),
            None if old.is_empty() => block,
            // After a last line without an end there is no empty line, so that `uninstall` can tell the two apart.
            None => format!("{old}{line_end}{block}"),
        }
    }

    /// Returns the text without the block and the line end that `install` added before it.
    pub(crate) fn uninstall(&self, old: &str) -> String {
        let Some((start, end)) = self.find(old) else { return old.to_owned() };
        let before = &old[..start];
        let shorter = before.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text));
        let before = shorter.filter(|text| text.ends_with('\n') || end == old.len()).unwrap_or(before);
        format!("{before}{}", &old[end..])
    }

    /// Returns the range of the block with its line ends.
    fn find(&self, text: &str) -> Option<(usize, usize)> {
        let start = line_start(text, self.begin, 0)?;
        let end = line_start(text, self.end, start)? + self.end.len();
        let rest = &text[end..];
        let line_end = if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
        Some((start, end + line_end))
    }
}

/// Returns the position of the first line with this text, from `from` on.
fn line_start(text: &str, line: &str, from: usize) -> Option<usize> {
    let mut position = from;
    for current in text[from..].split_inclusive('\n') {
        if current.trim_end() == line {
            return Some(position);
        }
        position += current.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installing_and_uninstalling_gives_back_the_text() {
        for old in ["", "# Mine\n", "a\n\n\n", "a\r\nb\r\n", "\n"] {
            let new = MARKDOWN.install(old, "Use the memory.\nAlways.");
            assert!(new.contains("Use the memory."), "{new:?}");
            assert_eq!(MARKDOWN.install(&new, "Use the memory.\nAlways."), new, "{old:?}");
            assert_eq!(MARKDOWN.uninstall(&new), old, "{new:?}");
        }
    }

    #[test]
    fn a_last_line_without_an_end_is_given_back_so() {
        for old in ["# Mine", "a\r\nb"] {
            assert_eq!(MARKDOWN.uninstall(&MARKDOWN.install(old, "Use the memory.")), old);
        }
    }

    #[test]
    fn an_earlier_block_is_replaced_where_it_is() {
        let old = "a\n<!-- memory-engine:begin -->\nold\n<!-- memory-engine:end -->\nb\n";
        let new = "a\n<!-- memory-engine:begin -->\nnew\n<!-- memory-engine:end -->\nb\n";
        assert_eq!(MARKDOWN.install(old, "new"), new);
        assert_eq!(MARKDOWN.uninstall(new), "a\nb\n");
    }

    #[test]
    fn a_mention_of_the_comment_is_not_a_block() {
        let old = "The block begins with `<!-- memory-engine:begin -->`.\n";
        assert_eq!(MARKDOWN.uninstall(old), old);
        assert!(MARKDOWN.install(old, "x").starts_with(old));
    }
}
