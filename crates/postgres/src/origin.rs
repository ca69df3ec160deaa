//! What the derived tables were made with.

use memory_core::{Error, ErrorKind, Job};
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

    fn of_job(&self, job: Job) -> &str {
        match job {
            Job::Keywords => &self.analyzer,
            Job::Embedding => &self.space,
        }
    }

    /// Refuses to touch an index that another process has rebuilt for something else since this one opened the database.
    /// `found` is what it was made by.
    pub(crate) fn check(&self, job: Job, found: Option<&str>, operation: &'static str) -> Result<(), Failure> {
        match found {
            Some(found) if found == self.of_job(job) => Ok(()),
            found => Err(self.mismatch(job, found.unwrap_or("nothing"), operation).into()),
        }
    }

    fn mismatch(&self, job: Job, found: &str, operation: &'static str) -> Error {
        let what = match job {
            Job::Keywords => "the keyword index was made by the analyzer",
            Job::Embedding => "the vectors were made in the embedding space",
        };
        let wanted = self.of_job(job);
        let message = format!("{what} '{found}', and '{wanted}' is in use now; run `memory reindex`");
        Error::new(ErrorKind::SchemaMismatch, operation, message)
    }

    /// Whether the database's indexes were made as this process makes them.
    pub(crate) async fn is_settled(&self, connection: &mut PgConnection) -> Result<bool, Failure> {
        for job in Job::ALL {
            if made_by(connection, job.as_str()).await?.as_deref() != Some(self.of_job(job)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Brings database and process together.
    pub(crate) async fn settle(&self, connection: &mut PgConnection, mismatch: Mismatch) -> Result<(), Failure> {
        for job in Job::ALL {
            match made_by(connection, job.as_str()).await? {
                Some(found) if found == self.of_job(job) => {}
                None => write(connection, job.as_str(), self.of_job(job)).await?,
                Some(_) if mismatch == Mismatch::Leave => {}
                Some(found) if mismatch == Mismatch::Refuse => {
                    return Err(self.mismatch(job, &found, "connect").into());
                }
                Some(_) => {
                    match job {
                        Job::Keywords => keywords::clear(connection).await?,
                        Job::Embedding => vectors::clear(connection).await?,
                    }
                    backlog::requeue_all(connection, job).await?;
                    write(connection, job.as_str(), self.of_job(job)).await?;
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
