//! The connections to one server, the one that was just used first.
//!
//! The pool below checks every connection that comes back, and hands out the one that has been idle for the longest
//! time. The next statement of a task would thus get another connection, on which nothing is prepared and whose
//! server process has cold caches. So a connection whose answer was read completely stays here, and the next
//! statement takes it at once. Only a connection that may be broken or is old goes back to the pool.

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

use crate::{
    database::{
        borrowed::{Borrowed, SessionSettings},
        error::PostgresError,
        server::Server,
    },
    options::PostgresOptions,
};

/// A connection that was idle for longer is checked before use.
const UNCHECKED_IDLE_TIME: Duration = Duration::from_secs(2);

/// A connection that was idle for longer is closed without a check: a firewall may have forgotten it, and then no
/// answer would come.
const MAX_IDLE_TIME: Duration = Duration::from_secs(300);

/// Maximum time that a connection stays outside of the pool, which closes old connections.
const MAX_TIME_OUTSIDE_POOL: Duration = Duration::from_secs(300);

/// The connections to one server.
#[derive(Debug)]
pub(crate) struct Connections {
    pool: PgPool,
    /// One permit for each connection. A holder of a permit always finds a connection, here or in the pool.
    permits: Semaphore,
    patience: Duration,
    /// Those that rest here, the one used last at the end; `None` once all are closed. Empty for a pool of the caller.
    resting: Mutex<Option<Vec<Resting>>>,
    /// The settings of each call, if the pool is the caller's.
    borrowing: Option<SessionSettings>,
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
            permits: permits(options.max_connections),
            patience: options.acquire_timeout,
            resting: Mutex::new(Some(Vec::new())),
            borrowing: None,
        }
    }

    /// Those of a pool of the caller. Each call borrows one, with the settings that the options ask for, and gives it
    /// back with those that it had.
    pub(crate) fn borrowed(pool: PgPool, options: &PostgresOptions) -> Self {
        Self {
            permits: permits(pool.options().get_max_connections()),
            patience: pool.options().get_acquire_timeout(),
            resting: Mutex::new(Some(Vec::new())),
            borrowing: Some(SessionSettings::of(options)),
            pool,
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
            if rested > MAX_IDLE_TIME {
                resting.connection.close_on_drop();
            } else if rested <= UNCHECKED_IDLE_TIME || resting.connection.ping().await.is_ok() {
                let Resting { connection, away_since, .. } = resting;
                return Ok(Lease { connection: Leased::Own(connection), away_since, home: self, permit });
            }
        }
        let connection = self.pool.acquire().await?;
        let connection = match &self.borrowing {
            None => Leased::Own(connection),
            Some(settings) => Leased::Borrowed(settings.apply(connection).await?),
        };
        Ok(Lease { connection, away_since: Instant::now(), home: self, permit })
    }

    /// Returns the connection that was used last. Connections that were idle for a while go back to the pool.
    fn wake(&self) -> Option<Resting> {
        let (woken, _unneeded) = {
            let mut resting = self.resting();
            let resting = resting.as_mut()?;
            let woken = resting.pop();
            let unneeded = resting
                .first()
                .is_some_and(|first| first.since.elapsed() > UNCHECKED_IDLE_TIME)
                .then(|| resting.remove(0));
            (woken, unneeded)
        };
        woken
    }

    fn resting(&self) -> MutexGuard<'_, Option<Vec<Resting>>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes connections that the server has lost, as after its restart.
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

    /// Lets what runs end, and closes every connection. A pool of the caller stays open.
    pub(crate) async fn close(&self) {
        if self.borrowing.is_some() {
            // With all permits in hand no call is running.
            drop(self.permits.acquire_many(self.pool.options().get_max_connections()).await);
            return self.permits.close();
        }
        self.permits.close();
        drop(self.resting().take());
        self.pool.close().await;
    }
}

/// One permit for each connection that a pool may have.
fn permits(max_connections: u32) -> Semaphore {
    Semaphore::new(usize::try_from(max_connections).unwrap_or(1).clamp(1, Semaphore::MAX_PERMITS))
}

impl Drop for Connections {
    fn drop(&mut self) {
        // There may be no runtime any more that could take them back to the pool.
        for resting in self.resting().take().unwrap_or_default() {
            drop(resting.connection.detach());
        }
    }
}

/// A connection in use. Dropped, it goes back to the pool, which finds out in what state it is; one of the caller's
/// pool is closed.
#[derive(Debug)]
pub(crate) struct Lease<'c> {
    connection: Leased,
    away_since: Instant,
    home: &'c Connections,
    permit: SemaphorePermit<'c>,
}

#[derive(Debug)]
enum Leased {
    Own(PoolConnection<Postgres>),
    Borrowed(Borrowed),
}

impl Lease<'_> {
    /// Gives it back after a whole answer, outside of a transaction.
    pub(crate) async fn give_back(self) {
        let Self { connection, away_since, home, permit } = self;
        match connection {
            Leased::Own(connection) => {
                let now = Instant::now();
                if now.duration_since(away_since) < MAX_TIME_OUTSIDE_POOL {
                    home.rest(Resting { connection, since: now, away_since });
                }
            }
            Leased::Borrowed(borrowed) => borrowed.restore().await,
        }
        drop(permit);
    }
}

impl Deref for Lease<'_> {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        match &self.connection {
            Leased::Own(connection) => connection,
            Leased::Borrowed(borrowed) => borrowed.connection(),
        }
    }
}

impl DerefMut for Lease<'_> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        match &mut self.connection {
            Leased::Own(connection) => connection,
            Leased::Borrowed(borrowed) => borrowed.connection_mut(),
        }
    }
}
