//! What the derived tables were made with.

use memory_engine_core::{Clock, EmbeddingSpace, Error, ErrorKind, Index, SystemClock};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    database::failure::Failure,
    keywords::keyword_store,
    options::{Mismatch, SqliteOptions},
    queue::backlog,
    vectors::generations,
    vectors::vector_store,
};

/// The analyzer and the embedding space that this process works with.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    analyzer: String,
    space: String,
    /// The space that may serve while vectors of this process' own are made.
    replaced: Option<String>,
}

impl Origin {
    /// Those of the options.
    pub(crate) fn of(options: &SqliteOptions) -> Self {
        let replaced = options.replaced.as_ref().map(ToString::to_string);
        Self { analyzer: options.analyzer.clone(), space: options.space.to_string(), replaced }
    }

    /// The same with another space.
    pub(crate) fn in_space(&self, space: &EmbeddingSpace) -> Self {
        Self { space: space.to_string(), replaced: None, ..self.clone() }
    }

    pub(crate) fn space(&self) -> &str {
        &self.space
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
            found => Err(self.mismatch(index, found.as_deref(), operation).into()),
        }
    }

    /// The error of whoever comes with another analyzer or embedder than the file was made with.
    pub(crate) fn mismatch(&self, index: Index, found: Option<&str>, operation: &'static str) -> Error {
        let (found, wanted) = (found.unwrap_or("nothing"), self.of_index(index));
        let message = match index {
            Index::Keywords => format!(
                "the keyword index was made by the analyzer '{found}', and '{wanted}' is in use now; run `memory reindex`"
            ),
            Index::Embedding => format!(
                "the vectors were made in the embedding space '{found}', and '{wanted}' is in use now; run `memory reindex` \
                 with the embedder of '{wanted}', while others go on searching, or open it with that of '{found}'"
            ),
        };
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
            let refills = index == Index::Embedding && mismatch == Mismatch::Refill;
            match made_by(connection, index)? {
                Some(found) if found == self.of_index(index) => {}
                None => self.write(connection, index)?,
                Some(_) if mismatch == Mismatch::Leave => {}
                Some(found) if refills || index == Index::Embedding && self.replaced.as_ref() == Some(&found) => {
                    generations::begin(connection, self)?;
                }
                Some(found) if mismatch == Mismatch::Refuse => {
                    let known = generations::known(connection)?;
                    return Err(match index {
                        Index::Embedding if known.second.as_ref() == Some(&self.space) => {
                            generations::not_yet(&known, self, "open")
                        }
                        Index::Embedding | Index::Keywords => self.mismatch(index, Some(&found), "open"),
                    }
                    .into());
                }
                Some(_) => {
                    match index {
                        Index::Keywords => keyword_store::clear(connection)?,
                        Index::Embedding => {
                            generations::drop_second(connection)?;
                            vector_store::clear(connection, generations::known(connection)?.table)?;
                        }
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
