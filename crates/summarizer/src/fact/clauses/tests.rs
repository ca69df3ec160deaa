use super::*;

fn labelled_statements(text: &str) -> Vec<String> {
    let mut context = ClauseContext::default();
    let found = memory_engine_text::sentences(text)
        .into_iter()
        .flat_map(|range| statements(&mut context, &spelled_out(&text[range])));
    let label = |statement: ClauseStatement| match statement.subject {
        ClauseSubject::Relative(relative) => format!("{relative}: {}", statement.text),
        ClauseSubject::Speaker | ClauseSubject::Other => statement.text,
    };
    found.map(label).collect()
}

#[test]
fn clauses_without_a_subject_continue_the_one_before() {
    for (text, expected) in [
        ("我叫汤姆，对花生过敏", vec!["我叫汤姆", "我对花生过敏"]),
        ("烟我已经戒了", vec!["我已经戒了烟"]),
        ("我其实特别怕狗", vec!["我怕狗"]),
        ("我朋友在深圳，做外贸", vec![]),
        ("我同桌来过，住在保定", vec![]),
        ("小马是裁缝，住在保定", vec![]),
        ("猫咪很乖，今年四岁", vec![]),
        ("和朋友去爬山，喜欢摄影", vec!["我喜欢摄影"]),
        ("如果我住在成都，就养只狗", vec![]),
        ("I'm Marta, live in Porto and work as a cook", vec!["I'm Marta", "I live in Porto", "I work as a cook"]),
        ("im honestly just tired", vec!["I'm tired"]),
        ("My friend lives in Rome and works at a bank.", vec![]),
        ("She said I live in Rome.", vec![]),
    ] {
        let found = labelled_statements(text);
        for statement in &expected {
            assert!(found.iter().any(|found| found == statement), "{text}: {found:?}");
        }
        assert_eq!(found.is_empty(), expected.is_empty(), "{text}: {found:?}");
    }
}

#[test]
fn clauses_about_relatives_become_first_person() {
    for (text, expected) in [
        ("我表姐她在北京上班呢", "表姐: 我在北京上班呢"),
        ("我的舅妈平时喜欢编程", "舅妈: 我喜欢编程"),
        ("我妹在厦门，学会计", "妹妹: 我学会计"),
        ("我侄女圆圆对芒果过敏", "侄女: 我对芒果过敏"),
        ("我弟弟小凯在天津上班", "弟弟: 我在天津上班"),
        ("我有个姐姐在加拿大，做牙医的", "姐姐: 我做牙医的"),
        ("小宝是我儿子，今年五岁", "儿子: 我五岁"),
        ("林悦是我的舅妈，其职业是护士", "舅妈: 我的职业是护士"),
        ("Ana is my sister, she lives in Rome", "sister: I live in Rome"),
        ("My sister Anna is allergic to cats.", "sister: I'm allergic to cats"),
        ("my dad really loves fishing", "father: I love fishing"),
        ("My mom doesn't like sushi", "mother: I don't like sushi"),
        ("My wife's a paramedic and she works nights", "wife: I work nights"),
        ("My brother lives in Rome and teaches art", "brother: I teach art"),
    ] {
        assert!(
            labelled_statements(text).iter().any(|found| found == expected),
            "{text}: {:?}",
            labelled_statements(text)
        );
    }
    for text in ["我妈妈说我对花生过敏", "我爸爸喜欢吃鱼吗", "My mom says I'm lazy", "My sister and I run"]
    {
        assert!(
            !labelled_statements(text).iter().any(|found| found.contains(": ")),
            "{text}: {:?}",
            labelled_statements(text)
        );
    }
}
