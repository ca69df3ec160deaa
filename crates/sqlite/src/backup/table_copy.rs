//! Copies the rows of a file into a new file of the same schema.
//!
//! The statements of this version create the tables of a restored store. Only the values of the rows come from the
//! backup, and no other bytes of its pages. The values are not parsed, so that a damaged record is restored as it was.

use rusqlite::{Connection, types::ToSqlOutput};

use crate::{backup::digest, database::error::SqliteError};

/// Is called with the number of completed steps and the number of all steps.
pub(crate) type OnProgress<'p> = &'p dyn Fn(u64, u64);

/// A table that triggers fill when the rows of `records` are written.
const FILLED_BY_TRIGGERS: &str = "record_groups";
/// Number of rows that are written between two calls of the callback.
const STEP_ROWS: u64 = 1_000;

/// Copies the rows of all tables. The target has the tables already, in a transaction, without checks of foreign keys.
pub(crate) fn copy_tables(
    source: &Connection,
    target: &Connection,
    on_progress: OnProgress<'_>,
) -> Result<(), SqliteError> {
    let mut tables = digest::tables(target)?;
    tables.retain(|table| table != FILLED_BY_TRIGGERS);
    let count = |table| source.query_row(&format!("SELECT count(*) FROM \"{table}\""), [], |row| row.get::<_, u64>(0));
    let total = tables.iter().map(count).sum::<rusqlite::Result<u64>>()?;
    let mut copied = 0;
    for table in &tables {
        // A migration may have filled it.
        target.execute(&format!("DELETE FROM \"{table}\""), [])?;
        let columns = stored_columns(target, table)?;
        let names = columns.join(", ");
        let marks = vec!["?"; columns.len()].join(", ");
        let mut select = source.prepare(&format!("SELECT {names} FROM \"{table}\""))?;
        let mut insert = target.prepare(&format!("INSERT INTO \"{table}\" ({names}) VALUES ({marks})"))?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            for column in 0..columns.len() {
                insert.raw_bind_parameter(column + 1, ToSqlOutput::Borrowed(row.get_ref(column)?))?;
            }
            insert.raw_execute()?;
            copied += 1;
            if copied % STEP_ROWS == 0 {
                on_progress(copied, total);
            }
        }
    }
    on_progress(total, total);
    Ok(())
}

/// Returns the names of the columns of a table that have values of their own, in quotation marks.
fn stored_columns(connection: &Connection, table: &str) -> Result<Vec<String>, SqliteError> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_xinfo(?1) WHERE hidden = 0")?;
    let names = statement.query_map([table], |row| Ok(format!("\"{}\"", row.get::<_, String>(0)?)))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}
