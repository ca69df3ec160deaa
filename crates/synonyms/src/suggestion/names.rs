//! Names of people and their short forms.

use memory_engine_core::text::is_han;
use memory_engine_text::data;
use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::{
    corpus::{Corpus, WordId},
    lexicon::is_in_lexicon,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    /// A name, then its short forms.
    nicknames: Vec<Vec<String>>,
    /// Characters before one character of a Chinese given name.
    zh_name_prefixes: Vec<String>,
    /// Words that look like a familiar form, but are none.
    zh_not_familiar: Vec<String>,
    zh_surnames: String,
}

data!(NAMES: Names = "en/names.toml", "zh/names.toml");

/// Maximum number of names of an alphabet that are compared, most frequent first.
const MAX_NAMES: usize = 1_000;

/// Returns the pairs of a name and its short form: Melanie and Mel, Robert and Bob, 志强 and 阿强. A short form that
/// fits several names gives no pair.
pub(super) fn short_names(corpus: &Corpus<'_>, is_used: impl Fn(WordId) -> bool) -> Vec<(WordId, WordId)> {
    let used: Vec<WordId> = corpus.word_ids().filter(|id| is_used(*id)).collect();
    let mut long_names: FxHashMap<WordId, Vec<WordId>> = FxHashMap::default();
    let mut add = |short: WordId, long: WordId| {
        let list = long_names.entry(short).or_default();
        if !list.contains(&long) {
            list.push(long);
        }
    };
    let mut names: Vec<WordId> = used.iter().copied().filter(|id| corpus.usage(*id).is_name()).collect();
    names.sort_by_key(|id| std::cmp::Reverse(corpus.usage(*id).records));
    names.truncate(MAX_NAMES);
    for short in &names {
        for long in &names {
            let (short_form, long_form) = (corpus.usage(*short).form(), corpus.usage(*long).form());
            let are_people = corpus.usage(*short).is_person() && corpus.usage(*long).is_person();
            let is_short_form = are_people
                && is_beginning(short_form, long_form)
                && ![short, long].iter().any(|id| corpus.usage(**id).is_part_of_name());
            if is_nickname(short_form, long_form) || is_short_form {
                add(*short, *long);
            }
        }
    }
    let chinese: Vec<WordId> = used.into_iter().filter(|id| corpus.usage(*id).form().chars().all(is_han)).collect();
    let given: Vec<WordId> = chinese.iter().copied().filter(|id| is_given_name(corpus, *id)).collect();
    for short in &chinese {
        let Some(character) = name_character(corpus.usage(*short).form()) else { continue };
        for long in given.iter().filter(|long| *long != short) {
            if corpus.usage(*long).form().ends_with(character) {
                add(*short, *long);
            }
        }
    }
    let unambiguous = long_names.into_iter().filter_map(|(short, long)| match long[..] {
        [long] => Some((short, long)),
        _ => None,
    });
    unambiguous.collect()
}

fn is_nickname(short: &str, long: &str) -> bool {
    let forms =
        NAMES.nicknames.iter().filter(|names| names.first().is_some_and(|name| name.eq_ignore_ascii_case(long)));
    forms.flat_map(|names| &names[1..]).any(|form| form.eq_ignore_ascii_case(short))
}

fn is_beginning(short: &str, long: &str) -> bool {
    let rest = long.strip_prefix(short);
    rest.is_some_and(|rest| rest.chars().count() > 1 && rest.chars().all(char::is_alphabetic))
}

/// Returns true for a Chinese given name of two characters: it is also used after a surname.
fn is_given_name(corpus: &Corpus<'_>, id: WordId) -> bool {
    let form = corpus.usage(id).form();
    form.chars().count() == 2
        && !is_in_lexicon(form)
        && NAMES.zh_surnames.chars().any(|surname| corpus.id(&format!("{surname}{form}")).is_some())
}

/// Returns the character of a given name in a familiar form: 强 of 阿强, 萱 of 萱萱.
fn name_character(form: &str) -> Option<char> {
    let mut characters = form.chars();
    let (first, last) = (characters.next()?, characters.next()?);
    let is_familiar = first == last || NAMES.zh_name_prefixes.iter().any(|prefix| form.starts_with(prefix.as_str()));
    let is_listed = is_in_lexicon(form) || NAMES.zh_not_familiar.iter().any(|word| word == form);
    let is_surname = NAMES.zh_surnames.contains(last);
    (characters.next().is_none() && is_familiar && !is_surname && !is_listed).then_some(last)
}
