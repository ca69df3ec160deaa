//! SQL that is put together, with the values that belong to it.

use rusqlite::{CachedStatement, Connection, Params, params_from_iter, types::Value};

/// A statement in the making. What comes from outside is only ever bound, so that it can never become SQL.
#[derive(Debug, Default)]
pub(crate) struct Statement {
    text: String,
    values: Vec<Value>,
}

impl Statement {
    /// A statement that begins like this.
    pub(crate) fn new(sql: &'static str) -> Self {
        Self { text: sql.into(), values: Vec::new() }
    }

    /// Goes on with this.
    pub(crate) fn push(&mut self, sql: &'static str) -> &mut Self {
        self.text.push_str(sql);
        self
    }

    /// Goes on with a parameter that has this value.
    pub(crate) fn bind(&mut self, value: impl Into<Value>) -> &mut Self {
        self.text.push('?');
        self.values.push(value.into());
        self
    }

    /// Goes on with parameters, commas between them.
    pub(crate) fn bind_all(&mut self, values: impl IntoIterator<Item = Value>) -> &mut Self {
        for (i, value) in values.into_iter().enumerate() {
            if i > 0 {
                self.text.push(',');
            }
            self.bind(value);
        }
        self
    }

    /// Goes on with `write` for each item and `between` between them, nested in halves: SQLite allows an expression to
    /// be a thousand levels deep, and a plain chain of `AND`s is as deep as it is long.
    pub(crate) fn balanced<T>(&mut self, items: &[T], between: &'static str, write: &mut impl FnMut(&mut Self, &T)) {
        match items {
            [] => {}
            [one] => write(self, one),
            several => {
                let (left, right) = several.split_at(several.len() / 2);
                self.push("(").balanced(left, between, write);
                self.push(between).balanced(right, between, write);
                self.push(")");
            }
        }
    }

    /// Prepares it, and gives the parameters to run it with.
    pub(crate) fn prepare<'c>(
        self,
        connection: &'c Connection,
    ) -> rusqlite::Result<(CachedStatement<'c>, impl Params)> {
        Ok((connection.prepare_cached(&self.text)?, params_from_iter(self.values)))
    }
}
