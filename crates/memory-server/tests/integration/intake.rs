//! One table of messages through every door: the own words of persons and models are stored, other words are not.

use std::{collections::BTreeMap, fs, path::Path};

use memory_engine::{Field, Filter, Kind, MemoryEngine, Record, ScanQuery, Scope, store::repetitions};
use memory_engine_import::{ImportedTurn, Row};
use serde_json::{Value, json};

use crate::{
    gateway::fixtures::{Chat, patient_options},
    support::Served,
};

/// A way into the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Door {
    Chat,
    Messages,
    Responses,
    Hook,
    Mem0,
    Mcp,
    MemoryTool,
    Import,
}

const DOORS: [Door; 8] =
    [Door::Chat, Door::Messages, Door::Responses, Door::Hook, Door::Mem0, Door::Mcp, Door::MemoryTool, Door::Import];
/// Doors through which a model's own words come.
const REPLY_DOORS: [Door; 6] = [Door::Chat, Door::Messages, Door::Hook, Door::Mem0, Door::Mcp, Door::Import];

/// The table of the crate `intake`.
fn table(file: &str) -> BTreeMap<String, Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../intake/tests").join(file);
    toml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Messages with the words that are stored of them: all, a part, or none.
fn user_rows() -> Vec<(&'static str, String, Option<String>)> {
    let (messages, tasks) = (table("messages.toml"), table("tasks.toml"));
    let texts =
        |value: &Value| value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let mut rows = Vec::new();
    for text in texts(&messages["own"]).into_iter().chain(texts(&tasks["not_message"])) {
        rows.push(("own", text.clone(), Some(text)));
    }
    for pair in messages["mixed"].as_array().unwrap() {
        rows.push(("mixed", texts(pair)[0].clone(), Some(texts(pair)[1].clone())));
    }
    rows.extend(texts(&messages["foreign"]).into_iter().map(|text| ("foreign", text, None)));
    rows.extend(texts(&tasks["message"]).into_iter().map(|text| ("task", text, None)));
    rows
}

/// Replies with the answers that are stored of them.
fn reply_rows() -> Vec<(&'static str, String, Option<String>)> {
    let messages = table("messages.toml");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let thoughts = messages["thoughts"].as_array().unwrap().iter();
    let thoughts = thoughts.map(|pair| ("thoughts", text(&pair[0]), Some(text(&pair[1]))));
    let replies = messages["replies"].as_array().unwrap().iter().map(|reply| ("reply", text(reply), Some(text(reply))));
    thoughts.chain(replies).collect()
}

/// Sends a message through a door. `reply` is that of the model.
async fn send(chat: &Chat, door: Door, user: &str, message: Option<&str>, reply: Option<&str>) {
    let owner = [("x-user-id", user), ("x-session-id", "monday"), ("accept", "application/json, text/event-stream")];
    let said = message.unwrap_or("I live in Faro.");
    // The upstream says what the last message of the system says.
    let model = if reply.is_some() { "says" } else { "echo" };
    let said_by_user = json!({ "role": "user", "content": said });
    let said_by_model = reply.map(|reply| json!({ "role": "assistant", "content": reply }));
    let (path, body) = match door {
        Door::Chat => {
            let system = reply.map(|reply| json!({ "role": "system", "content": reply }));
            let messages: Vec<Value> = system.into_iter().chain([said_by_user]).collect();
            ("v1/chat/completions".to_owned(), json!({ "model": model, "messages": messages }))
        }
        Door::Messages => (
            "v1/messages".to_owned(),
            json!({ "model": model, "max_tokens": 9, "system": reply.unwrap_or_default(), "messages": [said_by_user] }),
        ),
        Door::Responses => ("v1/responses".to_owned(), json!({ "model": model, "input": said })),
        Door::Hook => {
            let input = json!({ "event": "user_prompt", "session_id": "monday", "prompt": said });
            let path = |event: &str| format!("hooks/generic?event={event}&user_id={user}");
            chat.get(&path("user-prompt"), &input, &owner).await;
            let Some(reply) = reply else { return };
            (path("stop"), json!({ "event": "stop", "session_id": "monday", "reply": reply }))
        }
        Door::Mem0 => {
            let messages: Vec<Value> = [Some(said_by_user), said_by_model].into_iter().flatten().collect();
            ("memories".to_owned(), json!({ "user_id": user, "infer": false, "messages": messages }))
        }
        Door::Mcp => {
            let (role, text) = reply.map_or(("user", said), |reply| ("assistant", reply));
            let arguments = json!({ "role": role, "text": text, "user_id": user });
            let params = json!({ "name": "add_memory", "arguments": arguments });
            ("mcp".to_owned(), json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }))
        }
        Door::MemoryTool => (
            format!("v1/memory-tool?user_id={user}"),
            json!({ "command": "create", "path": "/memories/a.md", "file_text": said }),
        ),
        Door::Import => return import(&chat.served.engine, user, said, reply).await,
    };
    let answer = chat.get(&path, &body, &owner).await;
    assert_eq!(answer.status.as_u16(), 200, "{door:?} {said}: {}", answer.body);
}

/// Stores what the importers read, as the command does.
async fn import(engine: &MemoryEngine, user: &str, said: &str, reply: Option<&str>) {
    let turn = |role: &str, text: &str| {
        let mut turn = ImportedTurn::default();
        turn.keys.insert("role".into(), role.into());
        turn.keys.insert("text".into(), text.into());
        turn
    };
    let turns = [Some(turn("user", said)), reply.map(|reply| turn("assistant", reply))];
    let row = Row { place: String::new(), number: 1, bytes: 0, turns: Ok(turns.into_iter().flatten().collect()) };
    for turn in row.with_own_words().turns.unwrap() {
        let text = turn.keys["text"].as_str().unwrap().to_owned();
        let stored = match turn.keys["role"].as_str().unwrap() {
            "user" => memory_engine::Turn::user(text),
            _ => memory_engine::Turn::assistant(text),
        };
        engine.remember(&scope(user), stored).await.unwrap();
    }
}

fn scope(user: &str) -> Scope {
    Scope::tenant_wide("acme").unwrap().with_user(user).unwrap()
}

/// Returns the stored texts of a user, of the model or of the person.
async fn stored(chat: &Chat, user: &str, of_model: bool) -> Vec<String> {
    let records = chat.served.engine.scan(&scope(user), &ScanQuery::oldest(20)).await.unwrap().records;
    let is_of_model = |record: &Record| record.role.as_ref().is_some_and(|role| role.as_str() == "assistant");
    let texts = records.iter().filter(|record| is_of_model(record) == of_model);
    texts.map(|record| record.text.trim().to_owned()).collect()
}

/// Sends each row through each door, prints a table of counts, and fails for each row that was stored differently.
async fn check(rows: Vec<(&'static str, String, Option<String>)>, doors: &[Door], of_model: bool) {
    let engine = MemoryEngine::builder().in_memory().background(false).build().await.unwrap();
    let chat = Chat::of(Served::with_engine(engine, patient_options()).await);
    let mut wrong = Vec::new();
    let mut counts: BTreeMap<(&str, Door), (usize, usize)> = BTreeMap::new();
    for &door in doors {
        for (index, (kind, text, expected)) in rows.iter().enumerate() {
            let user = format!("{door:?}-{index}");
            let (message, reply) = if of_model { (None, Some(text.as_str())) } else { (Some(text.as_str()), None) };
            send(&chat, door, &user, message, reply).await;
            let found = stored(&chat, &user, of_model).await;
            let expected: Vec<String> = expected.iter().map(|text| text.trim().to_owned()).collect();
            let count = counts.entry((kind, door)).or_default();
            count.1 += 1;
            if found == expected {
                count.0 += 1;
            } else {
                wrong.push((door, text.clone(), found));
            }
        }
    }
    for ((kind, door), (right, all)) in counts {
        println!("{kind:<9} {door:<11?} {right} of {all}");
    }
    assert_eq!(wrong, []);
}

#[tokio::test]
async fn every_door_keeps_own_words_of_persons_and_refuses_others() {
    check(user_rows(), &DOORS, false).await;
}

#[tokio::test]
async fn every_door_keeps_answers_of_models_without_thoughts() {
    check(reply_rows(), &REPLY_DOORS, true).await;
}

/// A title over the beginning of a named session is a request with a shorter history.
#[tokio::test]
async fn a_task_of_a_client_gets_no_memories_and_takes_nothing_back() {
    let engine = MemoryEngine::builder().in_memory().background(false).build().await.unwrap();
    let chat = Chat::of(Served::with_engine(engine, patient_options()).await);
    let user = |text: &str| json!({ "role": "user", "content": text });
    let reply = |text: &str| json!({ "role": "assistant", "content": format!("好的: {text}") });
    let history = [user("我住在法鲁，狗叫饼干。"), reply("我住在法鲁，狗叫饼干。")];
    chat.ask(&json!({ "model": "echo", "messages": history[..1] })).await;
    let second = [&history[..], &[user("我的船在奥良")]].concat();
    chat.ask(&json!({ "model": "echo", "messages": second })).await;
    let before = chat.texts().await;
    assert_eq!(before.len(), 4);
    for (role, task) in [
        ("user", "Provide a concise title of this conversation, five words at most."),
        ("user", "使用四到五个字直接返回这句话的简要主题，不要解释、不要标点"),
        ("system", "[Pause your roleplay. Summarize the most important facts in the story so far.]"),
    ] {
        let messages = [&history[..], &[json!({ "role": role, "content": task })]].concat();
        let body = json!({ "model": "echo", "messages": messages });
        assert_eq!(chat.ask(&body).await.status.as_u16(), 200, "{task}");
        assert_eq!(chat.served.received.last(), body, "passed on without memories");
        assert_eq!(chat.texts().await, before, "{task}");
    }
    let titler = json!({ "role": "system", "content": "You are a title generator. You output only a title." });
    chat.ask(&json!({ "model": "echo", "messages": [titler, user("我住在柏林")] })).await;
    assert_eq!(chat.texts().await, before);
}

#[tokio::test]
async fn half_of_an_emoji_refuses_no_request() {
    let engine = MemoryEngine::builder().in_memory().background(false).build().await.unwrap();
    let chat = Chat::of(Served::with_engine(engine, patient_options()).await);
    let half = r"the printer \ud83d is called Marvin";
    let note = format!(r#"{{"role":"user","text":"{half}","user_id":"u"}}"#);
    let params = format!(r#"{{"name":"add_memory","arguments":{note}}}"#);
    for (user, path, body) in [
        (
            "chat",
            "v1/chat/completions",
            format!(r#"{{"model":"echo","messages":[{{"role":"user","content":"{half}"}}]}}"#),
        ),
        (
            "messages",
            "v1/messages",
            format!(r#"{{"model":"echo","max_tokens":9,"messages":[{{"role":"user","content":"{half}"}}]}}"#),
        ),
        ("responses", "v1/responses", format!(r#"{{"model":"echo","input":"{half}"}}"#)),
        ("hook", "hooks/generic?event=user-prompt&user_id=hook", format!(r#"{{"session_id":"s","prompt":"{half}"}}"#)),
        (
            "mem0",
            "memories",
            format!(r#"{{"user_id":"mem0","infer":false,"messages":[{{"role":"user","content":"{half}"}}]}}"#),
        ),
        (
            "mcp",
            "mcp?user_id=mcp",
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}}"#,
                params.replace(r#","user_id":"u""#, "")
            ),
        ),
        (
            "tool",
            "v1/memory-tool?user_id=tool",
            format!(r#"{{"command":"create","path":"/memories/a.md","file_text":"{half}"}}"#),
        ),
    ] {
        let headers = [("x-user-id", user), ("accept", "application/json, text/event-stream")];
        let answer = chat.get_raw(path, &body, &headers).await;
        assert_eq!(answer.status.as_u16(), 200, "{path}: {}", answer.body);
        assert_eq!(
            stored(&chat, user, false).await,
            ["the printer \u{fffd} is called Marvin"],
            "{path}: {}",
            answer.body
        );
    }
    let search = r#"{"query":"printer \ud83d","filters":{"user_id":"mem0"}}"#;
    assert_eq!(chat.get_raw("search", search, &[]).await.status.as_u16(), 200);
}

/// A scheduled task sends one prompt again and again, each time in another session, or in none.
#[tokio::test]
async fn the_prompt_of_a_script_is_counted_at_every_door() {
    for prompt in ["Summarise the unread mail of the office", "把办公室的未读邮件总结一下"] {
        let engine = MemoryEngine::builder().in_memory().background(false).build().await.unwrap();
        let chat = Chat::of(Served::with_engine(engine, patient_options()).await);
        for run in 0..6 {
            let session = format!("run-{run}");
            let said = json!({ "role": "user", "content": prompt });
            let body = json!({ "model": "echo", "messages": [said] });
            let of_chat = [("x-user-id", "chat"), ("x-session-id", &session)];
            chat.get("v1/chat/completions", &body, &of_chat).await;
            chat.get("v1/chat/completions", &body, &[("x-user-id", "unnamed")]).await;
            let hook = json!({ "session_id": session, "prompt": prompt });
            let answer = chat.get("hooks/generic?event=user-prompt&user_id=hook", &hook, &[]).await;
            assert_eq!(answer.status.as_u16(), 200, "{}", answer.body);
            let reply = json!({ "session_id": session, "reply": "No mail today." });
            chat.get("hooks/generic?event=stop&user_id=hook", &reply, &[]).await;
            let added = chat.get("memories", &json!({ "user_id": "mem0", "messages": [said] }), &[]).await;
            let results = added.json()["results"].clone();
            let counted = format!("The message was said {} times today; it is counted, and not stored again.", run + 1);
            let message = results.as_array().unwrap().iter().find_map(|result| result["message"].as_str());
            assert_eq!(message, (run >= 3).then_some(counted.as_str()), "{results}");
        }
        // Without a session, the same first message within an hour asks for another reply.
        for (user, turns, replies) in [("chat", 3, 3), ("unnamed", 1, 1), ("hook", 3, 3), ("mem0", 3, 0)] {
            let all = ScanQuery::oldest(20).with_filter(Filter::eq(Field::Kind, Kind::TURN.as_str()));
            let records = chat.served.engine.scan(&scope(user), &all).await.unwrap().records;
            let (said, answers): (Vec<_>, Vec<_>) = records.iter().partition(|record| record.text == prompt);
            assert_eq!((said.len(), answers.len()), (turns, replies), "{user}: {records:?}");
            assert_eq!(said.iter().find_map(|turn| repetitions(turn)), Some(6), "{user}");
        }
    }
}
