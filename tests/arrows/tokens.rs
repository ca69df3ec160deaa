//! Splits Rust source into the tokens that matter for imports: comments, literals and `#[cfg(test)]` items are removed.

/// One token with its line number, counted from 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
}

impl Token {
    pub(crate) fn is(&self, text: &str) -> bool {
        self.text == text
    }

    pub(crate) fn is_name(&self) -> bool {
        self.text.starts_with(|c: char| c == '_' || c.is_alphabetic())
    }
}

/// Placeholder for a literal or a lifetime: neither a name nor punctuation of a path.
const LITERAL: &str = "'";

/// Keywords that begin an item, in which a comma does not end the item.
const ITEMS: [&str; 15] = [
    "fn",
    "impl",
    "struct",
    "enum",
    "union",
    "trait",
    "mod",
    "const",
    "static",
    "type",
    "unsafe",
    "async",
    "extern",
    "macro_rules",
    "let",
];

/// Returns the tokens of `source` without comments; literals become one placeholder each.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let length = token_length(rest, first);
        let text = &rest[..length];
        let is_name = first == '_' || first.is_alphabetic();
        if is_literal(text) {
            tokens.push(Token { text: LITERAL.into(), line });
        } else if is_name {
            tokens.push(Token { text: text.trim_start_matches("r#").into(), line });
        } else if !first.is_whitespace() && !text.starts_with("//") && !text.starts_with("/*") {
            tokens.push(Token { text: text.into(), line });
        }
        line += text.matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

fn is_literal(text: &str) -> bool {
    text.starts_with(|c: char| c == '\'' || c == '"' || c.is_ascii_digit())
        || (text.len() > 1 && text.ends_with(['"', '#']))
}

/// Returns the length in bytes of the token, comment or run of white space at the start of `rest`.
fn token_length(rest: &str, first: char) -> usize {
    if first.is_whitespace() {
        return run_length(rest, char::is_whitespace);
    }
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment_length(rest);
    }
    if let Some(length) = string_length(rest) {
        return length;
    }
    if first == '\'' {
        return character_length(rest);
    }
    if first == '_' || first.is_alphanumeric() {
        let prefix = if rest.starts_with("r#") { 2 } else { 0 };
        return prefix + run_length(&rest[prefix..], |c| c == '_' || c.is_alphanumeric());
    }
    if rest.starts_with("::") { 2 } else { first.len_utf8() }
}

fn run_length(rest: &str, belongs: impl Fn(char) -> bool) -> usize {
    rest.find(|c| !belongs(c)).unwrap_or(rest.len())
}

fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Returns the length of a string literal, raw or not, with its prefix; `None` if `rest` does not begin with one.
fn string_length(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        let after = rest.strip_prefix(prefix).unwrap_or_default();
        let is_raw = prefix.ends_with('r') && after.trim_start_matches('#').starts_with('"');
        is_raw || after.starts_with('"')
    })?;
    let body = &rest[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = run_length(body, |c| c == '#');
        let end = format!("\"{}", "#".repeat(hashes));
        let start = hashes + 1;
        let length = body[start..].find(&end).map_or(body.len(), |at| start + at + end.len());
        return Some(prefix.len() + length);
    }
    let mut is_escaped = false;
    for (at, character) in body.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(prefix.len() + at + 1),
            _ => {}
        }
    }
    Some(rest.len())
}

/// Returns the length of a character literal or of a lifetime.
fn character_length(rest: &str) -> usize {
    let body = &rest[1..];
    if let Some(escape) = body.strip_prefix('\\') {
        let skipped = escape.chars().next().map_or(0, char::len_utf8);
        return 2 + skipped + escape[skipped..].find('\'').map_or(0, |at| at + 1);
    }
    let width = body.chars().next().map_or(0, char::len_utf8);
    if body[width..].starts_with('\'') {
        return width + 2;
    }
    1 + run_length(body, |c| c == '_' || c.is_alphanumeric())
}

/// Returns the index after the bracket that closes the one at `start`.
pub(crate) fn after_bracket(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(start) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// Returns the index after the next semicolon, not counting those in brackets.
pub(crate) fn after_semicolon(tokens: &[Token], start: usize) -> usize {
    let mut index = start;
    while index < tokens.len() {
        match tokens[index].text.as_str() {
            ";" => return index + 1,
            "(" | "[" | "{" => index = after_bracket(tokens, index),
            _ => index += 1,
        }
    }
    index
}

/// Removes attributes, and each item whose attribute is `#[cfg(test)]` or `#[cfg(all(test, …))]`.
pub(crate) fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let mut kept = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        let Some(end) = after_attribute(tokens, index) else {
            kept.push(tokens[index].clone());
            index += 1;
            continue;
        };
        let words: Vec<&str> = tokens[index + 2..end].iter().map(|token| token.text.as_str()).collect();
        let is_test = words.starts_with(&["cfg", "(", "test"]) || words.starts_with(&["cfg", "(", "all", "(", "test"]);
        index = end;
        if is_test {
            while let Some(end) = after_attribute(tokens, index) {
                index = end;
            }
            index = after_item(tokens, index);
        }
    }
    kept
}

fn after_attribute(tokens: &[Token], index: usize) -> Option<usize> {
    let bracket = if tokens.get(index + 1)?.is("!") { index + 2 } else { index + 1 };
    let is_attribute = tokens[index].is("#") && tokens.get(bracket)?.is("[");
    is_attribute.then(|| after_bracket(tokens, bracket))
}

/// Returns the index after the item, statement, field or match arm that begins at `start`.
fn after_item(tokens: &[Token], start: usize) -> usize {
    let mut index = start;
    while tokens.get(index).is_some_and(|token| token.is("pub")) {
        index += 1;
        if tokens.get(index).is_some_and(|token| token.is("(")) {
            index = after_bracket(tokens, index);
        }
    }
    if tokens.get(index).is_some_and(|token| token.is("use")) {
        return after_semicolon(tokens, index);
    }
    let is_item = tokens.get(index).is_some_and(|token| ITEMS.contains(&token.text.as_str()));
    let mut has_value = false;
    while index < tokens.len() {
        match tokens[index].text.as_str() {
            ";" => return index + 1,
            "," if !is_item => return index + 1,
            "}" => return index,
            "{" if !has_value => return after_bracket(tokens, index),
            "(" | "[" | "{" => index = after_bracket(tokens, index),
            "=" => {
                has_value = true;
                index += 1;
            }
            _ => index += 1,
        }
    }
    index
}

#[test]
fn comments_strings_and_test_code_are_removed() {
    let source = r##"
        // use crate::a;
        /* use crate::b; /* nested */ */
        const TEXT: &str = "use crate::c; \" ";
        const RAW: &str = r#"use crate::d; ""#;
        const QUOTE: char = '"'; fn f<'a>() {}
        #[cfg(test)]
        use crate::e::{self, F};
        #[cfg(test)]
        fn g() -> Map<A, B> { crate::h() }
        use crate::kept;
    "##;
    let kept = without_tests(&tokens(source));
    let names: Vec<&str> = kept.iter().filter(|token| token.is_name()).map(|token| token.text.as_str()).collect();
    assert_eq!(
        names,
        ["const", "TEXT", "str", "const", "RAW", "str", "const", "QUOTE", "char", "fn", "f", "use", "crate", "kept"]
    );
    assert_eq!(kept.iter().find(|token| token.is("kept")).map(|token| token.line), Some(11));
}
