use super::*;

#[test]
fn emotions_are_detected_in_both_languages() {
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
