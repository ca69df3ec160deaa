//! Builds SQL statements with bound values.

use rusqlite::{
    CachedStatement, Connection, Params, Row, params_from_iter,
    types::{FromSql, Value},
};

use crate::database::error::SqliteError;

/// A statement that is being built. Only static text becomes SQL; every other value is bound as a parameter.
#[derive(Debug, Default)]
pub(crate) struct Statement {
    text: String,
    values: Vec<Value>,
}

impl Statement {
    /// Starts a statement with this text.
    pub(crate) fn new(sql: &'static str) -> Self {
        Self { text: sql.into(), values: Vec::new() }
    }

    /// Appends this text.
    pub(crate) fn push(&mut self, sql: &'static str) -> &mut Self {
        self.text.push_str(sql);
        self
    }

    /// Appends a parameter with this value.
    pub(crate) fn bind(&mut self, value: impl Into<Value>) -> &mut Self {
        self.text.push('?');
        self.values.push(value.into());
        self
    }

    /// Appends a limit to the number of rows.
    ///
    /// SQLite plans with the value of a limit that is a parameter alone, and prepares the statement again for each new
    /// set of values. It does not look into an expression.
    pub(crate) fn limit(&mut self, rows: i64) -> &mut Self {
        self.push(" LIMIT ").bind(rows).push(" + 0")
    }

    /// Appends parameters, separated by commas.
    pub(crate) fn bind_all(&mut self, values: impl IntoIterator<Item = Value>) -> &mut Self {
        for (i, value) in values.into_iter().enumerate() {
            if i > 0 {
                self.text.push(',');
            }
            self.bind(value);
        }
        self
    }

    /// Appends the items by `write`, with `separator` between them, as a balanced tree of parentheses. SQLite limits
    /// the depth of an expression to 1,000, and a chain of `AND`s is as deep as it is long.
    pub(crate) fn push_balanced<T>(
        &mut self,
        items: &[T],
        separator: &'static str,
        write: &mut impl FnMut(&mut Self, &T),
    ) {
        match items {
            [] => {}
            [item] => write(self, item),
            items => {
                let (left, right) = items.split_at(items.len() / 2);
                self.push("(").push_balanced(left, separator, write);
                self.push(separator).push_balanced(right, separator, write);
                self.push(")");
            }
        }
    }

    /// Prepares the statement. Returns it with its parameters.
    pub(crate) fn prepare<'c>(
        self,
        connection: &'c Connection,
    ) -> rusqlite::Result<(CachedStatement<'c>, impl Params)> {
        Ok((connection.prepare_cached(&self.text)?, params_from_iter(self.values)))
    }

    /// Executes the statement. Returns the number of changed rows.
    pub(crate) fn execute(self, connection: &Connection) -> rusqlite::Result<usize> {
        let (mut prepared, values) = self.prepare(connection)?;
        prepared.execute(values)
    }

    /// Returns the first column of the first row.
    pub(crate) fn read_value<T: FromSql>(self, connection: &Connection) -> rusqlite::Result<T> {
        let (mut prepared, values) = self.prepare(connection)?;
        prepared.query_row(values, |row| row.get(0))
    }

    /// Calls `read` with each row.
    pub(crate) fn for_each(
        self,
        connection: &Connection,
        mut read: impl FnMut(&Row<'_>) -> Result<(), SqliteError>,
    ) -> Result<(), SqliteError> {
        let (mut prepared, values) = self.prepare(connection)?;
        let mut rows = prepared.query(values)?;
        while let Some(row) = rows.next()? {
            read(row)?;
        }
        Ok(())
    }

    /// Returns what `read` returns for each row.
    pub(crate) fn read_all<T>(
        self,
        connection: &Connection,
        mut read: impl FnMut(&Row<'_>) -> Result<T, SqliteError>,
    ) -> Result<Vec<T>, SqliteError> {
        let mut values = Vec::new();
        self.for_each(connection, |row| {
            values.push(read(row)?);
            Ok(())
        })?;
        Ok(values)
    }
}
