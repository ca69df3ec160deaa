use super::*;

#[test]
fn phrases_become_the_statements_that_they_take_for_granted() {
    for (sentence, expected) in [
        ("my niece being dyslexic means extra time", vec!["my niece is dyslexic"]),
        ("our aunt having lupus makes trips hard", vec!["my aunt has lupus"]),
        ("my brother's eczema is back", vec!["my brother has eczema"]),
        ("my 9-year-old son hates peas", vec!["my son is 9 years old"]),
        ("our kids (3 and 8) are bored", vec!["my child is 3 years old", "my child is 8 years old"]),
        ("Ravi, our youngest, starts school", vec!["my child is called Ravi"]),
        ("since my uncle passed away it's quiet", vec!["my uncle died"]),
        ("As a florist I start at five", vec!["I'm a florist"]),
        ("as a dad of three I know", vec!["I'm a dad of three", "I have three kids"]),
        ("can I run with my dodgy hip?", vec!["I have a bad hip"]),
        ("41, librarian, two cats", vec!["I'm 41 years old", "I'm a librarian", "I have two cats"]),
        ("me and Ines are official", vec!["my partner is called Ines", "I'm in a relationship"]),
        ("so I sprained my left ankle", vec!["I have a sprained left ankle"]),
        ("olives make me gag", vec!["I can't eat olives"]),
        ("six months on keto", vec!["I eat keto"]),
        ("两道坎，鼻炎又犯了", vec!["我有鼻炎"]),
        ("作为药剂师，我知道", vec!["我是药剂师"]),
        ("我今年研二", vec!["我读研二"]),
    ] {
        assert_eq!(statements(sentence), expected, "{sentence}");
    }
}

#[test]
fn other_phrases_are_not_restated() {
    for sentence in [
        "human beings are odd",
        "if my niece being dyslexic were a problem",
        "34 people came",
        "my sister is in Lisbon on holiday",
        "we lost the match",
        "他痛风又犯了",
    ] {
        assert_eq!(statements(sentence), Vec::<String>::new(), "{sentence}");
    }
}
