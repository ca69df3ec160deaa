//! What the derived tables were made with.

use memory_core::{Error, ErrorKind, Job};
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

    fn of_job(&self, job: Job) -> &str {
        match job {
            Job::Keywords => &self.analyzer,
            Job::Embedding => &self.space,
        }
    }

    /// Refuses to touch an index that another process has rebuilt for something else since this one opened the file.
    pub(crate) fn check(&self, connection: &Connection, job: Job, operation: &'static str) -> Result<(), Failure> {
        match made_by(connection, job)? {
            Some(found) if found == self.of_job(job) => Ok(()),
            found => Err(self.mismatch(job, found.as_deref().unwrap_or("nothing"), operation).into()),
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

    /// Whether the file's indexes were made as this process makes them.
    pub(crate) fn is_settled(&self, connection: &Connection) -> Result<bool, Failure> {
        for job in Job::ALL {
            if made_by(connection, job)?.as_deref() != Some(self.of_job(job)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Brings file and process together when the file is opened.
    pub(crate) fn settle(&self, connection: &Connection, mismatch: Mismatch) -> Result<(), Failure> {
        for job in Job::ALL {
            match made_by(connection, job)? {
                Some(found) if found == self.of_job(job) => {}
                None => self.write(connection, job)?,
                Some(_) if mismatch == Mismatch::Leave => {}
                Some(found) if mismatch == Mismatch::Refuse => {
                    return Err(self.mismatch(job, &found, "open").into());
                }
                Some(_) => {
                    match job {
                        Job::Keywords => keywords::clear(connection)?,
                        Job::Embedding => vectors::clear(connection)?,
                    }
                    backlog::requeue(connection, None, job)?;
                    self.write(connection, job)?;
                }
            }
        }
        Ok(())
    }

    fn write(&self, connection: &Connection, job: Job) -> Result<(), Failure> {
        connection
            .prepare_cached("INSERT OR REPLACE INTO origins (part, made_by) VALUES (?1, ?2)")?
            .execute(params![job.as_str(), self.of_job(job)])?;
        Ok(())
    }
}

fn made_by(connection: &Connection, job: Job) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached("SELECT made_by FROM origins WHERE part = ?1")?
        .query_row([job.as_str()], |row| row.get(0))
        .optional()
}
