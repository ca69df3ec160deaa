use super::*;
use crate::RegexOptions;

const EXPRESSIONS: [&str; 6] = [
    r"my (?P<r>sister|brother) is (?P<v>\w+)",
    r"\bI live in (?P<v>[^,]+)",
    "我住在(?P<v>[^，]+)",
    "[0-9]+",
    "(?P<v>岁)$",
    "x*",
];

fn index(kept_bytes: usize) -> RegexIndex {
    RegexIndex::new(&EXPRESSIONS, true, 1 << 20, kept_bytes).unwrap()
}

#[test]
fn candidates_contain_the_literals_and_all_matches_are_candidates() {
    let index = index(1 << 20);
    assert_eq!(index.candidates("My SISTER is Ann"), [0, 3, 5]);
    assert_eq!(index.matches("My ſISTER is Ann"), [0, 5]);
    assert_eq!(index.candidates("my sister"), [3, 5]);
    assert_eq!(index.matches("我住在杭州, and I LIVE in Rome, 30岁"), [1, 2, 3, 4, 5]);
    assert_eq!((index.len(), index.is_empty()), (6, false));
}

/// An index returns the matches of a `SharedRegex`.
#[test]
fn groups_are_those_of_the_expression_by_itself() {
    let index = index(1 << 20);
    let texts = [
        "",
        "My sister is Ann, my brother is 李明",
        "我住在杭州，我住在上海",
        "x我xx",
        "i live in é, I live in b",
        "30岁",
    ];
    for (n, expression) in EXPRESSIONS.iter().enumerate() {
        let alone = RegexOptions::ignoring_case().compile(expression).unwrap();
        for text in texts {
            let shown = |found: Captures<'_>| -> Vec<_> { found.iter().map(|g| g.map(|g| g.range())).collect() };
            let expected: Vec<_> = alone.captures_iter(text).map(shown).collect();
            assert_eq!(index.captures_iter(n, text).map(shown).collect::<Vec<_>>(), expected, "{expression} {text}");
            assert_eq!(index.is_match(n, text), alone.is_match(text), "{expression} {text}");
        }
    }
}

#[test]
fn the_compiled_expressions_used_last_are_kept() {
    let bytes: Vec<usize> =
        (0..3).map(|n| index(1 << 20).compiled(n).map_or(0, |expression| expression.bytes())).collect();
    let index = index(bytes[0] + bytes[1] + bytes[2] - 1);
    for n in [0, 1, 0, 2] {
        index.is_match(n, "a");
    }
    assert_eq!(index.kept_bytes(), bytes[0] + bytes[2]);
    assert_eq!(lock(&index.compiled).kept.keys().collect::<Vec<_>>(), [&0, &2]);
    let smallest = RegexIndex::new(&EXPRESSIONS, true, 1 << 20, 0).unwrap();
    assert_eq!(smallest.matches("my sister is Ann, 30"), [0, 3, 5]);
    assert_eq!(lock(&smallest.compiled).kept.len(), 1);
}

#[test]
fn a_long_text_is_searched_completely() {
    let index = index(1 << 20);
    let text = format!("{} I live in Rome", "word ".repeat(200_000));
    let found: Vec<String> = index.captures_iter(1, &text).map(|found| found["v"].to_owned()).collect();
    assert_eq!(found, ["Rome"]);
}

#[test]
fn threads_share_the_caches() {
    let index = index(1 << 20);
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| (0..50).all(|_| index.matches("my sister is Ann") == [0, 5]))).collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    });
    assert!((1..=MAX_CACHES).contains(&lock(&index.caches).len()));
}

#[test]
fn invalid_and_large_expressions_are_errors() {
    assert!(RegexIndex::new(&["(a"], false, 1 << 20, 0).unwrap_err().to_string().contains("unclosed group"));
    let large = RegexIndex::new(&[r"\w{50}"], false, 1000, 0).unwrap();
    assert!(large.check().unwrap_err().to_string().contains("exceeds 1000 bytes"));
    assert!(large.matches("a").is_empty());
    assert!(index(0).check().is_ok());
}
