//! Labels of the lines of a profile, and headings that stored text must not imitate.

use memory_engine_core::Language;

pub(super) struct Labels {
    pub(super) user: &'static str,
    pub(super) assistant: &'static str,
    pub(super) colon: &'static str,
    pub(super) nickname: &'static str,
    pub(super) affection: &'static str,
    pub(super) personality: &'static str,
    pub(super) preferences: &'static str,
    pub(super) recent_topics: &'static str,
    pub(super) relationship: &'static str,
}

const CHINESE: Labels = Labels {
    user: "用户",
    assistant: "助手",
    colon: "：",
    nickname: "称呼",
    affection: "好感度",
    personality: "性格",
    preferences: "偏好",
    recent_topics: "最近状态",
    relationship: "关系进展",
};

const ENGLISH: Labels = Labels {
    user: "User",
    assistant: "Assistant",
    colon: ": ",
    nickname: "Called",
    affection: "Affection",
    personality: "Character",
    preferences: "Likes",
    recent_topics: "Lately",
    relationship: "Between the two",
};

pub(super) fn labels(language: Language) -> &'static Labels {
    language.pick(&CHINESE, &ENGLISH)
}

/// Returns the headings of a companion's prompt. Quoted text loses the brackets that would make it one of them.
pub fn reserved_headings(language: Language) -> [&'static str; 6] {
    language.pick(
        ["用户画像", "关键记忆", "最近对话", "相关历史", "可能触发的关键时刻", "verdict"],
        [
            "About the user",
            "Key memories",
            "Recent conversation",
            "Related history",
            "A key moment may happen",
            "verdict",
        ],
    )
}
