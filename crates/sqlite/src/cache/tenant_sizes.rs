//! The number of records of each tenant, counted again when the database has grown.

use rusqlite::Connection;

use crate::database::error::SqliteError;

/// Numbers of records by tenant, as of the last count.
#[derive(Debug, Default)]
pub(crate) struct TenantSizes {
    sizes: Vec<(i64, u64)>,
    /// The greatest row at the last count.
    counted_row: i64,
}

impl TenantSizes {
    /// Returns the tenants with more than this many records.
    pub(crate) fn larger_than(&self, records: usize) -> impl Iterator<Item = (i64, u64)> {
        self.sizes.iter().copied().filter(move |(_, size)| *size > records as u64)
    }

    /// Counts again if the database has more than `min_records` rows and has grown by a quarter since the last count.
    /// If `exact` is true, any growth is enough.
    pub(crate) fn update(
        &mut self,
        connection: &Connection,
        min_records: usize,
        exact: bool,
    ) -> Result<(), SqliteError> {
        let sql = "SELECT coalesce(max(record), 0) FROM records";
        let last_row: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        let has_grown_by_quarter = last_row - self.counted_row >= self.counted_row / 4;
        let has_grown = last_row > self.counted_row;
        if last_row <= min_records as i64 || !(has_grown_by_quarter || exact && has_grown) {
            return Ok(());
        }
        let sql = "SELECT n.tenant, sum(r.records) FROM namespaces n CROSS JOIN (
            SELECT namespace, count(*) AS records FROM records INDEXED BY records_by_namespace GROUP BY namespace
            ) r ON r.namespace = n.namespace GROUP BY n.tenant";
        let mut prepared = connection.prepare_cached(sql)?;
        let sizes = prepared.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        *self = Self { sizes: sizes.collect::<rusqlite::Result<_>>()?, counted_row: last_row };
        Ok(())
    }
}
