//! Articles, plural verbs and dates in the sentences of facts.

use std::collections::BTreeMap;

use jiff::civil::Date;
use memory_engine_core::Language;
use memory_engine_text::Words;

use crate::data::data;

data! {
    DATA = "en/grammar.toml";
    Words: determiners, an_starts, plural_subjects;
    BTreeMap<String, String>: plural_verbs;
}

/// Returns a range of days in words: the month or the year if it is a whole one.
pub(super) fn in_words(value: &str, language: Language) -> String {
    let day = |text: &str| text.parse::<Date>().ok();
    let days = value.split_once('/').and_then(|(first, last)| Some((day(first)?, day(last)?)));
    match days {
        Some((first, last)) if first.day() == 1 && last == first.last_of_month() => {
            language.pick(format!("{}年{}月", first.year(), first.month()), first.strftime("%B %Y").to_string())
        }
        Some((first, last)) if first.day_of_year() == 1 && last == first.last_of_year() => {
            language.pick(format!("{}年", first.year()), first.year().to_string())
        }
        Some((first, last)) => language.pick(format!("{first}至{last}"), format!("{first} to {last}")),
        None => value.to_owned(),
    }
}

/// Returns an English value with an indefinite article, unless it has a determiner or takes none.
pub(super) fn with_article(value: &str) -> String {
    let first = value.split(' ').next().unwrap_or_default().to_lowercase();
    let has_number = first.chars().all(|c| c.is_ascii_digit()) && first.len() < 3;
    let is_plural = value.ends_with('s') && !value.ends_with("ss") && !value.ends_with("us");
    if has_number || is_plural || DATA.determiners.contains(&first) {
        return value.to_owned();
    }
    let article = if DATA.an_starts.any_starts(&first) { "an" } else { "a" };
    format!("{article} {value}")
}

/// Returns true if an English subject takes a verb in the plural.
pub(super) fn is_plural(subject: &str, language: Language) -> bool {
    language == Language::English && DATA.plural_subjects.any_ends(subject)
}

/// Returns an English template with the verb after the subject in the plural.
pub(super) fn with_plural_verb(template: &str) -> String {
    let plural = template.strip_prefix("{s} ").and_then(|rest| {
        let (verb, rest) = rest.split_once(' ')?;
        let plural = DATA.plural_verbs.get(verb).map(String::as_str).or_else(|| verb.strip_suffix('s'))?;
        Some(format!("{{s}} {plural} {rest}"))
    });
    plural.unwrap_or_else(|| template.to_owned())
}
