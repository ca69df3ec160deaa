use super::*;

#[test]
fn a_sentence_takes_back_a_statement_or_a_subject() {
    let table: &[(&str, &[&str], Option<&str>, &str)] = &[
        ("Please forget that I live in Porto, I live in Braga", &["I live in Porto"], None, "I live in Braga"),
        ("My name is not Tom, it's Tim", &["My name is Tom"], None, "My name is Tim"),
        ("I don't work at Bosch but at Siemens", &["I work at Bosch"], None, "I work at Siemens"),
        ("Never mind what I said about walnuts", &[], Some("walnuts"), ""),
        ("I was joking, I'm not a nurse", &[], None, "I'm not a nurse"),
        ("Don't forget that I live in Porto", &[], None, "Don't forget that I live in Porto"),
        ("我的名字不是汤姆，是蒂姆", &["我的名字是汤姆"], None, "我的名字是蒂姆"),
        ("忘掉我说的我住在巴黎", &["我住在巴黎"], None, ""),
        ("说错了，我住在布拉加", &[], None, "我住在布拉加"),
        ("别忘了我住在巴黎", &[], None, "别忘了我住在巴黎"),
        ("忘了说，我住在巴黎", &[], None, "忘了说，我住在巴黎"),
    ];
    for (sentence, denied, topic, rest) in table {
        let expected = TakeBack {
            denied: denied.iter().map(|text| (*text).to_owned()).collect(),
            topic: topic.map(str::to_owned),
            rest: (*rest).to_owned(),
        };
        assert_eq!(take_back(sentence), expected, "{sentence}");
    }
}

#[test]
fn a_denial_names_the_denied_statement() {
    for (clause, expected) in [
        ("I'm not a nurse any more", Some("I'm a nurse")),
        ("I never lived in Porto", Some("I live in Porto")),
        ("I don't have a dog", Some("I have a dog")),
        ("I'm a nurse", None),
        ("我不是护士", Some("我是护士")),
        ("我从来没住过波尔图", Some("我住在波尔图")),
        ("我住在波尔图", None),
    ] {
        assert_eq!(denied(clause).as_deref(), expected, "{clause}");
    }
}
