use super::*;
use memory_engine_core::Timestamp;

fn found(sentence: &str) -> Vec<(String, Option<String>, bool)> {
    // A Wednesday.
    let said: Timestamp = "2024-05-01T10:00:00Z".parse().unwrap();
    let plans = appointments(sentence, said, &TimeZone::UTC);
    plans.into_iter().map(|plan| (plan.event, plan.when.map(|when| when.label), plan.moves)).collect()
}

#[test]
fn an_appointment_has_the_next_date_of_that_name() {
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
        assert_eq!(found(sentence), [(event.to_owned(), Some(label.to_owned()), false)], "{sentence}");
    }
}

#[test]
fn a_moved_or_cancelled_appointment_ends_the_former_one() {
    assert_eq!(found("面试改到周五了"), [("面试".into(), Some("2024-05-03".into()), true)]);
    assert_eq!(found("面试取消了"), [("面试".into(), None, true)]);
    assert_eq!(found("my interview has been moved to Friday"), [("interview".into(), Some("2024-05-03".into()), true)]);
    assert_eq!(found("My flight was cancelled"), [("flight".into(), None, true)]);
}

#[test]
fn appointments_of_other_people_and_past_ones_are_ignored() {
    for sentence in [
        "他下周三面试",
        "上周三面试",
        "我妈明天手术",
        "He has an interview on Friday",
        "I had an exam last Friday",
        "明天不考试",
        "如果明天考试怎么办",
    ] {
        assert!(found(sentence).is_empty(), "{sentence}: {:?}", found(sentence));
    }
}
