use super::*;
use memory_engine_core::Timestamp;

fn found_appointments(sentence: &str) -> Vec<(String, Option<String>, bool)> {
    // A Wednesday.
    let said: Timestamp = "2024-05-01T10:00:00Z".parse().unwrap();
    let plans = appointments(sentence, said, &TimeZone::UTC);
    plans.into_iter().map(|plan| (plan.event, plan.when.map(|when| when.label), plan.moves)).collect()
}

#[test]
fn appointments_have_the_next_matching_date() {
    for (sentence, event, label) in [
        ("下周三面试", "面试", "2024-05-08"),
        ("我明天要去体检", "体检", "2024-05-02"),
        ("周五下午三点我有个面试", "面试", "2024-05-03"),
        ("5月20号考试", "考试", "2024-05-20"),
        ("我后天出差", "出差", "2024-05-03"),
        ("I have a job interview on Friday", "job interview", "2024-05-03"),
        ("I have a dentist appointment tomorrow", "dentist appointment", "2024-05-02"),
        ("Tomorrow I have an exam", "exam", "2024-05-02"),
        ("my flight is on May 20", "flight", "2024-05-20"),
    ] {
        assert_eq!(found_appointments(sentence), [(event.to_owned(), Some(label.to_owned()), false)], "{sentence}");
    }
}

#[test]
fn moved_and_cancelled_appointments_end_the_former_one() {
    assert_eq!(found_appointments("面试改到周五了"), [("面试".into(), Some("2024-05-03".into()), true)]);
    assert_eq!(found_appointments("面试取消了"), [("面试".into(), None, true)]);
    assert_eq!(
        found_appointments("my interview has been moved to Friday"),
        [("interview".into(), Some("2024-05-03".into()), true)]
    );
    assert_eq!(found_appointments("My flight was cancelled"), [("flight".into(), None, true)]);
}

#[test]
fn past_appointments_and_those_of_others_are_ignored() {
    for sentence in [
        "他下周三面试",
        "上周三面试",
        "我妈明天手术",
        "He has an interview on Friday",
        "I had an exam last Friday",
        "明天不考试",
        "如果明天考试怎么办",
    ] {
        assert!(found_appointments(sentence).is_empty(), "{sentence}: {:?}", found_appointments(sentence));
    }
}
