//! The store contracts, one a file: each call checks its request and runs on a thread of the store.

mod audit_log;
mod embedding_versions;
mod graph_store;
mod job_queue;
mod keyword_store;
mod record_store;
mod synonym_store;
mod vector_store;

use memory_engine_core::{Result, Scope};
use rusqlite::Connection;

use crate::{
    database::error::SqliteError,
    rows::scopes::CoveredScope,
    store::{SqliteStore, writer::Residue},
};

impl SqliteStore {
    /// Reads what a scope covers. Returns the default if nothing was ever written there.
    async fn read_covered<T: Default + Send + 'static>(
        &self,
        operation: &'static str,
        scope: &Scope,
        body: impl FnOnce(&Connection, &CoveredScope) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T> {
        self.read(operation, on_covered(scope.clone(), body)).await
    }

    /// Changes what a scope covers. Returns the default if nothing was ever written there.
    async fn write_covered<T: Default + Send + 'static>(
        &self,
        operation: &'static str,
        residue: fn(&T) -> Residue,
        scope: &Scope,
        body: impl FnOnce(&Connection, &CoveredScope) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T> {
        self.write(operation, residue, on_covered(scope.clone(), body)).await
    }
}

fn on_covered<T: Default>(
    scope: Scope,
    body: impl FnOnce(&Connection, &CoveredScope) -> Result<T, SqliteError>,
) -> impl FnOnce(&Connection) -> Result<T, SqliteError> {
    move |connection| match CoveredScope::of(connection, &scope)? {
        None => Ok(T::default()),
        Some(covered) => body(connection, &covered),
    }
}

/// Returns the residue of a write that removed this number of rows.
fn removal_residue(removed: &u64) -> Residue {
    if *removed > 0 { Residue::Deleted } else { Residue::None }
}
