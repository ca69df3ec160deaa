//! Rows of a backup, in a form that both databases read and write.

use std::fmt;

use memory_engine_core::{Error, ErrorKind, Record, Result, Scope, SortedJson};
use serde_json::Value;

pub use self::tables::{BackupTable, CellType, Column, RowOwner};

mod tables;

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// No value.
    Null,
    /// A number, or 0 and 1 for a truth value.
    Integer(i64),
    /// A text.
    Text(String),
    /// Bytes; also an id.
    Bytes(Vec<u8>),
}

/// The content of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum RowContent {
    /// A record.
    Record(Box<Record>),
    /// The values of a row of another table, in the order of [`BackupTable::columns`]; before them the id, if
    /// the row belongs to a record or is a tombstone of one.
    Cells(Vec<Cell>),
}

/// A row of a backup.
#[derive(Debug, Clone, PartialEq)]
pub struct BackupRow {
    /// The table.
    pub table: BackupTable,
    /// The address of the row: at least its tenant and user. `None` for a table that belongs to no user.
    pub scope: Option<Scope>,
    /// The content.
    pub content: RowContent,
}

/// A hash of rows that does not depend on their order, and their numbers. Two stores with the same rows have the same
/// fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fingerprint {
    sum: [u64; 4],
    /// Number of rows.
    pub rows: u64,
    /// Number of records.
    pub records: u64,
    /// Number of tombstones.
    pub tombstones: u64,
}

impl Fingerprint {
    /// Adds a row.
    ///
    /// # Errors
    /// `Internal` if a record cannot be written as JSON.
    pub fn add(&mut self, row: &BackupRow) -> Result<()> {
        let mut hasher = RowHasher::default();
        hasher.push(&[row.table as u8]);
        for (_, name) in row.scope.iter().flat_map(Scope::dimensions) {
            hasher.push(name.unwrap_or_default().as_bytes());
        }
        hasher.push(row.scope.as_ref().map_or("", Scope::tenant).as_bytes());
        match &row.content {
            RowContent::Record(record) => hasher.push(&canonical_json(record)?),
            RowContent::Cells(cells) => cells.iter().for_each(|cell| hasher.push_cell(cell)),
        }
        self.add_hash(hasher);
        self.records += u64::from(row.table == BackupTable::Records);
        self.tombstones += u64::from(row.table == BackupTable::Tombstones);
        Ok(())
    }

    /// Adds the hash of a row of any table.
    pub fn add_hash(&mut self, hasher: RowHasher) {
        let hash = hasher.0.finalize();
        for (sum, bytes) in self.sum.iter_mut().zip(hash.as_bytes().chunks_exact(8)) {
            let mut word = [0; 8];
            word.copy_from_slice(bytes);
            *sum = sum.wrapping_add(u64::from_le_bytes(word));
        }
        self.rows += 1;
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sum.iter().try_for_each(|word| write!(f, "{word:016x}"))
    }
}

/// Hashes the values of one row.
#[derive(Debug, Default)]
pub struct RowHasher(blake3::Hasher);

impl RowHasher {
    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds a value.
    pub fn push_cell(&mut self, cell: &Cell) {
        match cell {
            Cell::Null => self.push(b"n"),
            Cell::Integer(number) => {
                self.push(b"i");
                self.push(&number.to_le_bytes());
            }
            Cell::Text(text) => {
                self.push(b"t");
                self.push(text.as_bytes());
            }
            Cell::Bytes(bytes) => {
                self.push(b"b");
                self.push(bytes);
            }
        }
    }
}

/// Returns a record as JSON with sorted keys: the same bytes for the same record in every program.
///
/// # Errors
/// `Internal` if the record cannot be written as JSON.
pub fn canonical_json(record: &Record) -> Result<Vec<u8>> {
    let failed =
        |error| Error::new(ErrorKind::Internal, "backup", "a record cannot be written as JSON").with_source(error);
    let value = serde_json::to_value(record).map_err(failed)?;
    match &value {
        Value::Object(fields) => serde_json::to_vec(&SortedJson(fields)).map_err(failed),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            serde_json::to_vec(other).map_err(failed)
        }
    }
}

#[cfg(test)]
mod tests {
    use memory_engine_core::{Kind, RecordId, Timestamp};

    use super::*;

    fn cells(table: BackupTable, user: &str, cells: Vec<Cell>) -> BackupRow {
        BackupRow { table, scope: Scope::user(user).ok(), content: RowContent::Cells(cells) }
    }

    fn of(rows: &[&BackupRow]) -> String {
        let mut fingerprint = Fingerprint::default();
        rows.iter().for_each(|row| fingerprint.add(row).unwrap());
        fingerprint.to_string()
    }

    #[test]
    fn a_fingerprint_depends_on_every_value_and_not_on_the_order() {
        let text = |text: &str| Cell::Text(text.to_owned());
        let row = cells(BackupTable::SynonymVerdicts, "lin", vec![text("a"), text("b"), Cell::Integer(1)]);
        let record = Record::with_id(
            RecordId::new(),
            Scope::user("lin").unwrap(),
            Kind::NOTE,
            "walnuts".into(),
            Timestamp::from_micros(1),
        );
        let record =
            BackupRow { table: BackupTable::Records, scope: None, content: RowContent::Record(Box::new(record)) };
        let all = of(&[&row, &record]);
        assert_eq!(all, of(&[&record, &row]));
        for other in [
            cells(BackupTable::SynonymVerdicts, "mo", vec![text("a"), text("b"), Cell::Integer(1)]),
            cells(BackupTable::SynonymVerdicts, "lin", vec![text("ab"), text(""), Cell::Integer(1)]),
            cells(BackupTable::SynonymVerdicts, "lin", vec![text("a"), text("b"), Cell::Null]),
            cells(BackupTable::SynonymGroups, "lin", vec![text("a"), text("b"), Cell::Integer(1)]),
        ] {
            assert_ne!(all, of(&[&other, &record]));
        }
        let mut changed = record.clone();
        if let RowContent::Record(record) = &mut changed.content {
            record.revision += 1;
        }
        assert_ne!(all, of(&[&row, &changed]));
        assert_ne!(of(&[&row]), of(&[&row, &row, &row]));
    }
}
