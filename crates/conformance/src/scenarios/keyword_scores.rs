//! Ranking words: the scores are those of `Bm25` over the searched scope, on every backend.

use memory_engine_core::{Field, Filter, Record, Scope, Terms};
use memory_engine_keyword_store::{Analyzer, Clause, KeywordQuery, TextAnalyzer, WeightedTerm};

use crate::{
    World,
    given::{LARGE_LIMIT, find, id, lin, mo, numbered, session, terms},
    twin::Twin,
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

async fn remember(world: &World, twin: &Twin<'_>, record: &Record, terms: Terms) {
    world.put(&[record]).await;
    twin.index(record, terms).await;
}

/// The texts of a few months, over two sessions of one user.
async fn chronicle<'a>(world: &'a World) -> Twin<'a> {
    let twin = Twin::of(world);
    for (text, number) in TEXTS.iter().zip(1..) {
        let mut record = numbered(&session(if number % 3 == 0 { "a" } else { "b" }), number);
        record.text = (*text).into();
        record.scene = (number % 2 == 0).then(|| "plot".into());
        remember(world, &twin, &record, TextAnalyzer.document(text)).await;
    }
    twin
}

pub async fn scores_are_those_of_the_formula(world: &World) {
    let twin = chronicle(world).await;
    for question in
        ["海鲜过敏", "docker 部署失败", "hiking in the rain", "北京爬山 and Beijing", "mu747", "the", "未知"]
    {
        for limit in [1, 3, LARGE_LIMIT] {
            let query = KeywordQuery::new(TextAnalyzer.query(question), limit);
            twin.same_words(&lin(), &query).await.unwrap_or_else(|e| panic!("{question}: {e}"));
        }
    }
}

pub async fn scores_are_those_worked_by_hand(world: &World) {
    // Two of four records hold "x", and none holds "y": ln(1 + (4 − 2 + 0.5) / (2 + 0.5)) = ln 2, and ln(1 + 4.5 /
    // 0.5) = ln 10. The pivot is 40 terms.
    let long: [&str; 80] = std::array::from_fn(|n| if n < 2 { "x" } else { "a" });
    let even: [&str; 40] = std::array::from_fn(|n| if n < 1 { "x" } else { "b" });
    let texts = [terms(long), terms(even)];
    for (terms, number) in texts.into_iter().chain([terms(["c", "c"]), terms(["c", "c", "c"])]).zip(1..) {
        world.put(&[&numbered(&lin(), number)]).await;
        world.index(&numbered(&lin(), number), terms).await;
    }
    let hits = world.keywords.search(&lin(), &find(&["x", "y"])).await.unwrap();
    let part = 2.0_f64.ln() / (2.0_f64.ln() + 10.0_f64.ln());
    let expected = [(id(1), part * 2.0 * 2.2 / (2.0 + 1.2 * (0.4 + 0.6 * 2.0))), (id(2), part)];
    for (hit, (id, score)) in hits.iter().zip(expected) {
        assert_eq!(hit.id, id);
        assert!((hit.score.value() - score).abs() < 1e-9, "{} is not {score}", hit.score.value());
    }
    assert_eq!(hits.len(), 2);
}

pub async fn statistics_are_those_of_the_searched_scope(world: &World) {
    let twin = chronicle(world).await;
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    for scope in [session("a"), session("b"), lin(), tenant] {
        let query = KeywordQuery::new(TextAnalyzer.query("docker 海鲜 rain"), LARGE_LIMIT);
        twin.same_words(&scope, &query).await.unwrap_or_else(|e| panic!("{scope}: {e}"));
    }
}

pub async fn nobodys_score_depends_on_what_others_have_stored(world: &World) {
    let twin = chronicle(world).await;
    let query = KeywordQuery::new(TextAnalyzer.query("docker 海鲜 rain"), LARGE_LIMIT);
    let before = world.keywords.search(&lin(), &query).await.unwrap();
    for (text, number) in TEXTS.iter().zip(1..) {
        for stranger in [mo(), Scope::tenant_wide("other").unwrap().with_user("lin").unwrap()] {
            remember(world, &twin, &numbered(&stranger, number), TextAnalyzer.document(text)).await;
        }
    }
    let after = world.keywords.search(&lin(), &query).await.unwrap();
    assert_eq!(after, before, "to the last bit");
}

pub async fn a_group_counts_once_by_the_sum_of_its_weighted_terms(world: &World) {
    let twin = chronicle(world).await;
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
        twin.same_words(&lin(), &KeywordQuery::new(clauses, LARGE_LIMIT)).await.unwrap();
    }
    // A record that holds both words of a group gets less than from two clauses of their own, beside another record.
    let ratio = async |mut clauses: Vec<Clause>| {
        clauses.push(Clause::term("docker"));
        let hits = world.keywords.search(&lin(), &KeywordQuery::new(clauses, LARGE_LIMIT)).await.unwrap();
        let score = |number| hits.iter().find(|hit| hit.id == id(number)).unwrap().score.value();
        score(1) / score(2)
    };
    let grouped = ratio(vec![synonyms([1.0, 1.0, 1.0])]).await;
    assert!(grouped < ratio(vec![Clause::term("海鲜"), Clause::term("虾")]).await);
}

pub async fn one_term_in_two_clauses_counts_in_both(world: &World) {
    let twin = chronicle(world).await;
    let group = Clause { terms: ["docker", "rain"].map(|t| Clause::term(t).terms.remove(0)).to_vec(), weight: 0.5 };
    let clauses = vec![Clause::term("docker"), group, Clause::weighted("docker", 2.0)];
    twin.same_words(&lin(), &KeywordQuery::new(clauses, LARGE_LIMIT)).await.unwrap();
}

pub async fn a_filter_narrows_what_is_found_and_leaves_the_scores(world: &World) {
    let twin = chronicle(world).await;
    let clauses = TextAnalyzer.query("docker 海鲜 rain 爬山");
    let all = world.keywords.search(&lin(), &KeywordQuery::new(clauses.clone(), LARGE_LIMIT)).await.unwrap();
    for filter in [Filter::eq(Field::Scene, "plot"), Filter::ne(Field::Scene, "plot"), Filter::eq(Field::Session, "a")]
    {
        for limit in [1, 2, LARGE_LIMIT] {
            let query = KeywordQuery::new(clauses.clone(), limit).with_filter(Some(filter.clone()));
            twin.same_words(&lin(), &query).await.unwrap();
            let found = world.keywords.search(&lin(), &query).await.unwrap();
            assert!(found.iter().all(|hit| all.contains(hit)), "as it scored without a filter");
        }
    }
}

pub async fn scores_follow_what_was_replaced_and_deleted(world: &World) {
    let twin = chronicle(world).await;
    twin.index(&world.stored(&numbered(&session("a"), 3)).await.unwrap(), terms(["rain", "docker"])).await;
    let query = KeywordQuery::new(TextAnalyzer.query("docker rain"), LARGE_LIMIT);
    twin.same_words(&lin(), &query).await.unwrap();
    twin.forget(&lin(), &[id(2), id(10)]).await;
    twin.same_words(&lin(), &query).await.unwrap();
}

pub async fn records_without_an_entry_are_not_counted_and_those_without_terms_are(world: &World) {
    let twin = chronicle(world).await;
    let query = KeywordQuery::new(TextAnalyzer.query("docker"), LARGE_LIMIT);
    world.put(&[&numbered(&session("a"), 100)]).await;
    twin.same_words(&lin(), &query).await.unwrap();
    let silent = numbered(&session("a"), 101);
    remember(world, &twin, &silent, Terms::default()).await;
    twin.same_words(&lin(), &query).await.unwrap();
}
