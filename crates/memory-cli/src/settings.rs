//! Environment variables, with defaults from the file `.env` in the working directory. Keys and passwords are read
//! from nowhere else.

use std::{collections::BTreeMap, env, fs};

use anyhow::{Context, Result, bail};

const FILE: &str = ".env";

/// The variables that commands may look up.
#[derive(Debug)]
pub(crate) struct Settings(EnvFile);

/// The variables of a file.
#[derive(Default)]
struct EnvFile(Vec<(String, String)>);

impl std::fmt::Debug for EnvFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(settings)")
    }
}

impl Settings {
    /// Reads the file, if there is one.
    ///
    /// # Errors
    /// If it cannot be read or parsed; the message contains nothing from the file.
    pub(crate) fn load() -> Result<Self> {
        match fs::read_to_string(FILE) {
            Ok(text) => Ok(Self(parse(&text).with_context(|| FILE.to_owned())?)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Self(EnvFile::default())),
            Err(e) => Err(anyhow::Error::new(e).context(format!("{FILE} cannot be read"))),
        }
    }

    /// Returns every variable that begins with `prefix` and is not empty.
    pub(crate) fn with_prefix(&self, prefix: &str) -> BTreeMap<String, String> {
        let in_file = self.0.0.iter().cloned();
        let in_environment =
            env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let all = in_file.chain(in_environment);
        all.filter(|(name, value)| name.starts_with(prefix) && !value.trim().is_empty()).collect()
    }

    /// Returns a variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let is_set = |value: &String| !value.trim().is_empty();
        let in_file = || self.0.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        env::var(name).ok().filter(is_set).or_else(in_file).filter(is_set)
    }
}

/// Parses lines of the form `NAME=VALUE`. The value may be quoted, and the line may begin with `export`. Empty lines
/// and lines that begin with `#` are skipped.
fn parse(text: &str) -> Result<EnvFile> {
    let mut variables = Vec::new();
    for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=') else { bail!("line {number} is not NAME=VALUE") };
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            bail!("line {number} does not begin with a name of letters, digits and '_'");
        }
        variables.push((name.to_owned(), unquoted(value).to_owned()));
    }
    Ok(EnvFile(variables))
}

/// Returns the value without its quotes. An unquoted value ends before a comment.
fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some((inner, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return inner;
        }
    }
    value.split_once(" #").map_or(value, |(value, _)| value.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn env_file_is_parsed_like_a_shell() {
        let text = "\u{feff}# keys\n\nA=1\nexport B = 'two words' # why\nC=\"x # y\"\nD=bare # note\nE=p#q=r\nA=2\n";
        let settings = Settings(parse(text).unwrap());
        let got = ["A", "B", "C", "D", "E", "F"].map(|name| settings.get(name).unwrap_or_default());
        assert_eq!(got, ["2", "two words", "x # y", "bare", "p#q=r", ""]);
    }

    #[test]
    fn errors_name_the_line_but_not_its_text() {
        for (text, line) in [("A=1\nhunter2", "line 2"), ("hun ter2=1", "line 1")] {
            let error = format!("{:#} {0:?}", parse(text).unwrap_err());
            assert!(error.contains(line) && !error.contains("hun") && !error.contains("ter2"), "{error}");
        }
        assert_eq!(format!("{:?}", Settings(parse("A=hunter2").unwrap())), "Settings((settings))");
    }
}
