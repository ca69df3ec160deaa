//! Conversations, by the trait and by rig's agent with a scripted model.
#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

mod support;

use memory_engine::{EnrichmentOptions, Field, Filter, MemoryEngine, Scope, Turn};
use rig::{AgentBuilder, memory::ConversationMemory, message::AssistantContent, prelude::*};
use rig_core::test_utils::{MockCompletionModel, MockTurn};
use rig_memory::{PolicyMemory, SlidingWindowMemory};
use rig_memory_engine::{EngineConversationMemory, SearchMemory};
use serde_json::json;
use support::{engine, lin, sent};

/// Returns the texts of messages of the user and the model, without tool calls and results.
fn texts(messages: &[Message]) -> Vec<String> {
    messages.iter().filter_map(text).collect()
}

fn text(message: &Message) -> Option<String> {
    match message {
        Message::Assistant(assistant) => {
            let texts = assistant.content.iter().filter_map(|block| match block {
                AssistantContent::Text(text) => Some(text.text().to_owned()),
                _ => None,
            });
            let text = texts.collect::<String>();
            (!text.is_empty()).then_some(text)
        }
        Message::User { .. } => message.rag_text(),
        Message::System { content } => Some(content.clone()),
    }
}

fn history(engine: &MemoryEngine) -> EngineConversationMemory {
    EngineConversationMemory::new(engine.clone(), lin()).unwrap()
}

#[tokio::test]
async fn an_agent_continues_a_conversation_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("memory.db");
    for (prompt, answer) in [("我对海鲜过敏", "记住了！"), ("What did I tell you?", "That you are allergic.")]
    {
        let engine = MemoryEngine::open(file.clone()).await.unwrap();
        let model = MockCompletionModel::text(answer);
        let agent = AgentBuilder::new(model.clone()).memory(history(&engine)).conversation("monday").build();
        let response = agent.prompt(prompt).run().await.unwrap();
        assert_eq!(response.output(), answer);
        assert!(response.memory_append.unwrap().is_acknowledged());
        assert!(sent(&model.requests()[0]).contains("我对海鲜过敏"));
        engine.close().await.unwrap();
    }
    let engine = MemoryEngine::open(file).await.unwrap();
    let loaded = history(&engine).load(&"monday".into()).await.unwrap();
    assert_eq!(texts(&loaded), ["我对海鲜过敏", "记住了！", "What did I tell you?", "That you are allergic."]);
    let hits = engine.recall(&lin(), "海鲜").await.unwrap().hits;
    assert_eq!(hits[0].record.scope.session(), Some("monday"));
}

#[tokio::test]
async fn tool_calls_of_an_agent_are_replayed_and_not_found() {
    let engine = engine().await;
    engine.remember(&lin().with_agent("harbour").unwrap(), "The ferry leaves at 9:40").await.unwrap();
    let model = MockCompletionModel::from_turns([
        MockTurn::tool_call("call-1", "search_memory", json!({"query": "ferry"})),
        MockTurn::text("At twenty to ten."),
        MockTurn::text("You are welcome."),
    ]);
    let search = SearchMemory::new(engine.clone(), lin());
    let agent = AgentBuilder::new(model.clone()).memory(history(&engine)).conversation("trip").tool(search).build();
    agent.prompt("When is the boat?").max_turns(3).await.unwrap();
    let trip = lin().with_session("trip").unwrap();
    assert_eq!(engine.stats(&trip).await.unwrap().records, 2);
    agent.prompt("Thanks").await.unwrap();
    let last = sent(&model.requests()[2]);
    assert!(last.contains("call-1") && last.contains("The ferry leaves at 9:40"), "{last}");
    assert_eq!(history(&engine).load(&"trip".into()).await.unwrap().len(), 6);
    let hits = engine.recall(&trip, "call-1 search_memory ferry 9:40").await.unwrap().hits;
    assert!(hits.iter().all(|hit| !hit.text().contains("ferry")));
}

#[tokio::test]
async fn conversations_of_other_users_agents_and_names_are_separate() {
    let engine = engine().await;
    let kai = lin().with_agent("kai").unwrap();
    let of_kai = EngineConversationMemory::new(engine.clone(), kai).unwrap();
    let of_mei = EngineConversationMemory::new(engine.clone(), Scope::user("mei").unwrap()).unwrap();
    history(&engine).append(&"a".into(), vec![Message::user("one")]).await.unwrap();
    history(&engine).append(&"b".into(), vec![Message::user("two")]).await.unwrap();
    of_kai.append(&"a".into(), vec![Message::user("three")]).await.unwrap();
    of_mei.append(&"a".into(), vec![Message::user("four")]).await.unwrap();
    assert_eq!(history(&engine).load(&"a".into()).await.unwrap(), [Message::user("one")]);
    assert_eq!(history(&engine).load(&"b".into()).await.unwrap(), [Message::user("two")]);
    assert_eq!(of_kai.load(&"a".into()).await.unwrap(), [Message::user("three")]);
    assert_eq!(of_mei.load(&"a".into()).await.unwrap(), [Message::user("four")]);
    assert!(history(&engine).load(&"c".into()).await.unwrap().is_empty());
}

#[tokio::test]
async fn clearing_forgets_one_conversation() {
    let engine = engine().await;
    let memory = history(&engine);
    memory.append(&"a".into(), vec![Message::user("The safe is behind the mirror")]).await.unwrap();
    memory.append(&"b".into(), vec![Message::user("The boat is in Porto")]).await.unwrap();
    memory.clear(&"a".into()).await.unwrap();
    assert!(memory.load(&"a".into()).await.unwrap().is_empty());
    assert_eq!(memory.load(&"b".into()).await.unwrap().len(), 1);
    let hits = engine.recall(&lin(), "Where is the safe?").await.unwrap().hits;
    assert!(hits.iter().all(|hit| !hit.text().contains("mirror")));
    // The same message can be said again.
    memory.append(&"a".into(), vec![Message::user("The safe is behind the mirror")]).await.unwrap();
    assert_eq!(memory.load(&"a".into()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn clearing_forgets_the_facts_of_the_conversation_too() {
    let rules = EnrichmentOptions::rules().unwrap();
    let engine = MemoryEngine::builder().in_memory().enrichment(rules).build().await.unwrap();
    let memory = history(&engine);
    memory.append(&"a".into(), vec![Message::user("I live in Porto.")]).await.unwrap();
    engine.drain(&lin(), |_| ()).await.unwrap();
    assert_eq!(engine.facts(&lin()).about("user").await.unwrap()[0].value, "Porto");
    memory.clear(&"a".into()).await.unwrap();
    assert!(engine.facts(&lin()).about("user").await.unwrap().is_empty());
}

#[tokio::test]
async fn long_conversations_are_loaded_from_their_end() {
    let engine = engine().await;
    let memory = history(&engine);
    for n in 0..30 {
        let messages = vec![Message::user(format!("question {n}")), Message::assistant(format!("answer {n}"))];
        memory.append(&"long".into(), messages).await.unwrap();
    }
    assert_eq!(memory.load(&"long".into()).await.unwrap().len(), 60);
    let latest = memory.clone().with_max_turns(3).load(&"long".into()).await.unwrap();
    assert_eq!(texts(&latest), ["answer 28", "question 29", "answer 29"]);
    let policy = PolicyMemory::new(memory, SlidingWindowMemory::last_messages(2));
    assert_eq!(texts(&policy.load(&"long".into()).await.unwrap()), ["question 29", "answer 29"]);
}

#[tokio::test]
async fn messages_of_other_programs_belong_to_the_conversation() {
    let engine = engine().await;
    let monday = lin().with_session("monday").unwrap();
    engine.remember_all(&monday, [Turn::user("面试改到周五"), Turn::assistant("祝你好运！")]).await.unwrap();
    engine.remember(&monday, Turn::note("Lin seems nervous")).await.unwrap();
    let loaded = history(&engine).load(&"monday".into()).await.unwrap();
    assert_eq!(loaded, [Message::user("面试改到周五"), Message::assistant("祝你好运！")]);
    let users = Filter::eq(Field::Role, "user");
    assert_eq!(engine.records(&monday).filter(users).collect().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_user_of_rig_sees_the_errors_of_the_engine() {
    let engine = engine().await;
    let memory = history(&engine);
    let error = memory.load(&"two\nlines".into()).await.unwrap_err().to_string();
    assert!(error.starts_with("Memory backend error: ") && error.contains("control character"), "{error}");
    let error = memory.append(&"a".into(), vec![Message::user("a\0b")]).await.unwrap_err().to_string();
    assert!(error.contains("NUL character"), "{error}");
    let monday = lin().with_session("monday").unwrap();
    let error = EngineConversationMemory::new(engine.clone(), monday).unwrap_err().to_string();
    assert!(error.contains("the conversation id sets"), "{error}");
    let error = EngineConversationMemory::new(engine.clone(), Scope::tenant_wide("t").unwrap()).unwrap_err();
    assert!(error.to_string().contains("Scope::user"), "{error}");

    let model = MockCompletionModel::text("Yes.");
    let agent = AgentBuilder::new(model.clone()).memory(memory.clone()).conversation(" ").build();
    let error = agent.prompt("Hello").await.unwrap_err().to_string();
    assert!(error.contains("white space"), "{error}");
    assert_eq!(model.request_count(), 0);

    let model = MockCompletionModel::text("Yes\0.");
    let agent = AgentBuilder::new(model).memory(memory).conversation("a").build();
    let response = agent.prompt("Hello").run().await.unwrap();
    let report = response.memory_append.unwrap().failure().unwrap().to_string();
    assert!(report.contains("NUL character"), "{report}");
}
