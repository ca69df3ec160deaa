//! Running a call's statements, again where that can help.

use std::time::Duration;

use sqlx::{Connection, PgPool, Postgres, Transaction, pool::PoolConnection};

use crate::{PostgresStore, failure::Failure};

/// How often a transaction that lost against another one is begun anew.
const COLLISIONS: u32 = 5;

/// Counts how often a transaction was tried.
#[derive(Debug, Default)]
pub(crate) struct Tries(u32);

impl Tries {
    /// Waits a little longer each time; whether it should be tried again.
    pub(crate) async fn again(&mut self, failure: &Failure) -> bool {
        self.0 += 1;
        if !failure.is_collision() || self.0 > COLLISIONS {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(2_u64 << self.0)).await;
        true
    }
}

/// The servers that a read may be answered by, one after the other.
#[derive(Debug)]
pub(crate) struct Readers<'s> {
    store: &'s PostgresStore,
    replica: bool,
    tries: u32,
}

impl<'s> Readers<'s> {
    pub(crate) fn of(store: &'s PostgresStore) -> Self {
        Self { store, replica: store.replica().is_some(), tries: 0 }
    }

    /// Only the server that is written to.
    pub(crate) fn primary(store: &'s PostgresStore) -> Self {
        Self { store, replica: false, tries: 0 }
    }

    /// A connection to whoever is asked now.
    pub(crate) async fn acquire(&self) -> Result<PoolConnection<Postgres>, Failure> {
        if self.tries > 0 {
            discard_lost(self.pool()).await?;
        }
        Ok(self.pool().acquire().await?)
    }

    fn pool(&self) -> &'s PgPool {
        match self.store.replica() {
            Some(replica) if self.replica => replica,
            _ => self.store.primary(),
        }
    }

    /// Whether there is anyone left to ask after such a failure: the primary after a replica, and once more the primary
    /// when it had closed a connection that was idle.
    pub(crate) fn again(&mut self, failure: &Failure) -> bool {
        if std::mem::take(&mut self.replica) {
            return failure.is_loss();
        }
        self.tries += 1;
        self.tries == 1 && failure.is_loss() && !waited(failure)
    }
}

/// Whether nobody is there, so that asking once more would only be to wait once more.
fn waited(failure: &Failure) -> bool {
    matches!(failure, Failure::Postgres(sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed))
}

/// Throws away the idle connections that a server has left behind, as one does that was started again.
async fn discard_lost(pool: &PgPool) -> Result<(), Failure> {
    for _ in 0..pool.num_idle() {
        let Some(mut connection) = pool.try_acquire() else { break };
        if connection.ping().await.is_ok() {
            break;
        }
        drop(connection.detach());
    }
    Ok(())
}

/// Begins a transaction. Where the connection turns out to be lost nothing has happened yet, and another one is taken.
pub(crate) async fn begin(store: &PostgresStore) -> Result<Transaction<'static, Postgres>, Failure> {
    match store.primary().begin().await.map_err(Failure::from) {
        Err(failure) if failure.is_loss() && !waited(&failure) => {
            discard_lost(store.primary()).await?;
            Ok(store.primary().begin().await?)
        }
        begun => begun,
    }
}

/// Runs `$body` on a connection to a server that may be read from. It must not change anything.
macro_rules! reading {
    ($store:expr, $operation:expr, |$connection:ident| $body:expr) => {
        $crate::transaction::reading!(from $crate::transaction::Readers::of($store), $operation, |$connection| $body)
    };
    (from $readers:expr, $operation:expr, |$connection:ident| $body:expr) => {{
        let mut readers = $readers;
        loop {
            let attempt = async {
                let mut acquired = readers.acquire().await?;
                let $connection: &mut sqlx::PgConnection = &mut acquired;
                let value = $body?;
                Ok::<_, $crate::failure::Failure>(value)
            };
            match attempt.await {
                Ok(value) => break Ok(value),
                Err(failure) if readers.again(&failure) => {}
                Err(failure) => break Err(failure.into_error($operation)),
            }
        }
    }};
}

/// Runs `$body` in a transaction that is undone when it fails, and begun anew when it lost against another one.
macro_rules! writing {
    ($store:expr, $operation:expr, |$connection:ident| $body:expr) => {{
        let mut tries = $crate::transaction::Tries::default();
        loop {
            let attempt = async {
                let mut transaction = $crate::transaction::begin($store).await?;
                let $connection: &mut sqlx::PgConnection = &mut transaction;
                let value = $body?;
                transaction.commit().await?;
                Ok::<_, $crate::failure::Failure>(value)
            };
            match attempt.await {
                Ok(value) => break Ok(value),
                Err(failure) if tries.again(&failure).await => {}
                Err(failure) => break Err(failure.into_error($operation)),
            }
        }
    }};
}

pub(crate) use {reading, writing};
