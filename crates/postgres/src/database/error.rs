//! Errors of Postgres, and the public errors that they become.

use memory_engine_core::{Error, ErrorKind};
use memory_engine_sql::rows;

/// The error of a job on a connection, before the name of the call is known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PostgresError {
    /// The driver or the server reported it.
    #[error("{}", meaning(.0).1)]
    Postgres(#[from] sqlx::Error),
    /// The engine refused the call, or read a value that cannot be right.
    #[error(transparent)]
    Engine(#[from] Error),
}

impl PostgresError {
    /// A stored value that no version of this crate can have written.
    pub(crate) fn corrupt(what: &str) -> Self {
        Self::Engine(rows::corrupt(what))
    }

    /// Returns true if the transaction conflicted with another one and can be repeated.
    pub(crate) fn is_collision(&self) -> bool {
        // 40001: serialization failure, 40P01: deadlock.
        matches!(self.code().as_deref(), Some("40001" | "40P01"))
    }

    /// Returns true if the connection is lost, as opposed to an error of the statement.
    pub(crate) fn is_loss(&self) -> bool {
        match self {
            Self::Engine(_) => false,
            Self::Postgres(error) => meaning(error).0 == ErrorKind::Unavailable,
        }
    }

    fn code(&self) -> Option<String> {
        match self {
            Self::Postgres(sqlx::Error::Database(error)) => error.code().map(|code| code.into_owned()),
            Self::Postgres(_) | Self::Engine(_) => None,
        }
    }

    /// Returns the kind of the public error.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Self::Engine(error) => error.kind(),
            Self::Postgres(error) => meaning(error).0,
        }
    }

    /// The error of the call `operation`.
    pub(crate) fn into_error(self, operation: &'static str) -> Error {
        match self {
            Self::Engine(error) => error,
            Self::Postgres(error) => {
                let (kind, message) = meaning(&error);
                let error_of = Error::new(kind, operation, message);
                match cause(&error) {
                    Some(cause) => error_of.with_source(cause),
                    None => error_of,
                }
            }
        }
    }
}

/// Returns the message of the server or the driver. It leaves out the details of the server, which quote rows, and
/// everything from a configuration.
#[allow(clippy::wildcard_enum_match_arm, reason = "the driver's list of errors is an open one")]
fn cause(error: &sqlx::Error) -> Option<String> {
    match error {
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            // 22: data that the server could not read, quoted in its message.
            let quotes = code.starts_with("22");
            Some(if quotes { format!("SQLSTATE {code}") } else { format!("SQLSTATE {code}: {}", error.message()) })
        }
        sqlx::Error::Io(error) => Some(error.to_string()),
        sqlx::Error::Tls(error) => Some(error.to_string()),
        sqlx::Error::Protocol(message) => Some(message.clone()),
        sqlx::Error::ColumnDecode { index, .. } => Some(format!("column {index}")),
        _ => None,
    }
}

/// Maps an error to a kind and a message.
#[allow(clippy::wildcard_enum_match_arm, reason = "the driver's list of errors is an open one")]
pub(crate) fn meaning(error: &sqlx::Error) -> (ErrorKind, &'static str) {
    match error {
        sqlx::Error::Database(error) => meaning_of_code(&error.code().unwrap_or_default()),
        sqlx::Error::PoolTimedOut => {
            (ErrorKind::Unavailable, "no connection to the database could be had in time; is the server there?")
        }
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => {
            (ErrorKind::Unavailable, "the database cannot be reached, or the connection to it was lost; try again")
        }
        sqlx::Error::Tls(_) => (ErrorKind::Unavailable, "no secure connection to the database could be made"),
        sqlx::Error::PoolClosed => (ErrorKind::Closed, "the store is closed; connect again"),
        sqlx::Error::Configuration(_) => (ErrorKind::InvalidInput, "the address of the database is not understood"),
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
            (ErrorKind::Corrupt, "the database holds a value that cannot be read; restore it from a backup")
        }
        _ => (ErrorKind::Internal, "the database refused a statement of the engine's own"),
    }
}

/// Maps an SQLSTATE to a kind and a message: by its five characters if they are listed, otherwise by its class, the
/// first two.
fn meaning_of_code(code: &str) -> (ErrorKind, &'static str) {
    match code {
        "57014" => return (ErrorKind::Timeout, "the database took longer than the statement time-out allows"),
        "40001" | "40P01" | "55P03" => {
            return (ErrorKind::Unavailable, "other writers were in the way again and again; try again");
        }
        "25006" => return (ErrorKind::Unavailable, "the server only reads now; is it a replica?"),
        "42501" => return (ErrorKind::Unauthorized, "the database does not allow this user to do that"),
        "42P01" | "42703" | "42883" | "3F000" => {
            return (
                ErrorKind::SchemaMismatch,
                "the database lacks a table or column of this version; open it again, or migrate it",
            );
        }
        "42P07" => {
            return (
                ErrorKind::InvalidInput,
                "the database has a table of another application where one of memory-engine's would be; \
                 choose another database or schema",
            );
        }
        "3D000" => return (ErrorKind::NotFound, "there is no such database on the server"),
        "0A000" => return (ErrorKind::Unsupported, "this server cannot do that"),
        "23505" => return (ErrorKind::Conflict, "it is there already"),
        _ => {}
    }
    match code.get(..2).unwrap_or_default() {
        "08" | "57" => (ErrorKind::Unavailable, "the server is starting, stopping or not to be reached; try again"),
        "53" => (ErrorKind::Unavailable, "the server has no room or no connection left; try again later"),
        "58" => (ErrorKind::Unavailable, "the server could not read or write its disk"),
        "28" => (ErrorKind::Unauthorized, "the server refused the user name or the password"),
        "54" => (ErrorKind::InvalidInput, "a value is larger than the database can keep"),
        "XX" => (ErrorKind::Corrupt, "the server found its own data damaged, or failed; look into its log"),
        _ => (ErrorKind::Internal, "the database refused a statement of the engine's own"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_kinds() {
        let cases = [
            ("57014", ErrorKind::Timeout),
            ("57P01", ErrorKind::Unavailable),
            ("08006", ErrorKind::Unavailable),
            ("53300", ErrorKind::Unavailable),
            ("28P01", ErrorKind::Unauthorized),
            ("42501", ErrorKind::Unauthorized),
            ("42P01", ErrorKind::SchemaMismatch),
            ("3D000", ErrorKind::NotFound),
            ("40P01", ErrorKind::Unavailable),
            ("XX001", ErrorKind::Corrupt),
            ("22P02", ErrorKind::Internal),
            ("", ErrorKind::Internal),
        ];
        for (code, kind) in cases {
            assert_eq!(meaning_of_code(code).0, kind, "{code}");
        }
    }

    #[test]
    fn a_configuration_is_never_quoted() {
        let error = sqlx::Error::Configuration("postgres://lin:hunter2@db".into());
        let error = PostgresError::from(error).into_error("connect");
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
}
