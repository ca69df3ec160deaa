//! Executes the statements of a call, with retries.
//!
//! `with_reader!` reads from the replica or the primary. `with_transaction!` writes in a transaction on the primary.

use std::time::Duration;

use crate::database::{
    connections::{ConnectionLease, Connections},
    error::PostgresError,
};

/// Maximum number of retries of a transaction that conflicts with others.
const MAX_CONFLICT_RETRIES: u32 = 5;

/// The retries of a transaction.
#[derive(Debug, Default)]
pub(crate) struct TransactionRetries {
    conflicts: u32,
    has_lost_connection: bool,
}

impl TransactionRetries {
    /// Returns a connection for the next attempt.
    pub(crate) async fn acquire<'c>(&self, primary: &'c Connections) -> Result<ConnectionLease<'c>, PostgresError> {
        if self.has_lost_connection {
            primary.discard_lost().await?;
        }
        primary.acquire().await
    }

    /// Returns true if the transaction should be repeated after this failure.
    ///
    /// A connection that was lost before the transaction began is replaced once, without a delay. A conflict with
    /// another transaction is retried after a growing delay, which this function waits for.
    pub(crate) async fn prepare_retry(&mut self, failure: &PostgresError, has_begun: bool) -> bool {
        if !has_begun {
            let is_first_loss = failure.is_connection_loss() && !failure.is_unreachable() && !self.has_lost_connection;
            self.has_lost_connection |= is_first_loss;
            return is_first_loss;
        }
        self.conflicts += 1;
        if !failure.is_transaction_conflict() || self.conflicts > MAX_CONFLICT_RETRIES {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(2_u64 << self.conflicts)).await;
        true
    }
}

/// Closes a connection if the begin of a transaction was cancelled on it.
///
/// The driver does not know then that the server has begun a transaction, and would not roll it back. A later statement
/// on the connection would never be committed.
#[derive(Debug)]
pub(crate) struct BeginGuard<'l, 'c> {
    pub(crate) lease: &'l mut ConnectionLease<'c>,
    pub(crate) has_begun: bool,
}

impl<'l, 'c> BeginGuard<'l, 'c> {
    pub(crate) fn new(lease: &'l mut ConnectionLease<'c>) -> Self {
        Self { lease, has_begun: false }
    }
}

impl Drop for BeginGuard<'_, '_> {
    fn drop(&mut self) {
        if !self.has_begun {
            self.lease.close_on_drop();
        }
    }
}

/// The servers that can answer a read, in the order of attempts.
#[derive(Debug)]
pub(crate) struct ReadServers<'c> {
    primary: &'c Connections,
    /// The replica, if there is one and it has not failed.
    replica: Option<&'c Connections>,
    retries: u32,
}

impl<'c> ReadServers<'c> {
    /// Reads from the replica first, if there is one.
    pub(crate) fn of(primary: &'c Connections, replica: Option<&'c Connections>) -> Self {
        Self { primary, replica, retries: 0 }
    }

    /// Reads only from the primary.
    pub(crate) fn primary_only(primary: &'c Connections) -> Self {
        Self::of(primary, None)
    }

    /// Returns a connection to the current server.
    pub(crate) async fn acquire(&self) -> Result<ConnectionLease<'c>, PostgresError> {
        if self.retries > 0 {
            self.server().discard_lost().await?;
        }
        self.server().acquire().await
    }

    fn server(&self) -> &'c Connections {
        self.replica.unwrap_or(self.primary)
    }

    /// Returns true if the read should be repeated after this failure: on the primary after a failure of the replica,
    /// or on the primary again if an idle connection was lost.
    pub(crate) fn prepare_retry(&mut self, failure: &PostgresError) -> bool {
        if self.replica.take().is_some() {
            return failure.is_connection_loss();
        }
        self.retries += 1;
        self.retries == 1 && failure.is_connection_loss() && !failure.is_unreachable()
    }
}

/// Executes `$body` on a connection to a server for reading. It must not change anything.
macro_rules! with_reader {
    ($store:expr, $operation:expr, |$connection:ident| $body:expr) => {{
        let servers = $crate::database::transaction::ReadServers::of($store.primary(), $store.replica());
        $crate::database::transaction::with_reader!(from servers, $operation, |$connection| $body)
    }};
    (from $servers:expr, $operation:expr, |$connection:ident| $body:expr) => {{
        let mut servers = $servers;
        loop {
            let attempt = async {
                let mut acquired = servers.acquire().await?;
                let $connection: &mut sqlx::PgConnection = &mut acquired;
                let value = $body?;
                acquired.release().await;
                Ok::<_, $crate::database::error::PostgresError>(value)
            };
            match attempt.await {
                Ok(value) => break Ok(value),
                Err(failure) if servers.prepare_retry(&failure) => {}
                Err(failure) => break Err(failure.into_error($operation)),
            }
        }
    }};
}

/// Executes `$body` in a transaction, which is rolled back if it fails, and repeated if it conflicts with another one.
macro_rules! with_transaction {
    ($store:expr, $operation:expr, |$connection:ident| $body:expr) => {{
        let mut retries = $crate::database::transaction::TransactionRetries::default();
        loop {
            let mut has_begun = false;
            let attempt = async {
                let mut acquired = retries.acquire($store.primary()).await?;
                let mut guard = $crate::database::transaction::BeginGuard::new(&mut acquired);
                let mut transaction = sqlx::Connection::begin(&mut **guard.lease).await?;
                guard.has_begun = true;
                has_begun = true;
                let $connection: &mut sqlx::PgConnection = &mut transaction;
                let value = $body?;
                transaction.commit().await?;
                drop(guard);
                acquired.release().await;
                Ok::<_, $crate::database::error::PostgresError>(value)
            };
            match attempt.await {
                Ok(value) => break Ok(value),
                Err(failure) if retries.prepare_retry(&failure, has_begun).await => {}
                Err(failure) => break Err(failure.into_error($operation)),
            }
        }
    }};
}

pub(crate) use {with_reader, with_transaction};
