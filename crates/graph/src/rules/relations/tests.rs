//! Statements with their relations, and texts that state none.

use crate::rules::RuleExtractor;

/// A relation: source, name and target.
type Stated = (&'static str, &'static str, &'static str);

const STATED: &[(&str, &[Stated])] = &[
    ("Mira is the sister of Tobin. Tobin laughed.", &[("Mira", "sister of", "Tobin")]),
    ("Anna Reed works for Harbor Labs.", &[("Anna Reed", "works for", "Harbor Labs")]),
    ("Joel is married to Priya.", &[("Joel", "married to", "Priya")]),
    ("陈默是罗烈的徒弟。陈默走了，罗烈也走了。", &[("罗烈", "徒弟是", "陈默")]),
    (
        "Mira and Tobin trained for years. Old Harrow is their teacher.",
        &[("Old Harrow", "teacher of", "Mira"), ("Old Harrow", "teacher of", "Tobin")],
    ),
    (
        "Harrow taught Mira and Tobin. Harrow nodded.",
        &[("Harrow", "teacher of", "Mira"), ("Harrow", "teacher of", "Tobin")],
    ),
    ("Ines Vale took command of the Sea Wren.", &[("Ines Vale", "leads", "Sea Wren")]),
    ("The Sea Wren, commanded by Ines Vale, left port.", &[("Ines Vale", "leads", "Sea Wren")]),
    (
        "陈默和罗烈在山上练剑。他们的师父是顾清尘。陈默笑了，罗烈也笑了。",
        &[("陈默", "师父是", "顾清尘"), ("罗烈", "师父是", "顾清尘")],
    ),
    ("阿绯嫁给了顾清尘。阿绯笑了，顾清尘也笑了。", &[("阿绯", "丈夫是", "顾清尘")]),
];

const UNSTATED: &[&str] = &[
    "Is Mira the sister of Tobin?",
    // The pronoun may refer to others.
    "Mira saw Tobin and the guard. Old Harrow is their teacher.",
    "Old Harrow is their teacher.",
    "陈默来了。他们的师父是顾清尘。陈默笑了，顾清尘也笑了。",
    "Anna Reed does not work for Harbor Labs.",
    "If Joel were married to Priya, Joel would know.",
    "陈默不是罗烈的徒弟。陈默走了，罗烈也走了。",
    "阿绯嫁给了顾清尘吗？阿绯问顾清尘。",
];

fn relations(text: &str) -> Vec<(String, String, String)> {
    let read = RuleExtractor::default().read(text, &[]);
    let stated = read
        .relations
        .into_iter()
        .filter(|relation| relation.rule.as_ref().is_some_and(|rule| rule.as_str().contains(".relation.")));
    stated.map(|relation| (relation.source, relation.relation, relation.target)).collect()
}

#[test]
fn stated_relations_have_a_name_and_a_direction() {
    for (text, expected) in STATED {
        let expected: Vec<(String, String, String)> =
            expected.iter().map(|(a, b, c)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned())).collect();
        assert_eq!(relations(text), expected, "{text}");
    }
}

#[test]
fn questions_conditions_and_denials_state_nothing() {
    for text in UNSTATED {
        assert_eq!(relations(text), [], "{text}");
    }
}
