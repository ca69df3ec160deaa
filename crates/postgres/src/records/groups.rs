//! Groups of records, which triggers of the schema count.

use memory_engine_core::{Kind, RecordGroup, State, Timestamp};
use memory_engine_sql::{health, rows::corrupt};
use sqlx::{PgConnection, Row, postgres::PgRow};

use crate::{
    database::{error::PostgresError, statement::StatementBuilder},
    records::scopes::{self, CoveredScope},
};

/// The groups, counted from the records.
macro_rules! counted_groups {
    () => {
        "SELECT r.ns, r.address, r.kind, r.state, memory_record_app(r.metadata) AS app, count(*) AS records,
            min(r.occurred_at) AS oldest, max(r.occurred_at) AS newest,
            max(memory_record_edited_at(r.metadata)) AS edited_at
         FROM records r GROUP BY 1, 2, 3, 4, 5"
    };
}

/// Counts the groups that differ from the records, are missing, or have no records.
const DIFFERENCES: &str = concat!(
    "WITH counted AS (",
    counted_groups!(),
    "), stored AS (SELECT ns, address, kind, state, app, records, oldest, newest, edited_at FROM record_groups),
    differences AS (
        (SELECT * FROM counted EXCEPT ALL SELECT * FROM stored)
        UNION ALL (SELECT * FROM stored EXCEPT ALL SELECT * FROM counted)
    )
    SELECT count(*) FROM (SELECT DISTINCT ns, address, kind, state, app FROM differences) d"
);

/// Counts all groups again. Takes the lock of a trigger's creation, which blocks writes of records.
const REBUILD: &str = concat!(
    "LOCK TABLE records IN SHARE ROW EXCLUSIVE MODE;
     DELETE FROM record_groups;
     INSERT INTO record_groups (ns, address, kind, state, app, records, oldest, newest, edited_at) ",
    counted_groups!()
);

/// Returns the groups of the covered records.
pub(crate) async fn read(
    connection: &mut PgConnection,
    covered: &CoveredScope,
) -> Result<Vec<RecordGroup>, PostgresError> {
    let mut statement = StatementBuilder::new(
        "SELECT n.tenant, n.username, a.agent, a.session, a.branch, g.kind, g.state, g.app, g.records, g.oldest,
                g.newest, g.edited_at
         FROM record_groups g JOIN namespaces n ON n.ns = g.ns
             JOIN addresses a ON a.ns = g.ns AND a.address = g.address WHERE ",
    );
    covered.push_row_condition("g", &mut statement);
    let rows = statement.fetch_all(connection).await?;
    let mut groups = rows.iter().map(group).collect::<Result<Vec<_>, _>>()?;
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

/// Returns the number of groups that differ from the records.
pub(crate) async fn count_differences(connection: &mut PgConnection) -> Result<u64, PostgresError> {
    let count: i64 = sqlx::query_scalar(DIFFERENCES).fetch_one(connection).await?;
    Ok(u64::try_from(count).unwrap_or_default())
}

/// Counts all groups again if one differs from the records. Returns a description of the difference. The connection
/// must be in a transaction.
pub(crate) async fn repair(connection: &mut PgConnection) -> Result<Option<String>, PostgresError> {
    let differences = count_differences(connection).await?;
    if differences == 0 {
        return Ok(None);
    }
    sqlx::raw_sql(REBUILD).execute(connection).await?;
    Ok(Some(format!("{differences} {}", health::WRONG_RECORD_GROUPS)))
}
