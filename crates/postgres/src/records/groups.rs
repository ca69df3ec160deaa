//! Reads the groups of records: the number of records and their times, which triggers of the schema maintain.

use memory_engine_core::{ErrorKind, Kind, RecordGroup, State, Timestamp};
use memory_engine_sql::rows::corrupt;
use sqlx::{PgConnection, Row, postgres::PgRow};

use crate::{
    database::{error::PostgresError, statement::StatementBuilder},
    rows::scopes::{self, CoveredScope},
};

/// Returns the groups of the covered records.
pub(crate) async fn read(
    connection: &mut PgConnection,
    covered: &CoveredScope,
) -> Result<Vec<RecordGroup>, PostgresError> {
    let mut statement = StatementBuilder::new(
        "SELECT n.tenant, n.username, a.agent, a.session, a.branch, g.kind, g.state, g.app, g.records, g.oldest,
                g.newest, g.edited_at
         FROM record_groups g JOIN namespaces n ON n.namespace = g.namespace
             JOIN scopes a ON a.namespace = g.namespace AND a.scope = g.scope WHERE ",
    );
    covered.push_row_condition("g", &mut statement);
    let rows = statement.fetch_all(connection).await?;
    let mut groups = Vec::with_capacity(rows.len());
    for row in &rows {
        match group(row) {
            // A group of a state or a scope that cannot be read has damaged records, which no list contains either.
            Err(error) if error.kind() == ErrorKind::Corrupt => RecordGroup::warn_of_damage(),
            group => groups.push(group?),
        }
    }
    RecordGroup::sort(&mut groups);
    Ok(groups)
}

fn group(row: &PgRow) -> Result<RecordGroup, PostgresError> {
    let time = |column: &str| row.try_get(column).map(Timestamp::from_micros);
    let state: State = row.try_get::<&str, _>("state")?.parse().map_err(|_| corrupt("a state"))?;
    let kind = Kind::new(row.try_get::<String, _>("kind")?);
    let records = u64::try_from(row.try_get::<i64, _>("records")?).unwrap_or_default();
    let edited_at = row.try_get::<Option<i64>, _>("edited_at")?.map(Timestamp::from_micros);
    let group = RecordGroup::new(scopes::read(row)?, kind, state, records, time("oldest")?);
    Ok(group.with_newest(time("newest")?).with_app(row.try_get("app")?).with_edited_at(edited_at))
}
