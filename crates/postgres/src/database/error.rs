//! Errors of Postgres, and their conversion to public errors.

use memory_engine_core::{DamagedRecord, Error, ErrorKind};
use memory_engine_sql::rows;

/// An error on a connection, before the name of the public operation is added.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PostgresError {
    /// An error of the driver or the server.
    #[error("{}", classify(.0).1)]
    Postgres(#[from] sqlx::Error),
    /// An error of the engine: the call is invalid, or a stored value is corrupt.
    #[error(transparent)]
    Engine(#[from] Error),
}

impl From<DamagedRecord> for PostgresError {
    fn from(damaged: DamagedRecord) -> Self {
        Self::Engine(damaged.into_error("read"))
    }
}

impl PostgresError {
    /// Returns the error for a stored value that no version of this crate can have written.
    pub(crate) fn corrupt(what: &str) -> Self {
        Self::Engine(rows::corrupt(what))
    }

    /// Returns true if the transaction conflicted with another one and can be repeated.
    pub(crate) fn is_transaction_conflict(&self) -> bool {
        // 40001: serialization failure, 40P01: deadlock.
        matches!(self.code().as_deref(), Some("40001" | "40P01"))
    }

    /// Returns true if the connection is lost, as opposed to an error of the statement.
    pub(crate) fn is_connection_loss(&self) -> bool {
        match self {
            Self::Engine(_) => false,
            Self::Postgres(error) => classify(error).0 == ErrorKind::Unavailable,
        }
    }

    /// Returns true if a statement that writes outside of a transaction is repeated in one after this failure: unless
    /// the server is unreachable, or the statement has used its time.
    pub(crate) fn is_retried_in_transaction(&self) -> bool {
        !self.is_unreachable() && self.kind() != ErrorKind::Timeout
    }

    /// Returns true if the server is unreachable, so that another attempt would only wait again.
    pub(crate) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Postgres(sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed))
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
            Self::Postgres(error) => classify(error).0,
        }
    }

    /// Converts this error to the public error of `operation`.
    pub(crate) fn into_error(self, operation: &'static str) -> Error {
        match self {
            Self::Engine(error) => error,
            Self::Postgres(error) => {
                let (kind, message) = classify(&error);
                let public = Error::new(kind, operation, message);
                match cause(&error) {
                    Some(cause) => public.with_source(cause),
                    None => public,
                }
            }
        }
    }
}

/// Returns the message of the server or the driver. It leaves out the details of the server, which quote rows, and
/// everything from a configuration.
#[allow(clippy::wildcard_enum_match_arm, reason = "the driver's error enum is non-exhaustive")]
fn cause(error: &sqlx::Error) -> Option<String> {
    match error {
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            // Class 22 is invalid data, which the message quotes.
            let quotes_data = code.starts_with("22");
            Some(if quotes_data { format!("SQLSTATE {code}") } else { format!("SQLSTATE {code}: {}", error.message()) })
        }
        sqlx::Error::Io(error) => Some(error.to_string()),
        sqlx::Error::Tls(error) => Some(error.to_string()),
        sqlx::Error::Protocol(message) => Some(message.clone()),
        sqlx::Error::ColumnDecode { index, .. } => Some(format!("column {index}")),
        _ => None,
    }
}

/// Maps an error to a kind and a message.
#[allow(clippy::wildcard_enum_match_arm, reason = "the driver's error enum is non-exhaustive")]
pub(crate) fn classify(error: &sqlx::Error) -> (ErrorKind, &'static str) {
    match error {
        sqlx::Error::Database(error) if is_refused_by_pooler(error.message()) => (
            ErrorKind::Unsupported,
            "a pooler such as PgBouncer refuses the `options` that the store sends with a connection; connect to the \
             server itself, or through a pooler that passes them on",
        ),
        sqlx::Error::Database(error) => classify_sqlstate(&error.code().unwrap_or_default()),
        sqlx::Error::PoolTimedOut => (
            ErrorKind::Unavailable,
            "no connection to the database within the time limit; check that the server is running and reachable",
        ),
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => {
            (ErrorKind::Unavailable, "the database cannot be reached, or the connection was lost; try again")
        }
        sqlx::Error::Tls(_) => (
            ErrorKind::Unavailable,
            "no secure (TLS) connection to the database; check sslmode and the server's certificate",
        ),
        sqlx::Error::PoolClosed => (ErrorKind::Closed, "the store is closed; connect again"),
        sqlx::Error::Configuration(_) => (ErrorKind::InvalidInput, "the address of the database is invalid"),
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
            (ErrorKind::Corrupt, "the database contains a value that cannot be decoded; restore it from a backup")
        }
        _ => (ErrorKind::Internal, "the database rejected a statement of the engine; please report this"),
    }
}

/// Returns true for the refusal of PgBouncer, which has the code of many other errors.
fn is_refused_by_pooler(message: &str) -> bool {
    message.contains("unsupported startup parameter")
}

/// Maps an SQLSTATE to a kind and a message: by its five characters if they are listed, otherwise by its class, the
/// first two.
fn classify_sqlstate(code: &str) -> (ErrorKind, &'static str) {
    match code {
        "57014" => return (ErrorKind::Timeout, "a statement took longer than the statement timeout"),
        "40001" | "40P01" | "55P03" => {
            return (ErrorKind::Unavailable, "the transaction repeatedly conflicted with other writers; try again");
        }
        "25006" => {
            return (ErrorKind::Unavailable, "the server is read-only; write to the primary instead of a replica");
        }
        "26000" | "42P05" => {
            return (
                ErrorKind::Unsupported,
                "a pooler such as PgBouncer loses prepared statements between transactions; set its pool_mode to \
                 session, or max_prepared_statements above 0 (PgBouncer 1.21), or connect to the server itself",
            );
        }
        "42501" => return (ErrorKind::Unauthorized, "the database user lacks the permission for this operation"),
        "42809" | "42P16" | "2BP01" => {
            return (
                ErrorKind::Conflict,
                "a table or view of another program has the name of a view of the set, or depends on one; rename or \
                 remove it first",
            );
        }
        "42P01" | "42703" | "42883" | "3F000" => {
            return (
                ErrorKind::SchemaMismatch,
                "the database lacks a table, column or function of this version; open it again, migrate it, or \
                 install its set of views with `memory migrate views`",
            );
        }
        "42P07" => {
            return (
                ErrorKind::InvalidInput,
                "a table of another application has the name of a table of memory-engine; \
                 choose another database or schema",
            );
        }
        "3D000" => return (ErrorKind::NotFound, "the server has no database of this name"),
        "0A000" => return (ErrorKind::Unsupported, "this server does not support the operation"),
        "23505" => return (ErrorKind::Conflict, "it already exists"),
        _ => {}
    }
    match code.get(..2).unwrap_or_default() {
        "08" | "57" => (ErrorKind::Unavailable, "the server is starting, stopping or unreachable; try again"),
        "53" => (ErrorKind::Unavailable, "the server has no free disk space, memory or connection; try again later"),
        "58" => (ErrorKind::Unavailable, "the server could not read or write a file"),
        "28" => (ErrorKind::Unauthorized, "the server refused the user name or the password"),
        "54" => (ErrorKind::InvalidInput, "a value is larger than the database supports"),
        "XX" => (ErrorKind::Corrupt, "the server found corrupt data, or failed internally; see its log"),
        _ => (ErrorKind::Internal, "the database rejected a statement of the engine; please report this"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlstates_map_to_error_kinds() {
        let cases = [
            ("57014", ErrorKind::Timeout),
            ("57P01", ErrorKind::Unavailable),
            ("08006", ErrorKind::Unavailable),
            ("53300", ErrorKind::Unavailable),
            ("28P01", ErrorKind::Unauthorized),
            ("42501", ErrorKind::Unauthorized),
            ("26000", ErrorKind::Unsupported),
            ("42P05", ErrorKind::Unsupported),
            ("42P01", ErrorKind::SchemaMismatch),
            ("42883", ErrorKind::SchemaMismatch),
            ("2BP01", ErrorKind::Conflict),
            ("3D000", ErrorKind::NotFound),
            ("40P01", ErrorKind::Unavailable),
            ("XX001", ErrorKind::Corrupt),
            ("22P02", ErrorKind::Internal),
            ("", ErrorKind::Internal),
        ];
        for (code, kind) in cases {
            assert_eq!(classify_sqlstate(code).0, kind, "{code}");
        }
    }

    #[test]
    fn errors_of_a_pooler_name_it() {
        assert!(is_refused_by_pooler("unsupported startup parameter: options"));
        assert!(!is_refused_by_pooler("the database system is starting up"));
        assert!(classify_sqlstate("26000").1.contains("max_prepared_statements"));
    }

    #[test]
    fn a_configuration_is_never_quoted() {
        let error = sqlx::Error::Configuration("postgres://lin:hunter2@db".into());
        let error = PostgresError::from(error).into_error("connect");
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
}
