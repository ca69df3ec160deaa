//! Runs the example as a process, without a key.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex},
};

use memory_engine::postgres::{PostgresOptions, migrate_down, migrate_up};
use serde_json::{Value, json};

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sillytavern-mem0"));
    for variable in ["CHAT_SERVICE", "MEM0_URL", "MEM0_API_KEY", "SILLYTAVERN_DB", "RUST_LOG"] {
        command.env_remove(variable);
    }
    command.args(args).env("NO_PROXY", "127.0.0.1");
    command
}

/// A running chat process.
struct Chat {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Chat {
    fn start(args: &[&str]) -> Self {
        let mut command = command(args);
        command.arg("--chat").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    /// Returns the output of one round, up to its save.
    fn say(&mut self, text: &str) -> String {
        writeln!(self.input, "{text}").unwrap();
        let mut shown = String::new();
        while !shown.ends_with("  saved\n") {
            assert_ne!(self.output.read_line(&mut shown).unwrap(), 0, "it ended after: {shown}");
        }
        shown
    }

    /// Ends the chat. Returns the rest of its output, and its log.
    fn end(mut self) -> (String, String) {
        drop(self.input);
        let (mut shown, mut log) = (String::new(), String::new());
        self.output.read_to_string(&mut shown).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        assert!(self.child.wait().unwrap().success(), "{log}");
        (shown, log)
    }
}

type Requests = Arc<Mutex<Vec<(String, Value)>>>;

/// Starts a mem0 server without memories that records its requests.
fn stand_in() -> (String, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Requests::default();
    let seen = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let request = answer(stream.unwrap());
            seen.lock().unwrap().push(request);
        }
    });
    (url, requests)
}

fn answer(mut stream: TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim().to_lowercase().split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let no_results = r#"{"results":[]}"#;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{no_results}", no_results.len()).unwrap();
    (first.split(' ').nth(1).unwrap().to_owned(), serde_json::from_slice(&body).unwrap())
}

fn cases(args: &[&str]) {
    let output = command(args).output().unwrap();
    let (shown, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{shown}\n{log}");
    assert!(shown.contains("case A holds: 海鲜过敏, by query 1"), "{shown}");
    assert!(shown.contains("case B holds: 温牛奶, by query 2"), "{shown}");
    assert!(shown.contains("case C holds: 失眠, by query 3"), "{shown}");
    assert!(shown.contains("⏎ User question: 你今天有什么不一样？"), "{shown}");
    assert!(shown.contains("found · 结合最近对话：用户昨晚失眠，询问今天状态有何变化"), "{shown}");
    assert!(shown.contains("  Relevant long-term memory:\n  - ") && !shown.contains("海鲜炒饭"), "{shown}");
}

#[test]
fn m8_the_cases_a_b_and_c_hold() {
    cases(&[]);
}

#[test]
fn m8_the_cases_hold_on_postgres() {
    let Some(url) = std::env::var("DATABASE_URL").ok().filter(|url| !url.is_empty()) else {
        let required = std::env::var("CONFORMANCE_REQUIRE").unwrap_or_default();
        assert!(!required.contains("postgres"), "CONFORMANCE_REQUIRE names postgres, but DATABASE_URL is not set");
        return;
    };
    // Other tests use the schema `public`, so this test has its own.
    let schema = format!("sillytavern_{}", std::process::id());
    let options = PostgresOptions::default().with_schema(&schema);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        migrate_up(&url, &options).await.unwrap();
        migrate_down(&url, &options, 0).await.unwrap();
    });
    let separator = if url.contains('?') { '&' } else { '?' };
    cases(&["--db", &format!("{url}{separator}options[search_path]={schema},public")]);
    runtime.block_on(migrate_down(&url, &options, 0)).unwrap();
}

#[test]
fn m2_the_last_round_is_written_with_its_metadata_when_a_chat_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chat.jsonl");
    let (url, requests) = stand_in();
    let mut chat = Chat::start(&["--mem0", &url, "--user", "xiaoyu", "--save", file.to_str().unwrap()]);
    chat.say("你好");
    chat.say("I am allergic to walnuts");
    chat.end();

    let requests = requests.lock().unwrap();
    let written: Vec<&Value> = requests.iter().filter(|(path, _)| path == "/memories").map(|(_, body)| body).collect();
    assert_eq!(written.len(), 2, "{requests:?}");
    assert_eq!((&written[1]["user_id"], &written[1]["agent_id"]), (&json!("xiaoyu"), &json!("Seraphina")));
    assert_eq!(written[1]["messages"].as_array().unwrap().len(), 2, "one round: {}", written[1]);
    assert_eq!(written[1]["messages"][0], json!({ "role": "user", "content": "I am allergic to walnuts" }));
    for key in ["chatfile", "avatar_url", "timestamp"] {
        assert!(written[1]["metadata"][key].is_string(), "{key} is missing: {}", written[1]);
    }
    let saved = fs::read_to_string(&file).unwrap();
    assert_eq!(saved.lines().count(), 4, "{saved}");
    assert!(saved.contains(r#""is_user":true,"mes":"I am allergic to walnuts""#), "{saved}");
}

#[test]
fn m2_m6_a_server_that_never_answers_delays_a_reply_and_never_a_save() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chat.jsonl");
    // It accepts connections and never responds.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let mut chat = Chat::start(&["--mem0", &url, "--save", file.to_str().unwrap()]);
    // Without a time limit, the search would not end. The write ends afterwards: its failure is in the rest.
    let shown = chat.say("我海鲜过敏，别推荐海鲜");
    assert!(shown.contains("Seraphina: ") && !shown.contains("Relevant long-term memory"), "{shown}");
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 2, "the chat file is saved");
    let (rest, log) = chat.end();
    assert!(rest.contains("mem0 · not written") && !shown.contains("mem0 · not written"), "{shown}{rest}");
    assert!(log.contains("Timeout") && !log.contains("海鲜"), "{log}");
}

#[test]
fn m6_without_a_server_the_chat_goes_on() {
    // No program listens on a port of the system. A port that was free a moment ago may have been taken.
    let mut chat = Chat::start(&["--mem0", "http://127.0.0.1:1"]);
    for text in ["我海鲜过敏，别推荐海鲜", "What shall we have for dinner?"] {
        let shown = chat.say(text);
        assert!(shown.contains("Seraphina: ") && !shown.contains("Relevant long-term memory"), "{shown}");
    }
    let (_, log) = chat.end();
    assert!(log.contains("the search in mem0 failed") && log.contains("the chat was not written to mem0"), "{log}");
    assert!(!log.contains("海鲜") && !log.contains("dinner"), "{log}");
}

#[test]
fn m7_a_changed_setting_holds_from_the_next_message_on() {
    let folder = tempfile::tempdir().unwrap();
    let (db, settings) = (folder.path().join("memory.db"), folder.path().join("settings.toml"));
    // The second query must find nothing.
    let bundled = include_str!("../settings.toml").replace("context_threshold = 0.05", "context_threshold = 1.0");
    let set = |more: &[(&str, &str)]| {
        let changed = more.iter().fold(bundled.clone(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        });
        fs::write(&settings, changed).unwrap();
    };
    set(&[]);
    let args = ["--db", db.to_str().unwrap(), "--settings", settings.to_str().unwrap()];
    let mut chat = Chat::start(&args);
    chat.say("My insomnia gives me a headache; warm milk helps");
    chat.end();

    let weak = "What is different about you today?";
    let mut chat = Chat::start(&args);
    chat.say("Another night staring at the ceiling");
    let off = chat.say(weak);
    assert!(off.contains("query 2 · 0 found") && !off.contains("query 3"), "{off}");

    let on = ("rewrite = false", "rewrite = true");
    set(&[on]);
    let rewritten = chat.say(weak);
    assert!(rewritten.contains("query 3 · 2 found · What insomnia does to the user today"), "{rewritten}");
    assert!(rewritten.contains("- My insomnia gives me a headache"), "{rewritten}");

    set(&[on, ("rewrite_prompt = \"\"", "rewrite_prompt = \"Answer in CAPITALS\"")]);
    let prompted = chat.say(weak);
    assert!(prompted.contains("found · WHAT INSOMNIA DOES TO THE USER"), "{prompted}");

    fs::write(&settings, "rewrite = perhaps").unwrap();
    let unchanged = chat.say(weak);
    assert!(unchanged.contains("found · WHAT INSOMNIA"), "an invalid file changes nothing: {unchanged}");
    set(&[("weak_at_once = false", "weak_at_once = true")]);
    let at_once = chat.say(weak);
    assert!(at_once.contains("query 2") && !at_once.contains("query 1") && !at_once.contains("query 3"), "{at_once}");
    let (_, log) = chat.end();
    assert!(log.contains("the settings stay as they were") && !log.contains("insomnia"), "{log}");
}
