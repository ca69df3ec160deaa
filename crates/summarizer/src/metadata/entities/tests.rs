use super::*;

#[test]
fn names_are_found_in_both_languages() {
    for (text, names) in [
        ("We met Anna Smith at Central Park on Monday", vec!["Anna Smith", "Central Park"]),
        ("I love my dog Rex. Nice!", vec!["Rex"]),
        ("我和小王在上海看了《三体》", vec!["小王", "上海", "三体"]),
        ("李医生让我去协和医院复查", vec!["李医生", "协和医院"]),
        ("我用iPhone给Krueger发消息", vec!["Krueger"]),
        ("The weather is nice today.", vec![]),
        ("我今天在公园跑步", vec![]),
        ("Melanie's kids love the Grand Canyon", vec!["Melanie", "Grand Canyon"]),
    ] {
        assert_eq!(entities(text), names, "{text}");
    }
}
