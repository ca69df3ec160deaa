//! Thoughts that models write into their replies.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::LazyLock,
};

use memory_engine_text::{CodeRanges, RegexOptions, SharedRegex, data};
use serde::Deserialize;

use crate::pattern::{Pattern, valid};

/// Number of bytes next to a tag that decide whether it is only mentioned.
const NEIGHBORHOOD_BYTES: usize = 40;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ThoughtForms {
    /// Names of elements with thoughts, such as `think`.
    tags: Vec<String>,
    /// Other signs around thoughts, such as `[THINK]`.
    marks: Vec<MarkForm>,
    /// Thoughts at the beginning of a reply that no sign opens.
    beginnings: Vec<Pattern>,
    /// Signs around the answer after thoughts.
    answers: Vec<Pattern>,
    /// Words next to a tag that is only mentioned.
    mention: MentionSigns,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkForm {
    start: String,
    ends: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MentionSigns {
    before: String,
    after: String,
}

data!(FORMS: ThoughtForms = "thoughts.toml");

static COMPILED: LazyLock<CompiledForms> = LazyLock::new(|| {
    let tags = FORMS.tags.join("|");
    CompiledForms {
        tags: compile(&format!(r"[<＜](?P<end>[/／])?\s?(?P<name>{tags})(?:\s[^<>＜＞]*)?[>＞]")),
        marks: FORMS.marks.iter().map(|mark| (compile(&mark.start), compile(&mark.ends.join("|")))).collect(),
        any_start: compile(&FORMS.marks.iter().map(|mark| mark.start.as_str()).collect::<Vec<_>>().join("|")),
        beginnings: FORMS.beginnings.iter().map(|pattern| compile(&pattern.r#match)).collect(),
        answers: FORMS.answers.iter().map(|pattern| compile(&pattern.r#match)).collect(),
        before_mention: compile(&memory_engine_text::join_lines(&FORMS.mention.before)),
        after_mention: compile(&memory_engine_text::join_lines(&FORMS.mention.after)),
    }
});

struct CompiledForms {
    tags: SharedRegex,
    marks: Vec<(SharedRegex, SharedRegex)>,
    any_start: SharedRegex,
    beginnings: Vec<SharedRegex>,
    answers: Vec<SharedRegex>,
    before_mention: SharedRegex,
    after_mention: SharedRegex,
}

fn compile(expression: &str) -> SharedRegex {
    valid(RegexOptions::ignoring_case().compile(expression))
}

/// Returns a reply without thoughts. Tags that are in code, or only mentioned, stay.
pub(crate) fn without_thoughts(text: &str) -> String {
    let mut reply = text.to_owned();
    for beginning in &COMPILED.beginnings {
        if let Some(found) = beginning.find(&reply) {
            reply = reply[found.range().end..].to_owned();
        }
    }
    if reply.contains(['<', '＜', '[', '◁']) || reply.contains(":::") {
        reply = without_marked(&reply);
        reply = without_tagged(&reply);
    }
    // A reply without thoughts keeps the signs: it may be about them.
    if reply != text || reply.contains("<|channel|>") {
        for answer in &COMPILED.answers {
            let code = CodeRanges::of(&reply);
            let kept = answer.replace_all(&reply, |found| match found.get(0) {
                Some(mark) if code.contain(mark.start()) => mark.as_str().to_owned(),
                _ => String::new(),
            });
            reply = kept.into_owned();
        }
    }
    reply
}

/// Removes thoughts between special marks. Without an end, they extend to the end of the text.
fn without_marked(text: &str) -> String {
    if !COMPILED.any_start.is_match(text) {
        return text.to_owned();
    }
    let mut reply = text.to_owned();
    for (start, end) in &COMPILED.marks {
        let code = CodeRanges::of(&reply);
        let mut kept = String::with_capacity(reply.len());
        let mut copied_to = 0;
        for found in start.find_iter(&reply) {
            let found = found.range();
            if found.start < copied_to || code.contain(found.start) || is_mention(&reply, &found) {
                continue;
            }
            kept.push_str(&reply[copied_to..found.start]);
            let closing = end.find(&reply[found.end..]).map(|closing| closing.range());
            copied_to = closing.map_or(reply.len(), |closing| found.end + closing.end);
            copied_to += blank_lines(&kept, &reply[copied_to..]);
        }
        kept.push_str(&reply[copied_to..]);
        reply = kept;
    }
    reply
}

/// Returns the length of the empty lines after thoughts, if there are some before them: those stay.
fn blank_lines(before: &str, after: &str) -> usize {
    if before.ends_with("\n\n") { after.len() - after.trim_start_matches('\n').len() } else { 0 }
}

/// A tag of thoughts in a text.
struct Tag {
    range: Range<usize>,
    name: String,
    is_end: bool,
    is_in_code: bool,
}

/// Removes thoughts between tags. An end tag without a start ends thoughts from the beginning of the text: the template
/// of some models opens the tag. A start tag without an end opens thoughts to the end of the text.
fn without_tagged(text: &str) -> String {
    let tags = tags_in(text);
    let ends = ends_of(&tags);
    let mut kept = String::with_capacity(text.len());
    let mut copied_to = 0;
    let mut mentioned_ends: BTreeSet<usize> = BTreeSet::new();
    for (index, tag) in tags.iter().enumerate() {
        if tag.range.start < copied_to || tag.is_in_code || mentioned_ends.contains(&index) {
            continue;
        }
        if tag.is_end {
            // All text before it is part of the thoughts.
            if !is_mention(text, &tag.range) && ends_here(text, &tag.range) {
                kept.clear();
                copied_to = tag.range.end;
            }
            continue;
        }
        let end = ends[index].map(|end| &tags[end]);
        let is_thought = match end {
            Some(end) => !is_pair_mentioned(text, tag, end),
            None => tag.name.is_ascii() && !is_mention(text, &tag.range) && begins_here(text, tag.range.start),
        };
        if is_thought {
            kept.push_str(&text[copied_to..tag.range.start]);
            copied_to = end.map_or(text.len(), |end| end.range.end);
            copied_to += blank_lines(&kept, &text[copied_to..]);
        } else {
            mentioned_ends.extend(ends[index]);
        }
    }
    kept.push_str(&text[copied_to..]);
    kept
}

fn tags_in(text: &str) -> Vec<Tag> {
    let code = CodeRanges::of(text);
    let tags = COMPILED.tags.captures_iter(text).filter_map(|captures| {
        let range = captures.get(0)?.range();
        let name = captures.name("name")?.as_str().to_ascii_lowercase();
        Some(Tag { is_in_code: code.contain(range.start), range, name, is_end: captures.name("end").is_some() })
    });
    tags.collect()
}

/// Returns, for each start tag, the position of the tag that ends it: of the same name and level, otherwise the next
/// end tag. Tags in code count only if there is no other: thoughts may contain half of a code block.
fn ends_of(tags: &[Tag]) -> Vec<Option<usize>> {
    let mut ends = vec![None; tags.len()];
    let mut open: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, tag) in tags.iter().enumerate().filter(|(_, tag)| !tag.is_in_code) {
        let open = open.entry(&tag.name).or_default();
        if !tag.is_end {
            open.push(index);
        } else if let Some(start) = open.pop() {
            ends[start] = Some(index);
        }
    }
    let mut next = None;
    let mut next_in_code: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, tag) in tags.iter().enumerate().rev() {
        if tag.is_end && tag.is_in_code {
            next_in_code.insert(&tag.name, index);
        } else if tag.is_end {
            next = Some(index);
        } else if ends[index].is_none() {
            ends[index] = next.or_else(|| next_in_code.get(tag.name.as_str()).copied());
        }
    }
    ends
}

/// Returns true if a start tag and its end tag are only mentioned, as in `write <think> before and </think> after it`.
fn is_pair_mentioned(text: &str, start: &Tag, end: &Tag) -> bool {
    let inside = &text[start.range.end..end.range.start];
    if inside.contains('\n') && begins_here(text, start.range.start) {
        return false;
    }
    let begins_text = text[..start.range.start].trim().is_empty();
    is_mention(text, &start.range) || (inside.trim().is_empty() && !begins_text && !inside.contains('\n'))
}

/// Returns true if the words next to a tag are about the tag.
fn is_mention(text: &str, tag: &Range<usize>) -> bool {
    let from = text.floor_char_boundary(tag.start.saturating_sub(NEIGHBORHOOD_BYTES));
    let to = text.ceil_char_boundary((tag.end + NEIGHBORHOOD_BYTES).min(text.len()));
    let line = text[from..tag.start].rsplit('\n').next().unwrap_or_default();
    let before = if line.trim().is_empty() { "" } else { line };
    (!before.is_empty() && COMPILED.before_mention.is_match(before))
        || COMPILED.after_mention.is_match(&text[tag.end..to])
}

/// Returns true if thoughts can end with this tag: at the end of a line, or directly after a word.
fn ends_here(text: &str, tag: &Range<usize>) -> bool {
    let after = text[tag.end..].trim_start_matches([' ', '\t']);
    after.is_empty() || after.starts_with(['\n', '\r']) || !text[..tag.start].ends_with([' ', '\t'])
}

/// Returns true if thoughts can begin at this position: at the beginning of a line, after a sentence, or directly after
/// a word.
fn begins_here(text: &str, position: usize) -> bool {
    let before = &text[..position];
    let words = before.trim_end_matches([' ', '\t']);
    let ends_sentence = |c: char| matches!(c, '\n' | '.' | '!' | '?' | '。' | '！' | '？' | '…' | '>');
    words.is_empty() || words.ends_with(ends_sentence) || !before.ends_with(char::is_whitespace)
}
