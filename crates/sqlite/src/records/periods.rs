//! Counts records over time.

use memory_engine_core::{Kind, PeriodCount, Periods, ScanQuery};
use rusqlite::Connection;

use crate::{
    database::{error::SqliteError, statement::Statement},
    records::scan::push_matching_rows,
    rows::scopes::CoveredScope,
};

/// Returns the number of the covered records in each period by kind.
pub(crate) fn count(
    connection: &Connection,
    covered: &CoveredScope,
    periods: Periods,
) -> Result<Vec<PeriodCount>, SqliteError> {
    let (start, length) = (periods.start().as_micros(), periods.length_micros());
    // SQLite divides towards zero, so a time before the start needs the next lower number.
    let mut statement = Statement::new("SELECT CAST((r.occurred_at - ");
    statement.bind(start).push(") / ").bind(length).push(" - ((r.occurred_at - ").bind(start).push(") % ");
    statement.bind(length).push(" < 0) AS INTEGER) AS period, r.kind, count(*) AS records");
    push_matching_rows(connection, covered, &ScanQuery::default(), &mut statement)?;
    statement.push(" GROUP BY period, r.kind ORDER BY period, r.kind");
    statement.read_all(connection, |row| {
        let kind = Kind::new(String::from_utf8_lossy(row.get_ref("kind")?.as_bytes().unwrap_or_default()));
        Ok(PeriodCount::new(periods.start_of(row.get("period")?), kind, row.get("records")?))
    })
}
