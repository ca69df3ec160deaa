//! How the value of a rule is read: where it ends, what it may be, and into how many values it falls.

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
    life::{activity, animal, foods, habit, illness, languages, possession},
    likes::{liked, zh_liked},
    number::number,
    person::{date, full_name, name, person},
    phrase::{before_preposition, cut, is_vague, phrase},
    place::{capitalised, place, zh_native_place, zh_place},
    work::{employer, job, zh_employer, zh_job, zh_school},
};

/// How a value is read, by the name in the field `read` of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ValueReader {
    /// The words as they stand, cut where the phrase ends.
    #[default]
    Plain,
    Name,
    FullName,
    Number,
    Date,
    Job,
    ZhJob,
    Org,
    ZhOrg,
    School,
    ZhSchool,
    Subject,
    Place,
    ZhPlace,
    ZhFrom,
    Person,
    Animal,
    List,
    Illness,
    Diet,
    Habit,
    Liked,
    ZhLiked,
    Favorite,
    Language,
    Skill,
    Owned,
    Doing,
}

impl ValueReader {
    /// Returns the values in the text that a pattern found; none if it is no such value.
    pub(super) fn values(self, found: &str) -> Vec<String> {
        let found = found.trim();
        match self {
            Self::List => foods(found),
            Self::Liked => liked(found),
            Self::ZhLiked => zh_liked(found),
            Self::Language => languages(found),
            single => single.value(found).into_iter().collect(),
        }
    }

    fn value(self, found: &str) -> Option<String> {
        match self {
            Self::Name => name(found),
            Self::FullName => full_name(found),
            Self::Person => person(found),
            Self::Number => number(found),
            Self::Date => date(found),
            Self::Job => job(found),
            Self::ZhJob => zh_job(found),
            Self::Org => employer(found),
            Self::ZhOrg => zh_employer(found),
            Self::School => capitalised(cut(found), 5).filter(|name| name.len() > 2),
            Self::ZhSchool => zh_school(found),
            Self::Subject => phrase(before_preposition(cut(found)), 4, 8),
            Self::Place => place(found),
            Self::ZhPlace => zh_place(found),
            Self::ZhFrom => zh_native_place(found),
            Self::Animal => animal(found),
            Self::Illness => illness(found),
            Self::Habit => Some(habit(found)),
            Self::Favorite => phrase(found, 6, 14).filter(|value| !is_vague(value)),
            Self::Diet | Self::Skill => Some(found.to_lowercase()),
            Self::Owned => possession(found),
            Self::Doing => activity(found),
            Self::Plain | Self::List | Self::Liked | Self::ZhLiked | Self::Language => phrase(found, 8, 20),
        }
    }
}

#[cfg(test)]
mod tests;
