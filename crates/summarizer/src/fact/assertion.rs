//! Decides whether a sentence is a statement of the speaker: not a question, supposition, quotation or role play.

use std::{collections::BTreeMap, ops::Range};

use memory_engine_core::text::{is_han, normalize};
use memory_engine_text::is_code_block;

use crate::{
    data::{DataPattern, data},
    text::has_han,
};

/// The character that replaces text which the speaker does not state.
const MASK: char = '\u{1}';

/// Maximum length of a quotation that counts as the speaker's own words, in characters and in words.
const OWN_QUOTATION_MAX_CHARS: usize = 14;
const OWN_QUOTATION_MAX_WORDS: usize = 3;

/// Characters that end a clause.
const CLAUSE_ENDS: &str = ",，;；:：—–(（)）、~～!！.。\u{1}…/\n";
/// Characters after a statement that begin another clause.
const CLAUSE_STARTS: [char; 6] = ['，', ',', '、', '-', '—', ';'];

data! {
    DATA = "en/assertion.toml", "zh/assertion.toml";
    DataPattern: quoted, first_person, staged, order, unreal, reported, tail, asked, question_follows, label;
    DataPattern: mail, played, told, own_teller, direct, told_end;
    DataPattern: own_aside, own_label, lead, zh_lead, factive, cantonese;
    BTreeMap<String, String>: in_mandarin;
}

/// Masks, byte for byte, the text that the speaker does not state: longer quotations, stage directions between
/// asterisks or in Chinese brackets, code, quoted lines, pasted mails, what others say or write, and text to be
/// rewritten or played. Byte positions stay the same.
pub(crate) fn mask(text: &str) -> String {
    if DATA.played.is_match(text) {
        return MASK.to_string().repeat(text.len());
    }
    let mut bytes = text.as_bytes().to_vec();
    let ranges = quotations(text).chain(stage_directions(text)).chain(quoted_lines(text));
    let ranges = ranges.chain(pasted_mail(text)).chain(requested_text(text)).chain(told(text));
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

/// Returns the stage directions and the fenced code. Brackets that say who somebody is are no stage direction.
fn stage_directions(text: &str) -> impl Iterator<Item = Range<usize>> {
    let staged = DATA.staged.find_iter(text).filter(|found| !DATA.own_aside.is_match(found.as_str()));
    staged.map(|found| found.range())
}

/// Returns the lines of Markdown quotations, tables and headings.
fn quoted_lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let starts = text.split_inclusive('\n').scan(0, |end, line| {
        *end += line.len();
        Some((*end - line.len(), line))
    });
    let quoted = starts.filter(|(_, line)| line.trim_start().starts_with(['>', '|', '#']));
    quoted.map(|(start, line)| start..start + line.trim_end().len())
}

/// Returns the text from the head of a mail on.
fn pasted_mail(text: &str) -> Option<Range<usize>> {
    DATA.mail.find(text).map(|head| head.start()..text.len())
}

/// Returns the speech and the writing of others, each to the end of its sentence: the words after "He goes," or "The
/// note read:". Without a colon they are theirs only if they begin in the first person.
fn told(text: &str) -> impl Iterator<Item = Range<usize>> {
    let heads = DATA.told.find_iter(text).filter(|head| {
        let has_colon = head.as_str().trim_end().ends_with([':', '：']);
        let is_direct = has_colon || DATA.direct.is_match(&text[head.end()..]);
        is_direct && !DATA.own_teller.is_match(head.as_str())
    });
    heads.map(|head| head.end()..head.end() + DATA.told_end.before(&text[head.end()..]).len())
}

/// Returns the text after the first colon or line break that follows a request to rewrite something or to play a
/// role.
fn requested_text(text: &str) -> Option<Range<usize>> {
    let request_end = DATA.order.find(text)?.end();
    let start = request_end + text[request_end..].find(['\n', ':', '：'])?;
    Some(start..text.len())
}

/// Normalises a masked sentence for the patterns: traditional characters become simplified, apostrophes straight, and
/// each masked run one mask character. Case and the underscores of identifiers are kept.
pub(crate) fn normalise_sentence(masked: &str) -> String {
    let mut plain = String::with_capacity(masked.len());
    let text = DATA.cantonese.replace_all(masked, |found| DATA.in_mandarin.get(&found[0]).cloned().unwrap_or_default());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let joins_words =
            plain.ends_with(char::is_alphanumeric) && characters.peek().is_some_and(|next| next.is_alphanumeric());
        match c {
            '_' if joins_words => plain.push(c),
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
    plain
        .chars()
        .zip(folded.chars())
        .map(|(original, folded)| if is_han(original) { folded } else { original })
        .collect()
}

/// Returns false for suppositions, code and lines of another speaker in a pasted dialogue. They state no facts.
pub(super) fn may_state_facts(sentence: &str) -> bool {
    !(DATA.unreal.is_match(sentence) || is_code_block(sentence) || is_of_other_speaker(sentence))
}

/// Returns true for a line of another speaker in a pasted dialogue.
pub(crate) fn is_of_other_speaker(sentence: &str) -> bool {
    DATA.label.captures(sentence).is_some_and(|label| !DATA.own_label.is_match(&label[1]))
}

/// Returns true if a text contains a request to write, to rewrite or to play something.
pub(crate) fn orders_text(text: &str) -> bool {
    DATA.order.is_match(text)
}

/// Returns true if a clause is a condition or reports what another person said.
pub(super) fn is_reported(clause: &str) -> bool {
    DATA.reported.is_match(clause)
}

/// Returns true if a clause asks something without a question mark.
pub(super) fn is_asked(clause: &str) -> bool {
    DATA.asked.is_match(clause)
}

/// Returns true unless the words after a match negate it or place it in the past.
pub(super) fn is_upheld(sentence: &str, end: usize) -> bool {
    !DATA.tail.is_match(&sentence[end..])
}

/// Returns true if a match is a statement of the speaker, judged by the words before and after it.
pub(super) fn is_stated(sentence: &str, found: Range<usize>) -> bool {
    let clause = clause_before(&sentence[..found.start]);
    is_claimed(sentence, found.clone())
        && (begins_clause(sentence, found.start) || (!has_han(clause) && DATA.factive.is_match(clause)))
}

/// Returns true if a match, anywhere in a clause, is neither reported, nor asked, nor negated by the words after it.
pub(super) fn is_claimed(sentence: &str, found: Range<usize>) -> bool {
    let after = &sentence[found.end..];
    let is_asked = is_question(sentence) && !question_follows(after);
    !DATA.reported.is_match(&sentence[..found.start]) && !DATA.tail.is_match(after) && !is_asked
}

/// Returns true if nothing but words that may introduce a statement stands before a match in its clause.
pub(super) fn begins_clause(sentence: &str, start: usize) -> bool {
    let clause = clause_before(&sentence[..start]);
    clause.is_empty() || if has_han(clause) { DATA.zh_lead.is_match(clause) } else { DATA.lead.is_match(clause) }
}

/// Returns the part of a clause that precedes a match.
fn clause_before(before: &str) -> &str {
    before.rsplit(|c| CLAUSE_ENDS.contains(c)).next().unwrap_or_default().trim()
}

fn is_question(sentence: &str) -> bool {
    sentence.trim_end().ends_with(['?', '？']) || is_asked(sentence)
}

/// Returns true if the question only follows the statement: "I'm vegetarian, what can I cook?"
fn question_follows(after: &str) -> bool {
    after.trim_start().starts_with(CLAUSE_STARTS) || DATA.question_follows.is_match(after)
}

#[cfg(test)]
mod tests;
