use memory_engine_keyword_store::TextAnalyzer;

use super::*;
use crate::group::SynonymGroup;

const TEXTS: &[&str] = &[
    "团子 又 叫 小白",
    "小白 就是 团子 啦",
    "我家 团子 小白 很乖",
    "今天 天气 不错",
    "今天 吃 面条",
    "明天 天气 如何",
    "今天 加班",
    "面条 好吃",
];

fn texts() -> Vec<(RecordId, &'static str)> {
    TEXTS.iter().zip(1..).map(|(text, n)| (RecordId::from_bytes([n; 16]), *text)).collect()
}

fn suggest(known: &[SynonymGroup], verdicts: &[PairVerdict], vectors: &[(String, Embedding)]) -> Vec<Suggestion> {
    let known = Thesaurus::new(&TextAnalyzer, known.to_vec());
    Suggester::default().suggest(&texts(), vectors, &known, verdicts)
}

#[test]
fn k18_suggests_co_occurring_words_with_evidence() {
    let found = suggest(&[], &[], &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].pair, WordPair::new("团子", "小白").unwrap());
    assert_eq!((found[0].evidence.together, found[0].evidence.examples.len()), (3, 3));
    assert!(found[0].evidence.association > 0.99);
}

#[test]
fn k18_known_and_decided_pairs_are_left_out() {
    assert!(suggest(&[SynonymGroup::new("小白", ["团子"])], &[], &[]).is_empty());
    let pair = WordPair::new("团子", "小白").unwrap();
    assert!(suggest(&[], &[PairVerdict { pair, accepted: false }], &[]).is_empty());
}

#[test]
fn similar_vectors_are_evidence() {
    let vector = |x: f32, y: f32| Embedding::new(vec![x, y]).unwrap();
    let vectors =
        [("雇佣兵".into(), vector(1.0, 0.1)), ("mercenary".into(), vector(1.0, 0.12)), ("猫".into(), vector(0.0, 1.0))];
    let found = suggest(&[], &[], &vectors);
    let pair = WordPair::new("雇佣兵", "mercenary").unwrap();
    let evidence = &found.iter().find(|s| s.pair == pair).unwrap().evidence;
    assert!(evidence.nearness.unwrap() > 0.99 && evidence.together == 0);
    assert_eq!(found.len(), 2);
}

#[test]
fn too_few_records_suggest_nothing() {
    let suggester = Suggester::default();
    assert!(suggester.suggest(&texts()[..2], &[], &Thesaurus::default(), &[]).is_empty());
    assert!(suggester.suggest(&[], &[], &Thesaurus::default(), &[]).is_empty());
    assert_eq!(suggester.words(&texts())[..2], ["今天", "团子"]);
}
