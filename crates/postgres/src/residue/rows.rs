//! Searches the rows of the tables.

use std::collections::BTreeMap;

use memory_engine_core::{
    Scope, Tombstone, Trust,
    residue::{ByteSearch, PlaceKind, ResidueProbes, ResidueReport, SearchedPlace, Trace},
};
use memory_engine_sql::residue::keeps_ids;
use sqlx::{AssertSqlSafe, PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::schema::Table;
use crate::{
    database::error::PostgresError,
    rows::{scopes::record_id, tombstones},
};

/// Number of rows that are fetched at once.
const PAGE_ROWS: usize = 1000;

/// The search of the rows of all tables.
pub(super) struct RowSearch<'s> {
    pub(super) probes: &'s ResidueProbes,
    pub(super) byte_search: &'s ByteSearch,
    /// The users whose records were deleted.
    pub(super) users: &'s BTreeMap<Uuid, &'s Scope>,
}

impl RowSearch<'_> {
    /// Searches a table.
    pub(super) async fn table(
        &self,
        connection: &mut PgConnection,
        table: &Table,
        report: &mut ResidueReport,
    ) -> Result<(), PostgresError> {
        let mut place = SearchedPlace::new(PlaceKind::Table, &table.name);
        place.keeps_ids = keeps_ids(&table.name).map(str::to_owned);
        if !self.probes.covers_database() && !table.names_users() {
            report.places.push(place.with_not_searched("its rows name no user"));
            return Ok(());
        }
        let mut references = SearchedPlace::new(PlaceKind::Table, "records (references in remaining records)")
            .with_kept_ids("a remaining record, such as the entry of a retraction, names the id of a deleted one");
        let users = self.users.keys().map(Uuid::to_string).collect::<Vec<_>>().join(",");
        let declare = format!("DECLARE residue NO SCROLL CURSOR FOR {}", table.rows_sql(&users));
        sqlx::query(AssertSqlSafe(declare)).execute(&mut *connection).await?;
        loop {
            let fetch = format!("FETCH {PAGE_ROWS} FROM residue");
            let rows = sqlx::query(AssertSqlSafe(fetch)).fetch_all(&mut *connection).await?;
            for row in &rows {
                self.row(row, table, &mut place, &mut references)?;
            }
            if rows.len() < PAGE_ROWS {
                break;
            }
        }
        sqlx::query("CLOSE residue").execute(&mut *connection).await?;
        for sql in table.orphan_sql(&users) {
            let orphans: i64 = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut *connection).await?;
            place.orphans += orphans.unsigned_abs();
        }
        report.places.push(place);
        if references.ids > 0 {
            report.places.push(references);
        }
        if table.is_records() {
            self.copies(connection, &users, report).await?;
        }
        Ok(())
    }

    fn row(
        &self,
        row: &PgRow,
        table: &Table,
        place: &mut SearchedPlace,
        references: &mut SearchedPlace,
    ) -> Result<(), PostgresError> {
        place.searched += 1;
        let user =
            row.try_get::<Option<Uuid>, _>("namespace")?.and_then(|namespace| self.users.get(&namespace).copied());
        let id: Option<Uuid> = row.try_get("id")?;
        let is_deleted = matches!((user, id), (Some(user), Some(id)) if self.is_deleted(user, id));
        let is_shared = if table.is_records() { !is_deleted } else { row.try_get("has_owner")? || table.is_of_names() };
        for (column, is_own) in [("own", true), ("others", false)] {
            let is_reference = table.is_records() && !is_own && !is_deleted;
            self.byte_search.search(row.try_get(column)?, &mut |trace| match trace {
                Trace::Id(number) => {
                    let namespace = self.probes.record(number).map(|probe| &probe.namespace);
                    // The same id of another user is another record.
                    if user.is_some_and(|user| namespace != Some(user)) {
                    } else if is_reference {
                        references.ids += 1;
                    } else {
                        place.ids += 1;
                    }
                }
                Trace::Text(_) if is_shared => place.shared += 1,
                Trace::Text(_) => place.texts += 1,
            });
        }
        Ok(())
    }

    fn is_deleted(&self, user: &Scope, id: Uuid) -> bool {
        self.probes.find(user, record_id(id)).is_some()
    }

    /// Finds remaining records with the content of deleted ones.
    async fn copies(
        &self,
        connection: &mut PgConnection,
        users: &str,
        report: &mut ResidueReport,
    ) -> Result<(), PostgresError> {
        let contents = self.probes.contents();
        // A name of its own: the driver keeps the columns of each statement text.
        let sql = format!(
            "DECLARE residue_copies NO SCROLL CURSOR FOR SELECT r.namespace, r.id, r.trust, r.content_hash
                FROM records r
             WHERE r.namespace = ANY ('{{{users}}}'::uuid[])"
        );
        sqlx::query(AssertSqlSafe(sql)).execute(&mut *connection).await?;
        loop {
            let fetch = format!("FETCH {PAGE_ROWS} FROM residue_copies");
            let rows = sqlx::query(AssertSqlSafe(fetch)).fetch_all(&mut *connection).await?;
            for row in &rows {
                let (namespace, id): (Uuid, Uuid) = (row.try_get("namespace")?, row.try_get("id")?);
                let Some(user) = self.users.get(&namespace).filter(|user| !self.is_deleted(user, id)) else { continue };
                if let Some(cascade_deleted) = contents.find(user, &tombstones::content_hash(row)?) {
                    // A damaged record must not prevent the search.
                    let trust = row.try_get::<&str, _>("trust")?.parse().unwrap_or(Trust::Import);
                    report.add_copy(record_id(id), Tombstone::blocks_content_for(trust, cascade_deleted));
                }
            }
            if rows.len() < PAGE_ROWS {
                break;
            }
        }
        sqlx::query("CLOSE residue_copies").execute(connection).await?;
        Ok(())
    }
}
