//! Reads the groups of records: the number of records and their times, which triggers of the schema maintain.

use memory_engine_core::{ErrorKind, Kind, RecordGroup, Scope, State, Timestamp};
use rusqlite::{Connection, Row};

use crate::{
    database::{error::SqliteError, statement::Statement},
    rows::scopes::{self, CoveredScope},
};

/// Selects the groups of the scopes of one user, starting from the scopes. The condition on `s` follows.
const GROUPS_OF_SCOPES_SQL: &str = "SELECT t.name, n.user, s.agent, s.session, s.branch, g.kind, g.state, g.app,
        g.records, g.oldest, g.newest, g.edited_at
    FROM scopes s CROSS JOIN record_groups g INDEXED BY record_groups_by_scope ON g.scope = s.scope
        CROSS JOIN namespaces n ON n.namespace = s.namespace CROSS JOIN tenants t ON t.tenant = n.tenant WHERE ";

/// Selects the groups of a tenant, starting from all groups, most of which match. The condition on `s` follows.
const ALL_GROUPS_SQL: &str = "SELECT t.name, n.user, s.agent, s.session, s.branch, g.kind, g.state, g.app,
        g.records, g.oldest, g.newest, g.edited_at
    FROM record_groups g CROSS JOIN scopes s ON s.scope = g.scope
        CROSS JOIN namespaces n ON n.namespace = s.namespace CROSS JOIN tenants t ON t.tenant = n.tenant WHERE ";

/// Computes the times of stale groups again. A group is stale if the record that had one of these times was removed.
/// Its `edited_at` is only stale with the value 2. `ORDER BY … LIMIT 1` uses the order of the index.
const REFRESH_SQL: &str = "UPDATE record_groups AS g SET stale = 0,
        oldest = coalesce((
            SELECT r.occurred_at FROM records r INDEXED BY records_by_scope
            WHERE r.scope = g.scope AND r.kind = g.kind AND r.state = g.state AND r.app IS g.app
            ORDER BY r.occurred_at, r.place, r.id LIMIT 1), oldest),
        newest = coalesce((
            SELECT r.occurred_at FROM records r INDEXED BY records_by_scope
            WHERE r.scope = g.scope AND r.kind = g.kind AND r.state = g.state AND r.app IS g.app
            ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC LIMIT 1), newest),
        edited_at = CASE WHEN stale = 1 THEN edited_at ELSE (
            SELECT max(r.edited_at) FROM records r INDEXED BY records_by_scope
            WHERE r.scope = g.scope AND r.kind = g.kind AND r.state = g.state AND r.app IS g.app) END
    WHERE stale > 0";

/// Returns the groups of the covered records.
pub(crate) fn read(connection: &Connection, covered: &CoveredScope) -> Result<Vec<RecordGroup>, SqliteError> {
    let mut groups = Vec::new();
    statement(covered).for_each(connection, |row| {
        // A group of a state or a scope that cannot be read has damaged records, which no list contains either.
        match scopes::read(row).and_then(|scope| group(row, scope)) {
            Err(error) if error.kind() == ErrorKind::Corrupt => RecordGroup::warn_of_damage(),
            group => groups.push(group?),
        }
        Ok(())
    })?;
    RecordGroup::sort(&mut groups);
    Ok(groups)
}

/// Returns the statement that selects the groups of a scope.
fn statement(covered: &CoveredScope) -> Statement {
    if covered.namespace.is_some() {
        let mut statement = Statement::new(GROUPS_OF_SCOPES_SQL);
        covered.push_scope_condition(&mut statement);
        return statement;
    }
    let mut statement = Statement::new(ALL_GROUPS_SQL);
    covered.push_condition_for_scope(&mut statement);
    statement
}

fn group(row: &Row<'_>, scope: Scope) -> Result<RecordGroup, SqliteError> {
    let time = |column| row.get(column).map(Timestamp::from_micros);
    let state: String = row.get("state")?;
    let state: State = state.parse().map_err(|_| SqliteError::corrupt("a state"))?;
    let kind = Kind::new(row.get::<_, String>("kind")?);
    let edited_at = row.get::<_, Option<i64>>("edited_at")?.map(Timestamp::from_micros);
    let group = RecordGroup::new(scope, kind, state, row.get("records")?, time("oldest")?);
    Ok(group.with_newest(time("newest")?).with_app(row.get("app")?).with_edited_at(edited_at))
}

/// Computes the times of stale groups again. Every transaction that removes or changes records must call it last,
/// because the triggers only mark groups as stale.
pub(crate) fn refresh_times(connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare_cached(REFRESH_SQL)?.execute([]).map(drop)
}

#[cfg(test)]
mod tests;
