use proptest::prelude::*;

use super::*;

#[test]
fn m4_questions_that_only_point_are_weak() {
    for text in [
        "你今天有什么不一样？",
        "你还记得吗？",
        "那个事情后来怎么样？",
        "他后来怎么了",
        "那件事呢？",
        "然后呢",
        "為什麼會這樣？",
        "What's different about you today?",
        "Do you remember?",
        "How did it go?",
        "And then what happened?",
        "what did she say about that",
    ] {
        assert!(weak_question(text), "{text}");
    }
}

#[test]
fn m4_questions_that_name_something_are_not() {
    for text in [
        "晚饭推荐什么？",
        "我海鲜过敏，别推荐海鲜",
        "Krueger 后来怎么样？",
        "面试怎么样了",
        "What did Caroline say?",
        "How did the interview go?",
        "2023年发生了什么",
        "what about 42?",
        "你还记得我的猫吗",
        "東京はどう",
        "",
        "？！",
    ] {
        assert!(!weak_question(text), "{text}");
    }
}

proptest! {
    #[test]
    fn a_name_makes_any_question_strong(before in "\\PC{0,10}", name in "[A-Z][a-z]{3,6}q", after in "\\PC{0,10}") {
        let question = format!("{before} {name} {after}");
        prop_assert!(!weak_question(&question));
    }
}
