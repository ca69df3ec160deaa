//! The memory of `memory serve` with default settings, while many threads detect scenes and extract facts.

#![cfg(target_os = "linux")]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Maximum anonymous memory at the start, in MB, including the dictionary that is loaded in the background. The code and
/// the bundled tables are not part of it.
const START_MAX_MB: u64 = 95;
/// Maximum anonymous memory after all turns and their jobs, in MB.
const END_MAX_MB: u64 = 135;
const CLIENTS: usize = 8;
const TURNS_PER_CLIENT: usize = 40;

#[test]
fn memory_does_not_grow_with_the_number_of_threads() {
    let folder = TempDir::new().unwrap();
    let upstream = listen();
    let config = format!("[[gateway.upstreams]]\nname = \"fake\"\nbase_url = \"http://{upstream}/v1\"\n");
    fs::write(folder.path().join("memory.toml"), config).unwrap();
    let server = Server::start(folder.path());
    // The server loads its rules before it listens, and the dictionary meanwhile. Its first connection is not open yet.
    let (status, _) = send(&server.address, "GET", "/health", "");
    assert_eq!(status, 200);
    let start = server.anonymous_mb();
    let texts: Vec<String> = ["en", "zh"].iter().flat_map(|language| user_texts(language)).collect();
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (texts, address) = (&texts, &server.address);
            scope.spawn(move || {
                for turn in 0..TURNS_PER_CLIENT {
                    let text = &texts[(turn * CLIENTS + client) * texts.len() / (CLIENTS * TURNS_PER_CLIENT)];
                    let messages = [json!({ "role": "user", "content": text })];
                    let body = json!({ "model": "m", "user": format!("user-{client}"), "messages": messages });
                    let (status, reply) = send(address, "POST", "/v1/chat/completions", &body.to_string());
                    assert_eq!(status, 200, "{reply}");
                }
            });
        }
    });
    wait_for_jobs(&server.address);
    let end = server.anonymous_mb();
    let shown = format!("{start} MB at the start, {end} MB after {} turns and their jobs", CLIENTS * TURNS_PER_CLIENT);
    println!("{shown}");
    assert!(start <= START_MAX_MB && end <= END_MAX_MB, "{shown}");
}

/// Returns the messages of the users in the natural conversations of a language.
fn user_texts(language: &str) -> Vec<String> {
    let file = format!("{}/../../benches/natural/conversations.{language}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let lines = fs::read_to_string(file).unwrap();
    let messages = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    messages.filter(|line| line["role"] == "user").map(|line| line["text"].as_str().unwrap().to_owned()).collect()
}

/// A server with as many threads as on a larger machine, which is killed at the end of the test.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memory"));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MEMORY_")) {
            command.env_remove(name);
        }
        command.current_dir(folder).env("TOKIO_WORKER_THREADS", CLIENTS.to_string());
        let mut child = command.args(["serve", "--listen", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = log.find_map(|line| {
            let line = line.unwrap();
            let (_, rest) = line.split_once("http://")?;
            rest.split([',', ' ', '"', '\u{1b}']).next().map(str::to_owned)
        });
        let server = Self { child, address: address.expect("the server listens") };
        thread::spawn(move || log.for_each(drop));
        server
    }

    /// Returns the anonymous resident memory, in MB.
    fn anonymous_mb(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() / 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have stopped already
        let _ = self.child.wait();
    }
}

#[allow(clippy::disallowed_methods, reason = "waits for another process")]
fn wait_for_jobs(address: &str) {
    while waiting_jobs(address) > 0.0 {
        thread::park_timeout(Duration::from_millis(200));
    }
}

/// Returns the number of queued background jobs.
fn waiting_jobs(address: &str) -> f64 {
    let (_, metrics) = send(address, "GET", "/metrics", "");
    let lines = metrics.lines().filter(|line| line.starts_with("memory_queue_waiting"));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

/// Sends a request, and returns the status and the body of the response.
fn send(address: &str, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    let length = body.len();
    let request = format!("{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

/// Starts a model service that answers every chat with the same reply.
fn listen() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || answer(stream.unwrap()));
        }
    });
    address
}

fn answer(mut stream: TcpStream) {
    let mut request = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        if request.read_line(&mut line).unwrap_or_default() == 0 {
            return;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    request.read_exact(&mut vec![0; length]).unwrap();
    let message = json!({ "role": "assistant", "content": "I see. 好的。" });
    let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
    let body = json!({ "id": "1", "object": "chat.completion", "model": "m", "choices": [choice] }).to_string();
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n";
    let response = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(response.as_bytes()).unwrap();
}
