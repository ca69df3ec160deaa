use super::*;

#[test]
fn enumerations_fall_into_their_items() {
    assert_eq!(
        ValueReader::List.values("peanuts, shellfish and cats, so please be careful"),
        ["peanuts", "shellfish", "cats"]
    );
    assert_eq!(ValueReader::List.values("海鲜、花生和芒果"), ["海鲜", "花生", "芒果"]);
    assert_eq!(
        ValueReader::Liked.values("hiking and camping in the mountains"),
        ["hiking", "camping in the mountains"]
    );
    assert!(ValueReader::Liked.values("your new painting").is_empty());
}

#[test]
fn names_places_and_jobs_end_where_they_end() {
    assert_eq!(ValueReader::Name.values("Sam and I live here"), ["Sam"]);
    assert_eq!(ValueReader::Name.values("小雨就好"), ["小雨"]);
    assert_eq!(ValueReader::Place.values("Austin, Texas with my dog"), ["Austin, Texas"]);
    assert_eq!(ValueReader::ZhPlace.values("上海浦东工作"), ["上海浦东"]);
    assert_eq!(ValueReader::Job.values("a senior software engineer at Acme"), ["senior software engineer"]);
    assert!(ValueReader::Job.values("a night owl").is_empty());
    assert_eq!(ValueReader::Number.values("twenty-seven"), ["27"]);
    assert_eq!(ValueReader::Number.values("二十七"), ["27"]);
}
