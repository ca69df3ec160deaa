//! Two projects and one person: what is said in one project is not shown in another as its own.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::time::Duration;

use memory_engine::{
    EnrichmentOptions, ErrorKind, MemoryEngine, RecallOptions, Scope,
    context::{EstimatedTokens, TokenCounter},
};
use memory_engine_agent_hooks::{Agent, AgentHooks, HookAnswer, HookOptions, Projects};
use serde_json::{Value, json};

const SHOP: &str = "/home/lin/shop";
const BLOG: &str = "/home/lin/blog";

struct Hooks {
    engine: MemoryEngine,
    hooks: AgentHooks,
    user: Scope,
}

fn handler(engine: &MemoryEngine) -> AgentHooks {
    let mut options = HookOptions::default();
    // A busy machine has to load the dictionaries first.
    options.deadline = Duration::from_secs(20);
    AgentHooks::new(engine.clone()).with_options(options)
}

impl Hooks {
    async fn new() -> Self {
        let enrichment = EnrichmentOptions::rules().unwrap();
        let builder = MemoryEngine::builder().in_memory().enrichment(enrichment);
        let patient = RecallOptions::default().with_deadline(Duration::from_secs(20));
        let engine = builder.recall_options(patient).build().await.unwrap();
        Self { hooks: handler(&engine), engine, user: Scope::user("lin").unwrap() }
    }

    async fn send(&self, agent: Agent, input: Value) -> HookAnswer {
        let event = agent.parse(None, &input).unwrap();
        let answer = self.hooks.handle(&self.user, &event).await;
        assert_eq!(answer.degraded, Vec::<String>::new(), "{input}");
        answer
    }

    async fn prompt(&self, agent: Agent, folder: &str, session: &str, prompt: &str) -> String {
        let input = match agent {
            Agent::Cursor => json!({"hook_event_name": "beforeSubmitPrompt", "conversation_id": session,
                "prompt": prompt, "attachments": [], "workspace_roots": [folder]}),
            Agent::Generic => json!({"event": "user_prompt", "session_id": session, "prompt": prompt, "cwd": folder}),
            Agent::ClaudeCode | Agent::Codex | _ => {
                json!({"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": folder, "prompt": prompt})
            }
        };
        self.send(agent, input).await.context
    }

    async fn start(&self, agent: Agent, folder: &str, session: &str) -> String {
        let input = match agent {
            Agent::Cursor => json!({"hook_event_name": "sessionStart", "session_id": session,
                "workspace_roots": [folder, "/tmp"]}),
            Agent::Generic => json!({"event": "session_start", "session_id": session, "cwd": folder}),
            Agent::ClaudeCode | Agent::Codex | _ => {
                json!({"hook_event_name": "SessionStart", "session_id": session, "cwd": folder, "source": "startup"})
            }
        };
        self.send(agent, input).await.context
    }

    async fn claude(&self, folder: &str, session: &str, prompt: &str) -> String {
        self.prompt(Agent::ClaudeCode, folder, session, prompt).await
    }
}

#[tokio::test]
async fn what_is_said_in_one_project_is_not_shown_in_another() {
    for agent in Agent::ALL {
        let hooks = Hooks::new().await;
        let said = [
            "The deploy command of this project is make ship, and the database is called orders_prod.",
            "我们决定用 RabbitMQ 做消息队列，因为团队熟悉它。",
            "Never npm in here.",
        ];
        for prompt in said {
            hooks.prompt(agent, SHOP, "monday", prompt).await;
        }
        // With and without the facts.
        for _ in 0..2 {
            for question in ["What is the deploy command of this project?", "消息队列用的是什么？", "install lodash"]
            {
                let other = hooks.prompt(agent, BLOG, &format!("b{question}"), question).await;
                assert_eq!(other, "", "{agent:?} {question}");
            }
            let opening = hooks.start(agent, BLOG, "tuesday").await;
            for word in ["make ship", "RabbitMQ", "npm", "orders_prod"] {
                assert!(!opening.contains(word), "{agent:?}: {opening}");
            }
            hooks.engine.drain(&hooks.user, |_| ()).await.unwrap();
        }
        let own = hooks.prompt(agent, SHOP, "friday", "What is the deploy command of this project?").await;
        assert!(own.contains("make ship"), "{agent:?}: {own}");
        let own = hooks.prompt(agent, SHOP, "saturday", "消息队列用的是什么？").await;
        assert!(own.contains("RabbitMQ"), "{agent:?}: {own}");
        let opening = hooks.start(agent, SHOP, "sunday").await;
        assert!(["make ship", "RabbitMQ", "npm"].iter().all(|word| opening.contains(word)), "{agent:?}: {opening}");
    }
}

#[tokio::test]
async fn what_is_about_the_person_holds_in_all_projects() {
    let hooks = Hooks::new().await;
    hooks.claude(SHOP, "s1", "I really dislike semicolons.").await;
    // Only the sentence about the person.
    hooks.claude(SHOP, "s2", "我对花生过敏。我们的测试环境叫 umbrella。").await;
    hooks.claude(SHOP, "s3", "In all my projects, never commit directly to the main branch.").await;
    let answer = hooks.claude(BLOG, "t1", "Should I add semicolons at the ends of lines?").await;
    assert!(answer.contains("dislike semicolons"), "{answer}");
    assert!(answer.contains("never commit directly"), "a convention of all projects: {answer}");
    let answer = hooks.claude(BLOG, "t2", "我对什么过敏？测试环境叫什么？").await;
    assert!(answer.contains("花生") && !answer.contains("umbrella"), "{answer}");
}

#[tokio::test]
async fn conventions_are_in_every_prompt_of_their_project_within_their_limit() {
    let hooks = Hooks::new().await;
    hooks.claude(SHOP, "s1", "Never npm, always pnpm. Then fix the build.").await;
    hooks.claude(SHOP, "s1", "测试文件一律放在源码旁边。").await;
    for prompt in ["install lodash", "写一个测试", "install lodash again"] {
        let answer = hooks.claude(SHOP, "s2", prompt).await;
        assert!(answer.contains("Never npm") && answer.contains("测试文件一律放在源码旁边"), "{prompt}: {answer}");
        assert_eq!(answer.matches("Never npm").count(), 1, "{answer}");
    }
    for number in 0..40 {
        hooks.claude(SHOP, "s3", &format!("Never call the function number {number} from another module.")).await;
    }
    let answer = hooks.claude(SHOP, "s4", "unrelated").await;
    let lines: Vec<&str> = answer.lines().filter(|line| line.starts_with("- Never")).collect();
    assert!(lines.len() > 4 && EstimatedTokens.count(&lines.join("\n")) <= 160, "{answer}");
    assert!(lines[0].contains("39"), "the newest first: {answer}");
}

#[tokio::test]
async fn a_convention_goes_with_its_message_and_can_be_stated_again() {
    let hooks = Hooks::new().await;
    let shown = async |session: &str| hooks.claude(SHOP, session, "hello there").await.matches("force-push").count();
    hooks.claude(SHOP, "s1", "Never force-push to shared branches.").await;
    hooks.claude(SHOP, "s2", "Never force-push to shared branches.").await;
    assert_eq!(shown("t1").await, 1);
    for session in ["s1", "s2"] {
        let session = hooks.user.clone().with_session(session).unwrap();
        hooks.engine.forget(&session, memory_engine::Forget::Everything).await.unwrap();
    }
    assert_eq!(shown("t2").await, 0);
    hooks.claude(SHOP, "s3", "Never force-push to shared branches.").await;
    assert_eq!(shown("t3").await, 1);
}

#[tokio::test]
async fn a_session_starts_with_little_and_no_code() {
    let hooks = Hooks::new().await;
    for number in 0..60 {
        hooks
            .claude(SHOP, "s1", &format!("We decided to name service {number} after the river number {number}."))
            .await;
    }
    hooks.claude(SHOP, "s1", "Why?\n```python\nclass User:\n    name = 'Bob'\n```").await;
    hooks.claude(SHOP, "s1", "Traceback (most recent call last):\n  File \"/srv/x.py\", line 3\nValueError: 7").await;
    hooks.claude(SHOP, "s1", "The login page still flickers after the upgrade.").await;
    for prompt in ["ok", "好的", "thanks!"] {
        hooks.claude(SHOP, "s1", prompt).await;
    }
    hooks.engine.drain(&hooks.user, |_| ()).await.unwrap();
    let opening = hooks.start(Agent::Codex, SHOP, "s2").await;
    assert!(EstimatedTokens.count(&opening) <= 400, "{opening}");
    assert!(opening.contains("river number 59") && opening.contains("flickers"), "{opening}");
    for word in ["Bob", "Traceback", "ValueError", ": ok", "好的", "thanks"] {
        assert!(!opening.contains(word), "{word}: {opening}");
    }
}

#[tokio::test]
async fn a_session_continues_in_another_process() {
    let mut hooks = Hooks::new().await;
    hooks.claude(SHOP, "old", "The office printer is called Marvin.").await;
    assert!(hooks.claude(SHOP, "s", "What is the printer called?").await.contains("Marvin"));
    hooks.hooks = handler(&hooks.engine);
    let again = hooks.claude(SHOP, "s", "Tell me: is the printer called by a name?").await;
    assert!(!again.contains("Marvin"), "{again}");
    // A yes belongs to the question that another process asked.
    for number in 0..12 {
        hooks.claude(SHOP, "old", &format!("Landlord Otto called about room {number}.")).await;
    }
    let asked = hooks.claude(SHOP, "s", "Forget what I said about Otto.").await;
    assert!(asked.contains("12"), "{asked}");
    hooks.hooks = handler(&hooks.engine);
    hooks.claude(SHOP, "s", "yes").await;
    hooks.hooks = handler(&hooks.engine);
    assert!(!hooks.claude(SHOP, "t", "Who called about room 3?").await.contains("Otto"));
}

#[tokio::test]
async fn an_empty_prompt_is_answered_like_any_other() {
    let hooks = Hooks::new().await;
    assert_eq!(hooks.claude(SHOP, "s", "").await, "");
    assert_eq!(hooks.prompt(Agent::Cursor, SHOP, "s", " \n").await, "");
    assert_eq!(hooks.claude(SHOP, "s", "Stop hook feedback:\n- [lint]: I prefer tabs.").await, "");
    assert_eq!(hooks.engine.stats(&hooks.user).await.unwrap().kinds.get("turn"), None);
}

#[tokio::test]
async fn projects_are_listed_renamed_merged_and_deleted() {
    let hooks = Hooks::new().await;
    hooks.claude(SHOP, "s1", "The deploy command is make ship.").await;
    hooks.claude("/home/lin/moved/shop", "s2", "The staging host is called petrel.").await;
    hooks.claude(BLOG, "s3", "The theme is called Aurora. I live in Bergen.").await;
    let projects = Projects::new(hooks.engine.clone(), &hooks.user);
    let all = projects.list().await.unwrap();
    assert_eq!(
        all.iter().map(|project| project.id.split('-').next().unwrap()).collect::<Vec<_>>(),
        ["blog", "shop", "shop"]
    );
    let (moved, shop) = (all[1].id.clone(), all[2].id.clone());
    projects.rename(&shop, "web shop").await.unwrap();
    assert_eq!(projects.find("web-shop").await.unwrap().id, shop);
    assert!(hooks.claude(SHOP, "t1", "What is the staging host called?").await.is_empty());
    let merged = projects.merge(&moved, "web-shop").await.unwrap();
    assert_eq!((merged.id.as_str(), merged.members.clone()), (shop.as_str(), vec![moved.clone()]));
    for folder in [SHOP, "/home/lin/moved/shop"] {
        assert!(hooks.claude(folder, "t2", "What is the staging host called?").await.contains("petrel"), "{folder}");
        assert!(hooks.claude(folder, "t2", "What is the deploy command?").await.contains("make ship"), "{folder}");
        hooks
            .send(Agent::ClaudeCode, json!({"hook_event_name": "SessionEnd", "session_id": "t2", "cwd": folder}))
            .await;
    }
    assert_eq!(projects.find("nest").await.unwrap_err().kind(), ErrorKind::NotFound);
    assert!(projects.merge(&shop, &moved).await.unwrap_err().to_string().contains("merged with itself"));
    projects.forget("web-shop").await.unwrap();
    assert_eq!(projects.list().await.unwrap().len(), 1);
    assert!(hooks.claude(SHOP, "t3", "What is the deploy command?").await.is_empty());
    // The other project is untouched.
    assert!(hooks.claude(BLOG, "t4", "What is the theme called?").await.contains("Aurora"));
}
