//! Running a call's statements, again where that can help.

use std::time::Duration;

use crate::{
    PostgresStore,
    database::connections::{Connections, Lease},
    database::failure::Failure,
};

/// How often a transaction that lost against another one is begun anew.
const COLLISIONS: u32 = 5;

/// Counts how often a transaction was tried.
#[derive(Debug, Default)]
pub(crate) struct Tries {
    collisions: u32,
    lost: bool,
}

impl Tries {
    /// A connection for a transaction.
    pub(crate) async fn acquire<'s>(&self, store: &'s PostgresStore) -> Result<Lease<'s>, Failure> {
        if self.lost {
            store.primary().discard_lost().await?;
        }
        store.primary().acquire().await
    }

    /// Whether it should be tried again: at once, but only once, where the connection turned out to be lost before anything
    /// had begun, and after waiting a little longer each time where it lost against another one.
    pub(crate) async fn again(&mut self, failure: &Failure, begun: bool) -> bool {
        if !begun {
            return failure.is_loss() && !waited(failure) && !std::mem::replace(&mut self.lost, true);
        }
        self.collisions += 1;
        if !failure.is_collision() || self.collisions > COLLISIONS {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(2_u64 << self.collisions)).await;
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
    pub(crate) async fn acquire(&self) -> Result<Lease<'s>, Failure> {
        if self.tries > 0 {
            self.server().discard_lost().await?;
        }
        self.server().acquire().await
    }

    fn server(&self) -> &'s Connections {
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

/// Runs `$body` on a connection to a server that may be read from. It must not change anything.
macro_rules! reading {
    ($store:expr, $operation:expr, |$connection:ident| $body:expr) => {
        $crate::database::transaction::reading!(from $crate::database::transaction::Readers::of($store), $operation, |$connection| $body)
    };
    (from $readers:expr, $operation:expr, |$connection:ident| $body:expr) => {{
        let mut readers = $readers;
        loop {
            let attempt = async {
                let mut acquired = readers.acquire().await?;
                let $connection: &mut sqlx::PgConnection = &mut acquired;
                let value = $body?;
                acquired.give_back();
                Ok::<_, $crate::database::failure::Failure>(value)
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
        let mut tries = $crate::database::transaction::Tries::default();
        loop {
            let mut begun = false;
            let attempt = async {
                let mut acquired = tries.acquire($store).await?;
                let mut transaction = sqlx::Connection::begin(&mut *acquired).await?;
                begun = true;
                let $connection: &mut sqlx::PgConnection = &mut transaction;
                let value = $body?;
                transaction.commit().await?;
                acquired.give_back();
                Ok::<_, $crate::database::failure::Failure>(value)
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
