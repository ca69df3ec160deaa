//! The connections to one server. Reuses the connection that was used last.
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

use crate::database::{
    borrowed_connection::{BorrowedConnection, SessionSettings},
    error::PostgresError,
    options::PostgresOptions,
    server::ServerConfig,
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
    acquire_timeout: Duration,
    /// The connections that are idle here, the one used last at the end. `None` after [`close`](Self::close). Empty for
    /// a pool of the caller.
    idle: Mutex<Option<Vec<IdleConnection>>>,
    /// The settings of this adapter, if the pool belongs to the caller.
    settings: Option<SessionSettings>,
}

#[derive(Debug)]
struct IdleConnection {
    connection: PoolConnection<Postgres>,
    idle_since: Instant,
    /// Time when the connection was taken from the pool.
    acquired_at: Instant,
}

impl Connections {
    /// Creates a pool for a server. Connections are opened when they are needed.
    pub(crate) fn new(server: &ServerConfig, options: &PostgresOptions) -> Self {
        Self {
            pool: server.pool(options),
            permits: permits(options.max_connections),
            acquire_timeout: options.acquire_timeout,
            idle: Mutex::new(Some(Vec::new())),
            settings: None,
        }
    }

    /// Uses a pool of the caller. Each call borrows a connection, applies the settings of these options, and restores
    /// the earlier ones afterwards.
    pub(crate) fn from_pool(pool: PgPool, options: &PostgresOptions) -> Self {
        Self {
            permits: permits(pool.options().get_max_connections()),
            acquire_timeout: pool.options().get_acquire_timeout(),
            idle: Mutex::new(Some(Vec::new())),
            settings: Some(SessionSettings::of(options)),
            pool,
        }
    }

    /// Returns a connection, and waits for one if necessary.
    pub(crate) async fn acquire(&self) -> Result<ConnectionLease<'_>, PostgresError> {
        let span = operation_span!(
            TRACE,
            "memory_engine.connection.acquire",
            "db.system.name" = "postgresql",
            "otel.kind" = "client",
        );
        observe_as(&span, Operation::Connection("postgresql"), PostgresError::kind, self.wait_for_connection()).await
    }

    async fn wait_for_connection(&self) -> Result<ConnectionLease<'_>, PostgresError> {
        let permit = match self.permits.try_acquire() {
            Err(TryAcquireError::NoPermits) => match timeout(self.acquire_timeout, self.permits.acquire()).await {
                Ok(permit) => permit.map_err(|_| sqlx::Error::PoolClosed)?,
                Err(_) => return Err(sqlx::Error::PoolTimedOut.into()),
            },
            permit => permit.map_err(|_| sqlx::Error::PoolClosed)?,
        };
        while let Some(mut idle) = self.take_idle() {
            let idle_time = idle.idle_since.elapsed();
            if idle_time > MAX_IDLE_TIME {
                idle.connection.close_on_drop();
            } else if idle_time <= UNCHECKED_IDLE_TIME || idle.connection.ping().await.is_ok() {
                let IdleConnection { connection, acquired_at, .. } = idle;
                let connection = LeasedConnection::Own(connection);
                return Ok(ConnectionLease { connection, acquired_at, connections: self, permit });
            }
        }
        let connection = self.pool.acquire().await?;
        let connection = match &self.settings {
            None => LeasedConnection::Own(connection),
            Some(settings) => LeasedConnection::Borrowed(settings.apply(connection).await?),
        };
        Ok(ConnectionLease { connection, acquired_at: Instant::now(), connections: self, permit })
    }

    /// Returns the connection that was used last. The one that was idle for the longest time goes back to the pool if
    /// it is not needed.
    fn take_idle(&self) -> Option<IdleConnection> {
        let mut lock = self.lock_idle();
        let idle = lock.as_mut()?;
        let last_used = idle.pop();
        let has_unneeded = idle.first().is_some_and(|first| first.idle_since.elapsed() > UNCHECKED_IDLE_TIME);
        let unneeded = has_unneeded.then(|| idle.remove(0));
        // A connection is dropped only after the lock is released.
        drop(lock);
        drop(unneeded);
        last_used
    }

    fn lock_idle(&self) -> MutexGuard<'_, Option<Vec<IdleConnection>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes connections that the server has lost, as after its restart.
    pub(crate) async fn discard_lost(&self) -> Result<(), PostgresError> {
        let all = self.lock_idle().as_mut().map(std::mem::take).unwrap_or_default();
        for IdleConnection { mut connection, idle_since, acquired_at } in all {
            if connection.ping().await.is_ok() {
                self.keep_idle(IdleConnection { connection, idle_since, acquired_at });
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

    /// Keeps a connection for the next call. After [`close`](Self::close) it is dropped instead.
    fn keep_idle(&self, connection: IdleConnection) {
        if let Some(idle) = self.lock_idle().as_mut() {
            idle.push(connection);
        }
    }

    /// Waits for running calls and closes every connection. A pool of the caller stays open.
    pub(crate) async fn close(&self) {
        if self.settings.is_some() {
            // When all permits are acquired, no call is running.
            drop(self.permits.acquire_many(self.pool.options().get_max_connections()).await);
            return self.permits.close();
        }
        self.permits.close();
        drop(self.lock_idle().take());
        self.pool.close().await;
    }
}

/// Returns one permit for each connection of a pool.
fn permits(max_connections: u32) -> Semaphore {
    Semaphore::new(usize::try_from(max_connections).unwrap_or(1).clamp(1, Semaphore::MAX_PERMITS))
}

impl Drop for Connections {
    fn drop(&mut self) {
        // Returning a connection to the pool needs a runtime, which may have ended.
        for idle in self.lock_idle().take().unwrap_or_default() {
            drop(idle.connection.detach());
        }
    }
}

/// A connection in use.
///
/// If it is dropped, it goes back to the pool, which checks its state; a connection from a pool of the caller is
/// closed.
#[derive(Debug)]
pub(crate) struct ConnectionLease<'c> {
    connection: LeasedConnection,
    acquired_at: Instant,
    connections: &'c Connections,
    permit: SemaphorePermit<'c>,
}

#[derive(Debug)]
enum LeasedConnection {
    Own(PoolConnection<Postgres>),
    Borrowed(BorrowedConnection),
}

impl ConnectionLease<'_> {
    /// Closes the connection when it is dropped, instead of returning it to the pool.
    pub(crate) fn close_on_drop(&mut self) {
        match &mut self.connection {
            LeasedConnection::Own(connection) => connection.close_on_drop(),
            // It is closed in any case.
            LeasedConnection::Borrowed(_) => {}
        }
    }

    /// Releases the connection for the next call. The answer of the last statement must have been read completely, and
    /// no transaction may be open.
    pub(crate) async fn release(self) {
        let Self { connection, acquired_at, connections, permit } = self;
        match connection {
            LeasedConnection::Own(connection) => {
                let now = Instant::now();
                if now.duration_since(acquired_at) < MAX_TIME_OUTSIDE_POOL {
                    connections.keep_idle(IdleConnection { connection, idle_since: now, acquired_at });
                }
            }
            LeasedConnection::Borrowed(borrowed) => borrowed.restore().await,
        }
        drop(permit);
    }
}

impl Deref for ConnectionLease<'_> {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        match &self.connection {
            LeasedConnection::Own(connection) => connection,
            LeasedConnection::Borrowed(borrowed) => borrowed.connection(),
        }
    }
}

impl DerefMut for ConnectionLease<'_> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        match &mut self.connection {
            LeasedConnection::Own(connection) => connection,
            LeasedConnection::Borrowed(borrowed) => borrowed.connection_mut(),
        }
    }
}
