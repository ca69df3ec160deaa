//! What the derived tables were made with.

use memory_engine_core::{Clock, EmbeddingSpace, Error, ErrorKind, Index, SystemClock};
use sqlx::PgConnection;

use crate::{
    database::failure::Failure,
    keywords::keyword_store,
    options::{Mismatch, PostgresOptions},
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
    pub(crate) fn of(options: &PostgresOptions) -> Self {
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

    /// Whether vectors that were made in the space `found` get a second generation beside them.
    pub(crate) fn refills(&self, found: &str, mismatch: Mismatch) -> bool {
        found != self.space && (mismatch == Mismatch::Refill || self.replaced.as_deref() == Some(found))
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
            found => Err(self.mismatch(index, found, operation).into()),
        }
    }

    /// The error of whoever comes with another analyzer or embedder than the database was made with.
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
                Some(found) if index == Index::Embedding && self.refills(&found, mismatch) => {}
                Some(found) if mismatch == Mismatch::Refuse => {
                    return Err(match index {
                        Index::Keywords => self.mismatch(index, Some(&found), "connect"),
                        Index::Embedding => generations::known(connection).await?.refusal(self, "connect"),
                    }
                    .into());
                }
                Some(_) => {
                    match index {
                        Index::Keywords => keyword_store::clear(connection).await?,
                        Index::Embedding => {
                            generations::drop_second(connection).await?;
                            let table = generations::known(connection).await?.table;
                            vector_store::clear(connection, table).await?;
                        }
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
