//! Where somebody is.

use super::{
    lists, one_line,
    phrase::{EN_REGION, LOWER_PLACE, NAME_STOP, ZH_PLACE_STOP, found, holds, says_you, zh_bare},
};

/// The capitalised words that a text begins with, small ones between them included.
pub(super) fn capitalised(text: &str, most: usize) -> Option<String> {
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        let plain = word.trim_end_matches([',', '，']);
        let capital = plain.chars().next().is_some_and(char::is_uppercase) && plain != "I" && !plain.starts_with("I'");
        let joins = !words.is_empty() && matches!(plain, "of" | "de" | "the" | "la" | "del" | "upon" | "at")
            || (words.is_empty() && plain == "the");
        if !(capital || joins) || words.len() == most {
            break;
        }
        words.push(plain.to_owned());
        if plain.len() < word.len() {
            let next = text.split_whitespace().nth(words.len());
            // "Austin, Texas" goes on, "Austin, I moved" does not.
            let goes_on = next.is_some_and(|next| {
                next.chars().next().is_some_and(char::is_uppercase) && next != "I" && !next.starts_with("I'")
            });
            if !goes_on {
                break;
            }
            if let Some(last) = words.last_mut() {
                last.push(',');
            }
        }
    }
    while words.last().is_some_and(|word| !word.chars().next().is_some_and(char::is_uppercase)) {
        words.pop();
    }
    let name = words.join(" ");
    name.chars().any(char::is_uppercase).then(|| name.trim_end_matches("'s").trim_end_matches(',').to_owned())
}

pub(super) fn place(text: &str) -> Option<String> {
    if let Some(region) = found(&EN_REGION, text) {
        return Some(region.to_lowercase());
    }
    let name = capitalised(text, 5);
    if let (None, Some(known)) = (&name, found(&LOWER_PLACE, text)) {
        let rest = text[known.len()..].trim_start();
        return (!rest.starts_with("based")).then(|| one_line(known));
    }
    let name = name?;
    let first = name.strip_prefix("the ").unwrap_or(&name).split([' ', ',']).next()?;
    let plain = holds(&NAME_STOP, first) && !(first == "New" && name.contains(' '));
    let acronym = name.starts_with("the ")
        && first.len() > 1
        && first.chars().all(char::is_uppercase)
        && !matches!(first, "UK" | "US" | "USA" | "UAE");
    (!acronym && !plain && first.len() > 1).then_some(name)
}

pub(super) fn zh_place(text: &str) -> Option<String> {
    const VERBS: &str = "工作|上班|读书|上学|生活|已经|快|好久|很久|挺|这边|那边|，|住|定居|上大学|呢|啦|有";
    let end = VERBS.split('|').filter_map(|verb| text.find(verb)).min().unwrap_or(text.len());
    let bare = zh_bare(&text[..end]);
    let fits = (2..=12).contains(&bare.chars().count()) && !holds(&ZH_PLACE_STOP, bare) && !says_you(bare);
    let place = lists::ZH_PLACES.iter().any(|place| bare.contains(place))
        || [
            "省", "市", "区", "县", "镇", "村", "路", "街", "州", "岛", "国", "湾", "郊", "城", "乡下", "农村", "宿舍",
            "小区", "学校",
        ]
        .iter()
        .any(|end| bare.ends_with(end));
    (fits && place).then(|| bare.to_owned())
}

pub(super) fn zh_from(text: &str) -> Option<String> {
    let bare = text.trim_start_matches("地道的").trim_start_matches("土生土长的").trim_start_matches('个');
    let known = lists::ZH_PLACES.contains(&bare);
    let ends = bare.chars().count() >= 3 && ["省", "市", "县", "州"].iter().any(|end| bare.ends_with(end));
    let parts = bare.chars().count() <= 8
        && lists::ZH_PLACES.iter().any(|place| bare.starts_with(place))
        && !bare.contains('的');
    ((known || ends || parts) && !says_you(bare)).then(|| bare.to_owned())
}
