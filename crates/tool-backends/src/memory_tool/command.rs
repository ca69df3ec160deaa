//! The commands of the tool.

use serde::Deserialize;
use serde_json::Value;

use super::path::MemoryPath;

/// The input of a `tool_use` block.
#[derive(Debug, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub(crate) enum Command {
    View {
        path: MemoryPath,
        #[serde(default)]
        view_range: Option<[i64; 2]>,
    },
    Create {
        path: MemoryPath,
        file_text: String,
    },
    StrReplace {
        path: MemoryPath,
        old_str: String,
        /// Anthropic's text editor deletes `old_str` if this is missing.
        #[serde(default)]
        new_str: String,
    },
    Insert {
        path: MemoryPath,
        insert_line: i64,
        insert_text: String,
    },
    Delete {
        path: MemoryPath,
    },
    Rename {
        old_path: MemoryPath,
        new_path: MemoryPath,
    },
}

impl Command {
    /// # Errors
    /// Returns a message for the model.
    pub(crate) fn parse(input: &Value) -> Result<Self, String> {
        serde_json::from_value(input.clone()).map_err(|e| e.to_string())
    }

    /// Returns the paths that the command changes.
    pub(crate) fn written_paths(&self) -> Vec<&MemoryPath> {
        match self {
            Self::View { .. } => Vec::new(),
            Self::Create { path, .. }
            | Self::StrReplace { path, .. }
            | Self::Insert { path, .. }
            | Self::Delete { path } => vec![path],
            Self::Rename { old_path, new_path } => vec![old_path, new_path],
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn commands_that_cannot_be_read_are_explained() {
        for (input, expected) in [
            (json!({ "command": "burn" }), "expected one of `view`, `create`"),
            (json!({ "path": "/memories" }), "missing field `command`"),
            (json!({ "command": "view" }), "missing field `path`"),
            (json!({ "command": "view", "path": "/etc" }), "Path must start with /memories, got: /etc"),
            (json!("view"), "expected"),
        ] {
            let error = Command::parse(&input).unwrap_err();
            assert!(error.contains(expected), "{input}: {error}");
        }
    }
}
