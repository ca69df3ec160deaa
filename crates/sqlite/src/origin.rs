//! What the derived tables were made with.

use memory_core::{Clock, Error, ErrorKind, Index, SystemClock};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    backlog,
    failure::Failure,
    keywords,
    options::{Mismatch, SqliteOptions},
    vectors,
};

/// The analyzer and the embedding space that this process works with.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    analyzer: String,
    space: String,
}

impl Origin {
    /// Those of the options.
    pub(crate) fn of(options: &SqliteOptions) -> Self {
        Self { analyzer: options.analyzer.clone(), space: options.space.to_string() }
    }

    fn of_index(&self, index: Index) -> &str {
        match index {
            Index::Keywords => &self.analyzer,
            Index::Embedding => &self.space,
        }
    }

    /// Refuses to touch an index that another process has rebuilt for something else since this one opened the file.
    pub(crate) fn check(&self, connection: &Connection, index: Index, operation: &'static str) -> Result<(), Failure> {
        match made_by(connection, index)? {
            Some(found) if found == self.of_index(index) => Ok(()),
            found => Err(self.mismatch(index, found.as_deref().unwrap_or("nothing"), operation).into()),
        }
    }

    fn mismatch(&self, index: Index, found: &str, operation: &'static str) -> Error {
        let what = match index {
            Index::Keywords => "the keyword index was made by the analyzer",
            Index::Embedding => "the vectors were made in the embedding space",
        };
        let wanted = self.of_index(index);
        let message = format!("{what} '{found}', and '{wanted}' is in use now; run `memory reindex`");
        Error::new(ErrorKind::SchemaMismatch, operation, message)
    }

    /// Whether the file's indexes were made as this process makes them.
    pub(crate) fn is_settled(&self, connection: &Connection) -> Result<bool, Failure> {
        for index in Index::ALL {
            if made_by(connection, index)?.as_deref() != Some(self.of_index(index)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Brings file and process together when the file is opened.
    pub(crate) fn settle(&self, connection: &Connection, mismatch: Mismatch) -> Result<(), Failure> {
        for index in Index::ALL {
            match made_by(connection, index)? {
                Some(found) if found == self.of_index(index) => {}
                None => self.write(connection, index)?,
                Some(_) if mismatch == Mismatch::Leave => {}
                Some(found) if mismatch == Mismatch::Refuse => {
                    return Err(self.mismatch(index, &found, "open").into());
                }
                Some(_) => {
                    match index {
                        Index::Keywords => keywords::clear(connection)?,
                        Index::Embedding => vectors::clear(connection)?,
                    }
                    backlog::requeue(connection, None, None, index.job(), SystemClock.now())?;
                    self.write(connection, index)?;
                }
            }
        }
        Ok(())
    }

    fn write(&self, connection: &Connection, index: Index) -> Result<(), Failure> {
        connection
            .prepare_cached("INSERT OR REPLACE INTO origins (part, made_by) VALUES (?1, ?2)")?
            .execute(params![index.job().as_str(), self.of_index(index)])?;
        Ok(())
    }
}

fn made_by(connection: &Connection, index: Index) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached("SELECT made_by FROM origins WHERE part = ?1")?
        .query_row([index.job().as_str()], |row| row.get(0))
        .optional()
}
