use super::*;

#[test]
fn statements_about_relatives_become_first_person() {
    for (sentence, relative, statement) in [
        ("我表姐她在北京上班呢", "表姐", "我在北京上班呢"),
        ("我的舅妈平时喜欢编程", "舅妈", "我平时喜欢编程"),
        ("My sister Anna is allergic to cats.", "sister", "I'm allergic to cats."),
        ("my dad really loves fishing", "father", "I really love fishing"),
        ("My mom doesn't like sushi", "mother", "I don't like sushi"),
    ] {
        assert_eq!(as_first_person(sentence), Some((relative.to_owned(), statement.to_owned())), "{sentence}");
    }
    for sentence in [
        "我妈妈说我对花生过敏",
        "我和姐姐喜欢爬山",
        "My sister and I love hiking",
        "My mom says I'm lazy",
        "我爸爸喜欢吃鱼吗",
        "我姐姐和我住",
    ] {
        assert_eq!(as_first_person(sentence), None, "{sentence}");
    }
}
