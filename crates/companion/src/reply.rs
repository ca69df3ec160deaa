//! A reply as the user sees it: without thoughts, and without the verdict behind it.

/// Takes a reply in pieces and gives out what the user may see, as early as that is clear.
///
/// What is between `<verdict>` and `</verdict>` is kept back, in any case of letters, in half and full width, with
/// blanks or attributes in the tag, and when the closing tag is missing. So is a thought in `<think>` that the reply
/// begins with, and the white space around the whole. The same reply gives the same, however it is cut into pieces.
///
/// ```
/// use memory_engine_companion::ReplyFilter;
///
/// let mut filter = ReplyFilter::default();
/// let seen: String = ["没关系的～\n<ver", "dict>{\"outcome\": \"原谅\"}</verdict>"].iter().map(|p| filter.push(p)).collect();
/// let told = filter.finish();
/// assert_eq!(seen + &told.rest, "没关系的～");
/// assert_eq!(told.verdict.as_deref(), Some("{\"outcome\": \"原谅\"}"));
/// ```
#[derive(Debug, Default)]
pub struct ReplyFilter {
    /// What has come and is not given out.
    held: String,
    /// Whether anything was given out: before that, white space is left out and a thought may begin.
    begun: bool,
    verdict: Option<String>,
}

/// What is left when a reply has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilterEnd {
    /// What the user may still see.
    pub rest: String,
    /// What was between the tags of the first verdict.
    pub verdict: Option<String>,
}

const THOUGHT: &str = "<think>";
const THOUGHT_END: &str = "</think>";

impl ReplyFilter {
    /// The whole of a reply at once: what the user may see, and the verdict.
    pub fn read(reply: &str) -> (String, Option<String>) {
        let mut filter = Self::default();
        let mut seen = filter.push(reply);
        let told = filter.finish();
        seen.push_str(&told.rest);
        (seen, told.verdict)
    }

    /// Takes the next piece, and gives what can be shown.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut shown = String::new();
        loop {
            if !self.begun {
                let text = self.held.trim_start();
                if text.len() < THOUGHT.len() && THOUGHT.starts_with(text) {
                    return shown;
                }
                if let Some(thought) = text.strip_prefix(THOUGHT) {
                    let Some((_, said)) = thought.split_once(THOUGHT_END) else { return shown };
                    self.held = said.trim_start().to_owned();
                    continue;
                }
                self.held = text.to_owned();
            }
            match opening(&self.held) {
                Tag::Whole { start, end } => {
                    let Some((inside, after)) = closing(&self.held, end) else {
                        // Nothing behind the tag can be shown before it is closed.
                        shown.push_str(&self.give(start));
                        return shown;
                    };
                    let inside = self.held[end..inside].trim().to_owned();
                    let rest = self.held.split_off(after);
                    shown.push_str(&self.give(start));
                    self.verdict.get_or_insert(inside);
                    // What is held now is white space and the verdict.
                    let blank = self.held.len() - self.held.trim_start().len();
                    self.held.truncate(blank);
                    self.held.push_str(&rest);
                }
                Tag::Begun { start } => {
                    shown.push_str(&self.give(start));
                    return shown;
                }
                Tag::Nowhere => {
                    shown.push_str(&self.give(self.held.len()));
                    return shown;
                }
            }
        }
    }

    /// Ends the reply.
    pub fn finish(mut self) -> FilterEnd {
        let text = if self.begun { self.held.trim_end() } else { self.held.trim() };
        if !self.begun && text.starts_with(THOUGHT) {
            return FilterEnd { rest: String::new(), verdict: self.verdict };
        }
        let Tag::Whole { start, end } = opening(text) else {
            return FilterEnd { rest: text.to_owned(), verdict: self.verdict };
        };
        // Never closed: what is on its line, or the JSON, is the verdict.
        let inside = &text[end..];
        let until = match inside.trim_start().starts_with('{') {
            true => inside.find('}').map(|at| at + 1),
            false => inside.trim_start().find('\n').map(|at| at + inside.len() - inside.trim_start().len()),
        };
        let until = until.unwrap_or(inside.len());
        self.verdict.get_or_insert(inside[..until].trim().to_owned());
        let rest = format!("{}{}", &text[..start], inside[until..].trim_end());
        let rest = if self.begun { rest.trim_end() } else { rest.trim() };
        FilterEnd { rest: rest.to_owned(), verdict: self.verdict }
    }

    /// Gives out what is held up to a place, but for the white space before it: that is held until something follows.
    fn give(&mut self, until: usize) -> String {
        let given = self.held[..until].trim_end().to_owned();
        self.held.drain(..given.len());
        self.begun |= !given.is_empty();
        given
    }
}

enum Tag {
    /// The opening tag is there.
    Whole {
        start: usize,
        end: usize,
    },
    /// The text ends within what may become one.
    Begun {
        start: usize,
    },
    Nowhere,
}

/// How long a tag may be with its blanks and attributes before it is none.
const LONGEST: usize = 120;

fn opening(text: &str) -> Tag {
    for (start, _) in text.match_indices(['<', '＜']) {
        match tag(&text[start..], "verdict") {
            Some(Some(length)) => return Tag::Whole { start, end: start + length },
            Some(None) => return Tag::Begun { start },
            None => {}
        }
    }
    Tag::Nowhere
}

/// Where the inside ends and where the closing tag does, looked for from `from` on.
fn closing(text: &str, from: usize) -> Option<(usize, usize)> {
    let inside = &text[from..];
    inside.match_indices(['<', '＜']).find_map(|(start, _)| {
        let length = tag(&inside[start..], "/verdict").flatten()?;
        Some((from + start, from + start + length))
    })
}

/// The length of the tag of this name that a text begins with; `Some(None)` where the text ends within what may be one.
fn tag(text: &str, name: &str) -> Option<Option<usize>> {
    let mut letters = text.char_indices().skip(1).map(|(at, c)| (at, if c == '／' { '/' } else { c })).peekable();
    let mut named = name.chars().peekable();
    while let Some(&wanted) = named.peek() {
        match letters.next() {
            None => return Some(None),
            Some((_, ' ')) if wanted == '/' || name.len() == named.clone().count() => {}
            Some((_, c)) if c.to_ascii_lowercase() == wanted => {
                named.next();
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
            _ if at > LONGEST => return None,
            _ => {}
        }
    }
    Some(None)
}
