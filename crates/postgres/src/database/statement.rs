//! Builds SQL statements with bound values.

use std::fmt;

use memory_engine_core::{Error, ErrorKind};
use sqlx::{Encode, PgConnection, Postgres, QueryBuilder, Type, postgres::PgRow};

use crate::database::error::PostgresError;

/// Builder of an SQL statement. Its text consists of constants and numbers; every other value is bound, so that no
/// input becomes SQL.
pub(crate) struct StatementBuilder {
    builder: QueryBuilder<Postgres>,
    /// A name in a template for which there is no part.
    unknown_part: Option<String>,
}

impl Default for StatementBuilder {
    fn default() -> Self {
        Self::new("")
    }
}

impl fmt::Debug for StatementBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StatementBuilder")
    }
}

impl StatementBuilder {
    /// Creates a statement with this beginning.
    pub(crate) fn new(sql: &'static str) -> Self {
        Self { builder: QueryBuilder::new(sql), unknown_part: None }
    }

    /// Appends SQL.
    pub(crate) fn push(&mut self, sql: &'static str) -> &mut Self {
        self.builder.push(sql);
        self
    }

    /// Appends a number of the engine, such as the number of dimensions.
    pub(crate) fn push_number(&mut self, number: usize) -> &mut Self {
        self.builder.push(number);
        self
    }

    /// Appends a parameter with this value.
    pub(crate) fn bind<T>(&mut self, value: T) -> &mut Self
    where
        T: for<'q> Encode<'q, Postgres> + Type<Postgres> + 'static,
    {
        self.builder.push_bind(value);
        self
    }

    /// Appends a further argument of a function, by the name of its parameter.
    pub(crate) fn argument<T>(&mut self, name: &'static str, value: T) -> &mut Self
    where
        T: for<'q> Encode<'q, Postgres> + Type<Postgres> + 'static,
    {
        self.push(", ").push(name).push(" => ").bind(value)
    }

    /// Appends a template. Each name in braces is replaced by what `fill` appends for it; `fill`
    /// [refuses](Self::refuse) a name that it does not know.
    pub(crate) fn push_template(&mut self, template: &'static str, mut fill: impl FnMut(&str, &mut Self)) {
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

    /// Makes the statement fail before it is sent, because a template has an unknown name. Without its part, the
    /// statement might be a valid one that lacks a condition.
    pub(crate) fn refuse(&mut self, name: &str) {
        self.unknown_part = Some(name.to_owned());
    }

    /// Appends the items in parentheses. `write` appends one item.
    pub(crate) fn push_joined<T>(
        &mut self,
        items: &[T],
        separator: &'static str,
        write: &mut impl FnMut(&mut Self, &T),
    ) {
        self.push("(");
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.push(separator);
            }
            write(self, item);
        }
        self.push(")");
    }

    fn check(&self) -> Result<(), PostgresError> {
        self.unknown_part.as_ref().map_or(Ok(()), |name| {
            let message = format!("a template of SQL has the unknown part `{name}`; please report this");
            Err(Error::new(ErrorKind::Internal, "build a statement", message).into())
        })
    }

    /// Returns the text of the statement.
    pub(crate) fn sql(&self) -> String {
        self.builder.sql().as_str().to_owned()
    }

    /// Executes the statement and returns its rows.
    pub(crate) async fn fetch_all(mut self, connection: &mut PgConnection) -> Result<Vec<PgRow>, PostgresError> {
        self.check()?;
        Ok(self.builder.build().fetch_all(connection).await?)
    }

    /// Executes the statement and returns its only row.
    pub(crate) async fn fetch_one(mut self, connection: &mut PgConnection) -> Result<PgRow, PostgresError> {
        self.check()?;
        Ok(self.builder.build().fetch_one(connection).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_in_order() {
        let mut statement = StatementBuilder::default();
        statement.push_template("SELECT {column} FROM t WHERE {condition}", fill);
        assert_eq!(statement.builder.sql(), "SELECT a FROM t WHERE b = $1");
        assert!(statement.check().is_ok());
    }

    #[test]
    fn an_unknown_name_in_a_template_is_an_error() {
        let mut statement = StatementBuilder::default();
        statement.push_template("SELECT {column} FROM t WHERE {condition}{limit} AND {condition}", fill);
        let error = statement.check().unwrap_err().into_error("search");
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(error.to_string().contains("`limit`"), "{error}");
    }

    fn fill(name: &str, statement: &mut StatementBuilder) {
        match name {
            "column" => drop(statement.push("a")),
            "condition" => drop(statement.push("b = ").bind(1_i64)),
            unknown => statement.refuse(unknown),
        }
    }
}
