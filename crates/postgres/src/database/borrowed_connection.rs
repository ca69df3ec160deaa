//! Connections from a pool of the caller. They have the settings of this adapter during one call only.

use sqlx::{AssertSqlSafe, PgConnection, Postgres, Row, pool::PoolConnection};

use crate::database::{error::PostgresError, options::PostgresOptions, server};

/// The session settings that this adapter needs, and the SQL that saves the settings of the caller and applies them.
#[derive(Debug)]
pub(crate) struct SessionSettings {
    names: Vec<&'static str>,
    /// Two statements in one round trip: the first returns the settings of the caller, the second sets those of the
    /// adapter.
    apply: String,
}

impl SessionSettings {
    /// Returns the settings for these options.
    pub(crate) fn of(options: &PostgresOptions) -> Self {
        let settings = server::settings(options);
        let list = |sql: fn(&str, &str) -> String| {
            let parts: Vec<String> = settings.iter().map(|(name, value)| sql(name, value)).collect();
            parts.join(", ")
        };
        // Names and values are constants, numbers and a plain schema name, so none of them contains a quote.
        let current = list(|name, _| format!("current_setting('{name}', true)"));
        let set = list(|name, value| format!("set_config('{name}', '{value}', false)"));
        Self {
            names: settings.iter().map(|(name, _)| *name).collect(),
            apply: format!("SELECT {current}; SELECT {set}"),
        }
    }

    /// Applies the settings to a connection.
    pub(crate) async fn apply(
        &self,
        connection: PoolConnection<Postgres>,
    ) -> Result<BorrowedConnection, PostgresError> {
        let mut borrowed = BorrowedConnection { connection, original_settings: None, is_modified: true };
        let rows = sqlx::raw_sql(AssertSqlSafe(self.apply.clone())).fetch_all(&mut *borrowed.connection).await?;
        let mut original_settings = Vec::with_capacity(self.names.len());
        if let Some(row) = rows.first() {
            for (column, name) in self.names.iter().enumerate() {
                original_settings.push((*name, row.try_get::<Option<String>, _>(column)?));
            }
        }
        borrowed.original_settings = Some(original_settings);
        Ok(borrowed)
    }
}

/// A connection from a pool of the caller.
///
/// If it is dropped before [`restore`](Self::restore), it is closed: the caller never gets a connection with the
/// settings of this adapter.
#[derive(Debug)]
pub(crate) struct BorrowedConnection {
    connection: PoolConnection<Postgres>,
    /// Names and values of the settings that the caller had. `None` until they are saved.
    original_settings: Option<Vec<(&'static str, Option<String>)>>,
    /// True while the connection may have the settings of this adapter.
    is_modified: bool,
}

impl BorrowedConnection {
    /// Restores the settings of the caller and returns the connection to the pool.
    pub(crate) async fn restore(mut self) {
        let Some(settings) = self.original_settings.take() else { return };
        // A setting that had no value gets its default.
        let parts: Vec<String> =
            (1..=settings.len()).map(|at| format!("set_config(${}, ${}, false)", 2 * at - 1, 2 * at)).collect();
        let sql = format!("SELECT {}", parts.join(", "));
        let query = settings
            .into_iter()
            .fold(sqlx::query(AssertSqlSafe(sql)), |query, (name, value)| query.bind(name).bind(value));
        self.is_modified = query.execute(&mut *self.connection).await.is_err();
    }

    pub(crate) fn connection(&self) -> &PgConnection {
        &self.connection
    }

    pub(crate) fn connection_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}

impl Drop for BorrowedConnection {
    fn drop(&mut self) {
        if self.is_modified {
            self.connection.close_on_drop();
        }
    }
}
