//! `memory hook`.

use std::{
    io::{Read, Write},
    net::TcpListener,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    cli_fixture::{CliFixture, CommandOutput},
    running_server::RunningServer,
};

/// Runs a command with this standard input.
fn run_with_input(mut command: Command, input: &str) -> CommandOutput {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    CommandOutput::of(child.wait_with_output().unwrap())
}

fn hook(cli: &CliFixture, arguments: &[&str], input: &Value) -> CommandOutput {
    let arguments: Vec<&str> = ["hook"].into_iter().chain(arguments.iter().copied()).collect();
    run_with_input(cli.command(&arguments), &input.to_string())
}

fn prompt(session: &str, text: &str) -> Value {
    json!({"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": text})
}

fn context(answer: &Value) -> &str {
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default()
}

#[test]
fn without_a_server_it_opens_the_database() {
    let cli = CliFixture::new();
    let arguments = ["user-prompt", "--agent", "claude-code", "--db", "m.db", "--user", "小林"];
    let first = hook(&cli, &arguments, &prompt("monday", "我们的测试数据库在 5544 端口。"));
    assert_eq!(first.stderr, "");
    assert_eq!(first.json(), json!({}));
    let stop = ["stop", "--agent", "claude-code", "--db", "m.db", "--user", "小林"];
    hook(&cli, &stop, &json!({"session_id": "monday", "last_assistant_message": "记住了。"})).ok();
    let second = hook(&cli, &arguments, &prompt("friday", "测试数据库的端口是多少？")).json();
    assert!(context(&second).contains("5544"), "{second}");
    let stats = cli.run(&["stats", "--db", "m.db", "--user", "小林", "--json"]).json();
    assert_eq!(stats["kinds"]["turn"], 3);
}

#[test]
fn a_running_server_answers() {
    let cli = CliFixture::new();
    let served = RunningServer::start(cli.command(&[]).env("MEMORY_EMBEDDER", "hash"));
    let url = format!("http://{}", served.address);
    let arguments = ["user-prompt", "--agent", "codex", "--server", &url, "--user", "小林"];
    // The event is that of the command line: the input names none.
    let first = hook(&cli, &arguments, &json!({"session_id": "s", "prompt": "The test database is on port 5544."}));
    assert_eq!(first.stderr, "");
    assert_eq!(first.json(), json!({}));
    let second = hook(&cli, &arguments, &prompt("t", "Which port has the test database?")).json();
    assert!(context(&second).contains("5544"), "{second}");
    // Both are in the database of the server.
    assert_eq!(cli.run(&["stats", "--user", "小林", "--json"]).json()["kinds"]["turn"], 2);
}

#[test]
fn a_dead_server_is_replaced_by_the_database() {
    let cli = CliFixture::new();
    let arguments = ["user-prompt", "--server", "http://127.0.0.1:1", "--db", "m.db"];
    let answer = hook(&cli, &arguments, &json!({"session_id": "s", "prompt": "The test database is on port 5544."}));
    assert_eq!(answer.json()["stored"], true);
}

#[test]
fn the_answer_of_another_program_is_not_passed_on() {
    let block = r#"{"decision": "block", "reason": "this is another program"}"#;
    // The second program accepts the connection and is silent.
    for (answer, reason) in [(block, "no memory server"), ("[]", "no memory server"), ("", "does not answer")] {
        let cli = CliFixture::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let _program = std::thread::spawn(move || {
            let mut held = Vec::new();
            for connection in listener.incoming() {
                let mut connection = connection.unwrap();
                _ = connection.read(&mut [0; 4096]).unwrap();
                if !answer.is_empty() {
                    let length = answer.len();
                    let head = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
                    );
                    connection.write_all(format!("{head}{answer}").as_bytes()).unwrap();
                }
                held.push(connection);
            }
        });
        let without_database = ["user-prompt", "--agent", "claude-code", "--server", &url];
        if !answer.is_empty() {
            let refused = hook(&cli, &without_database, &prompt("s", "The printer is called Marvin."));
            assert!(refused.stderr.contains(reason), "{}", refused.stderr);
            assert_eq!(refused.json(), json!({}), "{answer}");
        }
        let with_database = [&without_database[..], &["--db", "m.db"]].concat();
        let stored = hook(&cli, &with_database, &prompt("s", "The printer is called Marvin."));
        assert_eq!(stored.json(), json!({}), "{answer}");
        assert!(cli.run(&["export", "--db", "m.db"]).ok().contains("Marvin"), "{answer}");
    }
}

#[test]
fn the_agent_goes_on_after_a_failure() {
    let cli = CliFixture::new();
    let failing: [(&[&str], &str, &str, Value); 5] = [
        (&["user-prompt"], r#"{"session_id": "s", "prompt": "a"}"#, "memory serve", json!({})),
        (&["user-prompt", "--agent", "cursor", "--db", "m.db"], "{", "not JSON", json!({"continue": true})),
        (&["stop", "--agent", "codex", "--db", "m.db"], "{}", "session_id", json!({})),
        (&["session-start", "--db", "/proc/none/m.db"], r#"{"session_id": "s"}"#, "/proc/none/m.db", json!({})),
        (&["session-start", "--server", "https://a.example"], r#"{"session_id": "s"}"#, "http://", json!({})),
    ];
    for (arguments, input, reason, expected) in failing {
        let mut command = cli.command(&["hook"]);
        command.args(arguments).env("MEMORY_LISTEN", "127.0.0.1:1");
        let answer = run_with_input(command, input);
        assert!(answer.stderr.contains(reason), "{arguments:?}: {}", answer.stderr);
        assert_eq!(answer.json(), expected, "{arguments:?}");
    }
}

#[test]
fn an_input_that_stays_open_ends_within_the_time_limit() {
    let cli = CliFixture::new();
    let mut command = cli.command(&["hook", "stop", "--db", "m.db"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take();
    let began = Instant::now();
    let answer = CommandOutput::of(child.wait_with_output().unwrap());
    drop(stdin);
    // The input is open until here: without a time limit, the command would not end.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert!(answer.stderr.contains("not ready after 2 s"), "{}", answer.stderr);
    assert_eq!(answer.json(), json!({}));
}

#[test]
fn a_wrong_command_line_does_not_end_with_the_code_that_stops_agents() {
    let cli = CliFixture::new();
    for arguments in [&["hook", "begin"][..], &["hook", "stop", "--agnt", "x"], &["hook"]] {
        assert_eq!(cli.command(arguments).output().unwrap().status.code(), Some(1), "{arguments:?}");
    }
    assert_eq!(cli.command(&["stats", "--nonsense"]).output().unwrap().status.code(), Some(2));
}

#[test]
fn work_trees_share_a_project_and_other_repositories_do_not() {
    let cli = CliFixture::new();
    let root = cli.path("repositories");
    let folder = |path: &str| {
        let folder = root.join(path);
        std::fs::create_dir_all(&folder).unwrap();
        folder.to_str().unwrap().to_owned()
    };
    let (source, other) = (folder("shop/src"), folder("blog"));
    folder("shop/.git/worktrees/fix");
    std::fs::write(root.join("shop/.git/worktrees/fix/commondir"), "../..").unwrap();
    let work_tree = folder("shop-fix");
    let git = format!("gitdir: {}", root.join("shop/.git/worktrees/fix").display());
    std::fs::write(root.join("shop-fix/.git"), git).unwrap();
    let ask = |arguments: &[&str], folder: &str, session: &str, text: &str| {
        let input = json!({"session_id": session, "cwd": folder, "prompt": text});
        let answer = hook(&cli, &[&["user-prompt", "--agent", "codex"], arguments].concat(), &input);
        context(&answer.json()).to_owned()
    };
    let served =
        RunningServer::start_as(cli.command(&[]).env("MEMORY_EMBEDDER", "hash"), &["serve", "--db", "served.db"]);
    let url = format!("http://{}", served.address);
    for arguments in [["--db", "m.db"], ["--server", &url]] {
        ask(&arguments, &source, "s1", "The deploy command is make ship. Never yarn.");
        let answer = ask(&arguments, &work_tree, "s2", "How do we run the deploy command?");
        assert!(answer.contains("make ship") && answer.contains("Never yarn"), "{arguments:?}: {answer}");
        assert_eq!(ask(&arguments, &other, "s3", "How do we run the deploy command?"), "", "{arguments:?}");
    }
    let listed = cli.run(&["projects", "--db", "m.db", "--json"]).json();
    let ids = listed.as_array().unwrap().iter().map(|project| project["id"].as_str().unwrap());
    let of_shop: Vec<&str> = ids.filter(|id| id.starts_with("shop-")).collect();
    let [id] = of_shop[..] else { panic!("{listed}") };
    cli.run(&["projects", "rename", id, "web shop", "--db", "m.db"]).ok();
    assert!(cli.run(&["projects", "--db", "m.db"]).ok().contains("web-shop"));
    let refused = cli.run(&["projects", "merge", "web-shop", "nest", "--db", "m.db"]);
    assert!(refused.stderr.contains("there is no project nest"), "{}", refused.stderr);
    let refused = cli.run(&["projects", "forget", "web-shop", "--db", "m.db"]);
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    cli.run(&["projects", "forget", "web-shop", "--yes", "--db", "m.db"]).ok();
    assert_eq!(ask(&["--db", "m.db"], &source, "s4", "How do we run the deploy command?"), "");
}

#[test]
fn without_a_server_facts_are_extracted_after_a_reply() {
    let cli = CliFixture::new();
    let arguments = |event: &'static str| [event, "--agent", "claude-code", "--db", "m.db", "--user", "lin"];
    let input = json!({"session_id": "s", "cwd": "/tmp/shop", "prompt": "My sister Olga lives in Turku."});
    hook(&cli, &arguments("user-prompt"), &input).ok();
    let waiting = cli.run(&["stats", "--db", "m.db", "--user", "lin"]).ok();
    assert!(waiting.contains("queued for facts") && waiting.contains("memory digest --waiting"), "{waiting}");
    hook(&cli, &arguments("stop"), &json!({"session_id": "s", "cwd": "/tmp/shop", "last_assistant_message": "Noted."}));
    let began = Instant::now();
    let mut facts = String::new();
    while began.elapsed() < Duration::from_secs(90) && !facts.contains("Turku") {
        facts = cli.run(&["facts", "--db", "m.db", "--user", "lin"]).stdout;
    }
    assert!(facts.contains("Turku"), "{facts}");
}

#[test]
fn a_server_of_another_database_is_not_used() {
    let cli = CliFixture::new();
    let key = ("MEMORY_TOKEN", "a-key-for-the-whole-office");
    let serve = ["serve", "--db", "served.db"];
    let served = RunningServer::start_as(cli.command(&[]).envs([("MEMORY_EMBEDDER", "hash"), key]), &serve);
    let url = format!("http://{}", served.address);
    let mut command = cli.command(&["hook", "user-prompt", "--server", &url, "--db", "mine.db"]);
    command.envs([key]);
    let input = json!({"session_id": "s", "prompt": "The office printer is called Marvin."});
    let answer = run_with_input(command, &input.to_string());
    assert_eq!(answer.json()["stored"], true);
    assert!(cli.run(&["export", "--db", "mine.db"]).ok().contains("Marvin"));
    assert!(!cli.run(&["export", "--db", "served.db"]).ok().contains("Marvin"));
    let page = cli.run_with(&[key], &["ui", "--no-open", "--listen", &served.address, "--db", "mine.db"]);
    assert!(page.stderr.contains("a server of another database"), "{}", page.stderr);
    let page = cli.run_with(&[key], &["ui", "--no-open", "--listen", &served.address, "--db", "served.db"]);
    assert!(page.ok().contains("the inspector is at"));
}

#[test]
fn an_empty_prompt_is_no_failure() {
    let cli = CliFixture::new();
    for (agent, expected) in [("claude-code", json!({})), ("cursor", json!({"continue": true}))] {
        let input = json!({"session_id": "s", "conversation_id": "s", "prompt": ""});
        let answer = hook(&cli, &["user-prompt", "--agent", agent, "--db", "m.db"], &input);
        assert_eq!(answer.stderr, "", "{agent}");
        assert_eq!(answer.json(), expected, "{agent}");
    }
}
