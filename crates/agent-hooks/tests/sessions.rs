//! Agents' sessions on a memory: what is stored, and what later sessions get.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::time::Duration;

use memory_engine::{EnrichmentOptions, Kind, MemoryEngine, RecallOptions, Record, ScanQuery, Scope};
use memory_engine_agent_hooks::{Agent, AgentHooks, HookAnswer, HookOptions};
use serde_json::{Value, json};

struct Hooks {
    engine: MemoryEngine,
    hooks: AgentHooks,
    user: Scope,
}

impl Hooks {
    async fn new() -> Self {
        let enrichment = EnrichmentOptions::rules().unwrap();
        let builder = MemoryEngine::builder().in_memory().enrichment(enrichment);
        let patient = RecallOptions::default().with_deadline(Duration::from_secs(20));
        let engine = builder.recall_options(patient).build().await.unwrap();
        let mut options = HookOptions::default();
        // A busy machine has to load the dictionaries first.
        options.deadline = Duration::from_secs(20);
        Self { hooks: AgentHooks::new(engine.clone()).with_options(options), engine, user: Scope::user("lin").unwrap() }
    }

    async fn send(&self, input: Value) -> HookAnswer {
        let event = Agent::ClaudeCode.parse(None, &input).unwrap();
        let answer = self.hooks.handle(&self.user, &event).await;
        assert_eq!(answer.degraded, Vec::<String>::new(), "{input}");
        answer
    }

    async fn prompt(&self, session: &str, prompt: &str) -> HookAnswer {
        self.send(json!({"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": prompt})).await
    }

    async fn start(&self, session: &str, source: &str) -> HookAnswer {
        self.send(json!({"hook_event_name": "SessionStart", "session_id": session, "source": source})).await
    }

    async fn stop(&self, session: &str, reply: &str) -> HookAnswer {
        self.send(json!({"hook_event_name": "Stop", "session_id": session, "last_assistant_message": reply})).await
    }

    /// The stored turns, oldest first.
    async fn turns(&self) -> Vec<Record> {
        let mut records = self.engine.history().timeline(&self.user, &ScanQuery::newest(100)).await.unwrap().records;
        records.retain(|record| record.kind == Kind::TURN);
        records.reverse();
        records
    }

    async fn texts(&self) -> Vec<String> {
        self.turns().await.into_iter().map(|turn| turn.text).collect()
    }
}

#[tokio::test]
async fn turns_are_stored_with_roles_rounds_and_session() {
    let hooks = Hooks::new().await;
    hooks.prompt("s1", "Rename the crate to parser.").await;
    hooks.stop("s1", "The crate is renamed.").await;
    hooks.prompt("s1", "Now run the tests.").await;
    let turns = hooks.turns().await;
    let of = |turn: &Record| (turn.role.clone().unwrap().as_str().to_owned(), turn.source.round, turn.text.clone());
    assert_eq!(
        turns.iter().map(of).collect::<Vec<_>>(),
        [
            ("user".into(), Some(1), "Rename the crate to parser.".into()),
            ("assistant".into(), Some(1), "The crate is renamed.".into()),
            ("user".into(), Some(2), "Now run the tests.".into()),
        ]
    );
    assert!(turns.iter().all(|turn| turn.scope.session() == Some("s1")));
}

#[tokio::test]
async fn an_event_that_is_sent_twice_is_stored_once() {
    let hooks = Hooks::new().await;
    let prompt =
        json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt_id": "p1", "prompt": "go on"});
    let stop = json!({"hook_event_name": "Stop", "session_id": "s", "prompt_id": "p1", "last_assistant_message": "ok"});
    for input in [&prompt, &prompt, &stop, &stop] {
        hooks.send(input.clone()).await;
    }
    assert_eq!(hooks.texts().await, ["go on", "ok"]);
    // Without ids of turns: the same prompt counts again only after a reply.
    for _ in 0..2 {
        hooks.prompt("s2", "continue").await;
    }
    for _ in 0..2 {
        hooks.stop("s2", "continued").await;
    }
    hooks.prompt("s2", "continue").await;
    assert_eq!(hooks.texts().await, ["go on", "ok", "continue", "continued", "continue"]);
}

#[tokio::test]
async fn prompts_that_the_user_has_not_written_and_replies_to_them_are_not_stored() {
    let hooks = Hooks::new().await;
    for (field, value) in [("source", "schedule_wakeup"), ("source", "system"), ("agent_id", "a1")] {
        let mut prompt = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "I live in Oslo."});
        prompt[field] = json!(value);
        assert_eq!(hooks.send(prompt).await, HookAnswer::default());
        hooks.stop("s", "Noted.").await;
    }
    hooks.prompt("s", "<task-notification>I live in Oslo.</task-notification>").await;
    hooks.prompt("s", "/compact I live in Oslo.").await;
    assert_eq!(hooks.texts().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_later_session_gets_what_an_earlier_one_said() {
    let hooks = Hooks::new().await;
    hooks.prompt("monday", "Our staging cluster lives in Frankfurt, and Petra approves every rollout there.").await;
    hooks.stop("monday", "Understood.").await;
    hooks.prompt("tuesday", "这个项目的数据库迁移都用 sqlx，不要手写脚本。").await;
    hooks.stop("tuesday", "明白。").await;
    let question = hooks.prompt("friday", "Who approves a rollout to the staging cluster?").await;
    assert!(question.context.contains("Petra"), "{question:?}");
    let question = hooks.prompt("saturday", "迁移数据库该用什么工具？").await;
    assert!(question.context.contains("sqlx"), "{question:?}");
}

#[tokio::test]
async fn a_memory_is_injected_once_until_the_session_is_compacted() {
    let hooks = Hooks::new().await;
    hooks.prompt("monday", "The office printer is called Marvin.").await;
    let question = "What is the printer called?";
    assert!(hooks.prompt("friday", question).await.context.contains("Marvin"));
    assert!(!hooks.prompt("friday", "Is the printer called by a name?").await.context.contains("Marvin"));
    assert!(hooks.start("friday", "compact").await.context.contains("Marvin"));
    // The context at the start contains it.
    assert!(!hooks.prompt("friday", question).await.context.contains("Marvin"));
}

#[tokio::test]
async fn small_talk_gets_nothing() {
    let hooks = Hooks::new().await;
    hooks.prompt("monday", "The office printer is called Marvin.").await;
    for text in ["thanks", "ok, go on", "谢谢", "好的"] {
        assert_eq!(hooks.prompt("friday", text).await.context, "", "{text}");
    }
}

#[tokio::test]
async fn a_session_starts_with_what_is_known() {
    let hooks = Hooks::new().await;
    assert_eq!(hooks.start("s0", "startup").await, HookAnswer::default());
    hooks.prompt("s1", "I'm allergic to peanuts.").await;
    hooks.engine.drain(&hooks.user, |_| ()).await.unwrap();
    let opening = hooks.start("s2", "startup").await;
    assert!(opening.context.contains("Known facts"), "{opening:?}");
    assert!(opening.context.contains("peanuts"));
    assert!(!opening.memories.is_empty());
    assert_eq!(hooks.start("s1", "resume").await, HookAnswer::default());
}

#[tokio::test]
async fn other_users_are_invisible() {
    let hooks = Hooks::new().await;
    hooks.prompt("s", "The office printer is called Marvin.").await;
    let mei = Scope::user("mei").unwrap();
    for input in [
        json!({"hook_event_name": "SessionStart", "session_id": "s"}),
        json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "What is the printer called?"}),
    ] {
        let event = Agent::ClaudeCode.parse(None, &input).unwrap();
        let answer = hooks.hooks.handle(&mei, &event).await;
        assert_eq!((answer.context.as_str(), answer.memories.len()), ("", 0));
    }
}

#[tokio::test]
async fn a_closed_store_degrades() {
    let hooks = Hooks::new().await;
    hooks.engine.close().await.unwrap();
    let input =
        json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "What is the printer called?"});
    let event = Agent::ClaudeCode.parse(None, &input).unwrap();
    let answer = hooks.hooks.handle(&hooks.user, &event).await;
    assert_eq!((answer.context.as_str(), answer.stored), ("", None));
    assert!(!answer.degraded.is_empty());
}

#[tokio::test]
async fn a_preview_is_what_the_next_prompt_gets_and_stores_nothing() {
    let hooks = Hooks::new().await;
    hooks.prompt("s1", "My dog is called Biscuit.").await;
    hooks.stop("s1", "What a good name.").await;
    // Facts that the background finds in between would change the answer.
    hooks.engine.drain(&hooks.user, |_| ()).await.unwrap();
    let asked = "Do you remember what my dog is called?";
    let before = hooks.turns().await.len();
    let preview = hooks.hooks.preview_prompt(&hooks.user, "s2", asked).await.unwrap().unwrap();
    assert_eq!(hooks.turns().await.len(), before);
    assert!(preview.injection.trace.is_some());
    assert_eq!(preview.round, 1);
    assert_eq!(hooks.hooks.preview_prompt(&hooks.user, "s2", "/clear").await.unwrap().map(|p| p.round), None);
    let opening = hooks.hooks.preview_opening(&hooks.user).await.unwrap();
    assert!(opening.layers.iter().any(|layer| !layer.included.is_empty()), "{opening:?}");
    // The previews do not count as answers: the memory is injected all the same.
    let answer = hooks.prompt("s2", asked).await;
    assert!(answer.context.contains("Biscuit"), "{answer:?}");
    assert_eq!(answer.context, preview.injection.text);
    let opening = hooks.hooks.preview_opening(&hooks.user).await.unwrap();
    assert_eq!(hooks.start("s3", "startup").await.context, opening.text);
}
