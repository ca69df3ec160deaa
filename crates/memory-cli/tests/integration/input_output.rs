//! Hostile input and output: addresses with passwords, words of any length, full disks, links and devices.
#![cfg(unix)]

use std::{
    fs::{self, OpenOptions},
    io::{Read, Write},
    net::TcpStream,
    os::unix::fs::{PermissionsExt, symlink},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use crate::cli_fixture::{CliFixture, CommandOutput};

/// Returns a text of about this length that resembles encoded data.
fn encoded(bytes: usize) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(ALPHABET[(state >> 33) as usize % ALPHABET.len()])
    };
    (0..bytes).map(|_| next()).collect()
}

impl CliFixture {
    /// Runs a command with this text as its standard input.
    fn run_on(&self, input: &str, arguments: &[&str]) -> CommandOutput {
        let mut command = self.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        CommandOutput::of(child.wait_with_output().unwrap())
    }
}

#[test]
fn words_of_any_length_are_digested() {
    let memory = CliFixture::new();
    for (n, text) in [
        format!("picture data:image/png;base64,{}", encoded(9000)),
        encoded(9000),
        "カタカナ".repeat(2000),
        "ＡＢＣ".repeat(2000),
        format!("We saw {}today.", (0..900).map(|n| format!("Name{n} ")).collect::<String>()),
        "名叫".repeat(3000),
        format!("《{}》", "书".repeat(3000)),
        format!("my name is {}.", encoded(5000)),
        format!("I like {}.", "x".repeat(5000)),
        format!("我叫{}", "王".repeat(5000)),
        "不".repeat(9000),
    ]
    .into_iter()
    .enumerate()
    {
        let user = format!("user{n}");
        memory.run_on(&text, &["add", "-", "--user", &user, "--digest", "rules", "--graph", "rules"]).ok();
        let stats = memory.run(&["stats", "--user", &user, "--json"]).json();
        assert!(stats["dead_letters"].as_object().is_none_or(|jobs| jobs.is_empty()), "text {n}: {stats}");
    }
    memory.run(&["doctor"]).ok();
}

#[test]
fn no_command_shows_the_password_of_an_address() {
    let memory = CliFixture::new();
    for form in [
        "postgresql+psycopg://*",
        "postgre://*",
        "Postgres://*",
        "mysql://*",
        "MYSQL://*",
        " postgres://*",
        "\"postgres://*\"",
        "postgres:*",
        "*",
    ] {
        let address = form.replace('*', "lin:hunter2@127.0.0.1:1/memory");
        for arguments in [
            vec!["add", "x", "--user", "lin", "--db", &address],
            vec!["search", "x", "--user", "lin", "--db", &address],
            vec!["doctor", "--db", &address],
            vec!["migrate", "status", "--db", &address],
            vec!["copy", "--from", &address, "--to", "copy.db"],
            vec!["demo", "--db", &address],
        ] {
            let output = memory.run(&arguments);
            let shown = format!("{}{}", output.stdout, output.stderr);
            assert!(!shown.contains("hunter2") && !shown.contains("lin:"), "{arguments:?}: {shown}");
            output.assert_fails(&["error: "]);
        }
    }
    memory.run(&["add", "x", "--user", "lin", "--db", "mysql://lin:hunter2@db/m"]).assert_fails(&["mysql://…"]);
    assert_eq!(fs::read_dir(memory.folder.path()).unwrap().count(), 0, "nothing was created");
}

#[test]
fn names_that_cannot_be_meant_are_refused() {
    let memory = CliFixture::new();
    let add = |option: &str, value: &str| memory.run(&["add", "x", "--user", "lin", option, value]);
    add("--kind", "").assert_fails(&["the kind is empty"]);
    add("--kind", " ").assert_fails(&["the kind is empty"]);
    add("--kind", "ledger/fork").assert_fails(&["ledger/", "written by programs"]);
    add("--db", "").assert_fails(&["the database has an empty name"]);
    add("--timezone", "Mars/Olympus").assert_fails(&["'Mars/Olympus' is not a time zone"]);
    add("--kind", "note").ok();
    let lines = "{\"user\":\"lin\",\"user\":\"mei\",\"text\":\"a\"}\n{\"user\":\"lin\",\"text\":\"b\",\"metadata\":{\"k\":1,\"k\":2}}\n";
    memory.write("twice.jsonl", lines);
    memory.run(&["import", "twice.jsonl", "--strict"]).assert_fails(&["line 1", "\"user\" twice"]);
    let report = memory.run(&["import", "twice.jsonl", "--json"]);
    assert!(report.stderr.contains("\"k\" twice"), "{report:?}");
    let stats = memory.run(&["stats", "--user", "lin", "--json"]).json();
    assert_eq!(stats["records"], 1, "{stats}");
}

#[test]
fn an_export_follows_links_and_writes_through_pipes() {
    let memory = CliFixture::new();
    memory.run(&["add", "hello", "--user", "lin"]).ok();
    let export = |path: &str| memory.run(&["export", "-o", path]).ok();
    let expected = memory.run(&["export"]).ok();
    memory.write("target.jsonl", "old");
    fs::set_permissions(memory.path("target.jsonl"), fs::Permissions::from_mode(0o644)).unwrap();
    symlink("target.jsonl", memory.path("link.jsonl")).unwrap();
    export("link.jsonl");
    assert!(fs::symlink_metadata(memory.path("link.jsonl")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(memory.path("target.jsonl")).unwrap(), expected);
    assert_eq!(fs::metadata(memory.path("target.jsonl")).unwrap().permissions().mode() & 0o777, 0o644);

    let fifo = memory.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let reader = thread::spawn({
        let fifo = fifo.clone();
        move || fs::read_to_string(fifo).unwrap()
    });
    export("fifo");
    assert_eq!(reader.join().unwrap(), expected);

    // A container writes to its standard output in this way. The file is a log with earlier lines.
    memory.write("log", "earlier\n");
    let log = OpenOptions::new().append(true).open(memory.path("log")).unwrap();
    assert!(memory.command(&["export", "-o", "/dev/stdout"]).stdout(log).status().unwrap().success());
    assert_eq!(fs::read_to_string(memory.path("log")).unwrap(), format!("earlier\n{expected}"));
    for output in ["/dev/stdout", "-"] {
        assert_eq!(memory.run(&["export", "-o", output]).ok(), expected, "{output}");
    }
    assert!(!memory.path("-").exists());
}

/// Opens a device whose disk is always full.
fn full() -> fs::File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

#[test]
fn a_full_disk_or_a_closed_pipe_is_no_panic() {
    let memory = CliFixture::new();
    memory.write("lines.jsonl", "{\"user\":\"lin\",\"text\":\"a\"}\n{\"text\":1}\n");
    memory.run(&["import", "lines.jsonl"]);
    for arguments in [
        vec!["import", "lines.jsonl"],
        vec!["add", "x", "--user", "lin"],
        vec!["search", "a", "--user", "lin"],
        vec!["show", "nothing", "--user", "lin"],
        vec!["export"],
        vec!["export", "-o", "out.jsonl"],
        vec!["stats"],
        vec!["doctor"],
        vec!["forget", "--user", "lin"],
        vec!["nonsense"],
        vec!["--help"],
    ] {
        // The panic's own message would be lost, too: only the exit code shows it.
        let status = memory.command(&arguments).stdin(Stdio::null()).stdout(full()).stderr(full()).status().unwrap();
        assert!(status.code().is_some_and(|code| code < 3), "{arguments:?}: {status}");
        let mut command = memory.command(&arguments);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        let status = child.wait().unwrap();
        assert!(status.code().is_some_and(|code| code < 3), "{arguments:?}: {status}");
    }
    let refused = memory.command(&["export"]).stdout(full()).output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && message.contains("error: "), "{message}");
}

/// Serves requests with a word in texts, queries and names at the log level `trace`. Returns the log.
fn log_of_requests_with(word: &str, variables: &[(&str, &str)]) -> String {
    let memory = CliFixture::new();
    let log = memory.path("log");
    let mut command = memory.command(&["serve", "--listen", "127.0.0.1:0", "--digest", "rules", "--graph", "rules"]);
    command.env("MEMORY_LOG__FILTER", "trace").envs(variables.iter().copied());
    let mut server = command.stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
    let read_log = || String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
    let address = (0..3000).find_map(|_| {
        thread::park_timeout(Duration::from_millis(20));
        let text = read_log();
        let (_, rest) = text.split_once("http://")?;
        rest.split_once(|c: char| c != ':' && c != '.' && !c.is_ascii_digit()).map(|(address, _)| address.to_owned())
    });
    let address = address.unwrap_or_else(|| panic!("{}", read_log()));
    let post = |path: &str, body: String| {
        let mut stream = TcpStream::connect(&address).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAccept: application/json, text/event-stream\r\n"
        );
        let head = format!("{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    };
    let tool = |name: &str, argument: &str| {
        let arguments = serde_json::json!({ argument: format!("my sister {word} lives in Porto") });
        let call = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
        post("/mcp?user_id=lin", call.to_string())
    };
    assert!(tool("add_memory", "text").contains("200 OK"));
    assert!(tool("search_memory", "query").contains(word), "it is found");
    let messages =
        serde_json::json!({"user_id": "lin", "messages": [{"role": "user", "content": format!("I like {word}")}]});
    assert!(post("/memories", messages.to_string()).contains("200 OK"));
    let search = serde_json::json!({"user_id": "lin", "query": format!("who likes {word}?")});
    post("/search", search.to_string());
    post("/api/memory/monday/search?user_id=lin", search.to_string());
    post(
        "/v1/chat/completions",
        serde_json::json!({"model": "x", "messages": [{"role": "user", "content": word}]}).to_string(),
    );
    // The jobs of the turns are logged, too.
    while memory.stats()["queued"] != serde_json::json!({}) {
        thread::park_timeout(Duration::from_millis(20));
    }
    server.kill().unwrap();
    server.wait().unwrap();
    read_log()
}

#[test]
fn no_text_is_logged_at_any_level() {
    let log = log_of_requests_with("Zanzibarine", &[]);
    assert!(log.contains("/mcp"), "{log}");
    let lines: Vec<&str> = log.lines().filter(|line| line.to_lowercase().contains("zanzibar")).collect();
    assert!(lines.is_empty(), "{lines:#?}");
    let with_texts = log_of_requests_with("Zanzibarine", &[("MEMORY_LOG__INCLUDE_TEXTS", "true")]);
    assert!(with_texts.contains("Zanzibarine"), "the setting has an effect");
}
