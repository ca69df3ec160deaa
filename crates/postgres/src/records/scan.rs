//! Reads pages of records in chronological order.

use memory_engine_core::{Order, Page, ScanQuery, Scope};
use memory_engine_sql::{
    filter,
    rows::{after_position, page, sql_limit},
};
use sqlx::{PgConnection, Row};

use crate::{
    database::{error::PostgresError, statement::StatementBuilder},
    rows::{
        row::{self, select_records},
        scopes::{CoveredScope, uuid},
    },
};

/// Returns a page of the records within `scope`.
pub(crate) async fn scan(
    connection: &mut PgConnection,
    scope: &Scope,
    query: &ScanQuery,
) -> Result<Page, PostgresError> {
    let total = if query.counted { Some(count(connection, scope, query).await?) } else { None };
    if query.limit == 0 {
        return Ok(Page::default().with_total(total));
    }
    let mut statement = StatementBuilder::default();
    push_scan(scope, query, &mut statement);
    let rows = statement.fetch_all(connection).await?;
    Ok(page(rows.iter().map(row::scanned).collect(), query.limit, total))
}

/// Returns the total number of matching records, independent of the page.
async fn count(connection: &mut PgConnection, scope: &Scope, query: &ScanQuery) -> Result<u64, PostgresError> {
    // Filters can also test the address.
    let mut statement = StatementBuilder::new(
        "SELECT count(*) AS records FROM records r
            JOIN scopes a ON a.namespace = r.namespace AND a.scope = r.scope WHERE ",
    );
    push_conditions(scope, query, &mut statement);
    let count: i64 = statement.fetch_one(connection).await?.try_get("records")?;
    Ok(count.unsigned_abs())
}

/// Appends the condition that a record is within `scope` and passes the filter.
fn push_conditions(scope: &Scope, query: &ScanQuery, statement: &mut StatementBuilder) {
    CoveredScope::of(scope).push_row_condition("r", statement);
    if let Some(filter) = &query.filter {
        filter::write(filter, statement.push(" AND "));
    }
}

/// Appends the statement that reads a page.
pub(crate) fn push_scan(scope: &Scope, query: &ScanQuery, statement: &mut StatementBuilder) {
    let covered = CoveredScope::of(scope);
    push_conditions(scope, query, statement.push(concat!(select_records!("records r"), "WHERE ")));
    if let Some(after) = query.after {
        statement.push(after_position(query.order));
        statement.bind(after.occurred_at.as_micros()).push(", ").bind(after.sequence);
        statement.push(", ").bind(uuid(after.id)).push(")");
    }
    // Only records of different users can have the same position.
    statement.push(match (query.order, covered.is_tenant_wide()) {
        (Order::OldestFirst, false) => " ORDER BY r.occurred_at, r.place, r.id",
        (Order::NewestFirst, false) => " ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC",
        (Order::OldestFirst, true) => " ORDER BY r.occurred_at, r.place, r.id, n.username",
        (Order::NewestFirst, true) => " ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC, n.username DESC",
    });
    // One more record shows whether there is another page.
    statement.push(" LIMIT ").bind(sql_limit(query.limit).saturating_add(1));
    if query.skip > 0 {
        statement.push(" OFFSET ").bind(sql_limit(query.skip));
    }
}
