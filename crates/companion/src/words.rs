//! The words around what is told: headings and labels, in two languages.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// The language of headings and labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Language {
    /// Chinese, as the document writes them.
    #[default]
    #[serde(rename = "zh")]
    Chinese,
    /// English.
    #[serde(rename = "en")]
    English,
}

pub(crate) struct Words {
    pub(crate) user: &'static str,
    pub(crate) assistant: &'static str,
    pub(crate) colon: &'static str,
    pub(crate) profile: &'static str,
    pub(crate) nickname: &'static str,
    pub(crate) affection: &'static str,
    pub(crate) personality: &'static str,
    pub(crate) preferences: &'static str,
    pub(crate) lately: &'static str,
    pub(crate) relationship: &'static str,
    pub(crate) key_memories: &'static str,
    pub(crate) recent: &'static str,
    pub(crate) related: &'static str,
    pub(crate) possible: &'static str,
    pub(crate) possible_now: &'static str,
    pub(crate) condition: &'static str,
    pub(crate) verdict: &'static str,
    pub(crate) otherwise: &'static str,
}

const CHINESE: Words = Words {
    user: "用户",
    assistant: "助手",
    colon: "：",
    profile: "用户画像",
    nickname: "称呼",
    affection: "好感度",
    personality: "性格",
    preferences: "偏好",
    lately: "最近状态",
    relationship: "关系进展",
    key_memories: "关键记忆",
    recent: "最近对话",
    related: "相关历史",
    possible: "可能触发的关键时刻",
    possible_now: "当前可能触发",
    condition: "触发条件",
    verdict: "回复写完后另起一行，写下你的判断。这一行用户看不到，只能是下面几种之一：",
    otherwise: "没有触发",
};

const ENGLISH: Words = Words {
    user: "User",
    assistant: "Assistant",
    colon: ": ",
    profile: "About the user",
    nickname: "Called",
    affection: "Affection",
    personality: "Character",
    preferences: "Likes",
    lately: "Lately",
    relationship: "Between the two",
    key_memories: "Key memories",
    recent: "Recent conversation",
    related: "Related history",
    possible: "A key moment may come",
    possible_now: "It may now be",
    condition: "It comes when",
    verdict: "Behind the reply, on a line of its own that the user does not see, write your verdict, one of these:",
    otherwise: "it did not come",
};

impl Language {
    pub(crate) const fn words(self) -> &'static Words {
        match self {
            Self::Chinese => &CHINESE,
            Self::English => &ENGLISH,
        }
    }

    /// A heading.
    pub(crate) fn heading(self, text: &str) -> String {
        match self {
            Self::Chinese => format!("【{text}】\n"),
            Self::English => format!("[{text}]\n"),
        }
    }

    /// All headings: what a memory must not pass for.
    pub(crate) fn marks(self) -> [&'static str; 6] {
        let words = self.words();
        [words.profile, words.key_memories, words.recent, words.related, words.possible, "verdict"]
    }

    /// A day without its year.
    pub(crate) fn day(self, date: Date) -> String {
        match self {
            Self::Chinese => format!("{}月{}日", date.month(), date.day()),
            Self::English => date.strftime("%B %-d").to_string(),
        }
    }

    /// A chapter with the name of its stage, in brackets.
    pub(crate) fn chapter(self, chapter: u32, stage: &str) -> String {
        match self {
            Self::Chinese => format!("（第{}章：{stage}）", chinese_number(chapter)),
            Self::English => format!(" (chapter {chapter}: {stage})"),
        }
    }
}

/// A number below a hundred in Chinese numerals; a greater one in digits.
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
    use super::*;

    #[test]
    fn chapters_are_numbered_as_people_write_them() {
        let names = [1, 3, 10, 11, 20, 42, 100].map(chinese_number);
        assert_eq!(names, ["一", "三", "十", "十一", "二十", "四十二", "100"]);
    }
}
