//! Running a call's statements, again where that can help.

use std::time::Duration;

use crate::database::{
    connections::{Connections, Lease},
    error::PostgresError,
};

/// Maximum number of retries of a transaction that conflicts with others.
const MAX_RETRIES: u32 = 5;

/// Counts how often a transaction was tried.
#[derive(Debug, Default)]
pub(crate) struct Tries {
    collisions: u32,
    lost: bool,
}

impl Tries {
    /// A connection for a transaction.
    pub(crate) async fn acquire<'c>(&self, primary: &'c Connections) -> Result<Lease<'c>, PostgresError> {
        if self.lost {
            primary.discard_lost().await?;
        }
        primary.acquire().await
    }

    /// Returns true if the transaction should be repeated: at once, but only once, if the connection was lost before
    /// anything had started; with growing delays if it conflicted with another one.
    pub(crate) async fn again(&mut self, failure: &PostgresError, begun: bool) -> bool {
        if !begun {
            return failure.is_loss() && !waited(failure) && !std::mem::replace(&mut self.lost, true);
        }
        self.collisions += 1;
        if !failure.is_collision() || self.collisions > MAX_RETRIES {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(2_u64 << self.collisions)).await;
        true
    }
}

/// The servers that a read may be answered by, one after the other.
#[derive(Debug)]
pub(crate) struct Readers<'c> {
    primary: &'c Connections,
    /// The replica, until it has failed.
    replica: Option<&'c Connections>,
    tries: u32,
}

impl<'c> Readers<'c> {
    /// The replica first, if there is one.
    pub(crate) fn of(primary: &'c Connections, replica: Option<&'c Connections>) -> Self {
        Self { primary, replica, tries: 0 }
    }

    /// Only the server that is written to.
    pub(crate) fn primary(primary: &'c Connections) -> Self {
        Self::of(primary, None)
    }

    /// Returns a connection to the current server.
    pub(crate) async fn acquire(&self) -> Result<Lease<'c>, PostgresError> {
        if self.tries > 0 {
            self.server().discard_lost().await?;
        }
        self.server().acquire().await
    }

    fn server(&self) -> &'c Connections {
        self.replica.unwrap_or(self.primary)
    }

    /// Returns true if another attempt makes sense after this failure: on the primary after a replica, or again on
    /// the primary if an idle connection was closed.
    pub(crate) fn again(&mut self, failure: &PostgresError) -> bool {
        if self.replica.take().is_some() {
            return failure.is_loss();
        }
        self.tries += 1;
        self.tries == 1 && failure.is_loss() && !waited(failure)
    }
}

/// Returns true if the server is unreachable, so that another attempt would only wait again.
fn waited(failure: &PostgresError) -> bool {
    matches!(failure, PostgresError::Postgres(sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed))
}

/// Runs `$body` on a connection to a server that may be read from. It must not change anything.
macro_rules! reading {
    ($store:expr, $operation:expr, |$connection:ident| $body:expr) => {
        $crate::database::transaction::reading!(from $crate::database::transaction::Readers::of($store.primary(), $store.replica()), $operation, |$connection| $body)
    };
    (from $readers:expr, $operation:expr, |$connection:ident| $body:expr) => {{
        let mut readers = $readers;
        loop {
            let attempt = async {
                let mut acquired = readers.acquire().await?;
                let $connection: &mut sqlx::PgConnection = &mut acquired;
                let value = $body?;
                acquired.give_back().await;
                Ok::<_, $crate::database::error::PostgresError>(value)
            };
            match attempt.await {
                Ok(value) => break Ok(value),
                Err(failure) if readers.again(&failure) => {}
                Err(failure) => break Err(failure.into_error($operation)),
            }
        }
    }};
}

/// Runs `$body` in a transaction, which is rolled back if it fails, and repeated if it conflicts with another one.
macro_rules! writing {
    ($store:expr, $operation:expr, |$connection:ident| $body:expr) => {{
        let mut tries = $crate::database::transaction::Tries::default();
        loop {
            let mut begun = false;
            let attempt = async {
                let mut acquired = tries.acquire($store.primary()).await?;
                let mut transaction = sqlx::Connection::begin(&mut *acquired).await?;
                begun = true;
                let $connection: &mut sqlx::PgConnection = &mut transaction;
                let value = $body?;
                transaction.commit().await?;
                acquired.give_back().await;
                Ok::<_, $crate::database::error::PostgresError>(value)
            };
            match attempt.await {
                Ok(value) => break Ok(value),
                Err(failure) if tries.again(&failure, begun).await => {}
                Err(failure) => break Err(failure.into_error($operation)),
            }
        }
    }};
}

pub(crate) use {reading, writing};
