//! SQL that is put together, with the values that belong to it.

use std::fmt;

use sqlx::{Encode, PgConnection, Postgres, QueryBuilder, Type, postgres::PgRow};

use crate::database::error::PostgresError;

/// A statement in the making. What comes from outside is only ever bound, so that it can never become SQL.
pub(crate) struct Statement {
    builder: QueryBuilder<Postgres>,
}

impl Default for Statement {
    fn default() -> Self {
        Self::new("")
    }
}

impl fmt::Debug for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Statement")
    }
}

impl Statement {
    /// A statement that begins like this.
    pub(crate) fn new(sql: &'static str) -> Self {
        Self { builder: QueryBuilder::new(sql) }
    }

    /// Goes on with this.
    pub(crate) fn push(&mut self, sql: &'static str) -> &mut Self {
        self.builder.push(sql);
        self
    }

    /// Goes on with a number of the engine's own, such as that of dimensions.
    pub(crate) fn number(&mut self, number: usize) -> &mut Self {
        self.builder.push(number);
        self
    }

    /// Goes on with a parameter that has this value.
    pub(crate) fn bind<T>(&mut self, value: T) -> &mut Self
    where
        T: for<'q> Encode<'q, Postgres> + Type<Postgres> + 'static,
    {
        self.builder.push_bind(value);
        self
    }

    /// Appends a template. Each name in braces is replaced by what `fill` appends for it.
    pub(crate) fn fill(&mut self, template: &'static str, mut fill: impl FnMut(&str, &mut Self)) {
        for (i, part) in template.split('{').enumerate() {
            match part.split_once('}') {
                Some((name, rest)) if i > 0 => {
                    fill(name, self);
                    self.push(rest);
                }
                _ => {
                    self.push(part);
                }
            }
        }
    }

    /// Goes on with `write` for each item and `between` between them.
    pub(crate) fn joined<T>(&mut self, items: &[T], between: &'static str, write: &mut impl FnMut(&mut Self, &T)) {
        self.push("(");
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.push(between);
            }
            write(self, item);
        }
        self.push(")");
    }

    /// Runs it and gives its rows.
    pub(crate) async fn rows(mut self, connection: &mut PgConnection) -> Result<Vec<PgRow>, PostgresError> {
        Ok(self.builder.build().fetch_all(connection).await?)
    }

    /// Runs it and gives its only row.
    pub(crate) async fn row(mut self, connection: &mut PgConnection) -> Result<PgRow, PostgresError> {
        Ok(self.builder.build().fetch_one(connection).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_in_order() {
        let mut statement = Statement::default();
        statement.fill("SELECT {column} FROM t WHERE {condition}", |name, statement| {
            statement.push(if name == "column" { "a" } else { "b = " });
            if name == "condition" {
                statement.bind(1_i64);
            }
        });
        assert_eq!(statement.builder.sql(), "SELECT a FROM t WHERE b = $1");
    }
}
