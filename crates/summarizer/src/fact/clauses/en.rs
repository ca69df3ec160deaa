//! English clauses.

use std::collections::BTreeMap;

use memory_engine_text::{Captures, Words};

use super::context::{ClauseContext, ClauseStatement, ClauseSubject};
use crate::{
    data::{DataPattern, data},
    fact::{assertion, relatives},
};

data! {
    DATA = "en/clauses.toml", "en/names.toml";
    DataPattern: uncased;
    DataPattern: chat, aside, apposition, boundary, conjunction, opening, speaker, couple, relative, pronoun;
    DataPattern: introduced, adverb, past, unstated, implied, attribute, copula, accompanied, third_person;
    DataPattern: bare_relative, example, thing, equated, infinitive, mentioned, other_gender;
    Words: clause_starts, base_verbs, participles;
    BTreeMap<String, String>: spelled_out, verb_forms;
}

/// Returns the statements of a normalised English sentence.
pub(super) fn statements(context: &mut ClauseContext, sentence: &str) -> Vec<ClauseStatement> {
    let sentence = without_asides(sentence);
    let clauses = clauses(&sentence);
    let last = clauses.len().saturating_sub(1);
    let is_question = sentence.trim_end().ends_with('?');
    let mut statements = Vec::new();
    let mut is_copular = false;
    for (n, clause) in clauses.into_iter().enumerate() {
        if DATA.unstated.is_match(clause) || assertion::is_reported(without_openings(clause)) {
            context.set(ClauseSubject::Other);
            context.mention(&DATA.mentioned, clause);
            break;
        }
        let bare = without_openings(clause);
        if bare.is_empty() || is_question_clause(context, clause) || (is_question && n == last) {
            continue;
        }
        let parsed = parse_clause(context, bare, is_copular, n == 0);
        context.set(parsed.subject.clone());
        context.mention(&DATA.mentioned, clause);
        if !DATA.past.is_match(bare) {
            statements.extend(parsed.statements());
        }
        is_copular =
            parsed.predicates.iter().any(|form| DATA.copula.is_match(form) && !DATA.accompanied.is_match(form));
        if parsed.subject == ClauseSubject::Speaker
            && let Some((relative, rest)) = parsed.predicates.iter().find_map(|predicate| introduced(predicate))
        {
            context.set(relative.clone());
            let predicates = rest.into_iter().collect();
            statements.extend(EnglishClause { subject: relative, is_explicit: true, predicates }.statements());
        }
    }
    context.end_sentence();
    statements
}

/// Returns true if a clause is a question, and no relative clause about a relative: "my partner, who is …".
fn is_question_clause(context: &ClauseContext, clause: &str) -> bool {
    let is_relative_clause = clause.starts_with("who ") && matches!(context.last, Some(ClauseSubject::Relative(_)));
    !is_relative_clause && assertion::is_asked(clause)
}

/// A clause as the predicates that may follow "I".
struct EnglishClause {
    subject: ClauseSubject,
    is_explicit: bool,
    predicates: Vec<String>,
}

impl EnglishClause {
    fn other() -> Self {
        Self { subject: ClauseSubject::Other, is_explicit: false, predicates: Vec::new() }
    }

    fn statements(&self) -> Vec<ClauseStatement> {
        let statement = |predicate: &String| ClauseStatement {
            subject: self.subject.clone(),
            is_explicit: self.is_explicit,
            text: format!("I{predicate}"),
        };
        self.predicates.iter().filter(|_| self.subject != ClauseSubject::Other).map(statement).collect()
    }
}

/// Returns a sentence with abbreviations of chat expanded, and with names of persons and places in small letters
/// capitalised.
pub(super) fn spelled_out(sentence: &str) -> String {
    let word = |found: &Captures<'_>| DATA.spelled_out.get(&found[0].to_lowercase()).cloned().unwrap_or_default();
    let text = DATA.chat.replace_all(sentence, word);
    DATA.uncased.replace_all(&text, |found| capitalised_words(&found[0])).into_owned()
}

/// Returns a name with each word capitalised.
fn capitalised_words(name: &str) -> String {
    let words = name.split_inclusive(' ').map(|word| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    });
    words.collect()
}

/// Returns a sentence whose subject is "we" with "I" in its place.
pub(in crate::fact) fn in_singular(sentence: &str) -> String {
    let rest = sentence.strip_prefix("We").or_else(|| sentence.strip_prefix("we"));
    let rest = rest.filter(|rest| rest.starts_with([' ', '\'']));
    rest.map_or_else(|| sentence.to_owned(), |rest| format!("I{}", speaker_predicate(rest)))
}

/// Returns a sentence without asides.
fn without_asides(sentence: &str) -> String {
    // "fruit, like mangoes": "like" is no verb here.
    let text = DATA.example.replace_all(sentence, |_| ", such as ".to_owned());
    // An aside without a comma before it stands at the end of a clause.
    let aside = |found: &Captures<'_>| if found[0].starts_with(',') { " " } else { "," }.to_owned();
    let text = DATA.aside.replace_all(&text, aside);
    // "our youngest, Teddy, is 4": the name stands within the clause.
    DATA.apposition.replace_all(&text, |found| found[0].replace(',', "")).into_owned()
}

/// Splits a sentence at its punctuation marks, and at conjunctions before another clause.
fn clauses(sentence: &str) -> Vec<&str> {
    let mut clauses = Vec::new();
    for part in DATA.boundary.split(sentence) {
        let mut start = 0;
        let is_third_person = DATA.third_person.is_match(part);
        for found in DATA.conjunction.find_iter(part) {
            let next = part[found.end()..].split([' ', ',']).next().unwrap_or_default().to_lowercase();
            // "me and my wife" is one subject.
            let before = &part[start..found.start()];
            let continues_infinitive = DATA.base_verbs.contains(&next) && DATA.infinitive.is_match(before);
            if before.trim().eq_ignore_ascii_case("me") || continues_infinitive {
                continue;
            }
            if DATA.clause_starts.contains(&next) || (is_third_person && next.len() > 3 && next.ends_with('s')) {
                clauses.push(part[start..found.start()].trim());
                start = found.end();
            }
        }
        clauses.push(part[start..].trim());
    }
    clauses.retain(|clause| !clause.is_empty());
    clauses
}

/// Returns a clause without the interjections and adverbs that it begins with.
fn without_openings(clause: &str) -> &str {
    let mut bare = clause;
    while let Some(found) = DATA.opening.find(bare).filter(|found| !found.is_empty()) {
        bare = bare[found.end()..].trim_start_matches([',', ' ']);
    }
    bare
}

/// Returns the subject and the predicates of a clause. `follows_copula` is true after a clause such as "I'm
/// Marta", `is_opening` at the beginning of a sentence.
fn parse_clause(context: &ClauseContext, clause: &str, follows_copula: bool, is_opening: bool) -> EnglishClause {
    if DATA.bare_relative.is_match(clause) {
        return parse_clause(context, &format!("my {clause}"), follows_copula, is_opening);
    }
    let found = DATA.couple.find(clause).or_else(|| DATA.speaker.find(clause));
    if let Some(found) = found {
        return EnglishClause {
            subject: ClauseSubject::Speaker,
            is_explicit: true,
            predicates: vec![speaker_predicate(&clause[found.end()..])],
        };
    }
    if let Some(found) = DATA.relative.captures(clause) {
        return about_relative(relative_of(&found["kin"]), &found["rest"]);
    }
    if let Some(found) = DATA.pronoun.captures(clause) {
        let mut subject = context.third_person();
        if matches!(&subject, ClauseSubject::Relative(kin) if DATA.other_gender.is_match(&format!("{kin} {clause}"))) {
            subject = ClauseSubject::Other;
        }
        return about_relative(subject, &found["rest"]);
    }
    if let Some(found) = DATA.equated.captures(clause) {
        return about_relative(relative_of(&found["kin"]), "");
    }
    if DATA.thing.is_match(clause) {
        return EnglishClause::other();
    }
    match context.implied_subject() {
        ClauseSubject::Other => EnglishClause::other(),
        ClauseSubject::Speaker if is_opening && !DATA.implied.is_match(clause) => EnglishClause::other(),
        ClauseSubject::Speaker => {
            let is_attribute = is_opening || follows_copula || DATA.attribute.is_match(clause);
            let mut forms = vec![format!(" {clause}")];
            if is_attribute {
                forms.push(format!("'m {clause}"));
            }
            if is_attribute && clause.starts_with("been ") {
                forms.push(format!("'ve {clause}"));
            }
            EnglishClause {
                subject: ClauseSubject::Speaker,
                is_explicit: false,
                predicates: forms.iter().map(|form| without_adverbs(form)).collect(),
            }
        }
        relative => about_relative(relative, &format!(" {clause}")),
    }
}

/// Returns a relative as the subject of a clause.
fn relative_of(kin: &str) -> ClauseSubject {
    ClauseSubject::Relative(relatives::canonical_name(&kin.to_lowercase()).to_owned())
}

/// Returns the predicate of a clause after "I" or "we".
fn speaker_predicate(rest: &str) -> String {
    let rest = rest.strip_prefix("'re").map_or_else(|| rest.to_owned(), |rest| format!("'m{rest}"));
    let rest = rest.strip_prefix(" are ").map_or(rest.clone(), |rest| format!(" am {rest}"));
    without_adverbs(&rest)
}

/// Returns a clause of a relative: the verb in the form that follows "I".
fn about_relative(subject: ClauseSubject, rest: &str) -> EnglishClause {
    let rest = without_adverbs(rest);
    if subject == ClauseSubject::Other || rest.trim().is_empty() || !relatives::en_is_about_relative(&rest) {
        return EnglishClause { subject, is_explicit: true, predicates: Vec::new() };
    }
    let verb_end = rest.trim_start().find(' ').map_or(rest.len(), |at| at + rest.len() - rest.trim_start().len());
    let verb = rest[..verb_end].trim().to_lowercase();
    let is_perfect = verb == "'s" && DATA.participles.any_starts(rest[verb_end..].trim_start());
    let verb = if is_perfect { "has".to_owned() } else { verb };
    let form = DATA.verb_forms.get(&verb).cloned().unwrap_or_else(|| format!(" {}", base_form(&verb)));
    EnglishClause { subject, is_explicit: true, predicates: vec![format!("{form}{}", &rest[verb_end..])] }
}

/// Returns the base form of a verb in the third person. Other forms stay.
fn base_form(verb: &str) -> String {
    if let Some(stem) = verb.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        return format!("{stem}y");
    }
    let sibilants = ["ches", "shes", "sses", "xes", "zes", "oes"];
    if sibilants.iter().any(|ending| verb.ends_with(ending)) {
        return verb.trim_end_matches("es").to_owned();
    }
    match verb.strip_suffix('s') {
        Some(stem) if !stem.ends_with('s') && !stem.is_empty() => stem.to_owned(),
        _ => verb.to_owned(),
    }
}

/// Returns a predicate without the adverbs before and after its first verb: " honestly love", "'m currently living".
fn without_adverbs(predicate: &str) -> String {
    DATA.adverb.replace_all(predicate, |found| found["verb"].to_owned()).into_owned()
}

/// Returns the relative that a predicate introduces ("have a sister who lives in Rome"), and the predicate of the
/// relative.
fn introduced(predicate: &str) -> Option<(ClauseSubject, Option<String>)> {
    let found = DATA.introduced.captures(predicate)?;
    let Some(kin) = found.name("kin") else { return Some((ClauseSubject::Other, None)) };
    let subject = relative_of(kin.as_str());
    let clause = found.name("rest").map(|rest| about_relative(subject.clone(), rest.as_str()));
    let predicate = clause.and_then(|clause| clause.predicates.into_iter().next());
    let place = found.name("place").map(|place| format!("'m{}", place.as_str()));
    Some((subject, predicate.or(place)))
}
