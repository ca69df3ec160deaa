//! Compares the estimated number of tokens with the real one.
#![cfg(feature = "bpe")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

use memory_engine_context::{BpeTokens, EstimatedTokens, TokenCounter};

const TEXTS: &[&str] = &[
    "我对海鲜过敏，上次吃虾起了一身疹子。",
    "今天 BTC 怎么样？95000 了，RSI 有点高，跌到 93000 再考虑。",
    "面试改到 2026 年 3 月 5 日周四下午三点，地点在虹桥，要带身份证和简历。",
    "（机械臂微微颤抖）主人...我好像...胸口这里...有什么东西在动。",
    "臺灣的天氣很好，我們去爬山吧！",
    "I'm allergic to shellfish; last time I ate shrimp I broke out in a rash all over.",
    "She moved from Lisbon to Porto in May 2023 because the rent had gone up by 40%.",
    "On 12 January 2024 at 9:30 we met near 1634 Broadway, New York, NY 10019.",
    "Kommando Spezialkräfte und die Straße nach Übersee, façade, naïve, Łódź.",
    "fn main() { let x = vec![1, 2, 3]; println!(\"{:?}\", x); }",
    "Привет, как дела? Сегодня хорошая погода.",
    "今日はいい天気ですね。散歩に行きましょう。",
    "🎉🎉 生日快乐 🎂！",
    "We 一起 went to 星巴克 and ordered a 馥芮白 for ¥38.",
    "    if a:\n        return b\n\n    else:\n        pass\n",
];

#[test]
fn estimates_are_high_by_at_most_60_percent() {
    let mut estimated = 0;
    let mut counted = 0;
    for text in TEXTS {
        let estimate = EstimatedTokens.count(text);
        let count = BpeTokens.count(text);
        assert!(estimate >= count, "{estimate} for {count}: {text}");
        estimated += estimate;
        counted += count;
    }
    assert!(estimated * 10 <= counted * 16, "{estimated} for {counted}");
    // Long texts of one language.
    for text in [TEXTS[0], TEXTS[5]] {
        let long = text.repeat(40);
        let estimate = EstimatedTokens.count(&long);
        let count = BpeTokens.count(&long);
        assert!(count <= estimate && estimate * 10 <= count * 16, "{estimate} for {count}");
    }
}

#[test]
fn an_empty_text_has_no_tokens() {
    assert_eq!((EstimatedTokens.count(""), BpeTokens.count("")), (0, 0));
    assert_eq!(BpeTokens.count("你好"), 1);
}
