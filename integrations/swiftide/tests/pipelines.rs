//! Storing and retrieving, with the pipelines of swiftide.
#![allow(clippy::unwrap_used)]

use std::num::NonZeroUsize;

use memory_engine::{Field, Filter, Forget, MemoryEngine, RecallQuery, Scope, Turn};
use swiftide_core::{
    Persist, Retrieve,
    document::Document,
    indexing::{IndexingStream, TextNode},
    querying::{
        Query, SearchStrategy,
        search_strategies::{CustomStrategy, HybridSearch, SimilaritySingleEmbedding},
        states,
    },
};
use swiftide_indexing::transformers::ChunkMarkdown;
use swiftide_memory_engine::{EngineFilter, EngineStorage};

async fn engine() -> MemoryEngine {
    MemoryEngine::builder().in_memory().build().await.unwrap()
}

fn docs() -> Scope {
    Scope::user("docs").unwrap()
}

fn storage(engine: &MemoryEngine) -> EngineStorage {
    EngineStorage::new(engine.clone(), docs())
}

fn node(path: &str, chunk: &str) -> TextNode {
    let mut node = TextNode::new(chunk);
    node.path = path.into();
    node.with_metadata([("title", path.to_uppercase())]);
    node
}

fn harbour_and_kitchen() -> Vec<TextNode> {
    vec![
        node("harbour.md", "The ferry to Almada leaves at 9:40 from the pier."),
        node("厨房.md", "小林对海鲜过敏，不能吃虾。"),
        node("tax.md", "The declaration is due in April."),
    ]
}

async fn index(storage: EngineStorage, nodes: Vec<TextNode>) -> anyhow::Result<()> {
    swiftide_indexing::Pipeline::from_stream(IndexingStream::iter(nodes.into_iter().map(Ok)))
        .then_store_with(storage)
        .run()
        .await
}

/// Returns the first document as the answer.
fn answer(query: Query<states::Retrieved>) -> anyhow::Result<Query<states::Answered>> {
    let best = query.documents().first().map(Document::content).unwrap_or("nothing").to_owned();
    Ok(query.answered(best))
}

async fn ask<S>(storage: EngineStorage, strategy: S, query: &str) -> anyhow::Result<Query<states::Answered>>
where
    S: SearchStrategy + 'static,
    EngineStorage: Retrieve<S>,
{
    let pipeline = swiftide_query::Pipeline::from_search_strategy(strategy);
    pipeline.then_retrieve(storage).then_answer(answer).query(query).await
}

fn similarity() -> SimilaritySingleEmbedding {
    SimilaritySingleEmbedding::default()
}

#[tokio::test]
async fn indexed_nodes_answer_queries_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("memory.db");
    let engine = MemoryEngine::open(file.clone()).await.unwrap();
    index(storage(&engine), harbour_and_kitchen()).await.unwrap();
    engine.close().await.unwrap();

    let engine = MemoryEngine::open(file).await.unwrap();
    let ferry = ask(storage(&engine), similarity(), "When does the ferry leave?").await.unwrap();
    assert_eq!(ferry.answer(), "The ferry to Almada leaves at 9:40 from the pier.");
    let shrimp = ask(storage(&engine), similarity(), "海鲜可以吃吗？").await.unwrap();
    assert_eq!(shrimp.answer(), "小林对海鲜过敏，不能吃虾。");
    let metadata = shrimp.documents()[0].metadata();
    assert_eq!(metadata.get("path").unwrap(), "厨房.md");
    assert_eq!(metadata.get("title").unwrap(), "厨房.MD");
    assert_eq!(metadata.get("memory_kind").unwrap(), "note");
    assert_eq!(metadata.get("swiftide_node"), None);
    let id = metadata.get("memory_id").unwrap().as_str().unwrap().parse().unwrap();
    assert_eq!(engine.get(&docs(), id).await.unwrap().unwrap().text, shrimp.answer());
}

#[tokio::test]
async fn chunks_of_a_pipeline_are_stored() {
    let engine = engine().await;
    let text = "# Boats\n\nThe blue boat belongs to Mei.\n\n# Cars\n\nThe red car belongs to Kai.\n";
    swiftide_indexing::Pipeline::from_stream(IndexingStream::iter([Ok(node("things.md", text))]))
        .then_chunk(ChunkMarkdown::from_chunk_range(10..40))
        .then_store_with(storage(&engine).with_batch_size(NonZeroUsize::MIN))
        .run()
        .await
        .unwrap();
    assert!(engine.stats(&docs()).await.unwrap().records >= 2);
    let boat = ask(storage(&engine), similarity(), "Whose is the blue boat?").await.unwrap();
    assert!(boat.answer().contains("Mei") && !boat.answer().contains("Kai"), "{}", boat.answer());
}

#[tokio::test]
async fn indexing_again_stores_nothing_twice_and_brings_nothing_back() {
    let engine = engine().await;
    index(storage(&engine), harbour_and_kitchen()).await.unwrap();
    index(storage(&engine), harbour_and_kitchen()).await.unwrap();
    assert_eq!(engine.stats(&docs()).await.unwrap().records, 3);
    engine.forget(&docs(), Forget::Matching(Filter::meta("path", "tax.md"))).await.unwrap();
    index(storage(&engine), harbour_and_kitchen()).await.unwrap();
    assert_eq!(engine.stats(&docs()).await.unwrap().records, 2);
}

#[tokio::test]
async fn the_same_path_and_chunk_can_be_stored_at_several_addresses() {
    let engine = engine().await;
    let kai = docs().with_agent("kai").unwrap();
    index(storage(&engine), harbour_and_kitchen()).await.unwrap();
    index(EngineStorage::new(engine.clone(), kai), harbour_and_kitchen()).await.unwrap();
    assert_eq!(engine.stats(&docs()).await.unwrap().records, 6);
}

#[tokio::test]
async fn an_invalid_node_fails_alone() {
    let engine = engine().await;
    let mut nodes = harbour_and_kitchen();
    nodes.insert(1, node("empty.md", "  "));
    let error = index(storage(&engine), nodes.clone()).await.unwrap_err();
    let message = format!("{error:#}");
    assert!(message.contains("cannot store a chunk of empty.md") && message.contains("the text is empty"), "{message}");
    swiftide_indexing::Pipeline::from_stream(IndexingStream::iter(nodes.into_iter().map(Ok)))
        .then_store_with(storage(&engine))
        .filter_errors()
        .run()
        .await
        .unwrap();
    assert_eq!(engine.stats(&docs()).await.unwrap().records, 3);
    let stored = storage(&engine).store(node("harbour.md", "The pier is closed.")).await.unwrap();
    assert_eq!(stored.chunk, "The pier is closed.");
}

#[tokio::test]
async fn strategies_limit_and_filter() {
    let engine = engine().await;
    index(storage(&engine), harbour_and_kitchen()).await.unwrap();
    index(storage(&engine), vec![node("old.md", "The ferry to Almada was painted.")]).await.unwrap();
    let mut one = similarity();
    one.with_top_k(1);
    assert_eq!(ask(storage(&engine), one, "ferry").await.unwrap().documents().len(), 1);
    let old = EngineFilter(Filter::meta("path", "old.md"));
    let filtered = SimilaritySingleEmbedding::from_filter(old.clone());
    let found = ask(storage(&engine), filtered, "When does the ferry leave?").await.unwrap();
    assert_eq!(found.answer(), "The ferry to Almada was painted.");
    let filtered = HybridSearch::from_filter(old);
    assert_eq!(ask(storage(&engine), filtered, "ferry").await.unwrap().documents().len(), 1);
    let hybrid: HybridSearch = HybridSearch::default();
    assert_eq!(ask(storage(&engine), hybrid, "ferry leave").await.unwrap().answer(), harbour_and_kitchen()[0].chunk);
    let custom = CustomStrategy::from_query(|query: &Query<states::Pending>| {
        Ok(RecallQuery::new(query.current()).with_limit(1).with_filter(Filter::meta("title", "TAX.MD")))
    });
    assert_eq!(ask(storage(&engine), custom, "April").await.unwrap().answer(), "The declaration is due in April.");
}

#[tokio::test]
async fn messages_are_retrieved_too() {
    let engine = engine().await;
    let monday = docs().with_session("monday").unwrap();
    engine.remember(&monday, Turn::user("我想坐轮渡去阿尔马达").with_speaker("小林")).await.unwrap();
    let found = ask(storage(&engine), similarity(), "轮渡").await.unwrap();
    let metadata = found.documents()[0].metadata();
    assert_eq!(metadata.get("memory_role").unwrap(), "user");
    assert_eq!(metadata.get("memory_speaker").unwrap(), "小林");
    let notes = SimilaritySingleEmbedding::from_filter(EngineFilter(Filter::eq(Field::Kind, "note")));
    assert_eq!(ask(storage(&engine), notes, "轮渡").await.unwrap().answer(), "nothing");
}

#[tokio::test]
async fn a_transformed_query_is_searched_for() {
    let engine = engine().await;
    index(storage(&engine), harbour_and_kitchen()).await.unwrap();
    let found = swiftide_query::Pipeline::default()
        .then_transform_query(|mut query: Query<states::Pending>| {
            query.transformed_query("ferry");
            Ok(query)
        })
        .then_retrieve(storage(&engine))
        .then_answer(answer)
        .query("小船")
        .await
        .unwrap();
    assert_eq!(found.answer(), harbour_and_kitchen()[0].chunk);
    let untransformed = Query::<states::Pending>::new("ferry");
    let retrieved = storage(&engine).retrieve(&similarity(), untransformed).await.unwrap();
    assert_eq!(retrieved.documents()[0].content(), harbour_and_kitchen()[0].chunk);
}

#[tokio::test]
async fn irrelevant_memories_and_other_users_are_left_out() {
    let engine = engine().await;
    index(storage(&engine), harbour_and_kitchen()).await.unwrap();
    let unrelated = "How do I cancel the subscription of my newspaper in April?";
    assert_ne!(ask(storage(&engine), similarity(), unrelated).await.unwrap().answer(), "nothing");
    let strict = storage(&engine).only_relevant();
    assert_eq!(ask(strict.clone(), similarity(), unrelated).await.unwrap().answer(), "nothing");
    let ferry = ask(strict, similarity(), "When does the ferry leave?").await.unwrap();
    assert_eq!(ferry.answer(), harbour_and_kitchen()[0].chunk);
    let mei = EngineStorage::new(engine.clone(), Scope::user("mei").unwrap());
    assert_eq!(ask(mei, similarity(), "ferry").await.unwrap().answer(), "nothing");
}

#[tokio::test]
async fn errors_of_queries_say_what_is_wrong() {
    let engine = engine().await;
    let error = format!("{:#}", ask(storage(&engine), similarity(), " ").await.unwrap_err());
    assert!(error.contains("cannot search the memories") && error.contains("the question is empty"), "{error}");
    let mut many = similarity();
    many.with_top_k(1001);
    let error = format!("{:#}", ask(storage(&engine), many, "ferry").await.unwrap_err());
    assert!(error.contains("top_k is 1001; at most 1000"), "{error}");
    let wrong = SimilaritySingleEmbedding::from_filter(EngineFilter(Filter::eq(Field::Role, 1)));
    let error = format!("{:#}", ask(storage(&engine), wrong, "ferry").await.unwrap_err());
    assert!(error.contains("'role' is compared with a text"), "{error}");
}
