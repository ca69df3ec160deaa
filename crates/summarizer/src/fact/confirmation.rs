//! Detects answers that confirm a statement of the assistant about the user.

use std::collections::BTreeMap;

use memory_engine_text::{Captures, Words, sentences};

use crate::data::{DataPattern, data};

data! {
    DATA = "en/confirmation.toml", "zh/confirmation.toml";
    DataPattern: yes, but, tail, lead, you;
    BTreeMap<String, String>: first_person;
    Words: zh_tails, zh_leads;
}

/// Returns true if the first sentence of an answer is a plain yes.
pub(super) fn is_yes(text: &str) -> bool {
    let first = sentences(text).first().map(|range| &text[range.clone()]).unwrap_or_default();
    DATA.yes.is_match(first) && !DATA.but.is_match(first)
}

/// Returns a sentence about "you" as a statement of "I", or `None` if it is not about the listener.
pub(super) fn in_first_person(sentence: &str) -> Option<String> {
    let sentence = sentence.trim().trim_end_matches(['?', '？', '.', '!', '。', '！']).trim();
    if sentence.contains(['你', '您']) { Some(zh_in_first_person(sentence)) } else { en_in_first_person(sentence) }
}

/// Returns the last clause of the sentence in the first person, without introductory and trailing words.
fn zh_in_first_person(sentence: &str) -> String {
    let mut statement = sentence.replace(['你', '您'], "我");
    for tail in DATA.zh_tails.iter() {
        statement = statement.strip_suffix(tail).unwrap_or(&statement).to_owned();
    }
    let clause = statement.rsplit(['，', ',']).next().unwrap_or_default().trim();
    DATA.zh_leads.strip_start(clause).unwrap_or(clause).to_owned()
}

fn en_in_first_person(sentence: &str) -> Option<String> {
    let bare = DATA.tail.replace(sentence, "");
    let bare = DATA.lead.replace(&bare, "");
    let pronoun =
        |you: &Captures<'_>| DATA.first_person.get(&you[0].to_lowercase()).map_or("I", String::as_str).to_owned();
    DATA.you.is_match(&bare).then(|| DATA.you.replace_all(&bare, pronoun).into_owned())
}
