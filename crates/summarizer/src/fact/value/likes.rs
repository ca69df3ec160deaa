//! Likes.

use memory_engine_text::Words;

use super::phrase::{cut, is_deictic, is_vague, items, without_particles};
use crate::data::data;

/// Maximum number of words and of Chinese characters of a like.
const LIKE_MAX_WORDS: usize = 6;
const ZH_LIKE_MAX_CHARS: usize = 12;

data! {
    DATA = "en/likes.toml", "zh/likes.toml";
    Words: narrowing, like_tails, like_ends, the_likes, like_hedges, no_like_starts, like_starts;
    Words: like_deictic, zh_no_like_starts, zh_like_starts, zh_no_like_item_starts, zh_no_like_words;
    Words: zh_no_like_parts, zh_no_like_ends, no_categories, zh_no_categories;
}

/// Returns true if a lasting favourite may belong to a category: false for "my favorite part of the day".
pub(in crate::fact) fn is_category(category: &str) -> bool {
    let last = category.rsplit(' ').next().unwrap_or(category);
    !DATA.no_categories.contains(last) && !DATA.zh_no_categories.contains(category)
}

pub(super) fn liked(text: &str) -> Vec<String> {
    let phrase = cut(text).split(" - ").next().unwrap_or_default().trim();
    if is_narrowed(text, phrase) {
        return Vec::new();
    }
    let phrase = DATA.like_tails.iter().fold(phrase, |phrase, tail| phrase.trim_end_matches(tail));
    let phrase = DATA.like_ends.text_before(phrase);
    let lower = phrase.to_lowercase();
    let refers_to_conversation = lower.starts_with("the ") && !DATA.the_likes.any_starts(&lower);
    let is_no_like = DATA.no_like_starts.any_starts(&lower) && !DATA.like_starts.any_starts(&lower);
    if refers_to_conversation || is_no_like {
        return Vec::new();
    }
    let items = liked_items(DATA.like_hedges.strip_start(phrase).unwrap_or(phrase));
    let has_comma = lower.contains(',');
    match items.iter().position(|item| !is_like(item)) {
        // If one item of a list is no like, the others are doubtful, too.
        Some(_) if has_comma => Vec::new(),
        Some(end) => items.into_iter().take(end).collect(),
        None => items,
    }
}

/// Returns true if the words after the phrase narrow it: "stories that …" are not all stories.
fn is_narrowed(text: &str, phrase: &str) -> bool {
    let end = text.find(phrase).map_or(0, |at| at + phrase.len());
    DATA.narrowing.any_starts(text[end..].trim_start())
}

/// Splits an enumeration of likes into its items. An incomplete enumeration has none.
fn liked_items(phrase: &str) -> Vec<String> {
    let items = items(phrase);
    let has = |word: &str| phrase.contains(word);
    if items.len() < 2 {
        return items;
    }
    if !has(",") && (has(" or ") || !are_alike(&items)) {
        // "electronic and rock music", "hot or warm water" share a head.
        return vec![phrase.to_owned()];
    }
    // "A, B" without a last "and" may be anything.
    if has(" and ") || has(" or ") || has(" & ") { items } else { Vec::new() }
}

/// Returns true if the items of an enumeration have the same form, so that each is complete without the others.
fn are_alike(items: &[String]) -> bool {
    let word_count = |item: &String| item.split_whitespace().count();
    let is_gerund = |item: &String| item.split_whitespace().next().is_some_and(|first| first.ends_with("ing"));
    items.iter().all(|item| word_count(item) == 1)
        || items.iter().all(is_gerund)
        || items.iter().rev().skip(1).all(|item| item.ends_with('s') || word_count(item) > 1)
}

fn is_like(item: &str) -> bool {
    let is_deictic = |word: &str| DATA.like_deictic.contains(word.to_lowercase().trim_matches('\''));
    item.chars().count() > 1
        && item.split_whitespace().count() <= LIKE_MAX_WORDS
        && !is_vague(item)
        && !item.split_whitespace().any(is_deictic)
}

pub(super) fn zh_liked(text: &str) -> Vec<String> {
    let text = text.strip_prefix("的是").unwrap_or(text);
    if DATA.zh_no_like_starts.any_starts(text) && !DATA.zh_like_starts.any_starts(text) {
        return Vec::new();
    }
    let items = items(without_particles(text));
    let bare = items.iter().map(|item| without_particles(item)).filter(|item| !item.is_empty());
    bare.take_while(|item| is_zh_like(item)).map(str::to_owned).collect()
}

fn is_zh_like(item: &str) -> bool {
    item.chars().count() <= ZH_LIKE_MAX_CHARS
        && !DATA.zh_no_like_item_starts.any_starts(item)
        && !is_deictic(item)
        && !DATA.zh_no_like_words.contains(item)
        && !DATA.zh_no_like_parts.any_in(item)
        && !DATA.zh_no_like_ends.any_ends(item)
}
