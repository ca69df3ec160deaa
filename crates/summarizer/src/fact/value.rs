//! Readers of values: they find the end of a value, check its form, and split enumerations.

mod life;
mod likes;
mod number;
mod person;
mod phrase;
mod place;
mod work;

use serde::Deserialize;

pub(super) use self::likes::is_category;
use self::{
    life::{activity, animal, fear, foods, habit, illnesses, languages, possession},
    likes::{liked, zh_liked},
    number::number,
    person::{date, full_name},
    phrase::{before_preposition, cut, is_vague, items, own_statement, phrase, statement, without_vocative, wording},
    place::{capitalised, country, known_place, place, zh_known_place, zh_native_place, zh_place},
    work::{employer, job, taught, zh_employer, zh_job, zh_school},
};

/// Reads the values in the text that a pattern matched. The list is empty if the text is no value of that sort.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct ValueReader(fn(&str) -> Vec<String>);

impl ValueReader {
    pub(super) fn values(self, text: &str) -> Vec<String> {
        self.0(text.trim())
    }
}

impl Default for ValueReader {
    fn default() -> Self {
        Self(|text| at_most_one(phrase(text, 8, 20)))
    }
}

impl TryFrom<String> for ValueReader {
    type Error = String;

    /// Returns the reader of a name in the field `read` of a rule.
    fn try_from(name: String) -> Result<Self, String> {
        reader(&name).map(Self).ok_or_else(|| {
            format!("unknown value reader '{name}'; the field `read` takes a name such as 'plain' or 'place'")
        })
    }
}

fn reader(name: &str) -> Option<fn(&str) -> Vec<String>> {
    let read: fn(&str) -> Vec<String> = match name {
        "plain" => return Some(ValueReader::default().0),
        "name" => |text| at_most_one(person::name(text)),
        "full-name" => |text| at_most_one(full_name(text)),
        "person" => |text| at_most_one(person::person(text)),
        "persons" => |text| items(text).iter().filter_map(|name| person::person(name)).collect(),
        "number" => |text| at_most_one(number(text)),
        "date" => |text| at_most_one(date(text)),
        "job" => |text| at_most_one(job(text)),
        "zh-job" => |text| at_most_one(zh_job(text)),
        "taught" => |text| at_most_one(taught(text)),
        "field-job" => |text| vec![format!("{text} worker")],
        "org" => |text| at_most_one(employer(text)),
        "zh-org" => |text| at_most_one(zh_employer(text)),
        "school" => |text| at_most_one(capitalised(cut(text), 5).filter(|name| name.len() > 2)),
        "zh-school" => |text| at_most_one(zh_school(text)),
        "subject" => |text| at_most_one(phrase(without_vocative(before_preposition(cut(text))), 4, 8)),
        "place" => |text| at_most_one(place(text)),
        "demonym" => |text| at_most_one(country(text)),
        "known-place" => |text| at_most_one(known_place(text)),
        "zh-known-place" => |text| at_most_one(zh_known_place(text)),
        "zh-place" => |text| at_most_one(zh_place(text)),
        "zh-from" => |text| at_most_one(zh_native_place(text)),
        "fear" => |text| at_most_one(fear(text)),
        "animal" => |text| at_most_one(animal(text)),
        "illness" => illnesses,
        "habit" => |text| at_most_one(habit(text)),
        "favorite" => |text| at_most_one(phrase(text, 6, 14).filter(|value| !is_vague(value))),
        "diet" => |text| at_most_one(habit(text)),
        "skill" => |text| vec![text.to_lowercase()],
        "owned" => |text| at_most_one(possession(text)),
        "doing" => |text| at_most_one(activity(text)),
        "list" => foods,
        "liked" => liked,
        "zh-liked" => zh_liked,
        "language" => languages,
        "wording" => |text| at_most_one(wording(text)),
        "statement" => |text| at_most_one(statement(text)),
        "own-statement" => |text| at_most_one(own_statement(text)),
        _ => return None,
    };
    Some(read)
}

fn at_most_one(value: Option<String>) -> Vec<String> {
    value.into_iter().collect()
}

#[cfg(test)]
mod tests;
