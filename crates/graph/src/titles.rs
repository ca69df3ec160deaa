//! Titles before and after names.

use memory_engine_core::text::is_han;
use memory_engine_text::{Words, data};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Titles {
    before: Words,
    after: Words,
}

data!(TITLES: Titles = "en/titles.toml", "zh/titles.toml");

/// Returns the titles that follow a Chinese name, in the order in which they are tried.
pub(crate) fn suffixes() -> &'static Words {
    &TITLES.after
}

/// Returns the name without its title if more than a family name is left: "Anna Reed" for "Dr. Anna Reed", 李明 for
/// 李明先生. Returns `None` for "Mr. Reed" and 王先生: a bare family name would be the same entity for the whole family.
pub(crate) fn strip(name: &str) -> Option<String> {
    if let Some((first, rest)) = name.split_once(' ')
        && is_prefix(first)
    {
        let bare = strip(rest).unwrap_or_else(|| rest.to_owned());
        return (bare.split(' ').count() > 1).then_some(bare);
    }
    let bare = name.strip_suffix(suffixes().end_of(name)?)?;
    (bare.chars().all(is_han) && bare.chars().count() > 1).then(|| bare.to_owned())
}

/// Returns true if a word is a title before a name.
pub(crate) fn is_prefix(word: &str) -> bool {
    TITLES.before.contains(&word.trim_end_matches('.').to_lowercase())
}

#[cfg(test)]
mod tests;
