//! One memory behind every door: what is written through one protocol is read through each of them.

use std::{
    io::Write,
    process::Stdio,
    sync::{Arc, Mutex},
};

use memory_engine::{MemoryEngine, Scope};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::method};

use crate::{
    cli_fixture::{CliFixture, CommandOutput},
    running_server::RunningServer,
};

/// A way to the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    MemoryTool,
    Library,
    Command,
    Mem0,
    Chat,
    Messages,
    Responses,
    Mcp,
    Hook,
}

/// What is said at each door, the question about it, and the word that only the answer contains.
const STATEMENTS: [(Door, &str, &str, &str); 9] = [
    // It shows the latest messages only, so it reads before the others ask.
    (Door::MemoryTool, "Lin 的帆船叫远山号。", "我的帆船叫什么名字？", "远山号"),
    (Door::Library, "My parrot is called Quillon.", "What is my parrot called?", "Quillon"),
    (Door::Command, "我的乌龟叫阿绿豆。", "我的乌龟叫什么名字？", "阿绿豆"),
    (Door::Mem0, "My canoe is called Marisol.", "What is my canoe called?", "Marisol"),
    (Door::Chat, "我的民宿叫听松小筑。", "我的民宿叫什么名字？", "听松小筑"),
    (Door::Messages, "My bakery is called Crumbleton.", "What is my bakery called?", "Crumbleton"),
    (Door::Responses, "我的乐队叫夜航船。", "我的乐队叫什么名字？", "夜航船"),
    (Door::Mcp, "Lin's bicycle is called Zephyrine.", "What is my bicycle called?", "Zephyrine"),
    (Door::Hook, "My greenhouse is called Verdance.", "What is my greenhouse called?", "Verdance"),
];

/// A database with a server in front of it, and a model service behind the gateway.
struct House {
    cli: CliFixture,
    served: RunningServer,
    runtime: Runtime,
    engine: MemoryEngine,
    /// The latest request to the model service.
    prompt: Arc<Mutex<String>>,
    _upstream: MockServer,
}

impl House {
    fn new() -> Self {
        let cli = CliFixture::new();
        let runtime = Runtime::new().unwrap();
        let prompt = Arc::new(Mutex::new(String::new()));
        let upstream = runtime.block_on(upstream(Arc::clone(&prompt)));
        let uri = upstream.uri();
        let config = format!(
            "user = \"lin\"\n[gateway]\ndeadline_ms = 60000\n[hooks]\ndeadline_ms = 60000\n\
             [[gateway.upstreams]]\nname = \"scripted\"\nbase_url = \"{uri}/v1\"\n"
        );
        cli.write("memory.toml", config);
        let served = RunningServer::start(&mut cli.command(&[]));
        let engine = runtime.block_on(MemoryEngine::open(cli.path("memory.db").to_str().unwrap())).unwrap();
        Self { cli, served, runtime, engine, prompt, _upstream: upstream }
    }

    /// Sends JSON to the server, with the name of a session if there is one, and returns the answer.
    fn post(&self, path: &str, session: Option<&str>, body: &Value) -> Value {
        let headers = [("X-User-Id", Some("lin")), ("X-Session-Id", session)];
        let headers: Vec<_> = headers.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let (status, answer) = self.served.request("POST", path, &headers, &body.to_string());
        assert_eq!(status, 200, "{path}: {answer}");
        serde_json::from_str(&answer).unwrap()
    }

    /// Sends a message to the chat gateway.
    fn chat(&self, door: Door, session: &str, text: &str) {
        let messages = json!([{ "role": "user", "content": text }]);
        let (path, body) = if door == Door::Messages {
            ("/v1/messages", json!({ "model": "m", "max_tokens": 9, "messages": messages }))
        } else if door == Door::Responses {
            ("/v1/responses", json!({ "model": "m", "input": messages }))
        } else {
            ("/v1/chat/completions", json!({ "model": "m", "messages": messages }))
        };
        self.post(path, Some(session), &body);
    }

    fn mcp(&self, tool: &str, arguments: Value) -> String {
        let params = json!({ "name": tool, "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let answer = self.post("/mcp", None, &call);
        assert_eq!(answer["result"]["isError"], json!(false), "{answer}");
        answer.to_string()
    }

    fn memory_tool(&self, command: Value) -> String {
        let answer = self.post("/v1/memory-tool", None, &command);
        assert_eq!(answer["is_error"], false, "{answer}");
        answer["content"].as_str().unwrap().to_owned()
    }

    fn hook(&self, session: &str, text: &str) -> String {
        let url = format!("http://{}", self.served.address);
        let arguments = ["hook", "user-prompt", "--agent", "claude-code", "--server", &url, "--user", "lin"];
        let mut command = self.cli.command(&arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let input = json!({ "hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": text });
        child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
        CommandOutput::of(child.wait_with_output().unwrap()).ok()
    }

    fn write(&self, door: Door, text: &str) {
        let session = format!("written through {door:?}");
        match door {
            Door::Library => {
                self.runtime.block_on(self.engine.remember(&lin(), text)).unwrap();
            }
            Door::Command => {
                self.cli.run(&["add", text, "--db", "memory.db", "--user", "lin"]).ok();
            }
            Door::Mem0 => {
                let messages = json!([{ "role": "user", "content": text }]);
                self.post("/memories", None, &json!({ "messages": messages, "user_id": "lin" }));
            }
            Door::Chat | Door::Messages | Door::Responses => self.chat(door, &session, text),
            Door::Mcp => {
                self.mcp("add_memory", json!({ "text": text }));
            }
            Door::MemoryTool => {
                let create = json!({ "command": "create", "path": "/memories/boat.md", "file_text": text });
                self.memory_tool(create);
            }
            Door::Hook => {
                self.hook(&session, text);
            }
        }
    }

    /// Returns what a door shows to a person or a model that asks this question.
    fn read(&self, door: Door, question: &str) -> String {
        let session = format!("read through {door:?}: {question}");
        match door {
            Door::Library => {
                let recall = self.runtime.block_on(self.engine.recall(&lin(), question)).unwrap();
                recall.hits.into_iter().map(|hit| hit.record.text + "\n").collect()
            }
            Door::Command => self.cli.run(&["search", question, "--db", "memory.db", "--user", "lin"]).ok(),
            Door::Mem0 => {
                let body = json!({ "query": question, "user_id": "lin" });
                self.post("/search", None, &body).to_string()
            }
            Door::Chat | Door::Messages | Door::Responses => {
                self.chat(door, &percent_encoded(&session), question);
                self.prompt.lock().unwrap().clone()
            }
            Door::Mcp => self.mcp("search_memory", json!({ "query": question })),
            Door::MemoryTool => {
                let view = |path: &str| self.memory_tool(json!({ "command": "view", "path": path }));
                ["known/facts.md", "known/recent.md", "boat.md"]
                    .map(|name| view(&format!("/memories/{name}")))
                    .join("\n")
            }
            Door::Hook => self.hook(&session, question),
        }
    }
}

fn lin() -> Scope {
    Scope::user("lin").unwrap()
}

/// Encodes what a header cannot contain.
fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte).into() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}

/// Starts a model service that gives every request the same reply.
async fn upstream(prompt: Arc<Mutex<String>>) -> MockServer {
    let server = MockServer::start().await;
    let reply = move |request: &Request| {
        *prompt.lock().unwrap() = String::from_utf8(request.body.clone()).unwrap();
        let message = json!({ "role": "assistant", "content": "Noted. 好的。" });
        let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
        let body = json!({ "id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice] });
        ResponseTemplate::new(200).set_body_json(body)
    };
    Mock::given(method("POST")).respond_with(reply).mount(&server).await;
    server
}

#[test]
fn every_door_reads_what_was_written_through_every_other() {
    let house = House::new();
    for (door, statement, ..) in STATEMENTS {
        house.write(door, statement);
    }
    let mut missing = Vec::new();
    for (reader, ..) in STATEMENTS {
        for (writer, _, question, answer) in STATEMENTS {
            let shown = house.read(reader, question);
            assert!(!shown.is_empty(), "{reader:?} shows nothing");
            if !shown.contains(answer) {
                missing.push(format!("{reader:?} does not show what was written through {writer:?}: {shown}"));
            }
        }
    }
    assert!(missing.is_empty(), "{} of 81:\n{}", missing.len(), missing.join("\n"));
}
