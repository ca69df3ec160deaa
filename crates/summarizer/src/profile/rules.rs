//! Profiles without a model.

use async_trait::async_trait;
use memory_engine_core::{Language, Record, Result, Role};

use super::{
    fields::Profile,
    text::{cut, folded},
    writer::{Observed, ProfileSummarizer},
};

/// Writes profiles by rules: the name that the user gave, likes and dislikes in the user's words, the length and the
/// time of day of the messages, and the latest one. It never fails, and infers nothing.
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

/// Maximum length of a like and of the latest message in a profile, in characters.
const MAX_EXCERPT_CHARS: usize = 40;

#[async_trait]
impl ProfileSummarizer for RuleProfiles {
    async fn summarize(&self, observed: &Observed<'_>) -> Result<Profile> {
        let messages: Vec<(&Record, String)> = messages_of_user(observed.messages).collect();
        let mut profile = observed.profile.clone();
        if messages.is_empty() {
            return Ok(profile);
        }
        if let Some(name) = messages.iter().rev().find_map(|(_, text)| name(text)) {
            profile.nickname = name;
        }
        profile.preferences = preferences(&profile.preferences, &messages, observed.language);
        profile.personality = personality(&messages, observed.language).into();
        profile.recent_topics = recent_topics(&messages, observed);
        let companion = observed.companion.to_lowercase();
        if !companion.is_empty() && messages.iter().any(|(_, text)| text.to_lowercase().contains(&companion)) {
            profile.relationship = observed.language.pick(
                format!("已经开始叫 {} 的名字", observed.companion),
                format!("calls {} by name", observed.companion),
            );
        }
        Ok(profile.tidied())
    }
}

/// Returns the latest likes and dislikes: the known ones and those in the messages, at most [`MAX_LIKES`].
fn preferences(known: &str, messages: &[(&Record, String)], language: Language) -> String {
    let separator = language.pick("；", "; ");
    let mut likes: Vec<String> = known.split(separator).map(str::to_owned).filter(|like| !like.is_empty()).collect();
    for like in messages.iter().flat_map(|(_, text)| likes_in(text)) {
        likes.retain(|known| *known != like);
        likes.push(like);
    }
    likes[likes.len().saturating_sub(MAX_LIKES)..].join(separator)
}

/// Describes the talkativeness of the user, by the mean length of the messages.
fn personality(messages: &[(&Record, String)], language: Language) -> &'static str {
    let mean_chars = messages.iter().map(|(_, text)| text.chars().count()).sum::<usize>() / messages.len();
    let long_message_chars = language.pick(40, 120);
    if mean_chars * 4 < long_message_chars {
        language.pick("话不多", "says little")
    } else if mean_chars > long_message_chars {
        language.pick("愿意说很多", "likes to talk at length")
    } else {
        language.pick("有话就说", "speaks plainly")
    }
}

/// Quotes the latest message with more than three characters, and notes if most messages are written in the evening.
fn recent_topics(messages: &[(&Record, String)], observed: &Observed<'_>) -> String {
    let is_evening = |record: &Record| !(5..18).contains(&record.occurred_at.in_zone(&observed.zone).hour());
    let evenings = messages.iter().filter(|(record, _)| is_evening(record)).count();
    let latest = messages.iter().rev().map(|(_, text)| text).find(|text| text.chars().count() > 3);
    let latest = latest.map(|text| cut(text, MAX_EXCERPT_CHARS)).unwrap_or_default();
    if evenings * 2 > messages.len() {
        let english = format!("often comes in the evening; last spoke of \"{latest}\"");
        observed.language.pick(format!("经常晚上来聊天；最近说过“{latest}”"), english)
    } else {
        observed.language.pick(format!("最近说过“{latest}”"), format!("last spoke of \"{latest}\""))
    }
}

/// Returns the name that a text gives: the word after a phrase such as "call me".
fn name(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let at = NAME_PHRASES.iter().find_map(|phrase| lower.rfind(phrase).map(|at| at + phrase.len()))?;
    // Lower case can have another length than the text. Then no name is returned.
    let rest = text.get(at..)?.trim_start();
    let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '·' | '_')).collect();
    let name = name.trim_end_matches(['吧', '就', '好', '啊', '呀', '哦', '啦']).to_owned();
    let is_name = (1..=12).contains(&name.chars().count()) && !["什么", "谁", "when", "back"].contains(&name.as_str());
    is_name.then_some(name)
}

/// Returns the clauses of a text that state a like, a dislike or an allergy.
fn likes_in(text: &str) -> Vec<String> {
    let clauses = text.split(['。', '，', '！', '？', '；', '.', ',', '!', '?', ';']);
    let clauses = clauses.map(str::trim).filter(|clause| {
        let lower = clause.to_lowercase();
        LIKE_PHRASES.iter().any(|phrase| lower.starts_with(phrase))
            && (!lower.starts_with("我对") || lower.contains("过敏"))
    });
    clauses.map(|clause| cut(clause, MAX_EXCERPT_CHARS)).collect()
}

/// Returns the user's messages, each with its text on one line, in order.
fn messages_of_user(messages: &[Record]) -> impl DoubleEndedIterator<Item = (&Record, String)> {
    messages
        .iter()
        .filter(|message| message.role.as_ref().is_none_or(|role| *role == Role::USER))
        .map(|message| (message, folded(&message.text)))
}
