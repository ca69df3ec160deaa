//! The index and the tools, by their traits and by rig's agent with a scripted model.
#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

mod support;

use memory_engine::{Field, Filter, Forget, MemoryEngine, Outcome, Scope, Turn};
use rig::{
    AgentBuilder,
    embeddings::{EmbedError, Embedding, TextEmbedder},
    prelude::*,
    tool::PortableTool,
    vector_store::{
        InsertDocuments, VectorStoreError,
        request::{Filter as RigFilter, SearchFilter},
    },
};
use rig_core::test_utils::{MockCompletionModel, MockTurn};
use rig_memory_engine::{AddMemory, EngineVectorIndex, MemoryDocument, SearchMemory};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use support::{engine, lin, sent};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Dish {
    id: String,
    name: String,
    price: f64,
    kitchen: String,
}

impl Embed for Dish {
    fn embed(&self, embedder: &mut TextEmbedder) -> Result<(), EmbedError> {
        embedder.embed(self.name.clone());
        embedder.embed(format!("kitchen: {}", self.kitchen));
        Ok(())
    }
}

fn dish(id: &str, name: &str, price: f64, kitchen: &str) -> Dish {
    Dish { id: id.into(), name: name.into(), price, kitchen: kitchen.into() }
}

fn dishes() -> Vec<Dish> {
    vec![
        dish("d1", "Grilled lobster with lemon", 48.0, "sea"),
        dish("d2", "宫保鸡丁", 12.5, "四川"),
        dish("d3", "Lobster soup", 9.0, "sea"),
    ]
}

fn index(engine: &MemoryEngine) -> EngineVectorIndex {
    EngineVectorIndex::new(engine.clone(), lin())
}

fn request(query: &str) -> VectorSearchRequest {
    VectorSearchRequest::builder().query(query).samples(5).build()
}

fn filtered(query: &str, filter: RigFilter<Value>) -> VectorSearchRequest {
    VectorSearchRequest::builder().query(query).samples(5).filter(filter).build()
}

#[tokio::test]
async fn documents_come_back_as_their_own_type() {
    let engine = engine().await;
    let dishes_with_vectors = dishes().into_iter().map(|dish| (dish, Vec::<Embedding>::new())).collect();
    index(&engine).insert_documents(dishes_with_vectors).await.unwrap();
    let found = index(&engine).top_n::<Dish>(request("lobster soup")).await.unwrap();
    assert_eq!(found[0].document, dishes()[2]);
    let found = index(&engine).top_n::<Dish>(request("鸡丁")).await.unwrap();
    assert_eq!(found[0].document, dishes()[1]);
    let ids = index(&engine).top_n_ids(request("鸡丁")).await.unwrap();
    assert_eq!((&ids[0].id, ids[0].score), (&found[0].id, found[0].score));
    assert!((0.0..=1.0).contains(&found[0].score));
}

#[tokio::test]
async fn documents_that_are_no_objects_come_back_too() {
    let engine = engine().await;
    index(&engine).insert(["The boat is in Porto".to_owned()]).await.unwrap();
    let found = index(&engine).top_n::<String>(request("boat")).await.unwrap();
    assert_eq!(found[0].document, "The boat is in Porto");
}

#[tokio::test]
async fn filters_are_applied_to_fields_of_documents() {
    let engine = engine().await;
    index(&engine).insert(dishes()).await.unwrap();
    let cheap = filtered("lobster", RigFilter::lt("price", json!(10)).and(RigFilter::eq("kitchen", json!("sea"))));
    let found = index(&engine).top_n::<Dish>(cheap).await.unwrap();
    assert_eq!(found.iter().map(|dish| dish.document.id.as_str()).collect::<Vec<_>>(), ["d3"]);
    let by_own_id = filtered("lobster", RigFilter::eq("metadata.id", json!("d1")));
    assert_eq!(index(&engine).top_n::<Dish>(by_own_id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn inserting_again_replaces_and_does_not_bring_back_what_was_forgotten() {
    let engine = engine().await;
    index(&engine).insert(dishes()).await.unwrap();
    let cheaper = Dish { price: 8.0, ..dishes()[2].clone() };
    index(&engine).insert([cheaper.clone()]).await.unwrap();
    assert_eq!(engine.stats(&lin()).await.unwrap().records, 3);
    let found = index(&engine).top_n::<Dish>(request("lobster soup")).await.unwrap();
    assert_eq!(found[0].document, cheaper);
    engine.forget(&lin(), Forget::Matching(Filter::meta("id", "d3"))).await.unwrap();
    let outcomes = index(&engine).insert(dishes()).await.unwrap();
    assert!(matches!(outcomes[2].outcome, Outcome::Blocked(_)));
    assert_eq!(engine.stats(&lin()).await.unwrap().records, 2);
}

#[tokio::test]
async fn messages_and_documents_are_found_together_or_apart() {
    let engine = engine().await;
    index(&engine).insert(dishes()).await.unwrap();
    let monday = lin().with_session("monday").unwrap();
    engine.remember(&monday, Turn::user("I love lobster").with_speaker("小林").meta("mood", "happy")).await.unwrap();
    let turns = filtered("lobster", RigFilter::eq("kind", json!("turn")));
    let found = index(&engine).top_n::<MemoryDocument>(turns).await.unwrap();
    assert_eq!(found.len(), 1);
    let MemoryDocument { text, role, speaker, metadata, .. } = found[0].document.clone();
    assert_eq!((text.as_str(), role.as_deref(), speaker.as_deref()), ("I love lobster", Some("user"), Some("小林")));
    assert_eq!(metadata["mood"], "happy");
    assert_eq!(index(&engine).top_n::<Value>(request("lobster")).await.unwrap().len(), 3);
    assert_eq!(index(&engine).only_documents().top_n::<Dish>(request("lobster")).await.unwrap().len(), 2);
    let elsewhere = index(&engine).with_filter(Filter::ne(Field::Session, "monday"));
    assert_eq!(elsewhere.top_n_ids(request("lobster")).await.unwrap().len(), 2);
    let error = index(&engine).top_n::<Dish>(request("lobster")).await.unwrap_err().to_string();
    assert!(error.contains("of the kind turn") && error.contains("only_documents"), "{error}");
}

#[tokio::test]
async fn an_index_covers_its_scope_only() {
    let engine = engine().await;
    index(&engine).insert(dishes()).await.unwrap();
    let mei = EngineVectorIndex::new(engine.clone(), Scope::user("mei").unwrap());
    assert!(mei.top_n_ids(request("lobster")).await.unwrap().is_empty());
}

#[tokio::test]
async fn thresholds_and_limits() {
    let engine = engine().await;
    index(&engine).insert(dishes()).await.unwrap();
    let search = |samples, threshold| {
        let request = VectorSearchRequest::builder().query("lobster soup").samples(samples).threshold(threshold);
        let index = index(&engine);
        async move { index.top_n_ids(request.build()).await }
    };
    assert_eq!(search(1, 0.0).await.unwrap().len(), 1);
    assert!(search(5, 1.1).await.unwrap().is_empty());
    assert!(search(0, 0.0).await.unwrap().is_empty());
    let error = search(1001, 0.0).await.unwrap_err();
    assert!(matches!(error, VectorStoreError::SamplesOutOfRange { requested: 1001, max: 1000 }));
    assert!(index(&engine).top_n_ids(request("  ")).await.unwrap().is_empty());
    let unrelated = || request("My sister's new kitchen was painted yesterday by two men from Porto");
    assert!(!index(&engine).top_n_ids(unrelated()).await.unwrap().is_empty());
    assert!(index(&engine).only_relevant().top_n_ids(unrelated()).await.unwrap().is_empty());
    assert!(!index(&engine).only_relevant().top_n_ids(request("lobster soup")).await.unwrap().is_empty());
}

#[tokio::test]
async fn errors_of_documents_say_what_is_wrong() {
    let engine = engine().await;
    let error = index(&engine).insert([String::new()]).await.unwrap_err().to_string();
    assert!(error.starts_with("Datastore error: ") && error.contains("the text is empty"), "{error}");
    let error = index(&engine).top_n_ids(filtered("x", RigFilter::eq("role", json!(1)))).await.unwrap_err();
    assert!(error.to_string().contains("'role' is compared with a text"), "{error}");
}

#[tokio::test]
async fn an_agent_gets_memories_as_context() {
    let engine = engine().await;
    engine.remember(&lin(), Turn::user("我对海鲜过敏，别带我去吃虾")).await.unwrap();
    let model = MockCompletionModel::text("No shrimp for you.");
    let agent = AgentBuilder::new(model.clone()).dynamic_context(3, index(&engine).only_relevant()).build();
    agent.prompt("海鲜可以吃吗？").await.unwrap();
    assert!(sent(&model.requests()[0]).contains("别带我去吃虾"));
}

#[tokio::test]
async fn a_model_searches_and_remembers_with_the_tools() {
    let engine = engine().await;
    let model = MockCompletionModel::from_turns([
        MockTurn::tool_call("1", "add_memory", json!({"text": "Lin is allergic to shrimp"})),
        MockTurn::tool_call("2", "search_memory", json!({"query": "shrimp", "limit": 3})),
        MockTurn::tool_call("3", "search_memory", json!({"query": "shrimp", "limit": 0})),
        MockTurn::text("No shrimp."),
    ]);
    let agent = AgentBuilder::new(model.clone())
        .tool(AddMemory::new(engine.clone(), lin()))
        .tool(SearchMemory::new(engine.clone(), lin()))
        .build();
    agent.prompt("I cannot eat shrimp. Remember it.").max_turns(5).await.unwrap();
    let last = sent(&model.requests()[3]);
    assert!(last.contains("Lin is allergic to shrimp") && last.contains("relevant"), "{last}");
    assert!(last.contains("limit is 0; it is 1 to 100"), "{last}");
    let notes = engine.records(&lin()).collect().await.unwrap();
    assert_eq!((notes.len(), notes[0].kind.as_str()), (1, "note"));
}

#[tokio::test]
async fn the_tools_describe_their_arguments() {
    let engine = engine().await;
    let search = SearchMemory::new(engine.clone(), lin());
    assert_eq!(PortableTool::parameters(&search)["required"], json!(["query"]));
    let arguments = serde_json::from_value(json!({"query": "虾"})).unwrap();
    assert_eq!(PortableTool::call(&search, arguments).await.unwrap(), Vec::new());
    let arguments = serde_json::from_value(json!({"query": " "})).unwrap();
    let error = PortableTool::call(&search, arguments).await.unwrap_err();
    assert!(PortableTool::map_error(&search, error).to_string().contains("the question is empty"));
}
