use super::*;

fn parse(agent: Agent, input: Value) -> HookEvent {
    agent.parse(None, &input).unwrap()
}

#[test]
fn prompts_of_each_agent_are_read() {
    let claude = json!({
        "session_id": "s", "transcript_path": "/t.jsonl", "cwd": "/p", "prompt_id": "p1", "permission_mode": "default",
        "hook_event_name": "UserPromptSubmit", "prompt": "fix it", "source": "user",
    });
    let codex = json!({
        "session_id": "s", "turn_id": "p1", "transcript_path": null, "cwd": "/p", "model": "m",
        "hook_event_name": "UserPromptSubmit", "prompt": "fix it",
    });
    let cursor = json!({
        "conversation_id": "s", "generation_id": "p1", "hook_event_name": "beforeSubmitPrompt", "prompt": "fix it",
        "attachments": [], "workspace_roots": ["/p"],
    });
    let generic = json!({"event": "user_prompt", "session_id": "s", "turn_id": "p1", "prompt": "fix it"});
    let inputs = [claude, codex, cursor, generic];
    for (agent, input) in Agent::ALL.into_iter().zip(inputs) {
        let event = parse(agent, input);
        assert_eq!(event.kind, HookKind::UserPrompt, "{agent:?}");
        assert_eq!((event.session.as_str(), event.turn_id.as_deref()), ("s", Some("p1")), "{agent:?}");
        assert_eq!(event.user_words().as_deref(), Some("fix it"), "{agent:?}");
    }
}

#[test]
fn replies_of_each_agent_are_read() {
    let claude = json!({"session_id": "s", "hook_event_name": "Stop", "stop_hook_active": false,
        "last_assistant_message": "done"});
    let cursor = json!({"conversation_id": "s", "hook_event_name": "afterAgentResponse", "text": "done"});
    let generic = json!({"event": "stop", "session_id": "s", "reply": "done"});
    for (agent, input) in [
        (Agent::ClaudeCode, claude.clone()),
        (Agent::Codex, claude),
        (Agent::Cursor, cursor),
        (Agent::Generic, generic),
    ] {
        let event = parse(agent, input);
        assert_eq!((event.kind, event.text.as_str()), (HookKind::Reply, "done"), "{agent:?}");
    }
}

#[test]
fn prompts_of_schedules_sub_agents_and_other_sessions_are_not_from_the_user() {
    let prompt = |field: &str, value: &str| {
        let mut input = json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "report"});
        input[field] = json!(value);
        parse(Agent::ClaudeCode, input).user_words()
    };
    for source in ["system", "loop_wakeup", "schedule_wakeup", "poll_event"] {
        assert_eq!(prompt("source", source), None, "{source}");
    }
    assert_eq!(prompt("agent_id", "a1"), None);
    assert_eq!(prompt("source", "sdk").as_deref(), Some("report"));
}

#[test]
fn a_resumed_session_contains_its_messages() {
    let start = |source: &str| {
        parse(Agent::ClaudeCode, json!({"session_id": "s", "hook_event_name": "SessionStart", "source": source})).kind
    };
    for source in ["startup", "clear", "compact"] {
        assert_eq!(start(source), HookKind::SessionStart(SessionBeginning::Empty), "{source}");
    }
    assert_eq!(start("resume"), HookKind::SessionStart(SessionBeginning::Continued));
}

#[test]
fn input_that_cannot_be_used_is_refused_with_the_missing_field() {
    let error = |agent: Agent, input: Value| agent.parse(None, &input).unwrap_err().to_string();
    assert!(error(Agent::ClaudeCode, json!([])).contains("not a JSON object"));
    assert!(error(Agent::ClaudeCode, json!({"session_id": "s"})).contains("hook_event_name"));
    assert!(error(Agent::Cursor, json!({"hook_event_name": "stop"})).contains("conversation_id or session_id"));
    assert!(error(Agent::Generic, json!({"event": "user_prompt", "session_id": "s"})).contains("prompt"));
    assert!("emacs".parse::<Agent>().unwrap_err().to_string().contains("claude-code, codex, cursor, generic"));
    assert!(HookKind::from_name("begin").unwrap_err().to_string().contains("session-start, user-prompt"));
}

#[test]
fn unknown_events_are_ignored() {
    let event = parse(Agent::Codex, json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "x"}));
    assert_eq!(event.kind, HookKind::Other);
    assert_eq!(Agent::Codex.response(&event, &HookAnswer::default()), json!({}));
}

#[test]
fn contexts_are_written_in_the_format_of_the_agent() {
    let answer = HookAnswer { context: "likes tea".into(), ..HookAnswer::default() };
    let start = json!({"session_id": "s", "hook_event_name": "SessionStart"});
    let event = parse(Agent::Codex, start);
    let expected = json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "likes tea"}});
    assert_eq!(Agent::Codex.response(&event, &answer), expected);
    assert_eq!(Agent::Codex.response(&event, &HookAnswer::default()), json!({}));
    let event = parse(Agent::Cursor, json!({"session_id": "s", "hook_event_name": "sessionStart"}));
    assert_eq!(Agent::Cursor.response(&event, &answer), json!({"additional_context": "likes tea"}));
    let prompt = json!({"conversation_id": "s", "hook_event_name": "beforeSubmitPrompt", "prompt": "hi"});
    let event = parse(Agent::Cursor, prompt);
    assert_eq!(Agent::Cursor.response(&event, &answer), json!({"continue": true}));
}
