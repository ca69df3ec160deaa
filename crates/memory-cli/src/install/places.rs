//! The folders of agents.

use std::{env, path::PathBuf};

use anyhow::{Context, Result};

/// The folders in which agents keep their configuration.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    pub(crate) home: PathBuf,
    /// The folder of a project, if its files are changed and not those of the user.
    pub(crate) project: Option<PathBuf>,
    claude: Option<PathBuf>,
    codex: Option<PathBuf>,
    config: PathBuf,
}

impl Places {
    /// Returns the folders of this user, as the variables of the environment set them.
    ///
    /// # Errors
    /// If the home directory is unknown.
    pub(crate) fn of_user(project: Option<PathBuf>) -> Result<Self> {
        let home = env::home_dir().context("the home directory is unknown; set the variable HOME")?;
        let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Ok(Self {
            project,
            claude: folder("CLAUDE_CONFIG_DIR"),
            codex: folder("CODEX_HOME"),
            config: folder("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
            home,
        })
    }

    /// Returns the folders below a home directory, without variables.
    #[cfg(test)]
    pub(crate) fn in_home(home: &std::path::Path) -> Self {
        Self { home: home.to_owned(), project: None, claude: None, codex: None, config: home.join(".config") }
    }

    /// Returns the folder of Claude Code.
    pub(crate) fn claude(&self) -> PathBuf {
        self.claude.clone().unwrap_or_else(|| self.home.join(".claude"))
    }

    /// Returns the file with the MCP servers of Claude Code.
    pub(crate) fn claude_json(&self) -> PathBuf {
        self.claude.as_ref().unwrap_or(&self.home).join(".claude.json")
    }

    /// Returns the folder of Codex.
    pub(crate) fn codex(&self) -> PathBuf {
        self.codex.clone().unwrap_or_else(|| self.home.join(".codex"))
    }

    /// Returns the folder for configuration of the XDG specification.
    pub(crate) fn config(&self) -> PathBuf {
        self.config.clone()
    }

    /// Returns the folder for the data of desktop applications.
    pub(crate) fn application_data(&self) -> PathBuf {
        if cfg!(target_os = "macos") {
            return self.home.join("Library/Application Support");
        }
        if cfg!(windows) {
            let folder = env::var_os("APPDATA").map(PathBuf::from);
            return folder.unwrap_or_else(|| self.home.join("AppData/Roaming"));
        }
        self.config()
    }
}
