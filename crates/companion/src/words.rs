//! Headings and labels of a prompt, in two languages.

use jiff::civil::Date;
use memory_engine_core::Language;

/// Headings and labels in one language.
pub(crate) struct PromptWords {
    pub(crate) user: &'static str,
    pub(crate) colon: &'static str,
    pub(crate) profile: &'static str,
    pub(crate) key_memories: &'static str,
    pub(crate) recent: &'static str,
    pub(crate) related: &'static str,
    pub(crate) possible: &'static str,
    pub(crate) possible_now: &'static str,
    pub(crate) condition: &'static str,
    pub(crate) verdict: &'static str,
    pub(crate) otherwise: &'static str,
}

const CHINESE: PromptWords = PromptWords {
    user: "用户",
    colon: "：",
    profile: "用户画像",
    key_memories: "关键记忆",
    recent: "最近对话",
    related: "相关历史",
    possible: "可能触发的关键时刻",
    possible_now: "当前可能触发",
    condition: "触发条件",
    verdict: "回复写完后另起一行，写下你的判断。这一行用户看不到，只能是下面几种之一，quote 里照抄用户表明这一点的原话：",
    otherwise: "没有触发",
};

const ENGLISH: PromptWords = PromptWords {
    user: "User",
    colon: ": ",
    profile: "About the user",
    key_memories: "Key memories",
    recent: "Recent conversation",
    related: "Related history",
    possible: "A key moment may happen",
    possible_now: "Possible now",
    condition: "Condition",
    verdict: "After the reply, on a separate line that the user does not see, write your verdict, one of these; \
              quote the words of the user that show it:",
    otherwise: "it did not happen",
};

pub(crate) const fn words(language: Language) -> &'static PromptWords {
    if matches!(language, Language::Chinese) { &CHINESE } else { &ENGLISH }
}

/// Returns a text as a heading.
pub(crate) fn heading(language: Language, text: &str) -> String {
    language.pick(format!("【{text}】\n"), format!("[{text}]\n"))
}

/// Returns a day without its year.
pub(crate) fn day(language: Language, date: Date) -> String {
    language.pick(format!("{}月{}日", date.month(), date.day()), date.strftime("%B %-d").to_string())
}

/// Returns the number of a chapter and the name of its stage, in brackets.
pub(crate) fn chapter(language: Language, chapter: u32, stage: &str) -> String {
    let chinese = format!("（第{}章：{stage}）", chinese_number(chapter));
    language.pick(chinese, format!(" (chapter {chapter}: {stage})"))
}

/// Writes a number below a hundred in Chinese numerals, a greater one in digits.
fn chinese_number(n: u32) -> String {
    const DIGITS: [&str; 10] = ["", "一", "二", "三", "四", "五", "六", "七", "八", "九"];
    let digit = |n: u32| DIGITS.get(n as usize).copied().unwrap_or_default();
    match n {
        1..10 => digit(n).to_owned(),
        10..20 => format!("十{}", digit(n % 10)),
        20..100 => format!("{}十{}", digit(n / 10), digit(n % 10)),
        _ => n.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use memory_engine_summarizer::reserved_headings;

    use super::*;

    #[test]
    fn every_heading_is_reserved() {
        for language in [Language::Chinese, Language::English] {
            let words = words(language);
            let headings = [words.profile, words.key_memories, words.recent, words.related, words.possible, "verdict"];
            assert_eq!(headings, reserved_headings(language));
        }
    }

    #[test]
    fn chapters_are_numbered_as_people_write_them() {
        let names = [1, 3, 10, 11, 20, 42, 100].map(chinese_number);
        assert_eq!(names, ["一", "三", "十", "十一", "二十", "四十二", "100"]);
    }
}
