//! A temporary folder in which the command `memory` is run.

#![allow(dead_code, reason = "each test file needs a part of it")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

/// The deadline of each search: the dictionary is loaded for it, which takes time on a busy machine.
const DEADLINE: &str = "--deadline 60000";

/// A temporary folder, with the database of its commands.
pub(crate) struct CliFixture {
    pub(crate) folder: tempfile::TempDir,
}

/// The output and exit code of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) success: bool,
}

impl CommandOutput {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { success: output.status.success(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Asserts that the command succeeded. Returns its standard output.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert!(self.success, "{self:?}");
        self.stdout
    }

    /// Asserts that the command failed and that its error message contains these texts.
    #[track_caller]
    pub(crate) fn assert_fails(self, words: &[&str]) {
        assert!(!self.success, "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "'{word}' is not in: {}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
    }

    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }
}

/// Returns the command in a folder, without the variables of this machine that it reads.
pub(crate) fn command_in(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memory"));
    command.current_dir(folder);
    for (variable, _) in env::vars_os() {
        let name = variable.to_string_lossy();
        let is_read = ["MEMORY_", "OTEL_"].iter().any(|prefix| name.starts_with(prefix))
            || ["_API_KEY", "_BASE_URL"].iter().any(|suffix| name.ends_with(suffix))
            || ["DATABASE_URL", "RUST_LOG"].contains(&&*name)
            || ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].contains(&&*name.to_uppercase());
        if is_read {
            command.env_remove(&variable);
        }
    }
    // These tests use the hash embedder, even if the machine has local models.
    command.env("MEMORY_MODELS_DIR", folder.join("no-models"));
    // Times without a zone are in the zone of the machine.
    command.env("TZ", "UTC");
    command
}

impl CliFixture {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> CommandOutput {
        CommandOutput::of(self.command(arguments).output().unwrap())
    }

    pub(crate) fn run_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> CommandOutput {
        CommandOutput::of(self.command(arguments).envs(variables.iter().copied()).output().unwrap())
    }

    /// Runs a line as a shell does, in the folder and with the variables and the deadline of
    /// [`command`](Self::command).
    pub(crate) fn run_line(&self, line: &str) -> CommandOutput {
        let line = if line.contains(" search ") { format!("{line} {DEADLINE}") } else { line.to_owned() };
        let mut shell = Command::new("sh");
        for (name, value) in self.command(&[]).get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let shell = shell.args(["-c", &line]).current_dir(self.folder.path()).env("HOME", self.path("home"));
        CommandOutput::of(shell.output().unwrap())
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command_in(self.folder.path());
        command.args(arguments);
        if arguments.first() == Some(&"search") && !arguments.contains(&"--deadline") {
            command.args(DEADLINE.split(' '));
        }
        command
    }

    pub(crate) fn import(&self, path: &Path) -> Value {
        self.run(&["import", path.to_str().unwrap(), "--json"])
            .stdout
            .lines()
            .last()
            .map(|l| serde_json::from_str(l).unwrap())
            .unwrap()
    }

    pub(crate) fn stats(&self) -> Value {
        self.run(&["stats", "--json"]).json()
    }
}

/// Four turns of two users.
pub(crate) const TURNS: &str = concat!(
    r#"{"id":"1","user":"lin","session":"a","role":"user","speaker":"Lin","text":"我对海鲜过敏","#,
    r#""time":"2026-03-01T20:00:00","place":"上海"}"#,
    "\n",
    r#"{"id":"2","user":"lin","session":"a","role":"assistant","speaker":"Kai","text":"记住了，不点虾","#,
    r#""time":"2026-03-01T20:01:00"}"#,
    "\n",
    r#"{"id":"3","user":"lin","session":"b","role":"user","speaker":"Lin","text":"My interview has moved to Friday","#,
    r#""time":"2026-03-02T09:00:00","scene":"daily","tags":["work"]}"#,
    "\n",
    r#"{"user":"mo","text":"I moved to Lisbon"}"#,
    "\n",
);
