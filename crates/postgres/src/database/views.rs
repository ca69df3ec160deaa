//! The sets of views for programs that read by SQL.

use std::collections::BTreeSet;

use memory_engine_core::{Error, ErrorKind, ViewSet};
use memory_engine_sql::views::{VIEWS_PART, read_sets, set_names};
use sqlx::{AssertSqlSafe, PgConnection};

use crate::database::{error::PostgresError, index_metadata};

/// The files of the sets, in the order in which they are executed, with the sets that need them. Each statement that
/// creates a view or a function begins at the start of a line, and replaces an existing one. A view that a later
/// version no longer has is dropped by its migration.
const FILES: [(&str, &[ViewSet]); 6] = [
    (include_str!("../../views/functions.sql"), &ViewSet::ALL),
    (include_str!("../../views/conversations.sql"), &[ViewSet::Companion, ViewSet::Document]),
    (include_str!("../../views/companion.sql"), &[ViewSet::Companion]),
    (include_str!("../../views/document.sql"), &[ViewSet::Document]),
    (include_str!("../../views/evidence.sql"), &[ViewSet::Evidence]),
    (include_str!("../../views/story.sql"), &[ViewSet::Story]),
];

/// Returns the installed sets.
pub(crate) async fn installed(connection: &mut PgConnection) -> Result<BTreeSet<ViewSet>, PostgresError> {
    Ok(read_sets(index_metadata::read(connection, VIEWS_PART).await?))
}

/// Replaces the installed sets by others, within the transaction of the connection.
pub(crate) async fn replace(connection: &mut PgConnection, sets: &BTreeSet<ViewSet>) -> Result<(), PostgresError> {
    let old = files(&installed(connection).await?);
    let new = files(sets);
    // The search path also contains `public`, where another memory may have its views.
    let schema = "SELECT quote_ident(current_schema())";
    let schema: String = sqlx::query_scalar(schema).fetch_one(&mut *connection).await?;
    let dropped = old.iter().filter(|file| !new.contains(file));
    for (kind, name) in dropped.rev().flat_map(|file| objects(file).rev()) {
        let drop = format!("DROP {kind} IF EXISTS {schema}.{name}");
        sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut *connection).await?;
    }
    for file in new {
        if !old.contains(&file) {
            check_names(connection, file).await?;
        }
        sqlx::raw_sql(file).execute(&mut *connection).await?;
    }
    sqlx::query("DELETE FROM index_metadata WHERE part = $1").bind(VIEWS_PART).execute(&mut *connection).await?;
    if !sets.is_empty() {
        index_metadata::write(connection, VIEWS_PART, &set_names(sets)).await?;
    }
    Ok(())
}

/// Refuses a file that would replace a view of another program.
async fn check_names(connection: &mut PgConnection, file: &'static str) -> Result<(), PostgresError> {
    let names: Vec<&str> = objects(file).filter(|(kind, _)| *kind == "VIEW").map(|(_, name)| name).collect();
    let sql = "SELECT c.relname::text FROM pg_class c
        WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relname = ANY ($1) LIMIT 1";
    match sqlx::query_scalar::<_, String>(sql).bind(names).fetch_optional(connection).await? {
        None => Ok(()),
        Some(name) => {
            let message =
                format!("another program has created {name}, the name of a view of the set; rename or remove it first");
            Err(Error::new(ErrorKind::Conflict, "views", message).into())
        }
    }
}

/// Returns the files of some sets, in order.
pub(crate) fn files(sets: &BTreeSet<ViewSet>) -> Vec<&'static str> {
    let needed = FILES.iter().filter(|(_, users)| users.iter().any(|user| sets.contains(user)));
    needed.map(|(file, _)| *file).collect()
}

/// Returns the kind (`VIEW` or `FUNCTION`) and the name of everything that a file creates, in order.
pub(crate) fn objects(file: &'static str) -> impl DoubleEndedIterator<Item = (&'static str, &'static str)> {
    file.lines().filter_map(|line| {
        let (kind, rest) = line.strip_prefix("CREATE OR REPLACE ")?.split_once(' ')?;
        Some((kind, rest.split([' ', '(']).next()?))
    })
}
