//! The prompt caches of services: what a request repeats of the one before is read from the cache, although the memories
//! differ from request to request.

use std::collections::BTreeSet;

use memory_engine::ScanQuery;
use memory_engine_server::BlockPlacement;
use serde_json::{Value, json};

use super::fixtures::{Answer, Chat, lin};

const MEMORIES: [&str; 5] = [
    "I am allergic to shellfish, shrimp most of all.",
    "My sister Ines lives in Turku and keeps bees.",
    "I play the oboe in an orchestra on Mondays.",
    "My landlord is called Mr Okafor.",
    "We are going to the Azores in October.",
];
const QUESTIONS: [&str; 6] = [
    "Do you remember on which day my orchestra meets?",
    "Do you remember what I am allergic to?",
    "Do you remember where my sister lives?",
    "Do you remember which instrument I play?",
    "Do you remember what my landlord is called?",
    "Do you remember where we are going in October?",
];
const SYSTEM: &str = "You are a patient companion. Answer in one or two sentences, and do not repeat yourself.";
/// The cache mark of Anthropic's API.
const MARK: &str = "cache_control";

/// The form in which a client sends its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Parts,
    /// Parts, with a cache mark on the last one.
    MarkedParts,
    /// Texts, with one cache mark for the whole request.
    MarkedRequest,
}

/// A client: the route, the model, and the form of its messages.
type Client = (&'static str, &'static str, Form);

/// Clients whose requests reach the upstream unchanged, and clients whose requests are converted.
const CLIENTS: [Client; 13] = [
    ("chat/completions", "echo", Form::Text),
    ("chat/completions", "echo", Form::Parts),
    ("chat/completions", "echo", Form::MarkedParts),
    ("messages", "native-echo", Form::Text),
    ("messages", "native-echo", Form::Parts),
    ("messages", "native-echo", Form::MarkedParts),
    ("messages", "native-echo", Form::MarkedRequest),
    ("messages", "echo", Form::Text),
    ("messages", "echo", Form::MarkedParts),
    ("responses", "native-echo", Form::Text),
    ("responses", "native-echo", Form::Parts),
    ("responses", "echo", Form::Text),
    ("responses", "echo", Form::Parts),
];

/// Returns the message of a client. Only the last one of a request has a cache mark.
fn message((route, _, form): Client, (role, text): &(&str, String), is_last: bool) -> Value {
    let kind = match (route, *role) {
        ("responses", "assistant") => "output_text",
        ("responses", _) => "input_text",
        _ => "text",
    };
    let mut part = json!({ "type": kind, "text": text });
    match form {
        Form::Text | Form::MarkedRequest => return json!({ "role": role, "content": text }),
        Form::MarkedParts if is_last => part[MARK] = json!({ "type": "ephemeral" }),
        Form::Parts | Form::MarkedParts => {}
    }
    json!({ "role": role, "content": [part] })
}

/// Returns the request of a client with these messages.
fn request(client: Client, messages: &[Value]) -> Value {
    let (route, model, form) = client;
    let mut body = match route {
        "responses" => json!({ "model": model, "instructions": SYSTEM, "store": false, "input": messages }),
        "messages" => json!({ "model": model, "max_tokens": 100, "system": SYSTEM, "messages": messages }),
        _ => {
            let system = json!({ "role": "system", "content": SYSTEM });
            let messages = [&[system], messages].concat();
            json!({ "model": model, "messages": messages })
        }
    };
    if form == Form::MarkedRequest {
        body[MARK] = json!({ "type": "ephemeral" });
    }
    body
}

/// Sends a request of a client, and returns the response and the request that its upstream received.
async fn send(chat: &Chat, (route, model, _): Client, body: &Value) -> (Answer, Value) {
    let owner = [("x-user-id", "lin"), ("x-session-id", "monday")];
    let answer = chat.get(&format!("v1/{route}"), body, &owner).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let is_native = model.starts_with("native");
    let received = if is_native { &chat.served.received_natively } else { &chat.served.received };
    (answer, received.last())
}

/// A part of a prompt, as a service reads it.
struct Part {
    text: String,
    is_marked: bool,
}

/// Returns the parts of a prompt in their order: the system prompt, and the messages.
fn parts(request: &Value) -> Vec<Part> {
    let system =
        ["system", "instructions"].into_iter().filter(|name| request[*name].is_string() || request[*name].is_array());
    let system = system.map(|name| json!({ "role": "system", "content": request[name] }));
    let messages = ["messages", "input"].into_iter().filter_map(|name| request[name].as_array()).flatten().cloned();
    let mut parts = Vec::new();
    for message in system.chain(messages) {
        let content = &message["content"];
        let one_part = || vec![if content.is_null() { message.clone() } else { json!({ "text": content }) }];
        let contents = content.as_array().cloned().unwrap_or_else(one_part);
        for (number, mut content) in contents.into_iter().enumerate() {
            let role =
                if number == 0 { format!("<{}>", message["role"].as_str().unwrap_or_default()) } else { String::new() };
            let is_marked = content.as_object_mut().unwrap().remove(MARK).is_some();
            let text = content["text"].as_str().map_or_else(|| content.to_string(), str::to_owned);
            parts.push(Part { text: role + &text, is_marked });
        }
    }
    let last = parts.last_mut().unwrap();
    last.is_marked |= request[MARK].is_object();
    parts
}

/// Returns the length of a prompt in bytes.
fn length(request: &Value) -> usize {
    parts(request).iter().map(|part| part.text.len()).sum()
}

/// The prompt cache of a service.
#[derive(Default)]
struct PromptCache {
    /// True for a cache as Anthropic's: it has the prefixes up to marked parts. Others have all prefixes of all prompts.
    has_marks: bool,
    prefixes: BTreeSet<String>,
}

impl PromptCache {
    fn of((route, model, form): Client) -> Self {
        let is_marked = matches!(form, Form::MarkedParts | Form::MarkedRequest);
        let has_marks = is_marked && route == "messages" && model.starts_with("native");
        Self { has_marks, prefixes: BTreeSet::new() }
    }

    /// Reads a prompt, and returns the number of its bytes that were not in the cache.
    fn written(&mut self, request: &Value) -> usize {
        let parts = parts(request);
        let prompt: String = parts.iter().map(|part| part.text.as_str()).collect();
        if !self.has_marks {
            let common = |other: &String| prompt.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
            let read = self.prefixes.iter().map(common).max().unwrap_or(0);
            self.prefixes.insert(prompt.clone());
            return prompt.len() - read;
        }
        let mut end = 0;
        let mut ends = Vec::new();
        for part in &parts {
            end += part.text.len();
            ends.push((end, part.is_marked));
        }
        let read = ends.iter().map(|(end, _)| *end).filter(|end| self.prefixes.contains(&prompt[..*end])).max();
        let marked = ends.iter().filter(|(_, is_marked)| *is_marked);
        self.prefixes.extend(marked.map(|(end, _)| prompt[..*end].to_owned()));
        prompt.len() - read.unwrap_or(0)
    }
}

async fn chat_with_memories(placement: BlockPlacement) -> Chat {
    let chat = Chat::with_placement(placement).await;
    for memory in MEMORIES {
        chat.remember(memory).await;
    }
    chat
}

/// The bytes of the turns of a conversation that were not in the cache, and those of the new messages and memories.
#[derive(Debug, Default)]
struct Measured {
    written: usize,
    new: usize,
    blocks: BTreeSet<usize>,
}

/// Holds a conversation of six turns, and measures all but the first one.
async fn measure(client: Client, placement: BlockPlacement) -> Measured {
    let chat = chat_with_memories(placement).await;
    let mut cache = PromptCache::of(client);
    let mut measured = Measured::default();
    let mut history: Vec<(&str, String)> = Vec::new();
    let mut earlier_length = 0;
    for question in QUESTIONS {
        history.push(("user", question.to_owned()));
        let count = history.len();
        let messages: Vec<Value> =
            history.iter().enumerate().map(|(at, said)| message(client, said, at + 1 == count)).collect();
        let body = request(client, &messages);
        let (answer, sent) = send(&chat, client, &body).await;
        let (written, sent_length, own_length) = (cache.written(&sent), length(&sent), length(&body));
        assert_ne!(answer.header("x-memory-ids"), "", "{client:?} {question}");
        assert!(sent_length > own_length, "{client:?} {question}: {sent}");
        if earlier_length > 0 {
            let new = own_length - earlier_length + (sent_length - own_length);
            if placement == BlockPlacement::Message {
                assert!(written <= new, "{client:?} {question}: {written} bytes written, {new} new ones");
            }
            measured.written += written;
            measured.new += new;
        }
        measured.blocks.insert(sent_length - own_length);
        earlier_length = own_length;
        history.push(("assistant", format!("好的: {question}")));
    }
    measured
}

#[tokio::test]
async fn a_turn_writes_only_its_messages_and_memories_to_the_cache() {
    for client in CLIENTS {
        let measured = measure(client, BlockPlacement::Message).await;
        assert!(measured.blocks.len() > 1, "the memories of the turns differ: {measured:?}");
        let in_system = measure(client, BlockPlacement::System).await;
        assert!(in_system.written > in_system.new, "{client:?} {in_system:?}");
    }
}

#[tokio::test]
async fn all_bytes_before_the_question_are_those_of_the_client() {
    for client in
        CLIENTS.into_iter().filter(|(route, model, _)| *route == "chat/completions" || model.starts_with("native"))
    {
        let chat = chat_with_memories(BlockPlacement::Message).await;
        let said = [("user", "Hello".to_owned()), ("assistant", "Hi.".to_owned()), ("user", QUESTIONS[1].to_owned())];
        let messages: Vec<Value> = said.iter().enumerate().map(|(at, said)| message(client, said, at == 2)).collect();
        let body = request(client, &messages);
        let (_, sent) = send(&chat, client, &body).await;
        assert!(length(&sent) > length(&body), "{sent}");
        let received = if client.1 == "echo" { &chat.served.received } else { &chat.served.received_natively };
        let (body, sent) = (body.to_string(), String::from_utf8(received.last_bytes().to_vec()).unwrap());
        let question = body.rfind(r#"{"role":"user""#).unwrap();
        assert_eq!(sent[..question], body[..question], "{client:?}");
    }
}

#[tokio::test]
async fn the_rounds_of_a_tool_loop_write_only_their_own_messages() {
    let client = ("messages", "native-tools", Form::MarkedParts);
    let chat = chat_with_memories(BlockPlacement::Message).await;
    let mut cache = PromptCache::of(client);
    let said = |text: &str| ("user", text.to_owned());
    let asked = message(client, &said(QUESTIONS[1]), true);
    let (_, first) = send(&chat, client, &request(client, std::slice::from_ref(&asked))).await;
    cache.written(&first);
    let with_block = &first["messages"][0];
    assert!(with_block["content"][1]["text"].as_str().unwrap().contains("shellfish"), "{first}");
    // A task of the agent has a question of its own, in the same session.
    send(&chat, client, &request(client, &[message(client, &said(QUESTIONS[2]), true)])).await;

    let mut messages = vec![message(client, &said(QUESTIONS[1]), false)];
    let mut earlier_length = length(&request(client, std::slice::from_ref(&asked)));
    for (round, id) in ["toolu_1", "toolu_2", "toolu_3"].into_iter().enumerate() {
        let call = json!({ "type": "tool_use", "id": id, "name": "weather", "input": { "city": "柏林" } });
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": "sunny" });
        messages.push(json!({ "role": "assistant", "content": [call] }));
        let mut marked = result.clone();
        marked[MARK] = json!({ "type": "ephemeral" });
        let round_messages = [&messages[..], &[json!({ "role": "user", "content": [marked] })]].concat();
        let body = request(client, &round_messages);
        let (answer, sent) = send(&chat, client, &body).await;
        assert_eq!(answer.header("x-memory-rule"), "continued");
        let mut question = sent["messages"][0].clone();
        question["content"][0][MARK] = with_block["content"][0][MARK].clone();
        assert_eq!((&question, sent["messages"].as_array().unwrap().len()), (with_block, round_messages.len()));
        assert_eq!(sent["messages"].as_array().unwrap()[1..], round_messages[1..], "only the question has a block");
        let block = length(&sent) - length(&body);
        let new = length(&body) - earlier_length + if round == 0 { block } else { 0 };
        assert_eq!(cache.written(&sent), new);
        earlier_length = length(&body);
        messages.push(json!({ "role": "user", "content": [result] }));
    }
}

#[tokio::test]
async fn memories_that_a_client_repeats_are_not_its_words() {
    for client in CLIENTS {
        let chat = chat_with_memories(BlockPlacement::Message).await;
        let first = message(client, &("user", QUESTIONS[1].to_owned()), true);
        let (answer, sent) = send(&chat, client, &request(client, &[first])).await;
        assert_ne!(answer.header("x-memory-ids"), "");
        let list = ["messages", "input"].into_iter().find_map(|name| sent[name].as_array()).unwrap();
        let mut repeated = list.last().unwrap().clone();
        if client.0 == "responses" && client.1 == "echo" {
            // The upstream got it in the dialect of chat completions.
            repeated = serde_json::from_str(&repeated.to_string().replace("\"text\",", "\"input_text\",")).unwrap();
        }
        assert!(repeated.to_string().contains(MEMORIES[0]), "{repeated}");
        let reply = ("assistant", format!("好的: {}", QUESTIONS[1]));
        let messages =
            [repeated, message(client, &reply, false), message(client, &("user", QUESTIONS[3].to_owned()), true)];
        send(&chat, client, &request(client, &messages)).await;
        let reply_to_second = format!("好的: {}", QUESTIONS[3]);
        assert_eq!(chat.texts().await, [QUESTIONS[1], &reply.1, QUESTIONS[3], &reply_to_second], "{client:?}");
        let records = chat.served.engine.scan(&lin(), &ScanQuery::oldest(100)).await.unwrap().records;
        let with_memory = records.iter().filter(|record| record.text.contains(MEMORIES[0])).map(|record| &record.text);
        assert_eq!(with_memory.collect::<Vec<_>>(), [MEMORIES[0]], "{client:?}");
    }
}
