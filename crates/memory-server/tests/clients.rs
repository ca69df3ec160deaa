//! Tests with the official clients: each script in `tests/clients` is a test. It gets its own server with all parts and
//! an empty memory:
//!
//! | variable | meaning |
//! |---|---|
//! | `MEMORY_URL` | URL of the server, `http://127.0.0.1:PORT` without a slash |
//! | `MEMORY_KEY` | a key for all users of its tenant |
//! | `UPSTREAM_URL` | URL of the model behind the gateway (`tests/support/upstream.rs`) |
//!
//! Scripts in JavaScript (`.mjs`) run if `CLIENTS_NODE` names a folder in which `npm install mem0ai@3.3.1` was run.
//!
//! A script passes if it exits with 0; otherwise its output is shown. `CLIENTS_PYTHON` names the Python interpreter,
//! which `scripts/clients/venv` creates and prints. Without it these tests are listed as ignored; with
//! `CLIENTS_REQUIRE=1` they then fail.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod support;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use libtest_mimic::{Arguments, Failed, Trial};
use support::Served;
use tokio::runtime::Runtime;

fn main() {
    let arguments = Arguments::from_args();
    let python = env::var("CLIENTS_PYTHON").ok().filter(|python| !python.is_empty());
    let required = env::var("CLIENTS_REQUIRE").is_ok_and(|value| value == "1");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    let mut scripts: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let node = env::var("CLIENTS_NODE").ok().filter(|folder| !folder.is_empty());
    scripts.retain(|path| path.extension().is_some_and(|extension| extension == "py" || extension == "mjs"));
    scripts.sort();
    assert!(!scripts.is_empty(), "there are no scripts in tests/clients");
    let trials = scripts.into_iter().map(|script| {
        let name = script.file_stem().unwrap().to_string_lossy().into_owned();
        if script.extension().is_some_and(|extension| extension == "mjs") {
            let ignored = node.is_none();
            return Trial::test(format!("{name}_js"), move || run(Some("node"), &script)).with_ignored_flag(ignored);
        }
        let ignored = python.is_none() && !required;
        let python = python.clone();
        Trial::test(name, move || run(python.as_deref(), &script)).with_ignored_flag(ignored)
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn run(python: Option<&str>, script: &Path) -> Result<(), Failed> {
    let python = python.ok_or("the clients are required (CLIENTS_REQUIRE), and CLIENTS_PYTHON names no interpreter")?;
    let runtime = Runtime::new()?;
    let served = runtime.block_on(Served::whole());
    let mut command = Command::new(python);
    if script.extension().is_some_and(|extension| extension == "py") {
        command.arg("-u");
    }
    command.arg(script).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("MEMORY_URL", &served.url).env("MEMORY_KEY", &served.key).env("UPSTREAM_URL", &served.upstream);
    // What the developer has set up for the real services is not for these.
    for variable in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "MEM0_API_KEY", "HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        command.env_remove(variable);
    }
    let output = command.output().map_err(|e| format!("{python} cannot be run: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Err(format!("{}\n{}\n{}", output.status, shown(&output.stdout), shown(&output.stderr)).into())
}
