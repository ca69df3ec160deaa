//! Which database a command is about.

use std::{convert::Infallible, str::FromStr};

use anyhow::{Context, Result, bail};
use memory_engine::{Database, upkeep};

use crate::settings::Settings;

/// The word that stands for the address in the variable.
const WORD: &str = "postgres";
const VARIABLE: &str = "DATABASE_URL";

/// What `--db` says: a file, the address of a Postgres database, or `postgres` for the address in `DATABASE_URL`, which
/// keeps the password out of the list of processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    At(Database),
    InVariable,
}

impl FromStr for Place {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text == WORD { Self::InVariable } else { Self::At(text.parse()?) })
    }
}

impl Place {
    /// The database.
    ///
    /// # Errors
    /// When it is to be in the variable and is not.
    pub(crate) fn database(&self) -> Result<Database> {
        match self {
            Self::At(database) => Ok(database.clone()),
            Self::InVariable => {
                let url = Settings::load()?.get(VARIABLE);
                let url = url.with_context(|| format!("{VARIABLE} is not set; `--db {WORD}` goes by it"))?;
                if !Database::is_address(&url) {
                    bail!(
                        "{VARIABLE} does not hold the address of a Postgres database; write postgres://USER@HOST/DATABASE"
                    );
                }
                Ok(Database::postgres(url))
            }
        }
    }
}

/// Refuses a database that nothing has been stored in.
///
/// # Errors
/// When there is none, with what makes one; when the server cannot be asked.
pub(crate) async fn must_exist(database: &Database) -> Result<()> {
    let Some(path) = database.path() else {
        let migrations = upkeep::migrations(database).await.with_context(|| database.to_string())?;
        if migrations.schema == 0 {
            bail!(
                "there is no memory in {database} yet; `memory import FILE` or `memory migrate up` with this --db makes one"
            );
        }
        return Ok(());
    };
    if path.exists() {
        return Ok(());
    }
    let hint = match Settings::load()?.get(VARIABLE) {
        Some(url) if Database::is_address(&url) => format!("; --db {WORD} takes the database that {VARIABLE} names"),
        _ => String::new(),
    };
    bail!(
        "there is no {database}; `memory import FILE --db {database}` or `memory add TEXT --user NAME --db {database}` makes \
         one{hint}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stands_for_the_variable_and_anything_else_for_itself() {
        let of = |text: &str| text.parse::<Place>().unwrap();
        assert_eq!(of("postgres"), Place::InVariable);
        assert_eq!(of("./postgres"), Place::At(Database::file("./postgres")));
        assert_eq!(of("postgres://db/m"), Place::At(Database::postgres("postgres://db/m")));
    }
}
