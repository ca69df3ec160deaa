//! JSON as models write it.

use std::{borrow::Cow, fmt};

use serde::de::DeserializeOwned;
use serde_json::error::Category;

/// Maximum number of positions that are tried as the beginning of the JSON.
const MAX_STARTS: usize = 64;

/// The reason why no value could be read.
#[derive(Debug)]
pub(super) enum Fault {
    /// There is no brace or bracket.
    Missing,
    /// The text ends before the JSON does.
    BrokenOff,
    /// It is not JSON, or other JSON than was asked for.
    Wrong(serde_json::Error),
}

impl Fault {
    /// All there is to say, for the model itself: it may repeat what the model wrote.
    pub(super) fn detail(&self) -> String {
        match self {
            Self::Wrong(error) => format!("{self} ({error})"),
            Self::Missing | Self::BrokenOff => self.to_string(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no JSON in the answer"),
            Self::BrokenOff => f.write_str("the answer ends before its JSON does"),
            Self::Wrong(e) => {
                let what = match e.classify() {
                    Category::Data => "the JSON is not of the form that was asked for",
                    Category::Io | Category::Syntax | Category::Eof => "the answer is not valid JSON",
                };
                write!(f, "{what}: line {}, column {} of the JSON", e.line(), e.column())
            }
        }
    }
}

/// Reads the first value in the text that is a `T`.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    let text = without_thoughts(text);
    // A bare string, number or `null` has no bracket to find it by.
    if let Ok(value) = serde_json::from_str(text.trim()) {
        return Ok(value);
    }
    let (mut from, mut first) = (0, None);
    for _ in 0..MAX_STARTS {
        let Some(start) = text[from..].find(['{', '[']).map(|at| from + at) else { break };
        let fault = match end(&text[start..]) {
            Some(length) => {
                let json = repair(&text[start..start + length]);
                match serde_json::from_str(&json) {
                    Ok(value) => return Ok(value),
                    Err(error) => {
                        // What is JSON, but not the one, is passed over whole: a part of it would be a chance fit.
                        let is_json = error.classify() == Category::Data;
                        from = start + if is_json { length } else { 1 };
                        Fault::Wrong(error)
                    }
                }
            }
            // A part of an answer that breaks off may fit by chance, and would pass for the whole.
            None if is_beginning(&text[start..]) => return Err(Fault::BrokenOff),
            None => {
                from = start + 1;
                Fault::BrokenOff
            }
        };
        // JSON of another form says more about what is wrong than brackets in the prose before it.
        let tells_more = matches!(&fault, Fault::Wrong(e) if e.classify() == Category::Data);
        if first.is_none() || (tells_more && !matches!(&first, Some(Fault::Wrong(e)) if e.classify() == Category::Data))
        {
            first = Some(fault);
        }
    }
    Err(first.unwrap_or(Fault::Missing))
}

/// The text behind the thoughts that some models write into their answers.
fn without_thoughts(text: &str) -> &str {
    let (open, close) = ("<think>", "</think>");
    match (text.find(open), text.rfind(close)) {
        // Some templates give the opening tag to the model, so that only the closing one is written.
        (_, Some(end)) if !inside_json(text, end) => &text[end + close.len()..],
        (Some(start), None) if text[..start].trim().is_empty() => "",
        _ => text,
    }
}

/// Returns true if a tag is inside a JSON value, where it is quoted text and not the end of a thought.
fn inside_json(text: &str, tag: usize) -> bool {
    text.trim_start().starts_with(['{', '[']) && text[tag..].find(['}', ']']).is_some()
}

/// Returns the end of the value at the beginning of the text, if it is complete.
fn end(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    let mut marks = JsonTokens::default();
    for (at, c) in text.char_indices() {
        match marks.next(c) {
            JsonToken::Open => open.push(c),
            JsonToken::Close => {
                let fits = matches!((open.pop(), c), (Some('{'), '}') | (Some('['), ']'));
                if !fits {
                    return None;
                }
                if open.is_empty() {
                    return Some(at + c.len_utf8());
                }
            }
            JsonToken::Text | JsonToken::Other => {}
        }
    }
    None
}

/// Returns true if the text is valid JSON except for its missing end.
fn is_beginning(text: &str) -> bool {
    let known = serde_json::from_str::<serde::de::IgnoredAny>(&repair(text));
    known.is_err_and(|e| e.classify() == Category::Eof)
}

/// The JSON without comments and trailing commas, and with the line breaks in its strings escaped.
fn repair(json: &str) -> Cow<'_, str> {
    if serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok() {
        return Cow::Borrowed(json);
    }
    let mut repaired = String::with_capacity(json.len());
    let mut marks = JsonTokens::default();
    let mut rest = json.chars().peekable();
    while let Some(c) = rest.next() {
        match marks.next(c) {
            JsonToken::Text if c < ' ' => repaired.push_str(&format!("\\u{:04x}", u32::from(c))),
            JsonToken::Close => {
                let solid = repaired.trim_end().len();
                if repaired[..solid].ends_with(',') {
                    repaired.truncate(solid - 1);
                }
                repaired.push(c);
            }
            JsonToken::Other if c == '/' && rest.peek() == Some(&'/') => {
                while rest.next_if(|c| *c != '\n').is_some() {}
            }
            JsonToken::Text | JsonToken::Open | JsonToken::Other => repaired.push(c),
        }
    }
    Cow::Owned(repaired)
}

/// The role of a character in the syntax of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonToken {
    /// A brace or bracket that opens.
    Open,
    /// A brace or bracket that closes.
    Close,
    /// Part of a string, its quotes included.
    Text,
    /// Anything else.
    Other,
}

/// Tells what is in a string from what is not.
#[derive(Debug, Default)]
struct JsonTokens {
    in_string: bool,
    escaped: bool,
}

impl JsonTokens {
    fn next(&mut self, c: char) -> JsonToken {
        if self.in_string {
            self.in_string = self.escaped || c != '"';
            self.escaped = !self.escaped && c == '\\';
            return JsonToken::Text;
        }
        match c {
            '"' => {
                self.in_string = true;
                JsonToken::Text
            }
            '{' | '[' => JsonToken::Open,
            '}' | ']' => JsonToken::Close,
            _ => JsonToken::Other,
        }
    }
}

#[cfg(test)]
mod tests;
