//! The sources of settings and their precedence.

use std::{
    fs,
    path::{Path, PathBuf},
};

use figment::{
    Error as FigmentError, Figment, Metadata, Profile, Provider, Source,
    error::Kind,
    providers::{Format, Serialized},
    value::{Dict, Map, Value},
};
use memory_engine::{Error, Result};
use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

use crate::config::Config;

const PREFIX: &str = "MEMORY_";
/// The page with the list of settings.
const SETTINGS_PAGE: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/reference/configuration.md");
/// Minimum similarity (0–1) of a known setting to an unknown one of which it is suggested, as in `clap`.
const MIN_SUGGESTION_SIMILARITY: f64 = 0.7;

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
    /// The configuration: the defaults, the file, and the variables.
    pub config: Config,
    /// Every setting with its value, the defaults included.
    pub settings: Vec<Setting>,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Setting {
    /// The name, as `limits.max_concurrent`.
    pub name: String,
    /// The value as in TOML; `…` for secrets.
    pub value: String,
    /// The source of the value.
    pub source: String,
}

impl Sources {
    /// Creates sources with only the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file. Loading fails if it does not exist.
    pub fn with_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Adds variables, as names and values: `MEMORY_LISTEN` sets `listen`, `MEMORY_LIMITS__MAX_CONCURRENT` sets
    /// `limits.max_concurrent`. Other variables are ignored, because other programs may use them, unless they name a
    /// section: `MEMORY_LIMITS__X` is an error.
    pub fn with_variables(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.variables.extend(variables.into_iter().filter(|(name, _)| name.starts_with(PREFIX)));
        self
    }

    /// Adds a flag for a setting, as `("listen", "127.0.0.1:8000")`.
    pub fn with_flag(mut self, setting: impl Into<String>, value: impl Into<String>) -> Self {
        self.flags.push((setting.into(), value.into()));
        self
    }

    /// Loads the configuration from all sources.
    ///
    /// # Errors
    /// `InvalidInput` with name and source, for a missing file, invalid TOML, an unknown setting and an invalid
    /// value.
    pub fn load(self) -> Result<LoadedConfig> {
        let defaults = Figment::from(Serialized::defaults(Config::default()));
        let mut figment = defaults.clone();
        if let Some(file) = &self.file {
            if !file.is_file() {
                return Err(Error::invalid(
                    "config",
                    format!("the configuration file {} does not exist", file.display()),
                ));
            }
            figment = figment.merge(TomlFile::file_exact(file));
        }
        for (variable, value) in &self.variables {
            let setting = variable.strip_prefix(PREFIX).unwrap_or(variable).to_lowercase().replace("__", ".");
            let section = setting.split_once('.').map(|(section, _)| section);
            let is_in_section = section.is_some_and(|section| defaults.find_value(section).is_ok());
            let is_setting = defaults.find_value(&setting).is_ok();
            let is_setting = is_setting || SETTINGS_WITHOUT_DEFAULT.contains(&setting.as_str());
            if is_setting || is_in_section {
                let source = format!("the variable {variable}");
                let merged = figment.clone().merge(SingleSetting { source, setting, value: value.clone() });
                // The error is that of this variable only if everything before it is valid.
                if !is_setting && figment.extract::<Config>().is_ok() {
                    merged.extract::<Config>().map_err(|error| unknown_variable(variable, error))?;
                }
                figment = merged;
            }
        }
        for (setting, value) in &self.flags {
            let source = format!("--{}", setting.replace(['.', '_'], "-"));
            figment = figment.merge(SingleSetting { source, setting: setting.clone(), value: value.clone() });
        }
        let config: Config = figment.extract().map_err(config_error)?;
        config.recall.validate().map_err(|error| section_error("recall", &error))?;
        config.scene_policy.validate().map_err(|error| section_error("scene_policy", &error))?;
        let settings = settings(&figment);
        Ok(LoadedConfig { config, settings })
    }
}

/// Settings without a default.
const SETTINGS_WITHOUT_DEFAULT: [&str; 7] = [
    "models_dir",
    "zone",
    "language",
    "gateway.max_chars",
    "gateway.scene_rules",
    "gateway.injection_rules",
    "oauth.issuer",
];

/// TOML files. The one of `figment` would bring a second version of `toml`.
struct TomlFile;

impl Format for TomlFile {
    type Error = toml::de::Error;

    const NAME: &'static str = "TOML";

    fn from_str<T: DeserializeOwned>(text: &str) -> std::result::Result<T, Self::Error> {
        toml::from_str(text)
    }
}

/// The value of one setting from one source.
struct SingleSetting {
    source: String,
    setting: String,
    value: String,
}

impl Provider for SingleSetting {
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

/// Returns all settings, in the order of their names.
fn settings(figment: &Figment) -> Vec<Setting> {
    let mut found = Vec::new();
    if let Ok(value) = figment.find_value("") {
        collect_settings(figment, String::new(), &value, &mut found);
    }
    found
}

fn collect_settings(figment: &Figment, name: String, value: &Value, found: &mut Vec<Setting>) {
    if let Value::Dict(_, dict) = value {
        for (key, value) in dict {
            let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
            collect_settings(figment, name, value, found);
        }
        return;
    }
    let source = match figment.get_metadata(value.tag()) {
        Some(metadata) => match &metadata.source {
            Some(Source::File(file)) => file.display().to_string(),
            _ if metadata.name.contains("Config") => "default".to_owned(),
            _ => metadata.name.to_string(),
        },
        None => "default".to_owned(),
    };
    found.push(Setting { value: display(&name, value), name, source });
}

/// Returns a value as it is displayed. The address of a database is displayed without its password.
fn display(name: &str, value: &Value) -> String {
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

/// Reports a variable that names a section, but no setting in it.
fn unknown_variable(variable: &str, error: FigmentError) -> Error {
    let message = format!("the variable {variable} is not valid: {}", config_error(error).message());
    Error::invalid("config", message)
}

/// Names the section of a value that is out of range.
fn section_error(section: &str, error: &Error) -> Error {
    Error::invalid("config", format!("[{section}] {}", error.message()))
}

/// Describes the first error: the problem, the setting and the source.
fn config_error(error: FigmentError) -> Error {
    let first = error.into_iter().next();
    let Some(first) = first else { return Error::invalid("config", "the configuration cannot be read") };
    let location = match first.metadata.as_ref().map(|metadata| (&metadata.source, &metadata.name)) {
        Some((Some(Source::File(file)), _)) => match line_of(file, &first.path) {
            Some(line) => format!(" in {}, line {line}", file.display()),
            None => format!(" in {}", file.display()),
        },
        Some((Some(source), _)) => format!(" in {source}"),
        Some((None, name)) => format!(" in {name}"),
        None => String::new(),
    };
    let setting = first.path.join(".");
    let message = if let Kind::UnknownField(name, known) = &first.kind {
        format!("unknown setting {setting}{location}; {}", suggestion(name, known))
    } else if setting.is_empty() {
        format!("{}{location}", problem(&first.kind))
    } else {
        format!("{} for {setting}{location}", problem(&first.kind))
    };
    Error::invalid("config", message)
}

/// Returns the line of a setting in a TOML file, or that of the last section around it that the file has.
fn line_of(file: &Path, setting: &[String]) -> Option<usize> {
    let text = fs::read_to_string(file).ok()?;
    let mut value = &DeValue::Table(DeTable::parse(&text).ok()?.into_inner());
    let mut position = None;
    for name in setting {
        let (start, inner) = if let DeValue::Table(table) = value
            && let Some((key, inner)) = table.iter().find(|(key, _)| key.get_ref() == name)
        {
            (key.span().start, inner)
        } else if let DeValue::Array(items) = value
            && let Some(item) = name.parse().ok().and_then(|index: usize| items.get(index))
        {
            (item.span().start, item)
        } else {
            break;
        };
        position = Some(start);
        value = inner.get_ref();
    }
    Some(text.get(..position?)?.matches('\n').count() + 1)
}

/// Returns the known setting that is most similar to an unknown one, or else the page that lists the settings.
fn suggestion(unknown: &str, known: &[&str]) -> String {
    let candidates = known.iter().map(|name| (strsim::jaro(unknown, name), name));
    let nearest = candidates.max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((similarity, name)) if similarity > MIN_SUGGESTION_SIMILARITY => format!("did you mean {name}?"),
        _ => format!("the settings are listed at {SETTINGS_PAGE}"),
    }
}

/// Describes the problem without the invalid value, which may be a secret.
fn problem(kind: &Kind) -> String {
    if let Kind::InvalidType(_, expected) | Kind::InvalidValue(_, expected) = kind {
        let is_integer = ["u8", "u16", "u32", "u64", "usize"].contains(&expected.as_str());
        return format!("the value must be {}", if is_integer { "a whole number, at least 0" } else { expected });
    }
    let Kind::Message(message) = kind else { return kind.to_string() };
    // The first line of a TOML error is the position, the last one the problem. The lines between quote the file.
    let mut lines = message.lines().filter(|line| !line.trim().is_empty());
    match (lines.next(), lines.next_back()) {
        (Some(first), Some(last)) => format!("{first}: {last}"),
        (first, _) => first.unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests;
