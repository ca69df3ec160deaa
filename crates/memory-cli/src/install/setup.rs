//! What is installed.

use clap::ValueEnum;

/// A part of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// The MCP server, with the tools of the memory.
    Mcp,
    /// The hooks, which add memories to prompts and store what is said.
    Hooks,
    /// The instructions to the model.
    Instructions,
}

/// The memory that an agent uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Connection {
    /// The command opens a database.
    Command {
        /// The path of the command.
        program: String,
        /// The database, with an absolute path.
        database: String,
    },
    /// A running server.
    Server {
        /// The path of the command, for hooks.
        program: String,
        /// The address, without a slash at the end.
        url: String,
        /// The environment variable with the key.
        key_env: Option<String>,
    },
}

/// An installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setup {
    pub(crate) connection: Connection,
    pub(crate) user: String,
}

impl Setup {
    /// Returns the path of the command.
    pub(crate) fn program(&self) -> &str {
        match &self.connection {
            Connection::Command { program, .. } | Connection::Server { program, .. } => program,
        }
    }

    /// Returns the arguments of the command as an MCP server; `None` for a server that runs already.
    pub(crate) fn mcp_arguments(&self) -> Option<Vec<String>> {
        match &self.connection {
            Connection::Command { database, .. } => {
                Some(["mcp", "--db", database, "--user", &self.user].map(str::to_owned).to_vec())
            }
            Connection::Server { .. } => None,
        }
    }

    /// Returns the address of MCP at a running server.
    pub(crate) fn mcp_url(&self) -> Option<String> {
        match &self.connection {
            Connection::Server { url, .. } => Some(format!("{url}/mcp?user_id={}", query_value(&self.user))),
            Connection::Command { .. } => None,
        }
    }

    /// Returns the environment variable with the key of a running server.
    pub(crate) fn key_env(&self) -> Option<&str> {
        match &self.connection {
            Connection::Server { key_env, .. } => key_env.as_deref(),
            Connection::Command { .. } => None,
        }
    }

    /// Returns the shell command of a hook.
    pub(crate) fn hook_command(&self, event: &str, agent: &str) -> String {
        let program = shell_word(self.program());
        let memory = match &self.connection {
            Connection::Command { database, .. } => format!("--db {}", shell_word(database)),
            Connection::Server { url, .. } => format!("--server {}", shell_word(url)),
        };
        format!("{program} hook {event} --agent {agent} {memory} --user {}", shell_word(&self.user))
    }
}

/// Percent-encodes a value of a URL's query.
fn query_value(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Quotes a word for the shell, if it needs quotes.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,\\".contains(c);
    match word.chars().all(is_plain) && !word.is_empty() && (cfg!(windows) || !word.contains('\\')) {
        true => word.to_owned(),
        false if cfg!(windows) => format!("\"{word}\""),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hook_commands_are_quoted() {
        let connection =
            Connection::Command { program: "/opt/my tools/memory".into(), database: "/home/o'neil/m.db".into() };
        let setup = Setup { connection, user: "lin".into() };
        assert_eq!(
            setup.hook_command("stop", "codex"),
            r"'/opt/my tools/memory' hook stop --agent codex --db '/home/o'\''neil/m.db' --user lin"
        );
    }

    #[test]
    fn the_user_is_in_the_address_of_a_server() {
        let connection =
            Connection::Server { program: "memory".into(), url: "http://127.0.0.1:8765".into(), key_env: None };
        let setup = Setup { connection, user: "小 林".into() };
        let expected = "http://127.0.0.1:8765/mcp?user_id=%E5%B0%8F%20%E6%9E%97";
        assert_eq!(setup.mcp_url().as_deref(), Some(expected));
        assert_eq!(setup.mcp_arguments(), None);
        assert_eq!(
            setup.hook_command("stop", "codex"),
            "memory hook stop --agent codex --server http://127.0.0.1:8765 --user '小 林'"
        );
    }
}
