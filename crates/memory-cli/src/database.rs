//! The option `--db`.
//!
//! Reasons: `docs/design/decisions/0037-database-url-is-not-taken.md`.

use std::{convert::Infallible, path::Path, str::FromStr};

use anyhow::{Context, Result, bail};
use memory_engine::{Database, admin};

use crate::{
    database_key::{self, PRESENT_KEY},
    settings::Settings,
};

/// The value of `--db` that selects the address in the variable.
const VARIABLE_WORD: &str = "postgres";
const VARIABLE: &str = "DATABASE_URL";

/// The value of `--db`: a file, the address of a Postgres database, or `postgres` for the address in `DATABASE_URL`,
/// which keeps the password out of the list of processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DatabaseArg {
    At(Database),
    InVariable,
}

impl FromStr for DatabaseArg {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text == VARIABLE_WORD { Self::InVariable } else { Self::At(text.parse()?) })
    }
}

impl DatabaseArg {
    /// Returns the database, with the key of an encrypted file, if one is set.
    ///
    /// # Errors
    /// If the name is empty. If the variable is needed and not set, or has no Postgres address. If the key of a file
    /// cannot be read.
    pub(crate) fn database(&self) -> Result<Database> {
        match self {
            Self::At(database) => {
                if database.path().is_some_and(|path| path.as_os_str().is_empty()) {
                    bail!("the database has an empty name; name a file or the address of a Postgres database");
                }
                if database.path().is_none() {
                    return Ok(database.clone());
                }
                Ok(match database_key::load(&Settings::load()?, PRESENT_KEY)? {
                    Some(key) => database.clone().with_key(key),
                    None => database.clone(),
                })
            }
            Self::InVariable => {
                let url = Settings::load()?.get(VARIABLE);
                let url = url.with_context(|| format!("{VARIABLE} is not set, and `--db {VARIABLE_WORD}` needs it"))?;
                if !Database::is_address(&url) {
                    bail!(
                        "{VARIABLE} is not the address of a Postgres database; write \
                         postgres://USER@HOST/DATABASE"
                    );
                }
                Ok(Database::postgres(url))
            }
        }
    }
}

/// Returns the file of a backup, with the key of encrypted files, if one is set.
///
/// # Errors
/// If the key cannot be read.
pub(crate) fn file_argument(path: &Path) -> Result<Database> {
    DatabaseArg::At(Database::file(path)).database()
}

/// Fails if the database does not exist or has no schema.
///
/// # Errors
/// If there is none; the message names the commands that create one. If the server does not answer.
pub(crate) async fn require_database(database: &Database) -> Result<()> {
    let Some(path) = database.path() else {
        let migrations = admin::migrations(database).await.with_context(|| database.to_string())?;
        if migrations.schema == 0 {
            bail!(
                "{database} has no memory yet; create one with `memory import FILE` or `memory migrate up` and this \
                 --db"
            );
        }
        return Ok(());
    };
    if path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0) {
        bail!("{database} is an empty file and no store; name another file, or remove it to create a store there");
    }
    if path.exists() {
        return Ok(());
    }
    let hint = match Settings::load()?.get(VARIABLE) {
        Some(url) if Database::is_address(&url) => {
            format!("; --db {VARIABLE_WORD} uses the database in {VARIABLE}")
        }
        _ => String::new(),
    };
    bail!(
        "{database} does not exist; create it with `memory import FILE --db {database}` or \
         `memory add TEXT --user NAME --db {database}`{hint}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgres_stands_for_the_variable() {
        let of = |text: &str| text.parse::<DatabaseArg>().unwrap();
        assert_eq!(of("postgres"), DatabaseArg::InVariable);
        assert_eq!(of("./postgres"), DatabaseArg::At(Database::file("./postgres")));
        assert_eq!(of("postgres://db/m"), DatabaseArg::At(Database::postgres("postgres://db/m")));
    }
}
