//! What a recall adds to what its retrievers find: the statements of a topic, and what replaced an outdated one.

use memory_engine::{
    EnrichmentOptions, MemoryEngine, RecallOptions, RecallQuery, Timestamp, Turn,
    recall::{RecallHit, Retriever},
};

use crate::fixtures::{NOON, TestDatabase, lin};

const HOUR: i64 = 3_600_000_000;

/// Opens a memory in which these things were said, one every hour until now.
async fn told(test_db: &TestDatabase, texts: &[&str]) -> MemoryEngine {
    let memory = test_db.open_with(|builder| builder.enrichment(EnrichmentOptions::rules().unwrap())).await;
    for (hours, text) in (1..).zip(texts.iter().rev()) {
        memory.remember(&lin(), Turn::user(*text).at(Timestamp::from_micros(NOON - hours * HOUR))).await.unwrap();
    }
    memory.drain(&lin(), |_| ()).await.unwrap();
    memory
}

async fn relevant(memory: &MemoryEngine, query: impl Into<RecallQuery>) -> Vec<RecallHit> {
    let recall = memory.recall(&lin(), query).await.unwrap();
    assert!(!recall.is_partial(), "{:?}", recall.degraded);
    recall.hits.into_iter().filter(|hit| hit.relevant).collect()
}

pub(crate) async fn m8_a_topic_finds_what_limits_the_answer(test_db: TestDatabase) {
    let memory = told(
        &test_db,
        &[
            "Prawns make my lips go numb and puffy.",
            "The office printer jammed twice this morning.",
            "I've been scared of heights since I fell off a ladder.",
            "我姐家的布偶猫又胖了",
            "我一闻到油漆味就头疼得厉害",
            "昨天的会开了三个小时",
        ],
    )
    .await;
    for (message, words) in [
        ("where should we eat on Friday?", "Prawns"),
        ("周五部门聚餐订哪家馆子", "Prawns"),
        ("a nice bridge walk or a glass viewing platform for Sunday?", "heights"),
        ("卧室墙想翻新一下，怎么弄好", "油漆"),
    ] {
        let hits = relevant(&memory, message).await;
        let hit = hits.iter().find(|hit| hit.text().contains(words)).unwrap_or_else(|| panic!("{message}: {hits:?}"));
        assert!(hit.found_by.iter().any(|found| found.retriever == Retriever::Topic), "{hit:?}");
        assert!(hits.len() <= 3 && hits.iter().all(|hit| !hit.text().contains("printer")), "{message}: {hits:?}");
    }
    for unrelated in
        ["How many bones does a shark have?", "把这句话翻译成法语：厨房着火了", "We ate at home yesterday."]
    {
        let hits = relevant(&memory, unrelated).await;
        assert!(
            hits.iter().all(|hit| hit.found_by.iter().all(|found| found.retriever != Retriever::Topic)),
            "{hits:?}"
        );
    }
    let without =
        RecallQuery::new("where should we eat on Friday?").with_options(RecallOptions::default().with_topic_limit(0));
    assert!(relevant(&memory, without).await.iter().all(|hit| !hit.text().contains("Prawns")));
}

pub(crate) async fn an_outdated_statement_comes_after_what_holds_now(test_db: TestDatabase) {
    let memory = told(
        &test_db,
        &[
            "我住在苏州，离平江路很近",
            "I work at Nokia in Espoo.",
            "我上个月搬到南通了",
            "I left Nokia, I work at Wolt now.",
        ],
    )
    .await;
    for (question, old, new) in [("我住在哪里", "苏州", "南通"), ("Where do I work?", "Espoo", "Wolt")] {
        let hits = memory.recall(&lin(), question).await.unwrap().hits;
        let place = |words: &str, outdated: bool| {
            let is_it = |hit: &RecallHit| hit.text().contains(words) && hit.outdated == outdated;
            hits.iter().position(is_it).unwrap_or_else(|| panic!("{words}: {hits:?}"))
        };
        assert!(place(new, false) < place(old, true), "{hits:?}");
        assert!(hits.iter().all(|hit| hit.text().contains(old) || !hit.outdated), "{hits:?}");
        assert!(hits.is_sorted_by(|a, b| a.score >= b.score), "{hits:?}");
    }
    let then = RecallQuery::new("我住在哪里").as_of(Timestamp::from_micros(NOON));
    assert!(memory.recall(&lin(), then).await.unwrap().hits.iter().all(|hit| !hit.outdated), "a query of the past");
}
