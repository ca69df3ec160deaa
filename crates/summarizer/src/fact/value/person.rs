//! Who somebody is and what they do.

use memory_engine_core::text::is_han;

use super::{
    lists, one_line,
    phrase::{NAME_STOP, ZH_NAME_STOP, before_preposition, cut, has_han, holds, says_you, zh_bare},
};

pub(super) fn name(text: &str, strict: bool) -> Option<String> {
    if text.chars().next().is_some_and(is_han) {
        const TRAILING: &str = "就可以了|就可以|就行了|就好了|就行|就好|就是|好了|哦|吧|啦|呀|喔|啊|哈|呢";
        let mut bare = text.trim();
        while let Some(rest) = TRAILING.split('|').find_map(|end| bare.strip_suffix(end)) {
            bare = rest;
        }
        let (least, most) = if strict { (2, 4) } else { (1, 6) };
        let fits =
            (least..=most).contains(&bare.chars().count()) && bare.chars().all(|c| c.is_alphanumeric() || c == '·');
        return (fits && !holds(&ZH_NAME_STOP, bare)).then(|| bare.to_owned());
    }
    let mut words: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        let plain = word.trim_end_matches([',', '，', '\'', '"']);
        let capital = plain.chars().next().is_some_and(char::is_uppercase);
        let first = words.is_empty();
        if holds(&NAME_STOP, plain)
            || !(capital || first && !strict)
            || plain.chars().any(|c| !(c.is_alphabetic() || matches!(c, '\'' | '-' | '.')))
        {
            break;
        }
        words.push(plain);
        if plain.len() < word.len() || !capital || words.len() == 3 {
            break;
        }
    }
    // One word in small letters is a name only where nothing follows.
    let whole = words.first().is_some_and(|first| first.chars().next().is_some_and(char::is_uppercase))
        || cut(text).split_whitespace().count() == 1;
    let joined = words.join(" ").trim_end_matches(is_han).to_owned();
    (whole && joined.chars().count() >= 2 - usize::from(!strict)).then_some(joined).filter(|name| !name.is_empty())
}

pub(super) fn person(text: &str) -> Option<String> {
    if has_han(text) {
        let bare = zh_bare(text);
        let fits = (2..=4).contains(&bare.chars().count()) && !holds(&ZH_NAME_STOP, bare);
        return fits.then(|| bare.to_owned());
    }
    name(cut(text), true).filter(|name| name.chars().count() > 1)
}

pub(super) fn number(text: &str) -> Option<String> {
    let value = match text.parse::<u32>() {
        Ok(value) => value,
        Err(_) => lists::spelled(text)?,
    };
    (1..=120).contains(&value).then(|| value.to_string())
}

pub(super) fn date(text: &str) -> Option<String> {
    if has_han(text) {
        let bare = zh_bare(text).trim_end_matches("出生").trim_end_matches('生');
        let fits = bare.chars().count() <= 12
            && (bare.contains('月') || bare.contains('年'))
            && bare.chars().any(|c| c.is_ascii_digit() || "一二三四五六七八九十正腊".contains(c));
        return (fits && !says_you(bare)).then(|| bare.to_owned());
    }
    let bare = cut(text).trim_start_matches("on ").trim_start_matches("in ");
    let lower = bare.to_lowercase();
    let month = lists::MONTHS.iter().any(|month| lower.contains(month));
    let year = bare.len() == 4 && bare.parse::<u32>().is_ok_and(|year| (1900..2100).contains(&year));
    ((month && bare.chars().any(|c| c.is_ascii_digit()) && bare.split_whitespace().count() <= 5) || year)
        .then(|| bare.to_owned())
}

pub(super) fn job(text: &str) -> Option<String> {
    let bare = before_preposition(cut(text));
    let bare = bare
        .strip_prefix("a ")
        .or_else(|| bare.strip_prefix("an "))
        .or_else(|| bare.strip_prefix("the "))
        .unwrap_or(bare);
    let lower = bare.to_lowercase();
    let last = lower.rsplit([' ', '-']).next()?;
    let known = lists::JOBS.contains(&last) || lists::JOBS.iter().any(|job| job.contains(' ') && lower.ends_with(job));
    let unsure = "aspiring |good |bad |great |better |terrible |former |retired |future |would-be |wannabe |\
        natural |born ";
    let unsure = unsure.split('|').any(|word| lower.starts_with(word));
    (known && !unsure && bare.split_whitespace().count() <= 5).then(|| one_line(bare))
}

pub(super) fn zh_job(text: &str) -> Option<String> {
    let bare = zh_bare(text);
    // "在医院做护士": the job is what comes last.
    let bare = ["做", "当", "的"]
        .iter()
        .filter_map(|mark| bare.rsplit_once(mark))
        .map(|(_, job)| job)
        .min_by_key(|job| job.len())
        .unwrap_or(bare);
    let bare =
        ["一名", "一位", "一个", "个", "名", "位"].iter().find_map(|word| bare.strip_prefix(word)).unwrap_or(bare);
    let known = lists::ZH_JOBS.iter().any(|job| bare.ends_with(job));
    (known && bare.chars().count() <= 10 && !says_you(bare) && !bare.contains(['不', '想', '没', '像']))
        .then(|| bare.to_owned())
}

pub(super) fn org(text: &str) -> Option<String> {
    let stop =
        [" as ", " in ", " on ", " from ", " with ", " to ", " doing ", " and ", " by ", " for ", " full", " part"];
    let bare = cut(text);
    let end = stop.iter().filter_map(|word| bare.find(word)).min().unwrap_or(bare.len());
    let bare = bare[..end].trim_end_matches([',', ' ']);
    let first = bare.split_whitespace().next()?;
    let article = matches!(first.to_lowercase().as_str(), "a" | "an" | "the" | "our");
    let capital = bare.chars().next().is_some_and(char::is_uppercase);
    let words = bare.split_whitespace().count();
    let lower = bare.to_lowercase();
    let noun = lists::WORKPLACES.iter().any(|place| lower.split(' ').any(|word| word == *place));
    let fits = (capital && words <= 5 && !holds(&NAME_STOP, first)) || (article && words <= 6 && noun);
    (fits && !lower.contains("hour") && !lower.contains("while")).then(|| one_line(bare))
}

pub(super) fn zh_org(text: &str) -> Option<String> {
    let bare = zh_bare(text);
    let reject = "努力|认真|加班|拼命|好好|外面|这|那|什么|哪|一起|同一|地方|时|想|要|考虑|忙|正常|线上|周末|今天|\
        我|你|他|她|专心|不|没|公司里|办公室";
    let exact = ["家", "公司", "单位", "里", "家里", "学校", "外地", "老家", "那边", "远程"];
    let fits = (2..=18).contains(&bare.chars().count())
        && !exact.contains(&bare)
        && !reject.split('|').any(|word| bare.contains(word));
    fits.then(|| bare.to_owned())
}

pub(super) fn zh_school(text: &str) -> Option<String> {
    let bare = zh_bare(text);
    let school = "大学|学院|中学|高中|小学|一中|二中|附中|清华|北大|复旦|浙大|交大|科大|职高|中专|师大";
    let fits = bare.chars().count() <= 15
        && school.split('|').any(|word| bare.contains(word))
        && !["大学", "高中", "小学", "中学"].contains(&bare);
    (fits && !says_you(bare) && !bare.contains(['不', '没', '在'])).then(|| bare.to_owned())
}
