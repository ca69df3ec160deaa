//! Feelings by their words.

use crate::sentences;
use memory_engine_core::{phrases::stands_alone, text::normalize};

/// Words for feelings, by the names of the feelings.
///
/// A denied joy is sadness ("不开心", "not very happy"); any other feeling that is denied is none ("don't worry", "别难过"), nor is
/// one that is wished, asked for, or somebody else's ("生日快乐", "你开心吗", "she is angry").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emotions(Vec<(String, Vec<String>)>);

const MISSING: &str = "想念";
const SAD: &str = "难过";
const ANGRY: &str = "生气";
const HAPPY: &str = "开心";

const WORDS: &[(&str, &[&str])] = &[
    (
        MISSING,
        &["想你", "想念", "想死你", "好想他", "好想她", "思念", "miss you", "i miss", "missing you", "missed you"],
    ),
    (
        SAD,
        &[
            "难过",
            "伤心",
            "emo",
            "哭了",
            "想哭",
            "失落",
            "沮丧",
            "委屈",
            "心碎",
            "郁闷",
            "低落",
            "难受",
            "绝望",
            "失恋",
            "崩溃",
            "心疼",
            "遗憾",
            "sad",
            "upset",
            "unhappy",
            "heartbroken",
            "depressed",
            "crying",
            "cried",
            "miserable",
            "devastated",
            "grieving",
            "hopeless",
            "lonely",
            "feeling down",
            "disappointed",
            "孤独",
            "孤单",
            "失望",
        ],
    ),
    (
        ANGRY,
        &[
            "生气",
            "愤怒",
            "气死",
            "恼火",
            "火大",
            "气炸",
            "发火",
            "烦死",
            "可恶",
            "吵架",
            "angry",
            "furious",
            "pissed",
            "annoyed",
            "annoying",
            "frustrated",
            "mad at",
            "so mad",
            "outraged",
            "irritated",
            "fed up",
        ],
    ),
    (
        HAPPY,
        &[
            "开心",
            "高兴",
            "快乐",
            "幸福",
            "兴奋",
            "太棒了",
            "太好了",
            "好耶",
            "激动",
            "愉快",
            "惊喜",
            "满足",
            "happy",
            "glad",
            "excited",
            "delighted",
            "thrilled",
            "overjoyed",
            "yay",
            "so proud",
            "can't wait",
            "over the moon",
            "stoked",
            "pumped",
            "grateful",
            "blessed",
        ],
    ),
    (
        "焦虑",
        &[
            "焦虑",
            "紧张",
            "担心",
            "压力大",
            "压力好大",
            "压力很大",
            "压力太大",
            "忐忑",
            "烦躁",
            "慌",
            "害怕",
            "恐惧",
            "不安",
            "anxious",
            "nervous",
            "worried",
            "stressed",
            "overwhelmed",
            "scared",
            "afraid",
            "terrified",
            "panicking",
            "anxiety",
        ],
    ),
    (
        "疲惫",
        &[
            "好累",
            "累死",
            "疲惫",
            "太累",
            "很累",
            "累了",
            "心累",
            "好困",
            "疲倦",
            "失眠",
            "没睡好",
            "tired",
            "exhausted",
            "worn out",
            "burned out",
            "burnt out",
            "drained",
            "sleepless",
        ],
    ),
];

/// What stands before a denied feeling.
const DENIALS: &[&str] = &[
    "不",
    "没",
    "没有",
    "不太",
    "不怎么",
    "不是很",
    "不那么",
    "没那么",
    "别",
    "不要",
    "不用",
    "不会",
    "不再",
    "不算",
    "并不",
    "一点都不",
    "一点也不",
    "not",
    "n't",
    "not very",
    "not so",
    "not really",
    "not that",
    "not too",
    "never",
    "no longer",
    "n't be",
    "n't feel",
    "not feeling",
    "n't feeling",
    "n't very",
    "n't really",
    "n't so",
    "n't too",
    "n't that",
    "don't get",
    "no need to be",
    "isn't",
    "not at all",
    "n't been",
    "n't exactly",
    "not exactly",
    "不必",
    "无需",
    "别太",
    "不要太",
    "not particularly",
    "no",
    "without",
    "n't get too",
    "hardly",
];
/// Orders and wishes: a feeling of nobody's.
const WISHES: &[&str] = &[
    "祝",
    "happy birthday",
    "happy new year",
    "happy to",
    "happy holidays",
    "happy anniversary",
    "glad to help",
    "would be happy",
    "生日快乐",
    "节日快乐",
    "新年快乐",
    "周末愉快",
    "happy hour",
    "sad to hear",
    "sorry to hear",
    "happy for",
    "开心果",
    "开心吗",
];

impl Default for Emotions {
    fn default() -> Self {
        let owned = |words: &[&str]| words.iter().map(|word| normalize(word)).collect();
        Self(WORDS.iter().map(|(name, words)| ((*name).to_owned(), owned(words))).collect())
    }
}

impl Emotions {
    /// More words for a feeling, or a feeling of the caller's own.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let (name, words) = (name.into(), words.into_iter().map(|word| normalize(&word.into())));
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => known.extend(words),
            None => self.0.push((name, words.collect())),
        }
        self
    }

    /// The names of the feelings.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// The feeling that a text shows most often, the later of two; nothing when it shows none.
    pub fn of(&self, text: &str) -> Option<&str> {
        let mut shown: Vec<(&str, usize, usize)> = Vec::new();
        let mut place = 0;
        for range in sentences(text) {
            for clause in text[range].split(['，', ',', '；', ';']) {
                place += 1;
                let folded = normalize(clause).replace('’', "'");
                for name in self.shown(&folded) {
                    match shown.iter_mut().find(|(known, ..)| *known == name) {
                        Some((_, count, last)) => (*count, *last) = (*count + 1, place),
                        None => shown.push((name, 1, place)),
                    }
                }
            }
        }
        shown.into_iter().max_by_key(|(_, count, last)| (*count, *last)).map(|(name, ..)| name)
    }

    fn shown(&self, clause: &str) -> Vec<&str> {
        let holds = |word: &str| clause.match_indices(word).any(|(at, _)| stands_alone(clause, at, at + word.len()));
        if WISHES.iter().any(|wish| holds(wish)) || is_of_others(clause) {
            return Vec::new();
        }
        let mut shown = Vec::new();
        for (name, words) in &self.0 {
            let found = words.iter().find_map(|word| {
                clause
                    .match_indices(word.as_str())
                    .map(|(at, _)| at)
                    .find(|at| stands_alone(clause, *at, at + word.len()))
            });
            let Some(at) = found else { continue };
            let before = clause[..at].trim_end();
            let before = ["很", "太", "怎么", "那么", "多", "very", "so", "really", "too", "that", "feeling", "be"]
                .iter()
                .fold(before, |before, word| before.strip_suffix(word).map_or(before, str::trim_end));
            let denied = DENIALS.iter().any(|denial| ends_with_word(before, denial));
            match (denied, name.as_str()) {
                (false, name) => shown.push(name),
                (true, HAPPY) if !orders(before) => shown.push(SAD),
                (true, _) => {}
            }
        }
        shown
    }
}

fn ends_with_word(text: &str, word: &str) -> bool {
    text.ends_with(word) && (word.starts_with("n't") || stands_alone(text, text.len() - word.len(), text.len()))
}

/// Whether a denial is an order to another: "别太开心", "don't be so happy".
fn orders(before: &str) -> bool {
    ["别", "不要", "不用", "不必"].iter().any(|order| before.ends_with(order))
        || before.trim_start().starts_with("don't")
}

fn is_of_others(clause: &str) -> bool {
    let has = |words: &[&str]| {
        words.iter().any(|word| clause.match_indices(word).any(|(at, _)| stands_alone(clause, at, at + word.len())))
    };
    let me = has(&["我", "i", "i'm", "im", "my", "me", "i've", "we", "we're", "咱"]);
    let others = has(&["他", "她", "他们", "she", "he", "they", "she's", "he's", "they're"]);
    let you = has(&["你", "您", "you", "you're", "your"]);
    let missing = has(&["想你", "miss you", "想念你", "missed you", "missing you"]);
    let asked = clause.trim_end().ends_with(['?', '？', '吗', '呢'])
        || ["are you", "do you", "did you", "why are"].iter().any(|asks| clause.contains(asks));
    !me && !missing && (others || (you && !clause.contains("你让")) || (asked && you))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feelings_go_by_the_names_that_injection_knows() {
        let emotions = Emotions::default();
        for (text, emotion) in [
            ("今天好开心！", Some("开心")),
            ("我不开心", Some("难过")),
            ("不太开心，有点累了", Some("疲惫")),
            ("I'm not very happy about it", Some("难过")),
            ("I am so happy today", Some("开心")),
            ("宝贝我想你了", Some("想念")),
            ("I miss you so much", Some("想念")),
            ("气死我了", Some("生气")),
            ("最近emo了", Some("难过")),
            ("我一点都不生气", None),
            ("别难过", None),
            ("Don't be sad", None),
            ("I'm not angry", None),
            ("生日快乐！", None),
            ("Happy birthday!", None),
            ("你开心吗？", None),
            ("她很生气", None),
            ("She was furious", None),
            ("I'm really nervous about tomorrow", Some("焦虑")),
            ("明天面试好紧张", Some("焦虑")),
            ("我昨晚失眠了", Some("疲惫")),
            ("吃饭了吗", None),
            ("I demoed the emote", None),
            ("我難過", Some("难过")),
            ("I don't feel happy", Some("难过")),
            ("I'm happy to help", None),
        ] {
            assert_eq!(emotions.of(text), emotion, "{text}");
        }
    }

    #[test]
    fn a_callers_feeling_is_one_more() {
        let emotions = Emotions::default().with("吃醋", ["吃醋", "jealous"]);
        assert_eq!(emotions.of("我吃醋了"), Some("吃醋"));
        assert_eq!(emotions.names().count(), 7);
    }
}
