//! Sister branches: no retriever finds a record of the other branch.

use std::{collections::BTreeSet, sync::Arc};

use memory_engine::{
    MemoryEngine, RecallQuery, ScanQuery, Scope, Turn,
    graph::{GraphFactsQuery, RuleExtractor},
    history::Fork,
    recall::{Retriever, Retrievers, Verdict},
};

use crate::given::{Backend, lin};

const SHARED: &str = "沈砚在青石村遇见了林晓月";
const LEFT_TEXT: &str = "沈砚在青石村救了林晓月";
const RIGHT_TEXT: &str = "沈砚在青石村骗了林晓月";
/// On the main branch, directly after the shared turn and after the fork: visible in neither branch.
const AFTER_FORK: &str = "沈砚离开了青石村";

fn branch(name: &str) -> Scope {
    lin().with_session("story").unwrap().with_branch(name).unwrap()
}

async fn forked(backend: &Backend) -> MemoryEngine {
    let builder = backend.builder().graph(Arc::new(RuleExtractor::default())).background(false);
    let memory = builder.build().await.unwrap();
    memory.remember(&branch("main"), Turn::user(SHARED).with_sequence(1)).await.unwrap();
    memory.remember(&branch("main"), Turn::assistant(AFTER_FORK).with_sequence(2)).await.unwrap();
    for (name, text) in [("left", LEFT_TEXT), ("right", RIGHT_TEXT)] {
        memory.history().fork(&branch(name), Fork::at(1).from_branch("main")).await.unwrap();
        memory.remember(&branch(name), Turn::assistant(text).with_sequence(2)).await.unwrap();
    }
    memory.drain(&lin(), |_| ()).await.unwrap();
    memory
}

#[tokio::test]
async fn r10_no_retriever_finds_a_sister_branch() {
    for backend in Backend::all() {
        let memory = forked(&backend).await;
        for (name, own, other) in [("left", LEFT_TEXT, RIGHT_TEXT), ("right", RIGHT_TEXT, LEFT_TEXT)] {
            let mut found_by = BTreeSet::new();
            for retrievers in [Retrievers::KeywordOnly, Retrievers::VectorOnly, Retrievers::All] {
                for text in [SHARED, own, other, AFTER_FORK] {
                    let query = RecallQuery::new(text).with_retrievers(retrievers);
                    let recall = memory.recall(&branch(name), query).await.unwrap();
                    for hit in &recall.hits {
                        assert!([SHARED, own].contains(&hit.record.text.as_str()), "{name}: {}", hit.record.text);
                        found_by.extend(hit.found_by.iter().map(|hit| hit.retriever.as_str()));
                    }
                }
            }
            let all = [Retriever::Keyword, Retriever::Vector, Retriever::Graph].map(Retriever::as_str);
            assert!(all.iter().all(|retriever| found_by.contains(retriever)), "{found_by:?}");

            let timeline = memory.history().timeline(&branch(name), &ScanQuery::oldest(9)).await.unwrap();
            assert!(timeline.records.iter().all(|record| ![other, AFTER_FORK].contains(&record.text.as_str())));
            let facts = memory.graph().facts(&branch(name), &GraphFactsQuery::about(["青石村"])).await.unwrap();
            assert!(!facts.entities.is_empty());
            let cited = facts.relations.iter().map(|relation| relation.citation.record);
            for id in cited.chain(facts.entities.iter().map(|entity| entity.citation.record)) {
                let record = memory.get(&lin(), id).await.unwrap().unwrap();
                assert!([SHARED, own].contains(&record.text.as_str()), "{name}: {}", record.text);
            }
        }
    }
}

#[tokio::test]
async fn r10_a_record_of_a_sister_branch_is_explained_as_filtered() {
    for backend in Backend::all() {
        let memory = forked(&backend).await;
        let sister = memory.scan(&branch("right"), &ScanQuery::newest(1)).await.unwrap().records.remove(0);
        let why = memory.admin().explain(&branch("left"), RIGHT_TEXT, sister.id).await.unwrap();
        assert_eq!((why.verdict, why.hit.is_none()), (Verdict::Filtered, true));
    }
}
