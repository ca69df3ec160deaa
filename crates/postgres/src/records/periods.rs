//! Counts records over time.

use memory_engine_core::{Kind, PeriodCount, Periods};
use sqlx::{PgConnection, Row, postgres::PgRow};

use crate::{
    database::{error::PostgresError, statement::StatementBuilder},
    rows::scopes::CoveredScope,
};

/// Returns the number of the covered records in each period by kind.
pub(crate) async fn count(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    periods: Periods,
) -> Result<Vec<PeriodCount>, PostgresError> {
    // A difference of two 64-bit times may not fit in 64 bits.
    let mut statement = StatementBuilder::new("SELECT floor((r.occurred_at::numeric - ");
    statement.bind(periods.start().as_micros()).push(") / ").bind(periods.length_micros());
    statement.push(")::bigint AS period, r.kind COLLATE \"C\" AS kind, count(*) AS records FROM records r WHERE ");
    covered.push_row_condition("r", &mut statement);
    statement.push(" GROUP BY 1, 2 ORDER BY 1, 2");
    statement.fetch_all(connection).await?.iter().map(|row| read(row, periods)).collect()
}

fn read(row: &PgRow, periods: Periods) -> Result<PeriodCount, PostgresError> {
    let records = u64::try_from(row.try_get::<i64, _>("records")?).unwrap_or_default();
    let kind = Kind::new(row.try_get::<String, _>("kind")?);
    Ok(PeriodCount::new(periods.start_of(row.try_get("period")?), kind, records))
}
