//! Changes of a file.

use anyhow::{Result, bail};

use super::{
    json_edit::{self, JsonEntry},
    marked_block,
};

/// The changes of one file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    /// Entries of a JSON file, which may have comments.
    Json(Vec<JsonEntry>),
    /// A block of a TOML file, between two comments.
    TomlBlock {
        text: String,
        /// The table that only the block may define.
        table: [&'static str; 2],
    },
    /// A block of a Markdown file, between two comments.
    MarkdownBlock(String),
    /// The whole text of a file that belongs to the memory. It contains [`OWN_FILE_MARKER`].
    OwnFile(String),
}

/// The text by which a file of the memory is told from a file of the user with the same name.
pub(crate) const OWN_FILE_MARKER: &str = "memory-engine:begin";

impl Change {
    /// Returns the text of the file with the change. `None` stands for a file that does not exist.
    pub(crate) fn install(&self, old: Option<&str>) -> Result<String> {
        match self {
            Self::Json(entries) => json_edit::install(old.unwrap_or_default(), entries),
            Self::TomlBlock { text, table } => install_toml(old.unwrap_or_default(), text, table),
            Self::MarkdownBlock(text) => Ok(marked_block::MARKDOWN.install(old.unwrap_or_default(), text)),
            Self::OwnFile(text) => match old {
                Some(old) if !old.trim().is_empty() && !old.contains(OWN_FILE_MARKER) => {
                    bail!("the file exists already and is not from `memory install`; rename it first")
                }
                _ => Ok(text.clone()),
            },
        }
    }

    /// Returns the text of the file without the change. `None` if nothing else is in the file.
    pub(crate) fn uninstall(&self, old: &str) -> Result<Option<String>> {
        let rest = match self {
            Self::Json(entries) => json_edit::uninstall(old, entries)?,
            Self::TomlBlock { .. } => marked_block::HASH.uninstall(old),
            Self::MarkdownBlock(_) => marked_block::MARKDOWN.uninstall(old),
            Self::OwnFile(_) if old.contains(OWN_FILE_MARKER) => String::new(),
            Self::OwnFile(_) => old.to_owned(),
        };
        Ok(Some(rest).filter(|rest| !rest.trim().is_empty()))
    }
}

/// Adds the block to a TOML file, which must be valid before and after it.
fn install_toml(old: &str, block: &str, table: &[&str; 2]) -> Result<String> {
    let without: toml::Table = match marked_block::HASH.uninstall(old).parse() {
        Ok(without) => without,
        Err(error) => bail!("the file is not valid TOML; correct it first:\n{error}"),
    };
    let [outer, inner] = table;
    if without.get(*outer).and_then(|value| value.get(inner)).is_some() {
        bail!("[{outer}.{inner}] exists already; remove or rename it first");
    }
    let new = marked_block::HASH.install(old, block);
    if let Err(error) = new.parse::<toml::Table>() {
        bail!("[{outer}.{inner}] cannot be added to this file: {error}");
    }
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toml_change() -> Change {
        Change::TomlBlock {
            text: "[mcp_servers.memory]\ncommand = \"memory\"".into(),
            table: ["mcp_servers", "memory"],
        }
    }

    #[test]
    fn a_toml_block_is_added_replaced_and_removed() {
        let old = "# mine\nmodel = \"o\" # best\n\n[mcp_servers.docs]\ncommand = \"d\"\n";
        let new = toml_change().install(Some(old)).unwrap();
        assert!(new.starts_with(old), "{new}");
        assert_eq!(new.parse::<toml::Table>().unwrap()["mcp_servers"]["memory"]["command"].as_str(), Some("memory"));
        assert_eq!(toml_change().install(Some(&new)).unwrap(), new);
        let edited = format!("{new}\n[projects.a]\ntrust = true\n");
        assert_eq!(toml_change().install(Some(&edited)).unwrap(), edited);
        assert_eq!(toml_change().uninstall(&new).unwrap().as_deref(), Some(old));
        assert_eq!(toml_change().uninstall(&toml_change().install(None).unwrap()).unwrap(), None);
    }

    #[test]
    fn a_file_of_the_user_with_the_name_of_an_own_file_stays() {
        let change = Change::OwnFile("<!-- memory-engine:begin -->\nUse the memory.\n".into());
        let error = change.install(Some("My own rule.\n")).unwrap_err().to_string();
        assert!(error.contains("not from `memory install`; rename it first"), "{error}");
        assert_eq!(change.uninstall("My own rule.\n").unwrap().as_deref(), Some("My own rule.\n"));
        let new = change.install(None).unwrap();
        assert_eq!(change.install(Some(&new)).unwrap(), new);
        assert_eq!(change.uninstall(&new).unwrap(), None);
    }

    #[test]
    fn toml_that_cannot_be_changed_is_refused() {
        let error = |old: &str| toml_change().install(Some(old)).unwrap_err().to_string();
        assert!(error("model = ").contains("line 1, column 9"), "{}", error("model = "));
        assert!(error("[mcp_servers.memory]\ncommand = \"other\"\n").contains("[mcp_servers.memory] exists already"));
        assert!(error("mcp_servers = { docs = {} }\n").contains("cannot be added"));
    }
}
