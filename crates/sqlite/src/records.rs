//! Records as rows.

use memory_core::{Clock, Error, ErrorKind, Kind, Record, RecordId, Role, Source, State, Timestamp, Trust};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    failure::Failure,
    scopes::{self, Place, Reach},
    statement::Statement,
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

/// What is selected of a record, up to the joins that it needs.
macro_rules! selected {
    ($before:literal) => {
        selected!($before, "")
    };
    ($before:literal, $more:literal) => {
        concat!(
            "SELECT t.name, n.user, s.agent, s.session, s.branch, t.tenant, n.namespace, s.scope, r.record, r.id, r.kind, ",
            "r.text, r.role, r.speaker, r.scene, r.topic, r.emotion, r.message_id, r.sequence, r.round, r.confidence, ",
            "r.importance, r.occurred_at, r.recorded_at, r.valid_from, r.valid_until, r.trust, r.state, r.revision, ",
            "r.entities, r.tags, r.derived_from, r.metadata",
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

/// A clock for fields that are overwritten at once.
#[derive(Debug)]
struct Epoch;

impl Clock for Epoch {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(0)
    }
}

/// The record in a row of [`selected`].
pub(crate) fn read(row: &Row<'_>) -> Result<Stored, Failure> {
    let place = Place { tenant: row.get(5)?, namespace: row.get(6)?, scope: row.get(7)? };
    let mut record =
        Record::new(scopes::read(row)?, Kind::new(row.get::<_, String>(10)?), row.get::<_, String>(11)?, &Epoch);
    record.id = RecordId::from_bytes(row.get(9)?);
    record.role = row.get::<_, Option<String>>(12)?.map(Role::new);
    record.speaker = row.get(13)?;
    record.scene = row.get(14)?;
    record.topic = row.get(15)?;
    record.emotion = row.get(16)?;
    record.source = Source { message_id: row.get(17)?, sequence: row.get(18)?, round: row.get(19)? };
    record.confidence = row.get(20)?;
    record.importance = row.get(21)?;
    record.occurred_at = Timestamp::from_micros(row.get(22)?);
    record.recorded_at = Timestamp::from_micros(row.get(23)?);
    record.valid_from = row.get::<_, Option<i64>>(24)?.map(Timestamp::from_micros);
    record.valid_until = row.get::<_, Option<i64>>(25)?.map(Timestamp::from_micros);
    let corrupt = |what: &'static str| move |_| Failure::corrupt(what);
    record.trust =
        row.get_ref(26)?.as_str().map_err(rusqlite::Error::from)?.parse::<Trust>().map_err(corrupt("a trust"))?;
    record.state =
        row.get_ref(27)?.as_str().map_err(rusqlite::Error::from)?.parse::<State>().map_err(corrupt("a state"))?;
    record.revision = row.get(28)?;
    record.entities = json(row, 29)?;
    record.tags = json(row, 30)?;
    record.derived_from = json(row, 31)?;
    record.metadata = json(row, 32)?;
    Ok(Stored { row: row.get(8)?, place, record })
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T, Failure> {
    let text = row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?;
    serde_json::from_str(text).map_err(|_| Failure::corrupt("a list or metadata"))
}

/// The record of this id that `reach` covers; the first by user, when several of a tenant's users have one.
pub(crate) fn find(connection: &Connection, reach: &Reach, id: RecordId) -> Result<Option<Stored>, Failure> {
    Ok(all(connection, reach, id)?.into_iter().next())
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
