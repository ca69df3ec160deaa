//! Reads pages of records, ordered by time.

use memory_engine_core::{Order, Page, ScanQuery, Scope};
use memory_engine_sql::{
    filter,
    rows::{self, sql_limit},
};
use rusqlite::{Connection, OptionalExtension};

use crate::{
    database::{error::SqliteError, statement::Statement},
    rows::{
        row::{self, selected},
        scopes::CoveredScope,
    },
};

/// Returns a page of the records within `scope`.
pub(crate) fn scan(connection: &Connection, scope: &Scope, query: &ScanQuery) -> Result<Page, SqliteError> {
    let Some(covered) = CoveredScope::of(connection, scope)? else {
        return Ok(Page::default().with_total(query.counted.then_some(0)));
    };
    let total = if query.counted { Some(count(connection, &covered, query)?) } else { None };
    if query.limit == 0 {
        return Ok(Page::default().with_total(total));
    }
    // The subquery chooses the page by indexed columns; only the rows of the page are read in full.
    let mut statement = Statement::new(concat!(selected!(""), "WHERE r.record IN ("));
    push_page_rows(connection, &covered, query, &mut statement)?;
    statement.push(")").push(order(query.order)).push(tie_breaker(&covered, query.order));
    let scanned = statement.read_all(connection, |row| Ok(row::scanned(row)))?;
    Ok(rows::page(scanned, query.limit, total))
}

/// Returns the number of matching rows on all pages.
fn count(connection: &Connection, covered: &CoveredScope, query: &ScanQuery) -> Result<u64, SqliteError> {
    let mut statement = Statement::new("SELECT count(*)");
    push_matching_rows(connection, covered, query, &mut statement)?;
    let count: i64 = statement.read_value(connection)?;
    Ok(count.unsigned_abs())
}

fn order(order: Order) -> &'static str {
    match order {
        Order::OldestFirst => " ORDER BY r.occurred_at, r.place, r.id",
        Order::NewestFirst => " ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC",
    }
}

/// Returns the tie-breaker for records with equal positions. Only records of different users can have equal positions.
fn tie_breaker(covered: &CoveredScope, order: Order) -> &'static str {
    match (covered.namespace, order) {
        (Some(_), _) => "",
        (None, Order::OldestFirst) => ", (SELECT user FROM namespaces WHERE namespace = r.namespace)",
        (None, Order::NewestFirst) => ", (SELECT user FROM namespaces WHERE namespace = r.namespace) DESC",
    }
}

/// Appends the `FROM` and `WHERE` clauses of the covered rows that match the filter.
pub(super) fn push_matching_rows(
    connection: &Connection,
    covered: &CoveredScope,
    query: &ScanQuery,
    statement: &mut Statement,
) -> Result<(), SqliteError> {
    let is_narrow = covered.is_narrow();
    let only_scope = if is_narrow { only_scope(connection, covered)? } else { None };
    // The index of a single scope or user has the requested order, so that no sorting is needed.
    let index = match &query.filter {
        Some(filter) if filter::requires_pinned(filter) => "pinned_records",
        _ if is_narrow => "records_by_scope",
        _ => "records_by_namespace",
    };
    statement.push(" FROM records r INDEXED BY ").push(index);
    statement.push(" CROSS JOIN scopes s ON s.scope = r.scope WHERE ");
    match only_scope {
        Some(scope) => drop(statement.push("r.scope = ").bind(scope)),
        None if is_narrow => {
            covered.push_scope_condition(statement.push("r.scope IN (SELECT s.scope FROM scopes s WHERE "));
            statement.push(")");
        }
        None => covered.push_namespace_condition("r.namespace", statement),
    }
    covered.push_scope_condition(statement.push(" AND "));
    if let Some(filter) = &query.filter {
        filter::write(filter, statement.push(" AND "));
    }
    Ok(())
}

/// Appends a query for the rows of one page, and one more row if another page follows.
fn push_page_rows(
    connection: &Connection,
    covered: &CoveredScope,
    query: &ScanQuery,
    statement: &mut Statement,
) -> Result<(), SqliteError> {
    push_matching_rows(connection, covered, query, statement.push("SELECT r.record"))?;
    if let Some(after) = query.after {
        statement.push(rows::after_position(query.order));
        statement.bind(after.occurred_at.as_micros()).push(", ").bind(after.sequence);
        statement.push(", ").bind(after.id.as_bytes().to_vec()).push(")");
    }
    statement.push(order(query.order)).push(tie_breaker(covered, query.order));
    statement.limit(sql_limit(query.limit).saturating_add(1));
    if query.skip > 0 {
        statement.push(" OFFSET ").bind(sql_limit(query.skip));
    }
    Ok(())
}

/// Returns the covered scope's only address; `None` if it has none or several.
fn only_scope(connection: &Connection, covered: &CoveredScope) -> Result<Option<i64>, SqliteError> {
    let mut statement = Statement::new("SELECT max(s.scope) FROM scopes s WHERE ");
    covered.push_scope_condition(&mut statement);
    statement.push(" HAVING count(*) = 1");
    Ok(statement.read_value(connection).optional()?)
}
