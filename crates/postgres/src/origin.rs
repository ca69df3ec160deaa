//! What the derived tables were made with.

use memory_core::{Clock, Error, ErrorKind, Index, SystemClock};
use sqlx::PgConnection;

use crate::{
    backlog,
    failure::Failure,
    keywords,
    options::{Mismatch, PostgresOptions},
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
    pub(crate) fn of(options: &PostgresOptions) -> Self {
        Self { analyzer: options.analyzer.clone(), space: options.space.to_string() }
    }

    fn of_index(&self, index: Index) -> &str {
        match index {
            Index::Keywords => &self.analyzer,
            Index::Embedding => &self.space,
        }
    }

    /// Refuses to touch an index that another process has rebuilt for something else since this one opened the database.
    /// `found` is what it was made by.
    pub(crate) fn check(&self, index: Index, found: Option<&str>, operation: &'static str) -> Result<(), Failure> {
        match found {
            Some(found) if found == self.of_index(index) => Ok(()),
            found => Err(self.mismatch(index, found.unwrap_or("nothing"), operation).into()),
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

    /// Whether the database's indexes were made as this process makes them.
    pub(crate) async fn is_settled(&self, connection: &mut PgConnection) -> Result<bool, Failure> {
        for index in Index::ALL {
            if made_by(connection, index.job().as_str()).await?.as_deref() != Some(self.of_index(index)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Brings database and process together.
    pub(crate) async fn settle(&self, connection: &mut PgConnection, mismatch: Mismatch) -> Result<(), Failure> {
        for index in Index::ALL {
            match made_by(connection, index.job().as_str()).await? {
                Some(found) if found == self.of_index(index) => {}
                None => write(connection, index.job().as_str(), self.of_index(index)).await?,
                Some(_) if mismatch == Mismatch::Leave => {}
                Some(found) if mismatch == Mismatch::Refuse => {
                    return Err(self.mismatch(index, &found, "connect").into());
                }
                Some(_) => {
                    match index {
                        Index::Keywords => keywords::clear(connection).await?,
                        Index::Embedding => vectors::clear(connection).await?,
                    }
                    backlog::requeue_all(connection, index.job(), SystemClock.now()).await?;
                    write(connection, index.job().as_str(), self.of_index(index)).await?;
                }
            }
        }
        Ok(())
    }
}

/// What a part of the database was made by.
pub(crate) async fn made_by(connection: &mut PgConnection, part: &str) -> Result<Option<String>, Failure> {
    let sql = "SELECT made_by FROM origins WHERE part = $1";
    Ok(sqlx::query_scalar(sql).bind(part).fetch_optional(connection).await?)
}

pub(crate) async fn write(connection: &mut PgConnection, part: &str, made_by: &str) -> Result<(), Failure> {
    sqlx::query(
        "INSERT INTO origins (part, made_by) VALUES ($1, $2) ON CONFLICT (part) DO UPDATE SET made_by = excluded.made_by",
    )
    .bind(part)
    .bind(made_by)
    .execute(connection)
    .await?;
    Ok(())
}
