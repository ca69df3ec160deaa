//! A connection of the caller's pool, with the settings of this adapter for the time of one call.

use sqlx::{AssertSqlSafe, PgConnection, Postgres, Row, pool::PoolConnection};

use crate::{
    database::{error::PostgresError, server},
    options::PostgresOptions,
};

/// The settings that this adapter needs, and the statement that saves the caller's and applies them.
#[derive(Debug)]
pub(crate) struct SessionSettings {
    names: Vec<&'static str>,
    /// Two statements, for one round trip: the first returns the values before, the second sets those of the adapter.
    apply: String,
}

impl SessionSettings {
    pub(crate) fn of(options: &PostgresOptions) -> Self {
        let settings = server::settings(options);
        let list = |sql: fn(&str, &str) -> String| {
            let parts: Vec<String> = settings.iter().map(|(name, value)| sql(name, value)).collect();
            parts.join(", ")
        };
        // Names and values are constants, numbers and a plain schema name: none holds a quote.
        let before = list(|name, _| format!("current_setting('{name}', true)"));
        let own = list(|name, value| format!("set_config('{name}', '{value}', false)"));
        Self {
            names: settings.iter().map(|(name, _)| *name).collect(),
            apply: format!("SELECT {before}; SELECT {own}"),
        }
    }

    /// Takes a connection and applies the settings.
    pub(crate) async fn apply(&self, connection: PoolConnection<Postgres>) -> Result<Borrowed, PostgresError> {
        let mut borrowed = Borrowed { connection, restore: None, changed: true };
        let rows = sqlx::raw_sql(AssertSqlSafe(self.apply.clone())).fetch_all(&mut *borrowed.connection).await?;
        let mut restore = Vec::with_capacity(self.names.len());
        if let Some(before) = rows.first() {
            for (at, name) in self.names.iter().enumerate() {
                restore.push((*name, before.try_get::<Option<String>, _>(at)?));
            }
        }
        borrowed.restore = Some(restore);
        Ok(borrowed)
    }
}

/// A connection of the caller's pool. Dropped before [`restore`](Self::restore), it is closed: the caller never gets a
/// connection with the settings of this adapter.
#[derive(Debug)]
pub(crate) struct Borrowed {
    connection: PoolConnection<Postgres>,
    restore: Option<Vec<(&'static str, Option<String>)>>,
    changed: bool,
}

impl Borrowed {
    /// Applies the caller's settings again and gives the connection back to the pool.
    pub(crate) async fn restore(mut self) {
        let Some(before) = self.restore.take() else { return };
        // A setting that had no value gets its default.
        let parts: Vec<String> =
            (1..=before.len()).map(|at| format!("set_config(${}, ${}, false)", 2 * at - 1, 2 * at)).collect();
        let sql = format!("SELECT {}", parts.join(", "));
        let query = before
            .into_iter()
            .fold(sqlx::query(AssertSqlSafe(sql)), |query, (name, value)| query.bind(name).bind(value));
        self.changed = query.execute(&mut *self.connection).await.is_err();
    }

    pub(crate) fn connection(&self) -> &PgConnection {
        &self.connection
    }

    pub(crate) fn connection_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if self.changed {
            self.connection.close_on_drop();
        }
    }
}
