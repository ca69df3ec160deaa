//! Profiles without a model.

use async_trait::async_trait;
use memory_engine_core::{Language, Record, Result, Role};

use super::{
    fields::Profile,
    text::{cut, folded},
    writer::{Observed, ProfileSummarizer},
};

/// Writes profiles by rules: the name that the user gave, what was said to be liked and disliked, how long and when the
/// user writes, and what about last. It never fails, and knows no more than the words say.
#[derive(Debug, Clone, Copy, Default)]
pub struct RuleProfiles;

const NAME_PHRASES: [&str; 9] = [
    "叫我",
    "我叫",
    "我的名字是",
    "称呼我",
    "call me ",
    "my name is ",
    "my name's ",
    "i am called ",
    "you can call me ",
];
const LIKE_PHRASES: [&str; 13] = [
    "我喜欢",
    "我不喜欢",
    "我讨厌",
    "我爱吃",
    "我最爱",
    "我对",
    "i like ",
    "i love ",
    "i prefer ",
    "i hate ",
    "i don't like ",
    "i dislike ",
    "i'm allergic ",
];
/// Maximum number of likes in a profile.
const MAX_LIKES: usize = 5;

#[async_trait]
impl ProfileSummarizer for RuleProfiles {
    async fn summarize(&self, observed: &Observed<'_>) -> Result<Profile> {
        let said: Vec<_> = said_by_user(observed.messages).collect();
        let mut profile = observed.profile.clone();
        if said.is_empty() {
            return Ok(profile);
        }
        let chinese = observed.language == Language::Chinese;
        if let Some(name) = said.iter().rev().find_map(|(_, text)| name(text)) {
            profile.nickname = name;
        }
        let between = if chinese { "；" } else { "; " };
        let mut likes: Vec<String> =
            profile.preferences.split(between).map(str::to_owned).filter(|s| !s.is_empty()).collect();
        for like in said.iter().flat_map(|(_, text)| likes_in(text)) {
            likes.retain(|known| *known != like);
            likes.push(like);
        }
        profile.preferences = likes[likes.len().saturating_sub(MAX_LIKES)..].join(between);
        let length = said.iter().map(|(_, text)| text.chars().count()).sum::<usize>() / said.len();
        let long = if chinese { 40 } else { 120 };
        let personality = match (length * 4 < long, length > long, chinese) {
            (true, _, true) => "话不多",
            (true, _, false) => "says little",
            (_, true, true) => "愿意说很多",
            (_, true, false) => "likes to talk at length",
            (false, false, true) => "有话就说",
            (false, false, false) => "speaks plainly",
        };
        profile.personality = personality.into();
        let evenings = said.iter().filter(|(record, _)| {
            let hour = record.occurred_at.in_zone(&observed.zone).hour();
            !(5..18).contains(&hour)
        });
        let evenings = evenings.count() * 2 > said.len();
        let last = said.iter().rev().map(|(_, text)| text).find(|text| text.chars().count() > 3);
        let last = last.map(|text| cut(text, 40)).unwrap_or_default();
        profile.recent_topics = match (evenings, chinese) {
            (true, true) => format!("经常晚上来聊天；最近说过“{last}”"),
            (false, true) => format!("最近说过“{last}”"),
            (true, false) => format!("often comes in the evening; last spoke of \"{last}\""),
            (false, false) => format!("last spoke of \"{last}\""),
        };
        let companion = observed.companion.to_lowercase();
        if !companion.is_empty() && said.iter().any(|(_, text)| text.to_lowercase().contains(&companion)) {
            profile.relationship = match chinese {
                true => format!("已经开始叫 {} 的名字", observed.companion),
                false => format!("calls {} by name", observed.companion),
            };
        }
        Ok(profile.tidied())
    }
}

/// The name that a text gives: the word behind "call me".
fn name(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let at = NAME_PHRASES.iter().find_map(|mark| lower.rfind(mark).map(|at| at + mark.len()))?;
    // Lower case can have another length than the text, in which case nothing is read.
    let rest = text.get(at..)?.trim_start();
    let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '·' | '_')).collect();
    let name = name.trim_end_matches(['吧', '就', '好', '啊', '呀', '哦', '啦']).to_owned();
    (1..=12)
        .contains(&name.chars().count())
        .then_some(name)
        .filter(|name| !["什么", "谁", "when", "back"].contains(&name.as_str()))
}

/// The clauses of a text that say what is liked or not.
fn likes_in(text: &str) -> Vec<String> {
    let clauses = text.split(['。', '，', '！', '？', '；', '.', ',', '!', '?', ';']);
    let clauses = clauses.map(str::trim).filter(|clause| {
        let lower = clause.to_lowercase();
        LIKE_PHRASES.iter().any(|mark| lower.starts_with(mark))
            && (!lower.starts_with("我对") || lower.contains("过敏"))
    });
    clauses.map(|clause| cut(clause, 40)).collect()
}

/// Returns the user's messages, each with its text on one line, in order.
fn said_by_user(messages: &[Record]) -> impl DoubleEndedIterator<Item = (&Record, String)> {
    messages
        .iter()
        .filter(|message| message.role.as_ref().is_none_or(|role| *role == Role::USER))
        .map(|message| (message, folded(&message.text)))
}
