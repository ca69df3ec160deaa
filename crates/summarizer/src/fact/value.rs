//! How the value of a pattern is read: where it ends, what it may be, and into how many values it falls.

mod lists;
mod person;
mod phrase;
mod place;
mod taste;

use serde::Deserialize;

use self::{
    person::{date, job, name, number, org, person, zh_job, zh_org, zh_school},
    phrase::{before_preposition, cut, is_vague, phrase},
    place::{capitalised, place, zh_from, zh_place},
    taste::{doing, habit, illness, languages, liked, list, owned, zh_liked},
};

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Read {
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

impl Read {
    /// The values in what a pattern found; none when it is not what it should be.
    pub(crate) fn values(self, found: &str) -> Vec<String> {
        let found = found.trim();
        let one = |value: Option<String>| value.into_iter().collect();
        match self {
            Self::Plain => one(phrase(found, 8, 20)),
            Self::Name => one(name(found, false)),
            Self::FullName => one(name(found, true)),
            Self::Person => one(person(found)),
            Self::Number => one(number(found)),
            Self::Date => one(date(found)),
            Self::Job => one(job(found)),
            Self::ZhJob => one(zh_job(found)),
            Self::Org => one(org(found)),
            Self::ZhOrg => one(zh_org(found)),
            Self::School => one(capitalised(cut(found), 5).filter(|name| name.len() > 2)),
            Self::ZhSchool => one(zh_school(found)),
            Self::Subject => one(phrase(before_preposition(cut(found)), 4, 8)),
            Self::Place => one(place(found)),
            Self::ZhPlace => one(zh_place(found)),
            Self::ZhFrom => one(zh_from(found)),
            Self::Animal => one(phrase(found, 6, 12).filter(|value| {
                ![" about ", " of ", " for ", "question", "friend"].iter().any(|word| value.contains(word))
            })),
            Self::List => list(found),
            Self::Illness => one(illness(found)),
            Self::Diet => one(Some(found.to_lowercase())),
            Self::Habit => one(Some(habit(found))),
            Self::Liked => liked(found),
            Self::ZhLiked => zh_liked(found),
            Self::Favorite => one(phrase(found, 6, 14).filter(|value| !is_vague(value))),
            Self::Language => languages(found),
            Self::Skill => one(Some(found.to_lowercase())),
            Self::Owned => one(owned(found)),
            Self::Doing => one(doing(found)),
        }
    }
}

/// A text on one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_compiles() {
        assert!(phrase::compiled().into_iter().all(|compiled| compiled));
    }

    #[test]
    fn enumerations_fall_into_their_items() {
        assert_eq!(
            Read::List.values("peanuts, shellfish and cats, so please be careful"),
            ["peanuts", "shellfish", "cats"]
        );
        assert_eq!(Read::List.values("海鲜、花生和芒果"), ["海鲜", "花生", "芒果"]);
        assert_eq!(Read::Liked.values("hiking and camping in the mountains"), ["hiking", "camping in the mountains"]);
        assert!(Read::Liked.values("your new painting").is_empty());
    }

    #[test]
    fn names_places_and_jobs_end_where_they_end() {
        assert_eq!(Read::Name.values("Sam and I live here"), ["Sam"]);
        assert_eq!(Read::Name.values("小雨就好"), ["小雨"]);
        assert_eq!(Read::Place.values("Austin, Texas with my dog"), ["Austin, Texas"]);
        assert_eq!(Read::ZhPlace.values("上海浦东工作"), ["上海浦东"]);
        assert_eq!(Read::Job.values("a senior software engineer at Acme"), ["senior software engineer"]);
        assert!(Read::Job.values("a night owl").is_empty());
        assert_eq!(Read::Number.values("twenty-seven"), ["27"]);
        assert_eq!(Read::Number.values("二十七"), ["27"]);
    }
}
