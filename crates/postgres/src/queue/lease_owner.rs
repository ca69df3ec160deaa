//! The owner of leases: a store that claims jobs. Its leases end with it, even if its process is killed.
//!
//! An owner holds an advisory lock in a separate session. The server releases the lock when the session ends, and the
//! session ends with the process. Each claim first tests the locks of all other owners. An owner whose lock is free is
//! dead, and its leases are released.

use std::time::{Duration, Instant};

use memory_engine_sql::rows::{LEASE_DEAD, LEASE_FREE};
use sqlx::{Connection, PgConnection};
use tokio::{sync::Mutex, time::timeout};
use uuid::Uuid;

use crate::database::{error::PostgresError, server::ServerConfig};

/// Time limit for opening or checking the session.
const SESSION_TIMEOUT: Duration = Duration::from_secs(3);
/// A session that has answered is checked again after this time.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Time between attempts to open a session. Until one succeeds, jobs are claimed without an owner.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// A store as an owner of leases.
#[derive(Debug)]
pub(crate) struct LeaseOwner {
    server: ServerConfig,
    session: Mutex<OwnerSession>,
}

/// The session that holds the lock.
#[derive(Debug, Default)]
enum OwnerSession {
    #[default]
    New,
    Open {
        id: i64,
        connection: Box<PgConnection>,
        checked_at: Instant,
    },
    Failed {
        at: Instant,
    },
    Closed,
}

impl LeaseOwner {
    /// Returns an owner without a session. The first claim opens it.
    pub(crate) fn new(server: ServerConfig) -> Self {
        Self { server, session: Mutex::default() }
    }

    /// Returns the id to claim with. `None` if there is no session: such leases end with their time only.
    pub(crate) async fn id(&self) -> Option<i64> {
        let mut session = self.session.lock().await;
        match &mut *session {
            OwnerSession::Open { id, connection, checked_at } => {
                let is_alive = checked_at.elapsed() <= CHECK_INTERVAL
                    || timeout(SESSION_TIMEOUT, connection.ping()).await.is_ok_and(|answer| answer.is_ok());
                if is_alive {
                    *checked_at = Instant::now();
                    return Some(*id);
                }
            }
            OwnerSession::Failed { at } if at.elapsed() < RETRY_INTERVAL => return None,
            OwnerSession::Closed => return None,
            OwnerSession::New | OwnerSession::Failed { .. } => {}
        }
        // The earlier lock ended with its session, so other owners may release the leases of the earlier id.
        match timeout(SESSION_TIMEOUT, self.open()).await {
            Ok(Ok((id, connection))) => {
                *session = OwnerSession::Open { id, connection: Box::new(connection), checked_at: Instant::now() };
                Some(id)
            }
            Ok(Err(_)) | Err(_) => {
                *session = OwnerSession::Failed { at: Instant::now() };
                None
            }
        }
    }

    async fn open(&self) -> Result<(i64, PgConnection), PostgresError> {
        let mut connection = self.server.connect().await?;
        let (_, random) = Uuid::new_v4().as_u64_pair();
        let id = random.cast_signed();
        sqlx::query("SELECT pg_advisory_lock($1)").bind(id).execute(&mut connection).await?;
        Ok((id, connection))
    }

    /// Closes the session. Later claims have no owner.
    pub(crate) async fn close(&self) {
        let session = std::mem::replace(&mut *self.session.lock().await, OwnerSession::Closed);
        if let OwnerSession::Open { connection, .. } = session {
            // The server ends the session anyway when the connection is lost.
            let _ = timeout(SESSION_TIMEOUT, connection.close()).await;
        }
    }
}

/// Releases the leases of dead owners, and registers `owner` as alive.
pub(crate) async fn release_dead(connection: &mut PgConnection, owner: i64) -> Result<(), PostgresError> {
    // These locks are released at the end of the transaction.
    let sql = "SELECT o.owner FROM lease_owners o WHERE o.owner = $1 OR pg_try_advisory_xact_lock(o.owner)";
    let mut dead: Vec<i64> = sqlx::query_scalar(sql).bind(owner).fetch_all(&mut *connection).await?;
    let count_with_owner = dead.len();
    dead.retain(|other| *other != owner);
    let is_registered = dead.len() < count_with_owner;
    if !is_registered {
        let sql = "INSERT INTO lease_owners (owner) VALUES ($1) ON CONFLICT DO NOTHING";
        sqlx::query(sql).bind(owner).execute(&mut *connection).await?;
    }
    if dead.is_empty() {
        return Ok(());
    }
    // Rows that another worker is writing, and their owners, are left for the next claim.
    let release = "UPDATE jobs b SET leased_until = $2, owner = NULL
        FROM (SELECT namespace, job, id FROM jobs WHERE owner = ANY ($1) AND leased_until <> $3
        FOR UPDATE SKIP LOCKED) d
        WHERE b.namespace = d.namespace AND b.job = d.job AND b.id = d.id";
    sqlx::query(release).bind(&dead).bind(LEASE_FREE).bind(LEASE_DEAD).execute(&mut *connection).await?;
    let unregister = "DELETE FROM lease_owners o WHERE o.owner = ANY ($1)
        AND NOT EXISTS (SELECT FROM jobs b WHERE b.owner = o.owner AND b.leased_until <> $2)";
    sqlx::query(unregister).bind(&dead).bind(LEASE_DEAD).execute(connection).await?;
    Ok(())
}
