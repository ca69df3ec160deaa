//! Food, illnesses, languages, habits, possessions and activities.

use std::collections::BTreeMap;

use memory_engine_text::Words;

use super::phrase::{
    before_preposition, cut, is_deictic, is_vague, items, phrase, without_article, without_fillers, without_particles,
};
use crate::{
    data::{DataPattern, data},
    text::{has_han, one_line},
};

data! {
    DATA = "en/life.toml", "zh/life.toml", "en/edibles.toml", "zh/edibles.toml";
    Words: fears, language_tails, zh_no_possession, edible, zh_edible, zh_edible_ends, zh_no_edible_ends;
    Words: no_food, zh_no_food, zh_no_food_starts, zh_no_food_parts, zh_quantifiers, no_possession;
    Words: zh_classifiers, zh_no_illness, doing_deictic, zh_no_doing, no_animal, no_habits, incomplete_habit_ends;
    Words: zh_grades;
    DataPattern: illness, illness_end, zh_illness, activity_end, language_hedge, language, zh_language, zh_possession;
    BTreeMap<String, String>: conditions, gerunds, habits;
}

/// Returns the foods, drinks or allergens of an enumeration.
pub(super) fn foods(text: &str) -> Vec<String> {
    if has_han(text) { zh_foods(text) } else { en_foods(text) }
}

fn zh_foods(text: &str) -> Vec<String> {
    let bare = |item: &String| {
        let item = without_particles(item);
        DATA.zh_quantifiers.strip_start(item).unwrap_or(item).to_owned()
    };
    let is_food = |item: &String| {
        (1..=8).contains(&item.chars().count())
            && !DATA.zh_no_food.contains(item)
            && !DATA.zh_no_food_starts.any_starts(item)
            && !DATA.zh_no_food_parts.any_in(item)
            && !is_deictic(item)
            && is_zh_edible(item)
    };
    items(without_particles(text)).iter().map(bare).filter(is_food).collect()
}

fn en_foods(text: &str) -> Vec<String> {
    let is_food = |item: &String| {
        let lower = item.to_lowercase();
        let is_short = (1..=4).contains(&item.split_whitespace().count());
        is_short && !is_vague(&lower) && !DATA.no_food.contains(&lower) && is_edible(&lower)
    };
    // An item that is no food ends the enumeration.
    let bare = items(cut(text)).into_iter().map(|item| without_fillers(before_preposition(&item)).to_owned());
    bare.take_while(is_food).collect()
}

/// Returns true if a Chinese item names something to eat, to drink or to be allergic to.
fn is_zh_edible(item: &str) -> bool {
    DATA.zh_edible.contains(item) || (DATA.zh_edible_ends.any_ends(item) && !DATA.zh_no_edible_ends.any_ends(item))
}

/// Returns true if the last word or words of an English item in lower case name something to eat, to drink or to be
/// allergic to.
fn is_edible(item: &str) -> bool {
    let endings = item.char_indices().filter(|(at, _)| *at == 0 || item[..*at].ends_with(' '));
    let mut singular = endings.flat_map(|(at, _)| singular_forms(&item[at..]));
    singular.any(|form| DATA.edible.contains(&form))
}

/// Returns an English noun, and the forms of which it may be the plural.
fn singular_forms(noun: &str) -> Vec<String> {
    let mut forms = vec![noun.to_owned()];
    let stems = [("ies", "y"), ("oes", "o"), ("ches", "ch"), ("shes", "sh"), ("ves", "f"), ("s", "")];
    forms.extend(stems.iter().filter_map(|(ending, end)| Some(noun.strip_suffix(ending)?.to_owned() + end)));
    forms
}

pub(super) fn illnesses(text: &str) -> Vec<String> {
    if has_han(text) {
        return items(text).iter().filter_map(|item| zh_illness(without_particles(item))).collect();
    }
    // "OCD and mild depression": each item is an illness.
    text.split(" and ").map_while(en_illness).collect()
}

fn en_illness(text: &str) -> Option<String> {
    let condition = DATA.conditions.get(&text.to_lowercase()).cloned();
    let named = DATA.illness.find(text).filter(|found| DATA.illness_end.is_match(&text[found.end()..].to_lowercase()));
    let noun = |known: &str| DATA.conditions.get(&known.to_lowercase()).map_or(known, String::as_str).to_owned();
    condition.or_else(|| named.map(|found| noun(without_fillers(found.as_str()))))
}

fn zh_illness(text: &str) -> Option<String> {
    let text = DATA.zh_grades.strip_start(text).unwrap_or(text);
    let known = DATA.zh_illness.first(text)?;
    let length = known.chars().count();
    let is_excluded = DATA.zh_no_illness.any_in(known.trim_end_matches("不耐受").trim_end_matches("不耐"));
    let fits = length >= 2 && !is_excluded && text.chars().count() <= length + 4;
    let known = known.trim_start_matches(['点', '一']);
    fits.then(|| DATA.conditions.get(known).map_or(known, String::as_str).to_owned())
}

/// Returns a lasting fear.
pub(super) fn fear(text: &str) -> Option<String> {
    let bare = if has_han(text) { without_particles(text) } else { cut(text) };
    DATA.fears.contains(&without_fillers(bare).to_lowercase()).then(|| bare.to_owned())
}

pub(super) fn habit(text: &str) -> Option<String> {
    let lower = without_gerund(&text.to_lowercase());
    let is_no_habit = text.contains("ing") && DATA.no_habits.contains(lower.split(' ').next().unwrap_or_default());
    let is_deictic = lower.split(' ').any(|word| DATA.doing_deictic.contains(word));
    let is_incomplete = DATA.incomplete_habit_ends.contains(lower.rsplit(' ').next().unwrap_or_default());
    let canonical = DATA.habits.get(&lower).cloned();
    canonical.or_else(|| (!is_no_habit && !is_deictic && !is_incomplete).then(|| lower.replace(" my ", " their ")))
}

/// Returns an activity with its first verb in the base form, unless the gerund names a habit.
fn without_gerund(text: &str) -> String {
    let (verb, rest) = text.split_at(text.find(' ').unwrap_or(text.len()));
    match verb.strip_suffix("ing").filter(|stem| stem.len() > 1 && !DATA.habits.contains_key(text)) {
        Some(stem) => DATA.gerunds.get(verb).map_or(stem, String::as_str).to_owned() + rest,
        None => text.to_owned(),
    }
}

pub(super) fn languages(text: &str) -> Vec<String> {
    // Only languages that the text begins with: "know the English teacher" speaks none.
    if has_han(text) {
        let parts = items(text);
        return parts.iter().map_while(|part| language(&DATA.zh_language, part)).collect();
    }
    let text = DATA.language_hedge.replace_all(text, |_| String::new());
    items(cut(&text)).iter().map_while(|part| language(&DATA.language, part)).collect()
}

fn language(pattern: &DataPattern, part: &str) -> Option<String> {
    let known = pattern.first(part)?;
    let other = part.replacen(known, "", 1).to_lowercase();
    let fits = if has_han(part) {
        other.chars().count() <= 4
    } else {
        other.split_whitespace().all(|word| DATA.language_tails.contains(word))
    };
    fits.then(|| known.to_owned())
}

pub(super) fn possession(text: &str) -> Option<String> {
    if has_han(text) {
        let bare = without_particles(text).trim_start_matches('个');
        let is_possession = DATA.zh_possession.is_match(bare) && !DATA.zh_no_possession.any_in(bare);
        return is_possession.then(|| with_numeral(bare));
    }
    let whole = format!(" {} ", cut(text).to_lowercase());
    let is_excluded = DATA.no_possession.iter().any(|words| whole.contains(&format!(" {words} ")));
    let bare = without_article(before_preposition(cut(text)));
    (!is_excluded && (1..=5).contains(&bare.split_whitespace().count())).then(|| one_line(bare))
}

/// Returns a Chinese possession with the numeral 一 if it begins with a classifier.
fn with_numeral(bare: &str) -> String {
    let starts_with_classifier = bare.chars().count() > 1 && DATA.zh_classifiers.any_starts(bare);
    if starts_with_classifier { format!("一{bare}") } else { bare.to_owned() }
}

pub(super) fn activity(text: &str) -> Option<String> {
    if has_han(text) {
        let bare = without_particles(text);
        let fits = (2..=14).contains(&bare.chars().count()) && !is_deictic(bare) && !DATA.zh_no_doing.contains(bare);
        return fits.then(|| bare.to_owned());
    }
    let bare = DATA.activity_end.before(cut(text));
    let has_deictic = bare.split_whitespace().any(|word| DATA.doing_deictic.contains(&word.to_lowercase()));
    let fits = (2..=9).contains(&bare.split_whitespace().count()) && !has_deictic;
    fits.then(|| one_line(&bare.replace(" my ", " their ")))
}

pub(super) fn animal(text: &str) -> Option<String> {
    phrase(without_article(text), 6, 12).filter(|value| !DATA.no_animal.any_in(value))
}
