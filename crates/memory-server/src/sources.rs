//! The sources of settings and their precedence.

use std::path::PathBuf;

use figment::{
    Error as FigmentError, Figment, Metadata, Profile, Provider,
    error::Kind,
    providers::{Format, Serialized, Toml},
    value::{Dict, Map, Value},
};
use memory_engine::{Error, Result};

use crate::config::Config;

const PREFIX: &str = "MEMORY_";

/// The sources of settings. Flags override variables, those override the file, and that overrides the defaults.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Sources {
    file: Option<PathBuf>,
    variables: Vec<(String, String)>,
    flags: Vec<(String, String)>,
}

/// A configuration, and where each part of it comes from.
#[derive(Debug, Clone)]
pub struct LoadedConfig {
    /// The configuration.
    pub config: Config,
    /// Every setting with its value.
    pub settings: Vec<Setting>,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Setting {
    /// Its name, as `limits.max_concurrent`.
    pub name: String,
    /// The value as in TOML; `…` for secrets.
    pub value: String,
    /// The source of the value.
    pub source: String,
}

impl Sources {
    /// Nothing but the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// This file, which has to be there.
    pub fn with_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// These variables, by name: `MEMORY_LISTEN` sets `listen`, `MEMORY_LIMITS__MAX_CONCURRENT` sets
    /// `limits.max_concurrent`. Variables that set nothing here are passed over: others may know them.
    pub fn with_variables(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.variables.extend(variables.into_iter().filter(|(name, _)| name.starts_with(PREFIX)));
        self
    }

    /// A flag for a setting, as `("listen", "127.0.0.1:8000")`.
    pub fn with_flag(mut self, setting: impl Into<String>, value: impl Into<String>) -> Self {
        self.flags.push((setting.into(), value.into()));
        self
    }

    /// Reads all of them.
    ///
    /// # Errors
    /// `InvalidInput` with name and source, for a missing file, invalid TOML, an unknown setting and an invalid
    /// value.
    pub fn load(self) -> Result<LoadedConfig> {
        let defaults = Figment::from(Serialized::defaults(Config::default()));
        let known = |name: &str| defaults.find_value(name).is_ok() || KEYS_WITHOUT_DEFAULT.contains(&name);
        let mut figment = defaults.clone();
        if let Some(file) = &self.file {
            if !file.is_file() {
                return Err(Error::invalid("config", format!("there is no file {}", file.display())));
            }
            figment = figment.merge(Toml::file_exact(file));
        }
        for (variable, value) in &self.variables {
            let setting = variable.strip_prefix(PREFIX).unwrap_or(variable).to_lowercase().replace("__", ".");
            if known(&setting) {
                figment =
                    figment.merge(One { source: format!("the variable {variable}"), setting, value: value.clone() });
            }
        }
        for (setting, value) in &self.flags {
            let source = format!("--{}", setting.replace(['.', '_'], "-"));
            figment = figment.merge(One { source, setting: setting.clone(), value: value.clone() });
        }
        let config: Config = figment.extract().map_err(told)?;
        let settings = settings(&figment);
        Ok(LoadedConfig { config, settings })
    }
}

/// Settings without a default.
const KEYS_WITHOUT_DEFAULT: [&str; 6] =
    ["models_dir", "zone", "language", "gateway.max_chars", "gateway.scene_rules", "gateway.injection_rules"];

/// One setting from one place.
struct One {
    source: String,
    setting: String,
    value: String,
}

impl Provider for One {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.source.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, FigmentError> {
        // Numbers, booleans and lists as in TOML; anything else is a string.
        let value = match self.value.parse::<Value>() {
            Ok(value) => value,
            Err(never) => match never {},
        };
        let nested = figment::util::nest(&self.setting, value);
        let dict = nested.into_dict().unwrap_or_default();
        Ok(Profile::Default.collect(dict))
    }
}

/// All settings, from the widest to the narrowest.
fn settings(figment: &Figment) -> Vec<Setting> {
    let mut found = Vec::new();
    if let Ok(value) = figment.find_value("") {
        list(figment, String::new(), &value, &mut found);
    }
    found
}

fn list(figment: &Figment, name: String, value: &Value, found: &mut Vec<Setting>) {
    if let Value::Dict(_, dict) = value {
        for (key, value) in dict {
            let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
            list(figment, name, value, found);
        }
        return;
    }
    let source = match figment.get_metadata(value.tag()) {
        Some(metadata) => match &metadata.source {
            Some(figment::Source::File(file)) => file.display().to_string(),
            _ if metadata.name.contains("Config") => "default".to_owned(),
            _ => metadata.name.to_string(),
        },
        None => "default".to_owned(),
    };
    found.push(Setting { value: shown(&name, value), name, source });
}

/// A value for people. The address of a database may hold a password.
fn shown(name: &str, value: &Value) -> String {
    match value {
        Value::String(_, text) if name == "db" => format!("{:?}", without_password(text)),
        Value::String(_, text) => format!("{text:?}"),
        Value::Char(..) | Value::Bool(..) | Value::Num(..) | Value::Empty(..) | Value::Dict(..) | Value::Array(..) => {
            serde_json::to_string(value).unwrap_or_else(|_| "…".into())
        }
    }
}

/// Returns the address without its password.
fn without_password(text: &str) -> String {
    text.parse::<memory_engine::Database>().map_or_else(|_| "…".to_owned(), |database| database.to_string())
}

/// The first thing that is wrong, what it is, and where it stands.
fn told(error: FigmentError) -> Error {
    let first = error.into_iter().next();
    let Some(first) = first else { return Error::invalid("config", "it cannot be read") };
    let place = match first.metadata.as_ref().map(|metadata| (&metadata.source, &metadata.name)) {
        Some((Some(source), _)) => format!(" in {source}"),
        Some((None, name)) => format!(" in {name}"),
        None => String::new(),
    };
    let setting = if first.path.is_empty() { String::new() } else { format!(" for {}", first.path.join(".")) };
    Error::invalid("config", format!("{}{setting}{place}", what(&first.kind)))
}

/// Returns the error without the value, which may be a secret in the wrong place.
fn what(kind: &Kind) -> String {
    if let Kind::InvalidType(_, expected) | Kind::InvalidValue(_, expected) = kind {
        return format!("it has to be {expected}");
    }
    let Kind::Message(message) = kind else { return kind.to_string() };
    // A TOML error quotes the line between where it is and what is wrong.
    let mut lines = message.lines().filter(|line| !line.trim().is_empty());
    match (lines.next(), lines.next_back()) {
        (Some(first), Some(last)) => format!("{first}: {last}"),
        (first, _) => first.unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests;
