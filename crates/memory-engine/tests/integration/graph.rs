//! Entities and relations of memories: in recalls, with citations, and when the graph fails.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use memory_engine::{
    Error, ErrorKind, Field, Filter, Forget, ForgetText, Kind, MemoryEngine, Op, PutMode, RecallOptions, RecallQuery,
    Record, RecordId, Result, Scope, State, SystemClock,
    embed::{DefaultEmbedder, Embedder},
    graph::{
        ChatExtractor, Extraction, GraphEntry, GraphExtractor, GraphFactsQuery, GraphQuery, GraphStats,
        MemoryGraphStore, RuleExtractor, Subgraph,
    },
    llm::{ScriptedModel, ScriptedReply},
    recall::Retriever,
    store::{GraphStore, RecordStore, RemovalCounts, Stores},
};

use crate::given::{Backend, lin};

fn message(scope: &Scope, number: i64, text: &str) -> Record {
    let mut record = Record::new(scope.clone(), Kind::TURN, text, &SystemClock);
    record.id = RecordId::named(scope, &format!("m{number}"));
    record.source.message_id = Some(format!("m{number}"));
    record.source.sequence = Some(number);
    record
}

/// Stores the records and indexes their entities.
async fn store_and_index(memory: &MemoryEngine, records: &[Record]) {
    memory.store(&lin(), records.to_vec(), PutMode::Upsert).await.unwrap();
    let ids: Vec<RecordId> = records.iter().map(|record| record.id).collect();
    let stored: Vec<Record> = memory.get_all(&lin(), &ids).await.unwrap().into_iter().flatten().collect();
    let done = memory.graph().index(&lin(), &stored).await.unwrap();
    assert_eq!((done.records, done.failed.len()), (records.len() as u64, 0));
}

fn ids(recall: &memory_engine::Recall) -> Vec<String> {
    recall.hits.iter().map(|hit| hit.record.source.message_id.clone().unwrap()).collect()
}

fn story() -> Vec<Record> {
    let session = lin().with_session("s").unwrap();
    let texts = [
        "Captain Holt sailed the Sea Hawk into the fog.",
        "It was known that Captain Holt had once loved Anna Reed.",
        "The weather in the harbour was terrible all winter.",
        "沈砚在青石村遇见了林晓月，沈砚救了林晓月。",
        "林晓月说，她的师父住在落霞山。",
    ];
    (1..).zip(texts).map(|(number, text)| message(&session, number, text)).collect()
}

#[tokio::test]
async fn r8_records_near_the_entities_of_a_question_are_found_without_a_shared_word() {
    for backend in Backend::all() {
        let memory =
            backend.builder().graph(Arc::new(RuleExtractor::default())).background(false).build().await.unwrap();
        store_and_index(&memory, &story()).await;
        let options = RecallOptions::default().with_graph_hops(2);
        let ask = |text: &str| RecallQuery::new(text).with_options(options);
        let found = memory.recall(&lin(), ask("who is Anna Reed")).await.unwrap();
        assert_eq!(ids(&found)[..2], ["m2", "m1"], "the ship of the man who loved her");
        let ship = &found.hits[1];
        assert!(ship.found_by.iter().any(|found| found.retriever == Retriever::Graph), "{:?}", ship.found_by);
        assert!(!ship.relevant, "proximity in the graph alone is no answer");
        let found = memory.recall(&lin(), ask("青石村有谁？")).await.unwrap();
        let places: Vec<&str> = found.hits.iter().map(|hit| &hit.record.text[..]).collect();
        assert!(places[0].contains("青石村") && places.iter().any(|text| text.contains("落霞山")), "{places:?}");

        let explained = memory.admin().explain(&lin(), ask("who is Anna Reed"), story()[0].id).await.unwrap();
        assert!(explained.hit.unwrap().found_by.iter().any(|found| found.retriever == Retriever::Graph));
        let after = RecallQuery::new("what then?").with_context(["They spoke of Anna Reed."]);
        assert_eq!(ids(&memory.recall(&lin(), after).await.unwrap()), ["m2"], "the context names her");
    }
}

#[tokio::test]
async fn without_a_graph_recalls_are_unchanged() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        memory.store(&lin(), story(), PutMode::Upsert).await.unwrap();
        let e = memory.graph().index(&lin(), &story()).await.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unsupported);
        assert!(e.to_string().contains("Builder::graph"), "{e}");
        let plain = memory.recall(&lin(), "Captain Holt and Anna Reed").await.unwrap();
        let off = RecallQuery::new("Captain Holt and Anna Reed")
            .with_options(RecallOptions::default().with_graph_weight(0.0));
        let off = memory.recall(&lin(), off).await.unwrap();
        let scores =
            |recall: &memory_engine::Recall| recall.hits.iter().map(|h| (h.record.id, h.score)).collect::<Vec<_>>();
        assert_eq!(scores(&plain), scores(&off));
        assert!(plain.hits.iter().flat_map(|hit| &hit.found_by).all(|found| found.retriever != Retriever::Graph));
    }
}

#[tokio::test]
async fn r8_graph_facts_cite_their_message() {
    let reply = r#"{"entities": [{"name": "沈砚", "type": "人物", "aliases": ["阿砚"]}, {"name": "青云门", "type": "org"}],
        "relations": [{"source": "阿砚", "relation": "弟子", "target": "青云门", "valid_from": "2026-01-02"},
                      {"source": "沈砚", "relation": "knows", "target": "nobody"}]}"#;
    for backend in Backend::all() {
        let model = ScriptedModel::default().otherwise(reply);
        let extractor = Arc::new(ChatExtractor::new(Arc::new(model)));
        let memory = backend.builder().graph(extractor).background(false).build().await.unwrap();
        let main = lin().with_branch("main").unwrap();
        let fork = lin().with_branch("fork").unwrap();
        store_and_index(
            &memory,
            &[message(&main, 7, "阿砚，也就是沈砚，是青云门的弟子。"), message(&fork, 9, "沈砚又提起了青云门。")],
        )
        .await;
        let facts = memory.graph().facts(&lin(), &GraphFactsQuery::about(["阿砚现在在哪？"])).await.unwrap();
        assert_eq!(facts.entities.iter().map(|e| e.name.as_str()).collect::<Vec<_>>(), ["沈砚", "青云门"]);
        assert_eq!((&facts.entities[0].aliases[..], facts.relations.len()), (&["阿砚".to_owned()][..], 1));
        let relation = &facts.relations[0];
        assert_eq!((&relation.source[..], &relation.relation[..], &relation.target[..]), ("沈砚", "弟子", "青云门"));
        assert_eq!(relation.valid_from.unwrap().to_string(), "2026-01-02T00:00:00Z");
        assert_eq!((relation.citation.message_id.as_deref(), relation.citation.sequence), (Some("m9"), Some(9)));
        // A branch that inherits up to the seventh message.
        let inherited = Filter::eq(Field::Branch, "main").and(Filter::compare(Field::Sequence, Op::Le, 7.0));
        let query = GraphFactsQuery::about(["沈砚"]).with_filter(Some(inherited));
        let facts = memory.graph().facts(&lin(), &query).await.unwrap();
        assert_eq!(facts.relations[0].citation.sequence, Some(7));
        assert_eq!(
            memory.graph().facts(&fork, &GraphFactsQuery::about(["沈砚"])).await.unwrap().relations[0]
                .citation
                .sequence,
            Some(9)
        );
    }
}

#[tokio::test]
async fn forgotten_and_revoked_records_are_not_in_the_graph() {
    for backend in Backend::all() {
        let memory =
            backend.builder().graph(Arc::new(RuleExtractor::default())).background(false).build().await.unwrap();
        let story = story();
        store_and_index(&memory, &story).await;
        memory.forget(&lin(), story[1].id).await.unwrap();
        let mut revoked = memory.get(&lin(), story[0].id).await.unwrap().unwrap();
        revoked.state = State::Revoked;
        memory.store(&lin(), vec![revoked], PutMode::Upsert).await.unwrap();
        let facts =
            memory.graph().facts(&lin(), &GraphFactsQuery::about(["Anna Reed and Captain Holt"])).await.unwrap();
        assert!(facts.entities.is_empty(), "{facts:?}");
        let late = memory.graph().index(&lin(), &story[..2]).await.unwrap();
        assert_eq!(late.records, 2, "indexing ignores that they are forgotten");
        let facts =
            memory.graph().facts(&lin(), &GraphFactsQuery::about(["Anna Reed and Captain Holt"])).await.unwrap();
        assert!(facts.entities.is_empty(), "{facts:?}");
        let done = memory.graph().rebuild(&lin(), |_| {}).await.unwrap();
        assert_eq!((done.records, done.failed.len()), (3, 0));
        assert_eq!(memory.graph().store().stats(&lin()).await.unwrap().records, 2, "one of three names no entity");
    }
}

#[tokio::test]
async fn a_model_failure_for_one_record_affects_no_other() {
    let good = r#"{"entities": [{"name": "Anna", "kind": "person", "aliases": []}], "relations": []}"#;
    let model = ScriptedModel::default()
        .when_asked("broken", ScriptedReply::Fail(ErrorKind::Unavailable))
        .when(|request| request.messages.iter().any(|m| m.content.contains("odd")), "I would rather not.")
        .otherwise(good);
    for backend in Backend::all() {
        let extractor = Arc::new(ChatExtractor::new(Arc::new(model.clone())));
        let memory = backend.builder().graph(extractor).background(false).build().await.unwrap();
        let records = [
            message(&lin(), 1, "a broken message"),
            message(&lin(), 2, "Anna spoke"),
            message(&lin(), 3, "an odd one"),
        ];
        memory.store(&lin(), records.to_vec(), PutMode::Upsert).await.unwrap();
        let done = memory.graph().rebuild(&lin(), |_| {}).await.unwrap();
        let failed: Vec<(RecordId, ErrorKind)> = done.failed.iter().map(|(id, e)| (*id, e.kind())).collect();
        assert_eq!(done.records, 1);
        assert_eq!(failed, [(records[0].id, ErrorKind::Unavailable), (records[2].id, ErrorKind::InvalidInput)]);
        assert_eq!(ids(&memory.recall(&lin(), "broken message").await.unwrap())[0], "m1", "found by its words");
    }
}

/// A store that fails.
#[derive(Debug)]
struct BrokenGraph;

#[async_trait]
impl GraphStore for BrokenGraph {
    async fn upsert(&self, _: &Scope, _: &[GraphEntry]) -> Result<()> {
        Err(Error::new(ErrorKind::Unavailable, "graph", "it is out of order"))
    }
    async fn delete(&self, _: &Scope, _: &[RecordId]) -> Result<RemovalCounts> {
        Ok(RemovalCounts::default())
    }
    async fn expand(&self, _: &Scope, _: &GraphQuery) -> Result<Subgraph> {
        Err(Error::new(ErrorKind::Unavailable, "graph", "it is out of order"))
    }
    async fn stats(&self, _: &Scope) -> Result<GraphStats> {
        Ok(GraphStats::default())
    }
    async fn clear(&self, _: &Scope) -> Result<()> {
        Ok(())
    }
}

/// An extractor that finds nothing.
#[derive(Debug)]
struct EmptyExtractor;

#[async_trait]
impl GraphExtractor for EmptyExtractor {
    async fn extract(&self, _: &Record) -> Result<Extraction> {
        Ok(Extraction::default())
    }
}

/// A graph that notes the texts of the records whose entities are deleted.
#[derive(Debug)]
struct NotingGraph {
    inner: MemoryGraphStore,
    records: Arc<dyn RecordStore>,
    noted: Mutex<Vec<String>>,
}

#[async_trait]
impl GraphStore for NotingGraph {
    async fn upsert(&self, scope: &Scope, entries: &[GraphEntry]) -> Result<()> {
        self.inner.upsert(scope, entries).await
    }
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<RemovalCounts> {
        for record in self.records.get(scope, ids).await?.into_iter().flatten() {
            self.noted.lock().unwrap().push(record.text);
        }
        self.inner.delete(scope, ids).await
    }
    async fn expand(&self, scope: &Scope, query: &GraphQuery) -> Result<Subgraph> {
        self.inner.expand(scope, query).await
    }
    async fn stats(&self, scope: &Scope) -> Result<GraphStats> {
        self.inner.stats(scope).await
    }
    async fn clear(&self, scope: &Scope) -> Result<()> {
        self.inner.clear(scope).await
    }
}

#[tokio::test]
async fn the_entities_of_a_redacted_text_are_deleted_after_it_is_replaced() {
    let stores = Stores::in_memory(DefaultEmbedder::default().space().clone());
    let (inner, records) = (MemoryGraphStore::new(), stores.records.clone());
    let graph = Arc::new(NotingGraph { inner, records, noted: Mutex::default() });
    let stores = Stores { graph: graph.clone(), ..stores };
    let rules = Arc::new(RuleExtractor::default());
    let memory = MemoryEngine::builder().stores(stores).graph(rules).background(false).build().await.unwrap();
    store_and_index(&memory, &[message(&lin(), 1, "沈砚在青石村遇见了林晓月，沈砚救了林晓月。")]).await;
    let names = async || {
        let query = GraphQuery::of(["沈砚", "林晓月"]).with_hops(0);
        memory.graph().store().expand(&lin(), &query).await.unwrap().entities.len()
    };
    assert_eq!(names().await, 2);
    memory.forget(&lin(), Forget::Text(ForgetText::new("林晓月").with_redact(true))).await.unwrap();
    // If the write had failed, no entity would be lost.
    assert_eq!(*graph.noted.lock().unwrap(), ["沈砚在青石村遇见了[deleted]，沈砚救了[deleted]。"]);
    assert_eq!(names().await, 0);
    memory.drain(&lin(), |_| ()).await.unwrap();
    assert_eq!(names().await, 1, "the others are extracted again");
}

#[tokio::test]
async fn a_failing_graph_is_reported_and_the_other_retrievers_answer() {
    let graph = Arc::new(BrokenGraph);
    let stores = Stores { graph, ..Stores::in_memory(DefaultEmbedder::default().space().clone()) };
    let memory = MemoryEngine::builder().stores(stores).graph(EmptyExtractor).background(false).build().await.unwrap();
    memory.store(&lin(), story(), PutMode::Upsert).await.unwrap();
    let found = memory.recall(&lin(), "Captain Holt").await.unwrap();
    assert_eq!(found.hits.len(), 2);
    assert_eq!(found.degraded.iter().map(|d| d.stage).collect::<Vec<_>>(), ["graph"]);
    assert!(found.degraded[0].reason.contains("out of order"), "{:?}", found.degraded);
}

#[tokio::test]
async fn a_name_is_known_in_the_later_messages_of_its_session() {
    for backend in Backend::all() {
        let memory =
            backend.builder().graph(Arc::new(RuleExtractor::default())).background(false).build().await.unwrap();
        let first = lin().with_session("first").unwrap();
        let second = lin().with_session("second").unwrap();
        let introduction = message(&first, 1, "Odile laughed, and I thanked Odile. 沈砚说，好的。");
        store_and_index(&memory, &[introduction]).await;
        let mention = message(&first, 2, "Odile again, of course. 桌上有沈砚的信。");
        let elsewhere = message(&second, 3, "Odile again, of course. 桌上有沈砚的信。");
        store_and_index(&memory, &[mention.clone(), elsewhere.clone()]).await;
        // Within one batch, too.
        let batch = [message(&second, 4, "Marek laughed, and I thanked Marek."), message(&second, 5, "Marek again.")];
        store_and_index(&memory, &batch).await;
        for (name, known) in [("Odile", &mention), ("沈砚", &mention), ("Marek", &batch[1])] {
            let query = GraphQuery::of([name]).with_hops(0);
            let found = memory.graph().store().expand(&lin(), &query).await.unwrap();
            let evidence = &found.entities[0].evidence;
            assert!(evidence.contains(&known.id) && !evidence.contains(&elsewhere.id), "{name}: {found:?}");
        }
    }
}
