use super::*;

fn values(reader: &str, text: &str) -> Vec<String> {
    ValueReader::try_from(reader.to_owned()).unwrap().values(text)
}

#[test]
fn enumerations_are_split_into_items() {
    assert_eq!(values("list", "peanuts, shellfish and cats, so please be careful"), ["peanuts", "shellfish", "cats"]);
    assert_eq!(values("list", "海鲜、花生和芒果"), ["海鲜", "花生", "芒果"]);
    assert_eq!(values("liked", "hiking and camping in the mountains"), ["hiking", "camping in the mountains"]);
    assert!(values("liked", "your new painting").is_empty());
}

#[test]
fn values_end_before_the_next_clause() {
    assert_eq!(values("name", "Sam and I live here"), ["Sam"]);
    assert_eq!(values("name", "小雨就好"), ["小雨"]);
    assert_eq!(values("place", "Austin, Texas with my dog"), ["Austin, Texas"]);
    assert_eq!(values("zh-place", "上海浦东工作"), ["上海浦东"]);
    assert_eq!(values("job", "a senior software engineer at Acme"), ["senior software engineer"]);
    assert!(values("job", "a night owl").is_empty());
    assert_eq!(values("number", "twenty-seven"), ["27"]);
    assert_eq!(values("number", "二十七"), ["27"]);
}
