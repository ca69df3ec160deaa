//! The commands that packages use: `memory completions`, `memory man` and `memory health`.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    process::Stdio,
    thread,
};

use serde_json::{Value, json};

use crate::cli_fixture::CliFixture;

/// The commands that `memory --help` lists.
fn listed_commands(cli: &CliFixture) -> BTreeSet<String> {
    let help = cli.run(&["--help"]).ok();
    let (commands, _) = help.split_once("\nOptions:\n").unwrap();
    let names = commands.lines().filter(|line| line.starts_with("  "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn completion_scripts_contain_every_command() {
    let cli = CliFixture::new();
    let commands = listed_commands(&cli);
    assert!(commands.contains("demo") && commands.contains("completions"), "{commands:?}");
    for (shell, mark) in [("bash", "complete -F"), ("zsh", "#compdef memory"), ("fish", "complete -c memory")] {
        let script = cli.run(&["completions", shell]).ok();
        assert!(script.contains(mark), "{shell}");
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell}: {command}");
        }
    }
    cli.run(&["completions", "tcsh"]).assert_fails(&["bash, zsh, fish"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let cli = CliFixture::new();
    let page = cli.run(&["man"]).ok();
    assert!(page.contains(".TH memory 1") && page.contains(env!("CARGO_PKG_VERSION")), "{page}");
    cli.run_with(&[("MEMORY_DB", "hunter2.db")], &["man", "pages/man1"]).ok();
    let folder = cli.path("pages/man1");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("memory.1"), page);
    for command in listed_commands(&cli) {
        let page = read(&format!("memory-{command}.1"));
        assert!(page.contains("OPTIONS") && !page.contains("hunter2"), "{page}");
    }
    assert!(read("memory-search.1").contains("MEMORY_DB"), "the variables of options are named");
    assert!(read("memory-config-show.1").contains(".TH memory-config-show 1"));
}

/// Answers one connection with this response. Returns its address.
fn respond_once(response: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
        assert_eq!(head.next().unwrap(), "GET /health HTTP/1.1");
        assert!(head.any(|line| line.is_empty()), "the request is not complete");
        stream.write_all(response.as_bytes()).unwrap();
    });
    format!("http://{address}")
}

#[test]
fn health_is_the_status_of_the_server() {
    let cli = CliFixture::new();
    let health = |response| cli.run(&["health", "--url", &respond_once(response)]);
    assert_eq!(health("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").ok(), "ok\n");
    health("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n").assert_fails(&["status 503"]);
    health("SSH-2.0-OpenSSH\r\n").assert_fails(&["not HTTP"]);
    // No program listens on a port of the system. A port that was free a moment ago may have been taken.
    cli.run(&["health", "--url", "http://127.0.0.1:1"]).assert_fails(&["no server answers", "127.0.0.1:1"]);
    cli.run(&["health", "--url", "https://127.0.0.1"]).assert_fails(&["http://"]);
}

#[test]
fn health_uses_the_address_of_the_configuration() {
    let cli = CliFixture::new();
    let mut server = cli.command(&["serve", "--listen", "127.0.0.1:0", "--embedder", "hash"]);
    let mut server = server.stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(server.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("http://") {
        line.clear();
        assert!(log.read_line(&mut line).unwrap() > 0, "the server stopped without listening");
    }
    let address = line.split_once("http://").unwrap().1.split([',', ' ', '\u{1b}']).next().unwrap().trim();
    let port = address.rsplit_once(':').unwrap().1;
    let by_variable = cli.run_with(&[("MEMORY_LISTEN", address)], &["health"]);
    cli.write("memory.toml", format!("listen = \"0.0.0.0:{port}\"\n"));
    let by_file = cli.run(&["health"]);
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!((by_variable.ok().as_str(), by_file.ok().as_str()), ("ok\n", "ok\n"));
}

/// The description for the registry of MCP servers, whose rules are those of its schema of 2025-12-11.
#[test]
fn mcp_registry_description_is_valid() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let server: Value = serde_json::from_str(&fs::read_to_string(format!("{root}/server.json")).unwrap()).unwrap();
    let name = server["name"].as_str().unwrap();
    let (namespace, own_name) = name.split_once('/').unwrap();
    let is_allowed = |text: &str, more: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c));
    assert!(is_allowed(namespace, ".-") && is_allowed(own_name, "._-") && name.len() <= 200, "{name}");
    let description = server["description"].as_str().unwrap();
    assert!((1..=100).contains(&description.chars().count()), "{description}");
    let packages = server["packages"].as_array().unwrap();
    assert_eq!(packages.len(), 2);
    for version in [&server["version"], &packages[0]["version"], &packages[1]["version"]] {
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
    }
    // The command accepts the arguments.
    let help = CliFixture::new().run(&["mcp", "--help"]).ok();
    for package in packages {
        assert_eq!(package["transport"]["type"], "stdio");
        let [command, options @ ..] = package["packageArguments"].as_array().unwrap().as_slice() else { panic!() };
        assert_eq!((&command["type"], &command["value"]), (&json!("positional"), &json!("mcp")));
        assert!(options.iter().all(|option| help.contains(option["name"].as_str().unwrap())), "{help}");
    }
    let read_me = fs::read_to_string(format!("{root}/packaging/pypi/README.md")).unwrap();
    assert!(read_me.contains(&format!("mcp-name: {name}")));
}
