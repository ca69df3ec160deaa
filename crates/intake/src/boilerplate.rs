//! Removes the additions of agents and other programs from a message of the user.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use memory_engine_text::{CodeRanges, RegexIndex, RegexOptions, SharedRegex, data, join_lines};
use serde::Deserialize;

use crate::pattern::{Pattern, valid};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Boilerplate {
    elements: BTreeSet<String>,
    bare: BTreeSet<String>,
    wrappers: Vec<String>,
    templates: Vec<Pattern>,
    spans: Vec<Span>,
    lines: Vec<Pattern>,
    messages: Vec<Message>,
    commands: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Span {
    begins: String,
    end: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    begins: String,
}

data!(RULES: Boilerplate = "boilerplate.toml");

/// Memory limit of the compiled templates that are kept, in bytes.
const TEMPLATE_BYTES: usize = 4 << 20;

static TEMPLATES: LazyLock<RegexIndex> = LazyLock::new(|| {
    let whole = |template: &Pattern| format!(r"(?s)^(?:{})\s*$", join_lines(&template.r#match));
    let templates: Vec<String> = RULES.templates.iter().map(whole).collect();
    valid(RegexOptions::ignoring_case().index(&templates, TEMPLATE_BYTES))
});
static SPANS: LazyLock<Vec<(SharedRegex, &'static str)>> = LazyLock::new(|| {
    RULES.spans.iter().map(|span| (compile(&format!("(?im)^{}", span.begins)), span.end.as_str())).collect()
});
static LINES: LazyLock<SharedRegex> = LazyLock::new(|| {
    let lines: Vec<&str> = RULES.lines.iter().map(|line| line.r#match.as_str()).collect();
    compile(&format!(r"(?m)^[ \t]*(?:{})[ \t]*$\n?", lines.join("|")))
});
static MESSAGES: LazyLock<SharedRegex> = LazyLock::new(|| {
    let messages: Vec<&str> = RULES.messages.iter().map(|message| message.begins.as_str()).collect();
    compile(&format!("^(?:{})", messages.join("|")))
});

fn compile(expression: &str) -> SharedRegex {
    valid(RegexOptions::default().compile(expression))
}

/// Returns a text without the elements, parts and lines that programs add. What is in code stays.
pub(crate) fn without_boilerplate(text: &str) -> String {
    let mut text = text.to_owned();
    if text.contains('<') {
        text = without_elements(&text);
    }
    text = without_templates(text);
    for (begins, end) in SPANS.iter() {
        if let Some(found) = begins.find(&text).filter(|found| !CodeRanges::of(&text).contain(found.start())) {
            let range = found.range();
            let end = text[range.end..].find(end).map_or(text.len(), |at| range.end + at + end.len());
            text.replace_range(range.start..end, "");
        }
    }
    if text.contains('[') && LINES.is_match(&text) {
        text = LINES.replace_all(&text, |_| String::new()).into_owned();
    }
    if text.contains('<') { without_wrappers(&text) } else { text }
}

/// Returns the words of the user in the templates that the whole text has the form of.
fn without_templates(mut text: String) -> String {
    for template in TEMPLATES.candidates(&text) {
        let own = TEMPLATES.captures_iter(template, text.trim()).next().and_then(|found| found.name("own"));
        if let Some(own) = own.map(|own| own.as_str().trim().to_owned()) {
            text = own;
        }
    }
    text
}

/// Returns true for a trimmed text that a program has written, or that is a command of an agent.
pub(crate) fn is_generated(text: &str) -> bool {
    let name = text.strip_prefix('/').filter(|name| !name.contains(char::is_whitespace));
    MESSAGES.is_match(text) || name.is_some_and(|name| RULES.commands.contains(name))
}

/// Returns true for a command of a coding agent, such as `/review src`. A path (`/etc/hosts is empty`) is not one.
pub(crate) fn is_agent_command(text: &str) -> bool {
    let Some(rest) = text.trim_start().strip_prefix('/') else { return false };
    let name = rest.split(char::is_whitespace).next().unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':'))
}

/// Removes the elements `<name …>…</name>` that agents add. One without an end stays, and one within a sentence: a
/// person may ask what it means.
fn without_elements(text: &str) -> String {
    let code = CodeRanges::of(text);
    let mut kept = String::with_capacity(text.len());
    let mut copied_to = 0;
    let mut position = 0;
    // The next end tag of each name; `None` if there is no more.
    let mut next_ends: BTreeMap<&str, Option<usize>> = BTreeMap::new();
    while let Some(start) = text[position..].find('<').map(|at| position + at) {
        position = start + 1;
        let Some((name, after)) = start_tag(text, start) else { continue };
        let lower = name.to_ascii_lowercase();
        let is_own_markup = || RULES.bare.contains(&lower) && !text[after..].starts_with('>');
        if code.contain(start) || !RULES.elements.contains(&lower) || is_own_markup() {
            continue;
        }
        let end_tag = format!("</{name}>");
        let find = || text[after..].find(&end_tag).map(|at| after + at + end_tag.len());
        let next = next_ends.entry(name).or_insert_with(find);
        if next.is_some_and(|end| end < after + end_tag.len()) {
            *next = find();
        }
        let Some(end) = *next else { continue };
        let before = &text[copied_to..start];
        let begins_line =
            before.trim_end_matches([' ', '\t']).is_empty() || before.trim_end_matches(' ').ends_with('\n');
        let rest = text[end..].trim_start_matches([' ', '\t']);
        let ends_line = rest.is_empty() || rest.starts_with('\n');
        let is_shown =
            before.trim_end().ends_with([':', '：']) && !matches!(rest.trim_start().bytes().next(), None | Some(b'<'));
        if is_shown {
            continue;
        }
        if begins_line || (ends_line && !before.ends_with(' ')) || text[after..end].contains('\n') {
            kept.push_str(before);
            copied_to = end;
            position = end;
        }
    }
    kept.push_str(&text[copied_to..]);
    kept
}

/// Returns the name of the start tag at a position, and the position after its name.
fn start_tag(text: &str, start: usize) -> Option<(&str, usize)> {
    let rest = &text[start + 1..];
    let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_'))?;
    let is_tag = length > 0 && rest[length..].starts_with(|c: char| c == '>' || c.is_whitespace());
    is_tag.then(|| (&rest[..length], start + 1 + length))
}

/// Removes the tags of an element that contains the whole text.
fn without_wrappers(text: &str) -> String {
    let trimmed = text.trim();
    let inside = RULES.wrappers.iter().find_map(|name| {
        let rest = trimmed.strip_prefix('<')?;
        let rest =
            rest.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name)).map(|_| &rest[name.len()..])?;
        let (inside, end) = rest.strip_prefix('>')?.rsplit_once("</")?;
        end.strip_suffix('>').filter(|end| end.eq_ignore_ascii_case(name)).map(|_| inside)
    });
    inside.map_or_else(|| text.to_owned(), |inside| inside.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_within_a_sentence_and_unclosed_ones_stay() {
        for text in [
            "what is <system-reminder>?",
            "why does <system-reminder>x</system-reminder> appear?",
            "`<system-reminder>x</system-reminder>`",
            "<ide_selections>a</ide_selections>",
            "a < b and <b>c</b>",
        ] {
            assert_eq!(without_boilerplate(text), text);
        }
    }

    #[test]
    fn many_unclosed_elements_are_read_in_linear_time() {
        let text = "<system-reminder>\n".repeat(200_000);
        assert_eq!(without_boilerplate(&text), text);
    }

    #[test]
    fn commands_are_told_from_paths() {
        for command in ["/clear", "/plugin:deploy staging"] {
            assert!(is_agent_command(command), "{command}");
        }
        for text in ["/etc/hosts is empty", "a /clear", "/ is the root"] {
            assert!(!is_agent_command(text), "{text}");
        }
        assert!(is_generated("/clear") && !is_generated("/deploy") && !is_generated("/clear the table, he said"));
    }
}
