//! The document's table of scenes, and what is true of every conversation.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::{sync::Arc, time::Duration};

use memory_engine_core::{ErrorKind, ManualClock, Scope, Timestamp};
use memory_engine_scene::{
    DAILY, LabelRule, META, PLOT, SceneChange, SceneDetector, SceneReason, SceneRule, SceneRules, SessionLimits,
};
use proptest::prelude::*;

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(Timestamp::from_micros(1_772_000_000_000_000)))
}

fn detector() -> SceneDetector {
    SceneDetector::new(&SceneRules::default(), clock()).unwrap()
}

fn session(name: &str) -> Scope {
    Scope::user("dream").unwrap().with_session(name).unwrap()
}

#[test]
fn k1_specified_examples() {
    let (detector, session) = (detector(), session("a"));
    for (text, scene) in [
        ("今天好累啊", DAILY),
        ("来玩剧本吧！", PLOT),
        ("（继续剧情对话）", PLOT),
        ("不玩了回来聊天", DAILY),
        ("测试一下这个MCP工具", META),
    ] {
        assert_eq!(detector.detect(&session, text).scene, scene, "{text}");
    }
}

#[test]
fn k1_specified_words() {
    let rules = SceneRules::default();
    for word in &rules.labels[0].words {
        assert_eq!(detector().detect(&session("a"), &format!("看看 {word} 吧")).scene, META, "{word}");
    }
    for word in &rules.scenes[0].enter {
        let found = detector().detect(&session("a"), &format!("我们{word}吧"));
        assert_eq!((found.scene.as_str(), found.reason.word()), (PLOT, Some(word.as_str())), "{word}");
    }
    for word in &rules.scenes[0].exit {
        let (detector, session) = (detector(), session("a"));
        detector.detect(&session, "来演一段");
        let left = detector.detect(&session, &format!("好了{word}啦"));
        assert_eq!(left.changed, Some(SceneChange { from: PLOT.into(), to: DAILY.into() }), "{word}");
        assert_eq!(left.reason, SceneReason::Exit(word.clone()));
    }
}

#[test]
fn k1_plot_lasts_until_the_user_ends_it() {
    let (detector, session) = (detector(), session("a"));
    let entered = detector.detect(&session, "我们来演吧");
    assert_eq!(entered.changed, Some(SceneChange { from: DAILY.into(), to: PLOT.into() }));
    for text in ["他推开门", "今天吃饭了吗", "继续剧情"] {
        let found = detector.detect(&session, text);
        assert_eq!((found.scene.as_str(), found.changed), (PLOT, None), "{text}");
    }
    assert_eq!(detector.detect(&session, "出戏").scene, DAILY);
    assert_eq!(detector.detect(&session, "他推开门").reason, SceneReason::Default);
}

#[test]
fn k1_ordinary_sentences_do_not_match() {
    let detector = detector();
    for text in [
        "你什么时候回来",
        "我看了一场演出，演员演得很好",
        "暂停一下，我去接电话",
        "what's the latest on that contest?",
        "a sharp knife in a carpet shop",
        "therapist said so",
        "我在自拍",
        "toolbox, apiary, observer",
        "剧本杀好玩吗",
        "I watched a play",
        "the test results from my doctor",
        "I have to debug my marriage",
    ] {
        let found = detector.detect(&session("a"), text);
        assert_eq!((found.scene.as_str(), found.changed), (DAILY, None), "{text}");
    }
}

#[test]
fn k1_a_line_of_a_play_does_not_end_it() {
    for text in [
        "（她放下绷带）你终于从前线回来了",
        "我回来了",
        "“我不玩了！”他把牌摔在桌上",
        "I'm back from the front",
        "\"Stop!\" she shouted. \"Out of character, are we?\"",
        "Stop!",
        "*stops* Let's go back.",
        "\"My server is down,\" the waiter sighs",
    ] {
        let (detector, session) = (detector(), session("a"));
        detector.set(&session, PLOT).unwrap();
        let found = detector.detect(&session, text);
        assert_eq!((found.scene.as_str(), found.changed), (PLOT, None), "{text}");
    }
}

#[test]
fn k1_the_user_ends_a_play() {
    for text in [
        "(ooc: my dinner is ready)",
        "[OOC] wait a bit",
        "((brb))",
        "let's stop the role play",
        "pause the game",
        "back to real life",
        "我们不演了",
        "跳出角色说一句",
        "（出戏一下）",
        "今天上班被老板骂了一顿，回家路上又堵车一个小时，晚饭都没吃，明天还要早起开会，真的好累啊",
    ] {
        let (detector, session) = (detector(), session("a"));
        detector.set(&session, PLOT).unwrap();
        let found = detector.detect(&session, text);
        assert_eq!((found.scene.as_str(), found.reason.as_str()), (DAILY, "exit"), "{text}");
    }
}

#[test]
fn k1_english_words_enter_a_play() {
    for text in [
        "let's role play",
        "you are a pirate captain now",
        "*draws sword*",
        "continue our story",
        "Could we do a bit of roleplay?",
    ] {
        let found = detector().detect(&session("a"), text);
        assert_eq!((found.scene.as_str(), found.reason.as_str()), (PLOT, "enter"), "{text}");
    }
}

#[test]
fn k1_matches_any_width_case_and_script() {
    for (text, scene) in
        [("ＲＰ一下", PLOT), ("Let's rp", PLOT), ("來玩劇本吧", PLOT), ("ＴＥＳＴ", META), ("查api文档", META)]
    {
        assert_eq!(detector().detect(&session("a"), text).scene, scene, "{text}");
    }
}

#[test]
fn exit_word_overrides_enter_word_of_same_scene() {
    let (detector, session) = (detector(), session("a"));
    assert_eq!(detector.detect(&session, "剧本不玩了").scene, DAILY);
    detector.detect(&session, "来玩剧本");
    assert_eq!(detector.detect(&session, "剧本先到这，出戏").scene, DAILY);
}

#[test]
fn k1_meta_only_labels() {
    let (detector, session) = (detector(), session("a"));
    assert_eq!(detector.detect(&session, "测试：来玩剧本").current, DAILY);
    detector.detect(&session, "来玩剧本");
    let found = detector.detect(&session, "test 不玩了");
    assert_eq!((found.scene.as_str(), found.current.as_str(), found.changed), (META, PLOT, None));
    assert_eq!(detector.detect(&session, "他推开门").scene, PLOT);
}

#[test]
fn sessions_are_independent() {
    let detector = detector();
    detector.detect(&session("a"), "来玩剧本");
    assert_eq!(detector.current(&session("b")), DAILY);
    let namesake = Scope::user("lin").unwrap().with_session("a").unwrap();
    assert_eq!(detector.detect(&namesake, "好").scene, DAILY);
    detector.forget(&Scope::user("dream").unwrap());
    assert_eq!(detector.current(&session("a")), DAILY);
}

#[test]
fn expired_session_returns_to_default_scene() {
    let clock = clock();
    let limits = SessionLimits::default().with_time_to_live(Duration::from_secs(60));
    let detector = SceneDetector::with_limits(&SceneRules::default(), limits, clock.clone()).unwrap();
    detector.detect(&session("a"), "来玩剧本");
    for _ in 0..3 {
        clock.advance(Duration::from_secs(59));
        assert_eq!(detector.detect(&session("a"), "debug 一下").current, PLOT, "every message keeps it alive");
    }
    clock.advance(Duration::from_secs(60));
    assert_eq!(detector.current(&session("a")), DAILY);
    assert_eq!(detector.detect(&session("a"), "他推开门").scene, DAILY);
}

#[test]
fn least_recently_used_session_is_evicted() {
    let limits = SessionLimits::default().with_max_sessions(2);
    let detector = SceneDetector::with_limits(&SceneRules::default(), limits, clock()).unwrap();
    for name in ["a", "b"] {
        detector.detect(&session(name), "来玩剧本");
    }
    detector.detect(&session("a"), "他推开门");
    detector.detect(&session("c"), "来玩剧本");
    let scenes = ["a", "b", "c"].map(|name| detector.current(&session(name)));
    assert_eq!(scenes, [PLOT, DAILY, PLOT]);
}

#[test]
fn k1_custom_scenes_and_labels() {
    let study = SceneRule { name: "study".into(), enter: vec!["开始学习".into()], exit: vec!["下课".into()] };
    let ad = LabelRule { name: "ad".into(), words: vec!["广告".into()] };
    let rules = SceneRules::default().with_scene(study).with_label(ad);
    let detector = SceneDetector::new(&rules, clock()).unwrap();
    let session = session("a");
    for (text, scene) in [
        ("开始学习", "study"),
        ("第一章", "study"),
        ("一条广告", "ad"),
        ("出戏", "study"),
        ("下课，来玩剧本", PLOT),
        ("不玩了，开始学习", "study"),
        ("下课", DAILY),
    ] {
        assert_eq!(detector.detect(&session, text).scene, scene, "{text}");
    }
}

#[test]
fn setting_a_scene() {
    let detector = detector();
    detector.set(&session("a"), PLOT).unwrap();
    assert_eq!(detector.detect(&session("a"), "他推开门").reason, SceneReason::Inherited);
    assert_eq!(detector.set(&session("a"), META).unwrap_err().kind(), ErrorKind::NotFound);
    detector.set(&session("a"), DAILY).unwrap();
    assert_eq!((detector.current(&session("a")).as_str(), detector.remembered()), (DAILY, 0));
}

#[test]
fn own_patterns_and_words() {
    let rules = SceneRules::from_toml(
        "[[scenes]]\nname = 'plot'\nenter = ['剧本']\nmore_exit = ['下线啦']\n
        [[patterns]]\nid = 'own.exit'\nscene = 'plot'\neffect = 'exit'\nmatch = ['^{en_lead}curtain down']",
    )
    .unwrap();
    let detector = SceneDetector::new(&rules, clock()).unwrap();
    let session = session("a");
    for (text, scene, cause) in [
        ("let's role play", DAILY, None),
        ("我写剧本", PLOT, Some("剧本")),
        ("“下线啦”", PLOT, None),
        ("*下线啦*", PLOT, None),
        ("我先下线啦哈哈", DAILY, Some("下线啦")),
        ("剧本", PLOT, Some("剧本")),
        ("OK, curtain down", DAILY, Some("own.exit")),
    ] {
        let found = detector.detect(&session, text);
        assert_eq!((found.scene.as_str(), found.reason.word()), (scene, cause), "{text}");
    }
    let invalid = "[[patterns]]\nid = 'own'\nscene = 'plot'\neffect = 'exit'\nmatch = ['(']";
    let error = SceneDetector::new(&SceneRules::from_toml(invalid).unwrap(), clock()).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidInput && error.to_string().contains("'own'"), "{error}");
}

#[test]
fn the_caller_may_keep_the_scene() {
    let detector = detector();
    let said = [
        ("来演一段吧，你当掌柜，我当伙计", PLOT, PLOT),
        ("门外来了一位客人", PLOT, PLOT),
        ("这个接口怎么报错了，看看日志", META, PLOT),
        ("不演了，说点别的", DAILY, DAILY),
        ("今天好冷", DAILY, DAILY),
    ];
    let (kept, address) = (session("kept"), session("kept by the detector"));
    let mut current = String::new();
    for (text, _, _) in said {
        let detection = detector.detect_after(&current, text);
        assert_eq!(detection, detector.detect(&address, text), "{text}");
        current = detection.current;
    }
    assert_eq!((detector.current(&kept), detector.remembered()), (DAILY.to_owned(), 0));
    assert_eq!(detector.detect_after("unknown", "今天好冷").current, DAILY);
    assert_eq!(detector.detect_after(META, "今天好冷").current, DAILY, "a label is no scene");
    for (text, scene, after) in said.into_iter().skip(1) {
        let detection = detector.detect_after(PLOT, text);
        if text != "今天好冷" {
            assert_eq!((detection.scene.as_str(), detection.current.as_str()), (scene, after), "{text}");
        }
    }
}

fn messages() -> impl Strategy<Value = String> {
    let words = SceneRules::default();
    let mut pool = words.labels[0].words.clone();
    pool.extend(words.scenes[0].enter.iter().chain(&words.scenes[0].exit).cloned());
    let word = proptest::sample::select(pool);
    prop_oneof![
        2 => "\\PC{0,12}".boxed(),
        3 => (word, "[a-z ，。今天]{0,5}", "[ ，。今天]{0,5}").prop_map(|(w, a, b)| format!("{a} {w} {b}")).boxed(),
    ]
}

proptest! {
    #[test]
    fn speech_changes_nothing(texts in proptest::collection::vec(messages(), 1..5), start in 0..2) {
        let detector = detector();
        let session = session("a");
        let start = [DAILY, PLOT][usize::try_from(start).unwrap()];
        detector.set(&session, start).unwrap();
        for text in texts {
            let text = text.replace(['“', '”', '\n'], "");
            let found = detector.detect(&session, &format!("“{text}”他说"));
            prop_assert_eq!((found.scene.as_str(), found.changed), (start, None));
        }
    }

    #[test]
    fn meta_never_changes_and_changes_are_reported(texts in proptest::collection::vec(messages(), 1..20)) {
        let detector = detector();
        let session = session("a");
        for text in texts {
            let before = detector.current(&session);
            let found = detector.detect(&session, &text);
            prop_assert_eq!(&found.current, &detector.current(&session));
            if found.scene == META {
                prop_assert_eq!((&found.current, &found.changed), (&before, &None));
            } else {
                prop_assert_eq!(&found.scene, &found.current);
            }
            let changed = SceneChange { from: before.clone(), to: found.current.clone() };
            prop_assert_eq!(found.changed, (before != found.current).then_some(changed));
        }
    }

    #[test]
    fn number_of_sessions_is_limited(
        steps in proptest::collection::vec((0..30_u8, messages()), 0..80),
        max in 0..5_usize,
    ) {
        let limits = SessionLimits::default().with_max_sessions(max);
        let detector = SceneDetector::with_limits(&SceneRules::default(), limits, clock()).unwrap();
        for (number, text) in steps {
            detector.detect(&session(&number.to_string()), &text);
            prop_assert!(detector.remembered() <= max);
        }
    }
}
