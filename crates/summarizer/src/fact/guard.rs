//! Decides whether a sentence states something about its speaker.

use std::ops::Range;

use memory_engine_core::text::{is_han, normalize};

use crate::{
    data::{Pattern, data},
    text::has_han,
};

/// The character that replaces text which is not the speaker's own.
const MASK: char = '\u{1}';

/// A longer quotation is not the speaker's own, in characters and in words.
const OWN_QUOTATION_MAX_CHARS: usize = 14;
const OWN_QUOTATION_MAX_WORDS: usize = 3;

/// Characters that end a clause.
const CLAUSE_ENDS: &str = ",，;；:：—–(（)）、~～!！.。\u{1}…/\n";
/// Characters behind a statement that begin another clause.
const CLAUSE_STARTS: [char; 6] = ['，', ',', '、', '-', '—', ';'];

data! {
    DATA = "en/guard.toml", "zh/guard.toml";
    Pattern: quoted, first_person, staged, order, unreal, reported, tail, asked, question_follows, label;
    Pattern: own_label, lead, zh_lead, factive;
}

/// Returns the text with everything masked, byte for byte, that the speaker does not say of themselves: longer
/// quotations, stage directions between stars or in Chinese brackets, quoted lines, code, and text to be rewritten or
/// played.
pub(super) fn masked(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let ranges = quotations(text).chain(staged(text)).chain(quoted_lines(text)).chain(ordered(text));
    for range in ranges {
        bytes[range].fill(MASK as u8);
    }
    String::from_utf8(bytes).unwrap_or_default()
}

fn quotations(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_own = |quotation: &str| {
        quotation.chars().count() <= OWN_QUOTATION_MAX_CHARS
            && quotation.split_whitespace().count() <= OWN_QUOTATION_MAX_WORDS
            && !DATA.first_person.is_match(quotation)
    };
    DATA.quoted.find_iter(text).filter(move |found| !is_own(found.as_str())).map(|found| found.range())
}

fn staged(text: &str) -> impl Iterator<Item = Range<usize>> {
    DATA.staged.find_iter(text).map(|found| found.range())
}

/// The lines that begin with a mark of quotation, of a table or of a heading.
fn quoted_lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let starts = text.split_inclusive('\n').scan(0, |end, line| {
        *end += line.len();
        Some((*end - line.len(), line))
    });
    let quoted = starts.filter(|(_, line)| line.trim_start().starts_with(['>', '|', '#']));
    quoted.map(|(start, line)| start..start + line.trim_end().len())
}

/// Returns the text after the first colon or line break that follows a request to rewrite something or to play a
/// role.
fn ordered(text: &str) -> Option<Range<usize>> {
    let order = DATA.order.find(text)?.end();
    let start = order + text[order..].find(['\n', ':', '：'])?;
    Some(start..text.len())
}

/// Returns a masked sentence, ready for patterns: traditional characters simplified, typographic apostrophes straight,
/// and each masked stretch one mask. The case of its letters stays.
pub(super) fn readied(masked: &str) -> String {
    let mut plain = String::with_capacity(masked.len());
    for c in masked.chars() {
        match c {
            '’' | '‘' | '＇' => plain.push('\''),
            MASK if plain.ends_with(MASK) => {}
            '"' | '“' | '”' | '「' | '」' | '『' | '』' | '*' | '_' => {}
            '\u{ff01}'..='\u{ff5e}' if c.is_alphanumeric() => plain.push_str(&normalize(&c.to_string())),
            _ => plain.push(c),
        }
    }
    if plain.is_ascii() {
        return plain;
    }
    let folded = normalize(&plain);
    if folded.chars().count() != plain.chars().count() {
        return plain;
    }
    plain.chars().zip(folded.chars()).map(|(given, folded)| if is_han(given) { folded } else { given }).collect()
}

/// Returns false if a sentence supposes, quotes or plays, so that it tells no facts.
pub(super) fn is_serious(sentence: &str) -> bool {
    let of_another = || DATA.label.captures(sentence).is_some_and(|label| !DATA.own_label.is_match(&label[1]));
    !(DATA.unreal.is_match(sentence) || sentence.starts_with("```") || of_another())
}

/// Returns true if the words before a match let it be the speaker's own statement, and the words behind it keep it one.
pub(super) fn is_stated(sentence: &str, found: Range<usize>) -> bool {
    let (before, after) = (&sentence[..found.start], &sentence[found.end..]);
    if DATA.reported.is_match(before) || DATA.tail.is_match(after) {
        return false;
    }
    if is_question(sentence) && !question_follows(after) {
        return false;
    }
    let clause = before.rsplit(|c| CLAUSE_ENDS.contains(c)).next().unwrap_or_default().trim();
    if has_han(clause) {
        return DATA.zh_lead.is_match(clause);
    }
    clause.is_empty() || DATA.lead.is_match(clause) || DATA.factive.is_match(clause)
}

fn is_question(sentence: &str) -> bool {
    sentence.trim_end().ends_with(['?', '？']) || DATA.asked.is_match(sentence)
}

/// Returns true if only what follows a statement is a question: "I'm vegetarian, what can I cook?"
fn question_follows(after: &str) -> bool {
    after.trim_start().starts_with(CLAUSE_STARTS) || DATA.question_follows.is_match(after)
}

#[cfg(test)]
mod tests;
