//! `memory serve`, `memory keys` and `memory config`.

use std::{fs, path::Path, process::Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::running_server::{RunningServer, memory};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    memory(folder).args(arguments).output().unwrap()
}

#[test]
fn serve_listens_locally_and_stops_on_signal() {
    let folder = TempDir::new().unwrap();
    let served = RunningServer::start(&mut memory(folder.path()));
    assert_eq!(served.request("GET", "/health", &[], "").0, 200);
    let (status, ready) = served.request("GET", "/ready", &[], "");
    assert!(status == 200 && ready.contains("\"embedder\":\"ok\""), "{ready}");
    let (status, metrics) = served.request("GET", "/metrics", &[], "");
    assert!(status == 200, "{metrics}");
    assert_eq!(served.request("GET", "/nowhere", &[], "").0, 404);
    #[cfg(unix)]
    {
        let (success, log) = served.terminate();
        assert!(success && log.contains("stopped"), "{log}");
        assert!(!log.contains('\u{1b}'), "a pipe gets no colours: {log:?}");
    }
}

#[test]
fn k16_configured_key_is_required_and_hidden() {
    let folder = TempDir::new().unwrap();
    let made = run(folder.path(), &["keys", "new", "app", "--user", "lin", "--json"]);
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    let (key, hash) = (made["key"].as_str().unwrap(), made["hash"].as_str().unwrap());
    let config = format!("[[keys]]\nname = \"app\"\nhash = \"{hash}\"\nusers = [\"lin\"]\n");
    fs::write(folder.path().join("memory.toml"), config).unwrap();
    let served = RunningServer::start(memory(folder.path()).env("MEMORY_LOG__FILTER", "trace"));
    assert_eq!(served.request("GET", "/health", &[], "").0, 200);
    assert_eq!(served.request("GET", "/metrics", &[], "").0, 401);
    assert_eq!(served.request("GET", "/metrics", &[("X-API-Key", "mk-wrong")], "").0, 401);
    assert_eq!(served.request("GET", "/metrics", &[("X-API-Key", key)], "").0, 200);
    assert_eq!(served.request("GET", "/metrics", &[("Authorization", &format!("Bearer {key}"))], "").0, 200);
    #[cfg(unix)]
    {
        let (_, log) = served.terminate();
        assert!(log.contains("/metrics") && !log.contains(key), "{log}");
    }
}

#[test]
fn a_key_for_metrics_reads_no_memory() {
    let folder = TempDir::new().unwrap();
    let made = run(folder.path(), &["keys", "new", "prometheus", "--metrics"]);
    let made = String::from_utf8(made.stdout).unwrap();
    let key = made.split_whitespace().find(|word| word.starts_with("mk-")).unwrap();
    let (_, entry) = made.split_once("[[keys]]").unwrap();
    fs::write(folder.path().join("memory.toml"), format!("[[keys]]{entry}")).unwrap();
    let app = "0123456789abcdef-app";
    let served = RunningServer::start(memory(folder.path()).env("MEMORY_TOKEN", app));
    let key = [("X-API-Key", key)];
    assert_eq!(served.request("GET", "/metrics", &key, "").0, 200);
    let (status, text) = served.request("GET", "/memories?user_id=lin", &key, "");
    assert!(status == 403 && text.contains("GET /metrics only"), "{status} {text}");
    assert_eq!(served.request("GET", "/memories?user_id=lin", &[("X-API-Key", app)], "").0, 200);
}

#[test]
fn metrics_token_is_a_key_of_its_own() {
    let folder = TempDir::new().unwrap();
    let (app, metrics) = ("0123456789abcdef-app", "0123456789abcdef-metrics");
    let variables = [("MEMORY_TOKEN", app), ("MEMORY_METRICS_TOKEN", metrics)];
    let served = RunningServer::start(memory(folder.path()).envs(variables));
    assert_eq!(served.request("GET", "/metrics", &[("X-API-Key", metrics)], "").0, 200);
    assert_eq!(served.request("DELETE", "/memories?user_id=lin", &[("X-API-Key", metrics)], "").0, 403);
    let same = memory(folder.path()).arg("serve").envs([("MEMORY_TOKEN", app), ("MEMORY_METRICS_TOKEN", app)]).output();
    let same = same.unwrap();
    let message = String::from_utf8_lossy(&same.stderr);
    assert!(!same.status.success() && message.contains("a key of its own"), "{message}");
}

#[test]
fn public_server_requires_a_key() {
    let folder = TempDir::new().unwrap();
    let refused = run(folder.path(), &["serve", "--listen", "0.0.0.0:0"]);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && message.contains("MEMORY_TOKEN"), "{message}");
}

#[test]
fn config_show_lists_sources_without_secrets() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("memory.toml"), "digest = \"none\"\n").unwrap();
    let shown = memory(folder.path())
        .args(["config", "show", "--listen", "127.0.0.1:9", "--json"])
        .env("MEMORY_DB", "postgres://lin:hunter2@db/memory")
        .env("MEMORY_TOKEN", "hunter2-hunter2-hunter2")
        .output()
        .unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    let settings: Vec<Value> = serde_json::from_str(&text).unwrap();
    let by = |name: &str| settings.iter().find(|s| s["name"] == name).unwrap()["source"].as_str().unwrap();
    assert!(by("digest").ends_with("memory.toml"));
    assert_eq!((by("db"), by("listen")), ("the variable MEMORY_DB", "--listen"));
    assert_eq!(by("open"), "default");
}

#[test]
fn unknown_setting_error_names_its_source() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("memory.toml"), "[limits]\nmax_conccurent = 3\n").unwrap();
    for command in ["serve", "config"] {
        let arguments = if command == "config" { vec!["config", "show"] } else { vec!["serve"] };
        let refused = run(folder.path(), &arguments);
        let message = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success(), "{message}");
        assert!(message.contains("max_conccurent") && message.contains("memory.toml, line 2"), "{message}");
        assert!(message.contains("did you mean max_concurrent?"), "{message}");
    }
}
