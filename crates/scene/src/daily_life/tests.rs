use super::*;

/// For each topic list, a word of it and a message in which it is found.
const TOPICS: &[(&str, &str)] = &[
    ("en.work", "my boss called"),
    ("en.family", "my sister visits"),
    ("en.home", "the laundry waits"),
    ("en.transport", "the bus was late"),
    ("en.health", "at the dentist"),
    ("en.school", "an exam is due"),
    ("en.screen", "my phone died"),
    ("en.time", "on friday"),
    ("zh.work", "又加班"),
    ("zh.family", "室友不在"),
    ("zh.home", "点了外卖"),
    ("zh.transport", "路上堵车"),
    ("zh.health", "去医院"),
    ("zh.school", "论文没写"),
    ("zh.screen", "手机没电"),
    ("zh.time", "下周见"),
    ("zh.mood", "心情不好"),
];

#[test]
fn every_topic_has_a_message() {
    assert_eq!(TOPICS.len(), DAILY_LIFE.topics.len());
    for (id, text) in TOPICS {
        let (_, words) = DAILY_LIFE.topics.iter().find(|(topic, _)| topic == id).unwrap();
        assert!(words.find(text).is_some(), "{id}: {text}");
        let others = DAILY_LIFE.topics.iter().filter(|(topic, words)| topic != id && words.find(text).is_some());
        assert_eq!(others.count(), 0, "{id}: {text}");
    }
}

#[test]
fn a_long_plain_message_about_daily_life() {
    let long =
        "My boss called again, the bus was late, and my phone died on the way to the dentist. I want to go home.";
    for (text, expected) in [
        (long.to_owned(), true),
        (format!("*sighs* {long}"), false),
        (format!("\"{long}\" he said"), false),
        (format!("{long} The dragon laughs."), false),
        ("My boss called, the bus was late, my phone died.".to_owned(), false),
        (
            "我走过长长的回廊，月色落在青石板上，远处传来更鼓的声音，我握紧了手里的信，心里却一点也不害怕。".to_owned(),
            false,
        ),
        (
            "今天又加班，路上堵车，外卖也凉了，手机只剩一格电，心情差到极点，只想躺在床上什么都不做，谁也不理。"
                .to_owned(),
            true,
        ),
    ] {
        assert_eq!(is_long_daily_life(&Message::parse(&text)), expected, "{text}");
    }
}
