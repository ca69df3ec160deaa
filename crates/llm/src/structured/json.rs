//! Parses JSON in the replies of models.

use std::{borrow::Cow, fmt};

use serde::de::DeserializeOwned;
use serde_json::error::Category;

/// Maximum number of brackets that are tried as the start of the JSON.
const MAX_START_ATTEMPTS: usize = 64;

/// The reason why no value could be parsed.
#[derive(Debug)]
pub(super) enum JsonError {
    /// There is no brace or bracket.
    Missing,
    /// The text ends before the end of the JSON.
    Truncated,
    /// It is not valid JSON, or JSON of another form.
    Invalid(serde_json::Error),
}

impl JsonError {
    /// Returns the message with the details of the parser, for the model. It may quote the reply.
    pub(super) fn detail(&self) -> String {
        match self {
            Self::Invalid(error) => format!("{self} ({error})"),
            Self::Missing | Self::Truncated => self.to_string(),
        }
    }

    /// Returns true for valid JSON of another form.
    fn is_other_form(&self) -> bool {
        matches!(self, Self::Invalid(error) if error.classify() == Category::Data)
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no JSON in the answer"),
            Self::Truncated => f.write_str("the answer ends before its JSON does"),
            Self::Invalid(e) => {
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
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, JsonError> {
    let text = without_nul(without_reasoning(text));
    // A bare string, number or `null` has no bracket.
    if let Ok(value) = serde_json::from_str(text.trim()) {
        return Ok(value);
    }
    let mut from = 0;
    let mut best_error: Option<JsonError> = None;
    for _ in 0..MAX_START_ATTEMPTS {
        let Some(start) = text[from..].find(['{', '[']).map(|offset| from + offset) else { break };
        let error = match value_end(&text[start..]) {
            Some(length) => {
                let json = repair(&text[start..start + length]);
                match serde_json::from_str(&json) {
                    Ok(value) => return Ok(value),
                    Err(error) => {
                        // Valid JSON of another form is skipped as a whole, because a part of it could match by chance.
                        let is_json = error.classify() == Category::Data;
                        from = start + if is_json { length } else { 1 };
                        JsonError::Invalid(error)
                    }
                }
            }
            // A part of truncated JSON could match by chance, so parsing stops here.
            None if is_truncated(&text[start..]) => return Err(JsonError::Truncated),
            None => {
                from = start + 1;
                JsonError::Truncated
            }
        };
        // The error of valid JSON of another form is more useful than that of brackets in prose before it.
        let has_other_form = best_error.as_ref().is_some_and(JsonError::is_other_form);
        if best_error.is_none() || (error.is_other_form() && !has_other_form) {
            best_error = Some(error);
        }
    }
    Err(best_error.unwrap_or(JsonError::Missing))
}

/// Removes NUL characters and their escapes: no record can contain one, so a value with one could not be stored.
fn without_nul(text: &str) -> Cow<'_, str> {
    const ESCAPE: &str = "\\u0000";
    if !text.contains('\0') && !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        // An escaped backslash before `u0000` is no escape of NUL.
        let length = match c {
            '\\' if rest.starts_with(ESCAPE) => ESCAPE.len(),
            '\\' => {
                let length = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                cleaned.push_str(&rest[..length].replace('\0', ""));
                length
            }
            '\0' => 1,
            _ => {
                cleaned.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    Cow::Owned(cleaned)
}

/// Returns the text after reasoning in `<think>` tags.
fn without_reasoning(text: &str) -> &str {
    const OPENING: &str = "<think>";
    const CLOSING: &str = "</think>";
    match (text.find(OPENING), text.rfind(CLOSING)) {
        // Some prompt templates contain the opening tag, so the reply has only the closing one.
        (_, Some(end)) if !is_inside_json(text, end) => &text[end + CLOSING.len()..],
        (Some(start), None) if text[..start].trim().is_empty() => "",
        _ => text,
    }
}

/// Returns true if a tag is inside a JSON value, where it is quoted text and not the end of the reasoning.
fn is_inside_json(text: &str, tag: usize) -> bool {
    text.trim_start().starts_with(['{', '[']) && text[tag..].find(['}', ']']).is_some()
}

/// Returns the end of the value at the beginning of the text, if it is complete.
fn value_end(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    let mut tokens = JsonTokens::default();
    for (offset, c) in text.char_indices() {
        match tokens.next(c) {
            JsonToken::Open => open.push(c),
            JsonToken::Close => {
                let is_matching = matches!((open.pop(), c), (Some('{'), '}') | (Some('['), ']'));
                if !is_matching {
                    return None;
                }
                if open.is_empty() {
                    return Some(offset + c.len_utf8());
                }
            }
            JsonToken::Text | JsonToken::Other => {}
        }
    }
    None
}

/// Returns true if the text is valid JSON except for its missing end.
fn is_truncated(text: &str) -> bool {
    let parsed = serde_json::from_str::<serde::de::IgnoredAny>(&repair(text));
    parsed.is_err_and(|e| e.classify() == Category::Eof)
}

/// Removes comments and trailing commas, and escapes line breaks in strings.
fn repair(json: &str) -> Cow<'_, str> {
    if serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok() {
        return Cow::Borrowed(json);
    }
    let mut repaired = String::with_capacity(json.len());
    let mut tokens = JsonTokens::default();
    let mut rest = json.chars().peekable();
    while let Some(c) = rest.next() {
        match tokens.next(c) {
            JsonToken::Text if c < ' ' => repaired.push_str(&format!("\\u{:04x}", u32::from(c))),
            JsonToken::Close => {
                let trimmed_length = repaired.trim_end().len();
                if repaired[..trimmed_length].ends_with(',') {
                    repaired.truncate(trimmed_length - 1);
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

/// Classifies characters, and tracks whether they are in a string.
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
