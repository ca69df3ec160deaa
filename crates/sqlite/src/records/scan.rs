//! Reading records in their order.

use memory_engine_core::{Order, Page, Record, ScanQuery, Scope};
use memory_engine_sql::{filter, rows};
use rusqlite::{Connection, OptionalExtension};

use crate::{
    database::error::SqliteError,
    database::statement::Statement,
    records::row::{self, selected},
    records::scopes::CoveredScope,
};

/// A page of the records within `scope`.
pub(crate) fn scan(connection: &Connection, scope: &Scope, query: &ScanQuery) -> Result<Page, SqliteError> {
    let Some(reach) = CoveredScope::of(connection, scope)? else {
        return Ok(Page::default().with_total(query.counted.then_some(0)));
    };
    let total = if query.counted { Some(count(connection, &reach, query)?) } else { None };
    if query.limit == 0 {
        return Ok(Page::default().with_total(total));
    }
    // The rows are chosen and sorted by what the indexes hold; only then the chosen ones are read.
    let mut statement = Statement::new(concat!(selected!(""), "WHERE r.record IN ("));
    choose(connection, &reach, query, &mut statement)?;
    statement.push(")").push(order(query.order)).push(tie(&reach, query.order));
    let (mut prepared, values) = statement.prepare(connection)?;
    let mut found = prepared.query(values)?;
    let mut records: Vec<Record> = Vec::new();
    while let Some(row) = found.next()? {
        records.push(row::read(row)?.record);
    }
    Ok(rows::page(records, query.limit, total))
}

/// Returns the total number of rows, independent of the page.
fn count(connection: &Connection, reach: &CoveredScope, query: &ScanQuery) -> Result<u64, SqliteError> {
    let mut statement = Statement::new("SELECT count(*)");
    matching(connection, reach, query, &mut statement)?;
    let (mut prepared, values) = statement.prepare(connection)?;
    let count: i64 = prepared.query_row(values, |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

fn order(order: Order) -> &'static str {
    match order {
        Order::OldestFirst => " ORDER BY r.occurred_at, r.place, r.id",
        Order::NewestFirst => " ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC",
    }
}

/// Returns the tie-breaker for records with equal positions, which only different users can have.
fn tie(reach: &CoveredScope, order: Order) -> &'static str {
    match (reach.namespace, order) {
        (Some(_), _) => "",
        (None, Order::OldestFirst) => ", (SELECT user FROM namespaces WHERE namespace = r.namespace)",
        (None, Order::NewestFirst) => ", (SELECT user FROM namespaces WHERE namespace = r.namespace) DESC",
    }
}

/// The rows within reach that the filter lets through.
fn matching(
    connection: &Connection,
    reach: &CoveredScope,
    query: &ScanQuery,
    statement: &mut Statement,
) -> Result<(), SqliteError> {
    let one_scope = if reach.is_narrow() { only_scope(connection, reach)? } else { None };
    let index = match (reach.is_narrow(), one_scope) {
        // The index of a single scope or user has the requested order, so that no sorting is needed.
        (_, Some(_)) | (true, None) => "records_by_scope",
        (false, None) => "records_by_namespace",
    };
    statement.push(" FROM records r INDEXED BY ").push(index);
    statement.push(" CROSS JOIN scopes s ON s.scope = r.scope WHERE ");
    match (reach.is_narrow(), one_scope) {
        (_, Some(scope)) => drop(statement.push("r.scope = ").bind(scope)),
        (true, None) => {
            reach.scopes(statement.push("r.scope IN (SELECT s.scope FROM scopes s WHERE "));
            statement.push(")");
        }
        (false, None) => reach.namespaces("r.namespace", statement),
    }
    reach.scopes(statement.push(" AND "));
    if let Some(filter) = &query.filter {
        filter::write(filter, statement.push(" AND "));
    }
    Ok(())
}

/// The rows of one page and one more, which tells that there is another page.
fn choose(
    connection: &Connection,
    reach: &CoveredScope,
    query: &ScanQuery,
    statement: &mut Statement,
) -> Result<(), SqliteError> {
    matching(connection, reach, query, statement.push("SELECT r.record"))?;
    if let Some(after) = query.after {
        statement.push(rows::after_position(query.order));
        statement.bind(after.occurred_at.as_micros()).push(", ").bind(after.sequence);
        statement.push(", ").bind(after.id.as_bytes().to_vec()).push(")");
    }
    let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    statement.push(order(query.order)).push(tie(reach, query.order));
    statement.push(" LIMIT ").bind(number(query.limit).saturating_add(1));
    if query.skip > 0 {
        statement.push(" OFFSET ").bind(number(query.skip));
    }
    Ok(())
}

/// The one address within reach, if it is only one.
fn only_scope(connection: &Connection, reach: &CoveredScope) -> Result<Option<i64>, SqliteError> {
    let mut statement = Statement::new("SELECT max(s.scope) FROM scopes s WHERE ");
    reach.scopes(&mut statement);
    statement.push(" HAVING count(*) = 1");
    let (mut prepared, values) = statement.prepare(connection)?;
    Ok(prepared.query_row(values, |row| row.get(0)).optional()?)
}
