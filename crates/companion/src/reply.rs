//! Filters a model's reply: removes thoughts and the verdict, piece by piece.

/// Takes a reply in pieces and returns the text that the user may see, as early as possible.
///
/// It removes the text between `<verdict>` and `</verdict>`: in any case, in half and full width, with blanks or
/// attributes in the tag, and without a closing tag. It also removes a leading thought in `<think>` and white space
/// around the reply. The result does not depend on how the reply is cut into pieces.
///
/// ```
/// use memory_engine_companion::ReplyFilter;
///
/// let mut filter = ReplyFilter::default();
/// let pieces = ["没关系的～\n<ver", "dict>{\"outcome\": \"原谅\"}</verdict>"];
/// let visible: String = pieces.iter().map(|piece| filter.push(piece)).collect();
/// let end = filter.finish();
/// assert_eq!(visible + &end.rest, "没关系的～");
/// assert_eq!(end.verdict.as_deref(), Some("{\"outcome\": \"原谅\"}"));
/// ```
#[derive(Debug, Default)]
pub struct ReplyFilter {
    /// Text that was received but not returned yet.
    buffer: String,
    /// True once text was returned. Before that, white space is skipped and a thought may begin.
    has_started: bool,
    verdict: Option<String>,
}

/// The rest of a reply after its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilterEnd {
    /// Further text that the user may see.
    pub rest: String,
    /// The text between the tags of the first verdict.
    pub verdict: Option<String>,
}

const THOUGHT: &str = "<think>";
const THOUGHT_END: &str = "</think>";

impl ReplyFilter {
    /// Filters a whole reply. Returns the text that the user may see, and the verdict.
    pub fn read(reply: &str) -> (String, Option<String>) {
        let mut filter = Self::default();
        let mut visible = filter.push(reply);
        let end = filter.finish();
        visible.push_str(&end.rest);
        (visible, end.verdict)
    }

    /// Takes the next piece. Returns the text that can be shown.
    pub fn push(&mut self, piece: &str) -> String {
        self.buffer.push_str(piece);
        let mut shown = String::new();
        loop {
            if !self.has_started {
                let text = self.buffer.trim_start();
                if text.len() < THOUGHT.len() && THOUGHT.starts_with(text) {
                    return shown;
                }
                if let Some(thought) = text.strip_prefix(THOUGHT) {
                    let Some((_, reply)) = thought.split_once(THOUGHT_END) else { return shown };
                    self.buffer = reply.trim_start().to_owned();
                    continue;
                }
                self.buffer = text.to_owned();
            }
            match opening_tag(&self.buffer) {
                Tag::Complete { start, end } => {
                    let Some((inside, after)) = closing_tag(&self.buffer, end) else {
                        // Text after the tag cannot be shown before the tag is closed.
                        shown.push_str(&self.take(start));
                        return shown;
                    };
                    let inside = self.buffer[end..inside].trim().to_owned();
                    let rest = self.buffer.split_off(after);
                    shown.push_str(&self.take(start));
                    self.verdict.get_or_insert(inside);
                    // The buffer now contains white space and the verdict. The white space stays.
                    let blank = self.buffer.len() - self.buffer.trim_start().len();
                    self.buffer.truncate(blank);
                    self.buffer.push_str(&rest);
                }
                Tag::Incomplete { start } => {
                    shown.push_str(&self.take(start));
                    return shown;
                }
                Tag::None => {
                    shown.push_str(&self.take(self.buffer.len()));
                    return shown;
                }
            }
        }
    }

    /// Ends the reply.
    pub fn finish(mut self) -> FilterEnd {
        let text = if self.has_started { self.buffer.trim_end() } else { self.buffer.trim() };
        if !self.has_started && text.starts_with(THOUGHT) {
            return FilterEnd { rest: String::new(), verdict: self.verdict };
        }
        let Tag::Complete { start, end } = opening_tag(text) else {
            return FilterEnd { rest: text.to_owned(), verdict: self.verdict };
        };
        // Without a closing tag, the JSON object or the line is the verdict.
        let inside = &text[end..];
        let length = match inside.trim_start().starts_with('{') {
            true => inside.find('}').map(|at| at + 1),
            false => inside.trim_start().find('\n').map(|at| at + inside.len() - inside.trim_start().len()),
        };
        let length = length.unwrap_or(inside.len());
        self.verdict.get_or_insert(inside[..length].trim().to_owned());
        let rest = format!("{}{}", &text[..start], inside[length..].trim_end());
        let rest = if self.has_started { rest.trim_end() } else { rest.trim() };
        FilterEnd { rest: rest.to_owned(), verdict: self.verdict }
    }

    /// Takes the first `end` bytes from the buffer, except for white space at their end, which stays until text
    /// follows.
    fn take(&mut self, end: usize) -> String {
        let text = self.buffer[..end].trim_end().to_owned();
        self.buffer.drain(..text.len());
        self.has_started |= !text.is_empty();
        text
    }
}

enum Tag {
    /// The text contains an opening tag from byte `start` to `end`.
    Complete {
        start: usize,
        end: usize,
    },
    /// The text ends within a possible tag.
    Incomplete {
        start: usize,
    },
    None,
}

/// Maximum length of a tag with blanks and attributes, in bytes.
const TAG_MAX_BYTES: usize = 120;

fn opening_tag(text: &str) -> Tag {
    for (start, _) in text.match_indices(['<', '＜']) {
        match tag_length(&text[start..], "verdict") {
            Some(Some(length)) => return Tag::Complete { start, end: start + length },
            Some(None) => return Tag::Incomplete { start },
            None => {}
        }
    }
    Tag::None
}

/// Returns the start and the end of the first closing tag after `from`.
fn closing_tag(text: &str, from: usize) -> Option<(usize, usize)> {
    let inside = &text[from..];
    inside.match_indices(['<', '＜']).find_map(|(start, _)| {
        let length = tag_length(&inside[start..], "/verdict").flatten()?;
        Some((from + start, from + start + length))
    })
}

/// Returns the length of the tag with this name at the beginning of a text. `Some(None)` means that the text ends
/// within a possible tag.
fn tag_length(text: &str, name: &str) -> Option<Option<usize>> {
    let mut letters = text.char_indices().skip(1).map(|(at, c)| (at, if c == '／' { '/' } else { c })).peekable();
    let mut expected_letters = name.chars().peekable();
    while let Some(&expected) = expected_letters.peek() {
        match letters.next() {
            None => return Some(None),
            Some((_, ' ')) if expected == '/' || name.len() == expected_letters.clone().count() => {}
            Some((_, c)) if c.to_ascii_lowercase() == expected => {
                expected_letters.next();
            }
            Some(_) => return None,
        }
    }
    match letters.peek() {
        None => return Some(None),
        Some((_, c)) if c.is_alphanumeric() || *c == '_' => return None,
        Some(_) => {}
    }
    for (at, c) in letters {
        match c {
            '>' | '＞' => return Some(Some(at + c.len_utf8())),
            '\n' => return None,
            _ if at > TAG_MAX_BYTES => return None,
            _ => {}
        }
    }
    Some(None)
}
