//! Reading records in their order.

use memory_engine_core::{Order, Page, Record, ScanQuery, Scope};
use memory_engine_sql::{
    filter,
    rows::{self, sql_limit},
};
use sqlx::{PgConnection, Row};

use crate::{
    database::error::PostgresError,
    database::statement::Statement,
    records::row::{self, selected},
    records::scopes::{CoveredScope, uuid},
};

/// A page of the records within `scope`.
pub(crate) async fn scan(
    connection: &mut PgConnection,
    scope: &Scope,
    query: &ScanQuery,
) -> Result<Page, PostgresError> {
    let total = if query.counted { Some(count(connection, scope, query).await?) } else { None };
    if query.limit == 0 {
        return Ok(Page::default().with_total(total));
    }
    let mut statement = Statement::default();
    write(scope, query, &mut statement);
    let found = statement.rows(connection).await?;
    let records = found.iter().map(|row| Ok(row::read(row)?.record)).collect::<Result<Vec<Record>, PostgresError>>();
    Ok(rows::page(records?, query.limit, total))
}

/// Returns the total number of rows, independent of the page.
async fn count(connection: &mut PgConnection, scope: &Scope, query: &ScanQuery) -> Result<u64, PostgresError> {
    // Filters look at the address, too.
    let mut statement = Statement::new(
        "SELECT count(*) AS records FROM records r JOIN addresses a ON a.ns = r.ns AND a.address = r.address WHERE ",
    );
    matching(scope, query, &mut statement);
    let count: i64 = statement.row(connection).await?.try_get("records")?;
    Ok(count.unsigned_abs())
}

/// Writes which records are within `scope` and let through by the filter.
fn matching(scope: &Scope, query: &ScanQuery, statement: &mut Statement) {
    CoveredScope::of(scope).holds("r", statement);
    if let Some(filter) = &query.filter {
        filter::write(filter, statement.push(" AND "));
    }
}

/// Writes the statement that reads a page.
pub(crate) fn write(scope: &Scope, query: &ScanQuery, statement: &mut Statement) {
    let reach = CoveredScope::of(scope);
    matching(scope, query, statement.push(concat!(selected!("records r"), "WHERE ")));
    if let Some(after) = query.after {
        statement.push(rows::after_position(query.order));
        statement.bind(after.occurred_at.as_micros()).push(", ").bind(after.sequence);
        statement.push(", ").bind(uuid(after.id)).push(")");
    }
    // Only different users can have records of one position.
    statement.push(match (query.order, reach.is_tenant_wide()) {
        (Order::OldestFirst, false) => " ORDER BY r.occurred_at, r.place, r.id",
        (Order::NewestFirst, false) => " ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC",
        (Order::OldestFirst, true) => " ORDER BY r.occurred_at, r.place, r.id, n.username",
        (Order::NewestFirst, true) => " ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC, n.username DESC",
    });
    // One more tells whether there is another page.
    statement.push(" LIMIT ").bind(sql_limit(query.limit).saturating_add(1));
    if query.skip > 0 {
        statement.push(" OFFSET ").bind(sql_limit(query.skip));
    }
}
