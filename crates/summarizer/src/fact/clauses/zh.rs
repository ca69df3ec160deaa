//! Splits Chinese sentences into clauses and finds the subject of each.

use std::ops::Range;

use memory_engine_text::{Captures, Words};

use super::context::{ClauseContext, ClauseStatement, ClauseSubject};
use crate::{
    data::{DataPattern, data},
    fact::{assertion, relatives},
};

data! {
    DATA = "zh/clauses.toml";
    DataPattern: gap, boundary, opening, naming, animal, speaker, relative, introduced, person, companion, topic_first;
    DataPattern: unstated, past, command, named_kin, source, mentioned_kin;
    DataPattern: equated, naming_predicate, surname;
    Words: topic_doubts, adverbs, no_adverbs, thing_subjects, name_starts, no_kin_names;
}

/// Returns the statements of a normalised Chinese sentence.
pub(super) fn statements(context: &mut ClauseContext, sentence: &str) -> Vec<ClauseStatement> {
    let clauses = clauses(sentence);
    let last = clauses.len().saturating_sub(1);
    let is_question = sentence.trim_end().ends_with(['?', '？']);
    let mut statements = Vec::new();
    for (n, clause) in clauses.into_iter().enumerate() {
        // Nothing after a condition or a report is certain, so the rest of the sentence is skipped.
        if DATA.unstated.is_match(clause) || assertion::is_reported(without_openings(clause)) {
            context.set(ClauseSubject::Other);
            break;
        }
        if let Some(request) = DATA.naming.captures(clause) {
            statements.push(ClauseStatement {
                subject: ClauseSubject::Speaker,
                is_explicit: true,
                text: request["request"].to_owned(),
            });
            context.set(ClauseSubject::Speaker);
            continue;
        }
        let bare = without_openings(clause);
        if !bare.starts_with(['他', '她']) {
            context.mention(&DATA.mentioned_kin, clause);
        }
        if !bare.is_empty() && assertion::is_asked(clause) && !bare.starts_with('我') {
            context.set(ClauseSubject::Other);
        }
        if bare.is_empty() || assertion::is_asked(clause) || (is_question && n == last) {
            continue;
        }
        if let Some(found) = DATA.animal.captures(bare) {
            let name = found.name("beast").and_then(|beast| Some((beast, name_and_predicate(&bare[beast.end()..])?.0)));
            if let Some((beast, name)) = name {
                let text = format!("我家{}叫{name}", beast.as_str());
                statements.push(ClauseStatement { subject: ClauseSubject::Speaker, is_explicit: true, text });
            }
            let text = format!("我{}", bare.trim_start_matches(['我', '们', '咱', '家']));
            statements.push(ClauseStatement { subject: ClauseSubject::Speaker, is_explicit: true, text });
            context.set(ClauseSubject::Other);
            continue;
        }
        if let Some(text) = name_statement(bare) {
            statements.push(ClauseStatement { subject: ClauseSubject::Speaker, is_explicit: true, text });
        }
        let (subject, predicate) = split_subject(context, bare);
        let is_command = context.last.is_none() && DATA.command.is_match(bare);
        context.set(subject.clone());
        if !is_command && !DATA.past.is_match(bare) {
            let is_explicit = bare.starts_with('我') || DATA.speaker.is_match(bare);
            statements.extend(clause_statements(&subject, &predicate, is_explicit));
        }
        let introduced = introduced(&predicate).filter(|_| subject == ClauseSubject::Speaker);
        if let Some((subject, predicate)) = introduced {
            if let (ClauseSubject::Relative(_), Some(predicate)) = (&subject, predicate) {
                statements.extend(clause_statements(&subject, &predicate, true));
            }
            context.set(subject);
        }
    }
    context.end_sentence();
    statements
}

/// Returns a sentence without the spaces between Chinese characters and Latin letters or digits: "4 月 18 日".
pub(super) fn spelled_out(sentence: &str) -> String {
    let text = DATA.gap.replace_all(sentence, |found| found[0].replace(' ', ""));
    // "体检说我有脂肪肝" states what follows.
    DATA.source.replace_all(&text, |_| "我".to_owned()).into_owned()
}

/// Splits a sentence at its punctuation marks, at spaces, and before conjunctions.
fn clauses(sentence: &str) -> Vec<&str> {
    let mut clauses = Vec::new();
    let mut start = 0;
    for found in DATA.boundary.captures_iter(sentence) {
        let Some(whole) = found.get(0) else { continue };
        if is_inside_number(sentence, whole.range()) {
            continue;
        }
        // A conjunction belongs to the clause that it begins.
        let conjunction = found.name("word").map(|word| word.start());
        clauses.push(sentence[start..conjunction.unwrap_or(whole.start())].trim());
        start = conjunction.unwrap_or(whole.end());
    }
    clauses.push(sentence[start..].trim());
    clauses.retain(|clause| !clause.is_empty());
    clauses
}

/// Returns true for a mark inside of a number or a time: 1.75, 8:30, 3,000.
fn is_inside_number(sentence: &str, mark: Range<usize>) -> bool {
    let has_digit_before = sentence[..mark.start].ends_with(|c: char| c.is_ascii_digit());
    let has_digit_after = sentence[mark.end..].starts_with(|c: char| c.is_ascii_digit());
    matches!(&sentence[mark], "." | ":" | ",") && has_digit_before && has_digit_after
}

/// Returns a clause without the interjections and adverbs that it begins with.
fn without_openings(clause: &str) -> &str {
    let mut bare = clause;
    while let Some(found) = DATA.opening.find(bare).filter(|found| !found.is_empty()) {
        bare = &bare[found.end()..];
    }
    bare
}

/// Returns the subject of a clause, and the clause without it. An object before its verb is moved behind it:
/// "烟我已经戒了" becomes "已经戒了烟".
fn split_subject(context: &ClauseContext, clause: &str) -> (ClauseSubject, String) {
    if let Some(found) = DATA.topic_first.captures(clause) {
        let object = &found["object"];
        let verb = &found["verb"];
        let is_denial = verb.contains('不');
        let is_complete = is_denial || !found["end"].is_empty();
        let is_person = relative(clause).is_some() || DATA.person.is_match(clause) || DATA.speaker.is_match(object);
        if is_complete && !is_person && !DATA.topic_doubts.any_ends(object) && !object.contains("什么") {
            let end = if is_denial { format!("{verb}{object}{}", &found["end"]) } else { format!("{verb}了{object}") };
            return (ClauseSubject::Speaker, format!("{}{end}", &found["adverb"]));
        }
    }
    if let Some((kin, rest)) = relative(clause) {
        if relatives::zh_is_about_relative(rest) {
            let kin = relatives::canonical_name(kin).to_owned();
            return (ClauseSubject::Relative(kin), without_adverbs(rest));
        }
        return (ClauseSubject::Other, rest.to_owned());
    }
    if let Some(found) = DATA.equated.captures(clause) {
        return (ClauseSubject::Relative(relatives::canonical_name(&found["kin"]).to_owned()), String::new());
    }
    if DATA.person.is_match(clause) {
        return (ClauseSubject::Other, clause.to_owned());
    }
    if let Some(found) = DATA.speaker.find(clause) {
        let rest = DATA.companion.replace(&clause[found.end()..], "");
        return (ClauseSubject::Speaker, without_adverbs(&rest));
    }
    if DATA.thing_subjects.any_starts(clause) {
        return (ClauseSubject::Other, clause.to_owned());
    }
    if let Some(rest) = clause.strip_prefix(['他', '她', '它']) {
        return (context.third_person(), without_adverbs(rest));
    }
    if let Some(rest) = clause.strip_prefix('其') {
        return (context.third_person(), format!("的{rest}"));
    }
    (context.implied_subject(), without_adverbs(clause))
}

/// Returns the relative that a clause begins with, and the rest of the clause without the name of the relative.
fn relative(clause: &str) -> Option<(&str, &str)> {
    let (kin, rest) = relative_and_rest(clause)?;
    Some((kin, name_and_predicate(rest).map_or(rest, |(_, predicate)| predicate)))
}

fn relative_and_rest(clause: &str) -> Option<(&str, &str)> {
    let found = DATA.relative.captures(clause)?;
    let kin = ["kin", "short", "partner"].into_iter().find_map(|group| found.name(group))?;
    let rest = ["rest", "told", "theirs"].into_iter().find_map(|group| found.name(group))?;
    Some((kin.as_str(), rest.as_str().trim()))
}

/// Returns the statement of the name that a clause gives a relative: "我儿子叫小宝" of "我儿子小宝今年五岁".
fn name_statement(clause: &str) -> Option<String> {
    let (kin, rest) = relative_and_rest(clause)?;
    let (name, _) = name_and_predicate(rest)?;
    Some(format!("我{kin}叫{name}"))
}

/// Returns the name that a text begins with, and the predicate after it: "小宝" and "对鸡蛋过敏" of "小宝对鸡蛋过敏".
fn name_and_predicate(text: &str) -> Option<(&str, &str)> {
    let found = DATA.named_kin.captures(text)?;
    let name = found.name("name")?.as_str();
    let length = name.chars().count();
    let is_doubled = length == 2 && name.chars().next() == name.chars().next_back();
    let is_nickname = is_doubled || (length == 2 && DATA.name_starts.any_starts(name));
    let is_name = (is_nickname || DATA.surname.is_match(name)) && !DATA.no_kin_names.any_starts(name);
    is_name.then(|| found.name("predicate").map(|predicate| (name, predicate.as_str())))?
}

/// Returns a predicate without the adverbs that it begins with.
fn without_adverbs(predicate: &str) -> String {
    let mut bare = predicate.trim();
    while let Some(rest) = DATA.adverbs.strip_start(bare) {
        if rest.is_empty() || DATA.no_adverbs.any_starts(bare) {
            break;
        }
        bare = rest;
    }
    bare.to_owned()
}

/// Returns the statements of a clause with this subject.
fn clause_statements(subject: &ClauseSubject, predicate: &str, is_explicit: bool) -> Vec<ClauseStatement> {
    let statement = |subject: ClauseSubject, text: String| ClauseStatement { subject, is_explicit, text };
    match subject {
        ClauseSubject::Speaker => vec![statement(ClauseSubject::Speaker, format!("我{predicate}"))],
        ClauseSubject::Relative(_) if predicate.is_empty() => Vec::new(),
        // The name of a relative is a fact about the speaker.
        ClauseSubject::Relative(kin) if DATA.naming_predicate.is_match(predicate) => {
            vec![statement(ClauseSubject::Speaker, format!("我{kin}{predicate}"))]
        }
        ClauseSubject::Relative(_) => vec![statement(subject.clone(), format!("我{predicate}"))],
        ClauseSubject::Other => Vec::new(),
    }
}

/// Returns the relative or the animal that a predicate introduces ("有个姐姐在加拿大"), and the predicate of the relative.
fn introduced(predicate: &str) -> Option<(ClauseSubject, Option<String>)> {
    let found: Captures<'_> = DATA.introduced.captures(predicate)?;
    let subject = match found.name("kin") {
        Some(kin) => ClauseSubject::Relative(relatives::canonical_name(kin.as_str()).to_owned()),
        None => ClauseSubject::Other,
    };
    let rest = found.name("rest").map(|rest| without_adverbs(rest.as_str())).filter(|rest| !rest.is_empty());
    Some((subject, rest))
}
