//! Records as rows.

use memory_engine_core::{Error, ErrorKind, Kind, Record, RecordId, Role, Scope, Source, State, Timestamp, Trust};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    database::failure::Failure,
    database::statement::Statement,
    records::scopes::{self, Place, Reach},
};

/// A record with its numbers.
#[derive(Debug)]
pub(crate) struct Stored {
    /// The row.
    pub(crate) row: i64,
    /// Where it lives.
    pub(crate) place: Place,
    /// What it says.
    pub(crate) record: Record,
}

/// The columns of what a record says, as [`content`] reads them.
macro_rules! columns {
    () => {
        "r.record, r.id, r.kind, r.text, r.role, r.speaker, r.scene, r.topic, r.emotion, r.message_id, r.sequence, r.round, \
         r.confidence, r.importance, r.occurred_at, r.recorded_at, r.valid_from, r.valid_until, r.trust, r.state, r.revision, \
         r.entities, r.tags, r.derived_from, r.metadata"
    };
}
pub(crate) use columns;

/// What is selected of a record with its address, up to the joins that it needs.
macro_rules! selected {
    ($before:literal) => {
        selected!($before, "")
    };
    ($before:literal, $more:literal) => {
        concat!(
            "SELECT t.name, n.user, s.agent, s.session, s.branch, t.tenant, n.namespace, s.scope, ",
            $crate::records::row::columns!(),
            $more,
            " FROM ",
            $before,
            "records r CROSS JOIN scopes s ON s.scope = r.scope CROSS JOIN namespaces n ON n.namespace = r.namespace ",
            "CROSS JOIN tenants t ON t.tenant = n.tenant "
        )
    };
}
pub(crate) use selected;

/// Whether a row is to be in the indexes, as `Record::is_indexed` has it.
macro_rules! indexed {
    () => {
        "(r.state = 'active' AND substr(r.kind, 1, 7) <> 'ledger/')"
    };
}
pub(crate) use indexed;

/// The record in a row of [`selected`].
pub(crate) fn read(row: &Row<'_>) -> Result<Stored, Failure> {
    let place = Place { tenant: row.get(5)?, namespace: row.get(6)?, scope: row.get(7)? };
    Ok(Stored { row: row.get(8)?, place, record: content(row, 8, scopes::read(row)?)? })
}

/// The record at this address whose [`columns!`] begin at this column.
pub(crate) fn content(row: &Row<'_>, first: usize, address: Scope) -> Result<Record, Failure> {
    let column = |number: usize| first + number;
    let time = |number: usize| row.get(column(number)).map(Timestamp::from_micros);
    let perhaps = |number: usize| {
        Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column(number))?.map(Timestamp::from_micros))
    };
    let (id, kind) = (RecordId::from_bytes(row.get(column(1))?), Kind::new(row.get::<_, String>(column(2))?));
    let mut record = Record::with_id(id, address, kind, row.get(column(3))?, time(14)?);
    record.role = row.get::<_, Option<String>>(column(4))?.map(Role::new);
    record.speaker = row.get(column(5))?;
    record.scene = row.get(column(6))?;
    record.topic = row.get(column(7))?;
    record.emotion = row.get(column(8))?;
    let (message_id, sequence, round) = (row.get(column(9))?, row.get(column(10))?, row.get(column(11))?);
    record.source = Source { message_id, sequence, round };
    record.confidence = row.get(column(12))?;
    record.importance = row.get(column(13))?;
    record.recorded_at = time(15)?;
    record.valid_from = perhaps(16)?;
    record.valid_until = perhaps(17)?;
    let text = |number: usize| row.get_ref(column(number))?.as_str().map_err(rusqlite::Error::from);
    record.trust = text(18)?.parse::<Trust>().map_err(|_| Failure::corrupt("a trust"))?;
    record.state = text(19)?.parse::<State>().map_err(|_| Failure::corrupt("a state"))?;
    record.revision = row.get(column(20))?;
    record.entities = json(text(21)?)?;
    record.tags = json(text(22)?)?;
    record.derived_from = json(text(23)?)?;
    record.metadata = json(text(24)?)?;
    Ok(record)
}

fn json<T: DeserializeOwned + Default>(text: &str) -> Result<T, Failure> {
    match text {
        "[]" | "{}" => Ok(T::default()),
        text => serde_json::from_str(text).map_err(|_| Failure::corrupt("a list or metadata")),
    }
}

/// The records of this id that `reach` covers, by user: ids of two users may be equal.
pub(crate) fn all(connection: &Connection, reach: &Reach, id: RecordId) -> Result<Vec<Stored>, Failure> {
    let mut statement = Statement::new(concat!(selected!(""), "WHERE r.id = "));
    statement.bind(id.as_bytes().to_vec()).push(" AND ");
    reach.covers(&mut statement);
    statement.push(" ORDER BY n.user");
    let (mut prepared, values) = statement.prepare(connection)?;
    let mut rows = prepared.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// The record of this id in a namespace.
pub(crate) fn named(connection: &Connection, namespace: i64, id: RecordId) -> Result<Option<Stored>, Failure> {
    let sql = concat!(selected!(""), "WHERE r.id = ?1 AND r.namespace = ?2");
    let mut prepared = connection.prepare_cached(sql)?;
    let mut rows = prepared.query(params![id.as_bytes(), namespace])?;
    rows.next()?.map(read).transpose()
}

/// What an index has to know of a record before it takes something in for it.
#[derive(Debug)]
pub(crate) struct Current {
    pub(crate) row: i64,
    pub(crate) scope: i64,
    pub(crate) revision: u64,
    pub(crate) indexed: bool,
}

impl Current {
    /// Whether it is still the record that somebody has read and indexed.
    pub(crate) fn is(&self, record: &Record, place: Place) -> bool {
        self.indexed && self.scope == place.scope && self.revision == record.revision
    }
}

/// The record of this id in a namespace, without what it says.
pub(crate) fn current(connection: &Connection, namespace: i64, id: RecordId) -> rusqlite::Result<Option<Current>> {
    let sql = concat!(
        "SELECT r.record, r.scope, r.revision, ",
        indexed!(),
        " FROM records r WHERE r.id = ?1 AND r.namespace = ?2"
    );
    let read = |row: &Row<'_>| {
        Ok(Current { row: row.get(0)?, scope: row.get(1)?, revision: row.get(2)?, indexed: row.get(3)? })
    };
    connection.prepare_cached(sql)?.query_row(params![id.as_bytes(), namespace], read).optional()
}

/// Writes a new record and gives its row.
pub(crate) fn insert(connection: &Connection, place: Place, record: &Record) -> Result<i64, Failure> {
    let sql = "INSERT INTO records (namespace, scope, id, revision, state, kind, trust, occurred_at, recorded_at,
        valid_from, valid_until, role, speaker, scene, topic, emotion, confidence, importance, message_id, sequence,
        round, entities, tags, derived_from, metadata, text)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
        ?23, ?24, ?25, ?26)";
    write(connection, sql, place, record)?;
    Ok(connection.last_insert_rowid())
}

/// Writes a record in the place of one that is there.
pub(crate) fn replace(connection: &Connection, place: Place, record: &Record) -> Result<(), Failure> {
    let sql = "UPDATE records SET revision = ?4, state = ?5, kind = ?6, trust = ?7, occurred_at = ?8,
        recorded_at = ?9, valid_from = ?10, valid_until = ?11, role = ?12, speaker = ?13, scene = ?14, topic = ?15,
        emotion = ?16, confidence = ?17, importance = ?18, message_id = ?19, sequence = ?20, round = ?21,
        entities = ?22, tags = ?23, derived_from = ?24, metadata = ?25, text = ?26
        WHERE id = ?3 AND namespace = ?1 AND scope = ?2";
    write(connection, sql, place, record)
}

fn write(connection: &Connection, sql: &'static str, place: Place, record: &Record) -> Result<(), Failure> {
    let revision = i64::try_from(record.revision).unwrap_or(i64::MAX);
    connection.prepare_cached(sql)?.execute(params![
        place.namespace,
        place.scope,
        record.id.as_bytes(),
        revision,
        record.state.as_str(),
        record.kind.as_str(),
        record.trust.as_str(),
        record.occurred_at.as_micros(),
        record.recorded_at.as_micros(),
        record.valid_from.map(Timestamp::as_micros),
        record.valid_until.map(Timestamp::as_micros),
        record.role.as_ref().map(Role::as_str),
        record.speaker,
        record.scene,
        record.topic,
        record.emotion,
        record.confidence,
        record.importance,
        record.source.message_id,
        record.source.sequence,
        record.source.round,
        as_json(&record.entities)?,
        as_json(&record.tags)?,
        as_json(&record.derived_from)?,
        as_json(&record.metadata)?,
        record.text,
    ])?;
    Ok(())
}

fn as_json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| {
        Error::new(ErrorKind::Internal, "put", "a field cannot be written as JSON").with_source(error).into()
    })
}

/// Removes a record. What is derived from it has to be gone already.
pub(crate) fn remove(connection: &Connection, row: i64) -> Result<(), Failure> {
    connection.prepare_cached("DELETE FROM records WHERE record = ?1")?.execute([row])?;
    Ok(())
}
