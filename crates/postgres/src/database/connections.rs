//! The connections to one server, the one that was just used first.
//!
//! The pool beneath asks the server about every connection that comes back, and hands out the one that has rested the longest:
//! the next statement of a task finds its connection on the way, and goes to another one, where nothing is prepared and the
//! server's process has everything still to load. So whoever has heard a whole answer leaves its connection here, for the
//! next one to take at once. Only a connection that may not be in order, or is old, goes back to the pool.

use std::{
    ops::{Deref, DerefMut},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use memory_engine_core::{
    observe::{Operation, observe_as},
    operation_span,
};
use sqlx::{Connection, PgConnection, PgPool, Postgres, pool::PoolConnection};
use tokio::{
    sync::{Semaphore, SemaphorePermit, TryAcquireError},
    time::timeout,
};

use crate::{database::error::PostgresError, database::server::Server, options::PostgresOptions};

/// How long a connection may rest before it is asked whether it is still there.
const TRUSTED: Duration = Duration::from_secs(2);

/// How long one may rest before it is rather closed than asked: what is in between may have forgotten it, and then nobody answers.
const FORGOTTEN: Duration = Duration::from_secs(300);

/// How long one stays away from the pool, which closes those that have grown old.
const AWAY: Duration = Duration::from_secs(300);

/// The connections to one server.
#[derive(Debug)]
pub(crate) struct Connections {
    pool: PgPool,
    /// One for each connection that there may be: whoever has one finds a connection, here or in the pool.
    permits: Semaphore,
    patience: Duration,
    /// Those that rest here, the one used last at the end; `None` once all are closed.
    resting: Mutex<Option<Vec<Resting>>>,
}

#[derive(Debug)]
struct Resting {
    connection: PoolConnection<Postgres>,
    since: Instant,
    away_since: Instant,
}

impl Connections {
    /// None yet: each is made when it is needed.
    pub(crate) fn to(server: &Server, options: &PostgresOptions) -> Self {
        Self {
            pool: server.pool(options),
            permits: Semaphore::new(usize::try_from(options.pool_size).unwrap_or(1).max(1)),
            patience: options.connect_timeout,
            resting: Mutex::new(Some(Vec::new())),
        }
    }

    /// A connection, as soon as there is one.
    pub(crate) async fn acquire(&self) -> Result<Lease<'_>, PostgresError> {
        let span = operation_span!(
            TRACE,
            "memory_engine.connection.acquire",
            "db.system.name" = "postgresql",
            "otel.kind" = "client",
        );
        observe_as(&span, Operation::Connection("postgresql"), PostgresError::kind, self.wait_for_connection()).await
    }

    async fn wait_for_connection(&self) -> Result<Lease<'_>, PostgresError> {
        let permit = match self.permits.try_acquire() {
            Err(TryAcquireError::NoPermits) => match timeout(self.patience, self.permits.acquire()).await {
                Ok(permit) => permit.map_err(|_| sqlx::Error::PoolClosed)?,
                Err(_) => return Err(sqlx::Error::PoolTimedOut.into()),
            },
            permit => permit.map_err(|_| sqlx::Error::PoolClosed)?,
        };
        while let Some(mut resting) = self.wake() {
            let rested = resting.since.elapsed();
            if rested > FORGOTTEN {
                resting.connection.close_on_drop();
            } else if rested <= TRUSTED || resting.connection.ping().await.is_ok() {
                let Resting { connection, away_since, .. } = resting;
                return Ok(Lease { connection, away_since, home: self, permit });
            }
        }
        let connection = self.pool.acquire().await?;
        Ok(Lease { connection, away_since: Instant::now(), home: self, permit })
    }

    /// The connection that was used last. One that nobody has needed for a while goes back to the pool.
    fn wake(&self) -> Option<Resting> {
        let (woken, _unneeded) = {
            let mut resting = self.resting();
            let resting = resting.as_mut()?;
            let woken = resting.pop();
            let unneeded =
                resting.first().is_some_and(|first| first.since.elapsed() > TRUSTED).then(|| resting.remove(0));
            (woken, unneeded)
        };
        woken
    }

    fn resting(&self) -> MutexGuard<'_, Option<Vec<Resting>>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Throws away the connections that a server has left behind, as one does that was started again.
    pub(crate) async fn discard_lost(&self) -> Result<(), PostgresError> {
        let resting = self.resting().as_mut().map(std::mem::take).unwrap_or_default();
        for Resting { mut connection, since, away_since } in resting {
            if connection.ping().await.is_ok() {
                self.rest(Resting { connection, since, away_since });
            } else {
                drop(connection.detach());
            }
        }
        for _ in 0..self.pool.num_idle() {
            let Some(mut connection) = self.pool.try_acquire() else { break };
            if connection.ping().await.is_ok() {
                break;
            }
            drop(connection.detach());
        }
        Ok(())
    }

    /// Keeps a connection for the next one; where all are closed, it goes the way of the others.
    fn rest(&self, one: Resting) {
        if let Some(resting) = self.resting().as_mut() {
            resting.push(one);
        }
    }

    /// Lets what runs end, and closes every connection.
    pub(crate) async fn close(&self) {
        self.permits.close();
        drop(self.resting().take());
        self.pool.close().await;
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        // There may be no runtime any more that could take them back to the pool.
        for resting in self.resting().take().unwrap_or_default() {
            drop(resting.connection.detach());
        }
    }
}

/// A connection in use. Dropped, it goes back to the pool, which finds out in what state it is.
#[derive(Debug)]
pub(crate) struct Lease<'c> {
    connection: PoolConnection<Postgres>,
    away_since: Instant,
    home: &'c Connections,
    permit: SemaphorePermit<'c>,
}

impl Lease<'_> {
    /// Gives it back after a whole answer, outside of a transaction.
    pub(crate) fn give_back(self) {
        let Self { connection, away_since, home, permit } = self;
        let now = Instant::now();
        if now.duration_since(away_since) < AWAY {
            home.rest(Resting { connection, since: now, away_since });
        }
        drop(permit);
    }
}

impl Deref for Lease<'_> {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for Lease<'_> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}
