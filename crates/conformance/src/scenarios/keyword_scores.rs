//! Keyword scores equal those of `Bm25` with the statistics of the searched scope.

use memory_engine_core::{Field, Filter, Record, Scope, Terms};
use memory_engine_keyword_store::{Analyzer, Clause, KeywordQuery, TextAnalyzer, WeightedTerm};

use crate::{
    World,
    fixtures::{LARGE_LIMIT, find, id, lin, mo, numbered, session, terms},
    reference::ReferenceStores,
};

const TEXTS: [&str; 12] = [
    "我对海鲜过敏，尤其是虾和蟹。",
    "The docker deployment failed again, docker said the port was taken.",
    "帮我看下 docker 部署的問題，昨天也失败了。",
    "周末喜欢去爬山，北京的山不高。",
    "I am allergic to peanuts, not to seafood.",
    "虾",
    "…",
    "We talked about hiking in the mountains near Beijing, about boots, about rain and about the long way home.",
    "下雨了，不去爬山，在家看书。",
    "rain rain rain rain rain rain rain rain",
    "飞往臺北的航班是 MU747，三月二日。",
    "海鲜 海鲜 docker",
];

async fn put_and_index(world: &World, reference: &ReferenceStores<'_>, record: &Record, terms: Terms) {
    world.put(&[record]).await;
    reference.index(record, terms).await;
}

/// Indexes the texts, in two sessions of one user.
async fn index_texts<'a>(world: &'a World) -> ReferenceStores<'a> {
    let reference = ReferenceStores::of(world);
    for (text, number) in TEXTS.iter().zip(1..) {
        let mut record = numbered(&session(if number % 3 == 0 { "a" } else { "b" }), number);
        record.text = (*text).into();
        record.scene = (number % 2 == 0).then(|| "plot".into());
        put_and_index(world, &reference, &record, TextAnalyzer.document(text)).await;
    }
    reference
}

pub async fn scores_equal_the_reference(world: &World) {
    let reference = index_texts(world).await;
    for query_text in
        ["海鲜过敏", "docker 部署失败", "hiking in the rain", "北京爬山 and Beijing", "mu747", "the", "未知"]
    {
        for limit in [1, 3, LARGE_LIMIT] {
            let query = KeywordQuery::new(TextAnalyzer.query(query_text), limit);
            reference.check_keyword_search(&lin(), &query).await.unwrap_or_else(|e| panic!("{query_text}: {e}"));
        }
    }
}

pub async fn scores_equal_a_worked_example(world: &World) {
    // Two of four records hold "x", and none holds "y": ln(1 + (4 − 2 + 0.5) / (2 + 0.5)) = ln 2, and ln(1 + 4.5 /
    // 0.5) = ln 10. The pivot is 40 terms.
    let long: [&str; 80] = std::array::from_fn(|n| if n < 2 { "x" } else { "a" });
    let short: [&str; 40] = std::array::from_fn(|n| if n < 1 { "x" } else { "b" });
    let texts = [terms(long), terms(short)];
    for (terms, number) in texts.into_iter().chain([terms(["c", "c"]), terms(["c", "c", "c"])]).zip(1..) {
        world.put(&[&numbered(&lin(), number)]).await;
        world.index(&numbered(&lin(), number), terms).await;
    }
    let hits = world.keywords.search(&lin(), &find(&["x", "y"])).await.unwrap();
    let ratio = 2.0_f64.ln() / (2.0_f64.ln() + 10.0_f64.ln());
    let expected = [(id(1), ratio * 2.0 * 2.2 / (2.0 + 1.2 * (0.4 + 0.6 * 2.0))), (id(2), ratio)];
    for (hit, (id, score)) in hits.iter().zip(expected) {
        assert_eq!(hit.id, id);
        assert!((hit.score.value() - score).abs() < 1e-9, "{} is not {score}", hit.score.value());
    }
    assert_eq!(hits.len(), 2);
}

pub async fn statistics_cover_the_searched_scope(world: &World) {
    let reference = index_texts(world).await;
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    for scope in [session("a"), session("b"), lin(), tenant] {
        let query = KeywordQuery::new(TextAnalyzer.query("docker 海鲜 rain"), LARGE_LIMIT);
        reference.check_keyword_search(&scope, &query).await.unwrap_or_else(|e| panic!("{scope}: {e}"));
    }
}

pub async fn other_users_do_not_affect_scores(world: &World) {
    let reference = index_texts(world).await;
    let query = KeywordQuery::new(TextAnalyzer.query("docker 海鲜 rain"), LARGE_LIMIT);
    let before = world.keywords.search(&lin(), &query).await.unwrap();
    for (text, number) in TEXTS.iter().zip(1..) {
        for stranger in [mo(), Scope::tenant_wide("other").unwrap().with_user("lin").unwrap()] {
            put_and_index(world, &reference, &numbered(&stranger, number), TextAnalyzer.document(text)).await;
        }
    }
    let after = world.keywords.search(&lin(), &query).await.unwrap();
    assert_eq!(after, before, "scores are bit-identical");
}

pub async fn a_clause_scores_the_weighted_sum_of_its_terms(world: &World) {
    let reference = index_texts(world).await;
    let synonyms = |weights: [f64; 3]| Clause {
        terms: ["海鲜", "虾", "seafood"]
            .into_iter()
            .zip(weights)
            .map(|(term, weight)| WeightedTerm { term: term.into(), weight })
            .collect(),
        weight: 1.0,
    };
    for weights in [[1.0, 1.0, 1.0], [1.0, 0.5, 0.25], [0.1, 2.0, 0.7]] {
        let clauses = vec![synonyms(weights), Clause::weighted("docker", 0.3)];
        reference.check_keyword_search(&lin(), &KeywordQuery::new(clauses, LARGE_LIMIT)).await.unwrap();
    }
    // A record with two terms of one clause scores lower, relative to another record, than with two separate clauses.
    let ratio = async |mut clauses: Vec<Clause>| {
        clauses.push(Clause::term("docker"));
        let hits = world.keywords.search(&lin(), &KeywordQuery::new(clauses, LARGE_LIMIT)).await.unwrap();
        let score = |number| hits.iter().find(|hit| hit.id == id(number)).unwrap().score.value();
        score(1) / score(2)
    };
    let grouped = ratio(vec![synonyms([1.0, 1.0, 1.0])]).await;
    assert!(grouped < ratio(vec![Clause::term("海鲜"), Clause::term("虾")]).await);
}

pub async fn a_term_in_two_clauses_scores_in_both(world: &World) {
    let reference = index_texts(world).await;
    let group = Clause { terms: ["docker", "rain"].map(|t| Clause::term(t).terms.remove(0)).to_vec(), weight: 0.5 };
    let clauses = vec![Clause::term("docker"), group, Clause::weighted("docker", 2.0)];
    reference.check_keyword_search(&lin(), &KeywordQuery::new(clauses, LARGE_LIMIT)).await.unwrap();
}

pub async fn a_filter_does_not_change_scores(world: &World) {
    let reference = index_texts(world).await;
    let clauses = TextAnalyzer.query("docker 海鲜 rain 爬山");
    let all = world.keywords.search(&lin(), &KeywordQuery::new(clauses.clone(), LARGE_LIMIT)).await.unwrap();
    for filter in [Filter::eq(Field::Scene, "plot"), Filter::ne(Field::Scene, "plot"), Filter::eq(Field::Session, "a")]
    {
        for limit in [1, 2, LARGE_LIMIT] {
            let query = KeywordQuery::new(clauses.clone(), limit).with_filter(Some(filter.clone()));
            reference.check_keyword_search(&lin(), &query).await.unwrap();
            let found = world.keywords.search(&lin(), &query).await.unwrap();
            assert!(found.iter().all(|hit| all.contains(hit)), "the scores are those without a filter");
        }
    }
}

pub async fn scores_follow_replaced_and_deleted_terms(world: &World) {
    let reference = index_texts(world).await;
    reference.index(&world.stored(&numbered(&session("a"), 3)).await.unwrap(), terms(["rain", "docker"])).await;
    let query = KeywordQuery::new(TextAnalyzer.query("docker rain"), LARGE_LIMIT);
    reference.check_keyword_search(&lin(), &query).await.unwrap();
    reference.forget(&lin(), &[id(2), id(10)]).await;
    reference.check_keyword_search(&lin(), &query).await.unwrap();
}

pub async fn statistics_count_entries_not_records(world: &World) {
    let reference = index_texts(world).await;
    let query = KeywordQuery::new(TextAnalyzer.query("docker"), LARGE_LIMIT);
    world.put(&[&numbered(&session("a"), 100)]).await;
    reference.check_keyword_search(&lin(), &query).await.unwrap();
    let without_terms = numbered(&session("a"), 101);
    put_and_index(world, &reference, &without_terms, Terms::default()).await;
    reference.check_keyword_search(&lin(), &query).await.unwrap();
}
