//! Records as rows.

use std::collections::BTreeMap;

use memory_engine_core::{
    ContentHash, Kind, Record, RecordId, Role, SortedJson, Source, State, Timestamp, Trust, text,
};
use memory_engine_sql::indexed;
use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    database::statement::Statement,
    records::scopes::{self, CoveredScope, record_id, uuid, uuids},
};

/// The selected columns of a record, up to the conditions.
macro_rules! selected {
    ($from:literal) => {
        selected!($from, "")
    };
    ($from:literal, $more:literal) => {
        concat!(
            "SELECT n.tenant, n.username, a.agent, a.session, a.branch, r.ns, r.id, r.kind, r.text, r.role, r.speaker, ",
            "r.scene, r.topic, r.emotion, r.message_id, r.sequence, r.round, r.confidence, r.importance, r.occurred_at, ",
            "r.recorded_at, r.valid_from, r.valid_until, r.trust, r.state, r.revision, r.entities, r.tags, ",
            "r.derived_from, r.metadata",
            $more,
            " FROM ",
            $from,
            " JOIN namespaces n ON n.ns = r.ns JOIN addresses a ON a.ns = r.ns AND a.address = r.address "
        )
    };
}
pub(crate) use selected;

/// A record with its namespace.
#[derive(Debug)]
pub(crate) struct StoredRecord {
    pub(crate) ns: Uuid,
    pub(crate) record: Record,
}

/// The record in a row of [`selected!`].
pub(crate) fn read(row: &PgRow) -> Result<StoredRecord, PostgresError> {
    let optional_time =
        |column: &str| Ok::<_, sqlx::Error>(row.try_get::<Option<i64>, _>(column)?.map(Timestamp::from_micros));
    let id = record_id(row.try_get("id")?);
    let kind = Kind::new(row.try_get::<String, _>("kind")?);
    let occurred_at = Timestamp::from_micros(row.try_get("occurred_at")?);
    let mut record = Record::with_id(id, scopes::read(row)?, kind, row.try_get("text")?, occurred_at);
    record.role = row.try_get::<Option<String>, _>("role")?.map(Role::new);
    record.speaker = row.try_get("speaker")?;
    record.scene = row.try_get("scene")?;
    record.topic = row.try_get("topic")?;
    record.emotion = row.try_get("emotion")?;
    let round = row.try_get::<Option<i64>, _>("round")?.map(u32::try_from).transpose();
    let round = round.map_err(|_| PostgresError::corrupt("a round"))?;
    record.source = Source { message_id: row.try_get("message_id")?, sequence: row.try_get("sequence")?, round };
    record.confidence = row.try_get("confidence")?;
    record.importance = row.try_get("importance")?;
    record.recorded_at = Timestamp::from_micros(row.try_get("recorded_at")?);
    record.valid_from = optional_time("valid_from")?;
    record.valid_until = optional_time("valid_until")?;
    let trust = row.try_get::<&str, _>("trust")?.parse::<Trust>();
    record.trust = trust.map_err(|_| PostgresError::corrupt("a trust"))?;
    let state = row.try_get::<&str, _>("state")?.parse::<State>();
    record.state = state.map_err(|_| PostgresError::corrupt("a state"))?;
    let revision = u64::try_from(row.try_get::<i64, _>("revision")?);
    record.revision = revision.map_err(|_| PostgresError::corrupt("a revision"))?;
    record.entities = row.try_get("entities")?;
    record.tags = row.try_get("tags")?;
    record.derived_from = row.try_get::<Vec<Uuid>, _>("derived_from")?.into_iter().map(record_id).collect();
    record.metadata = row.try_get::<Json<Map<String, Value>>, _>("metadata")?.0;
    Ok(StoredRecord { ns: row.try_get("ns")?, record })
}

/// The records of these ids that `reach` covers, by user: ids of two users may be equal.
pub(crate) async fn find(
    connection: &mut PgConnection,
    reach: &CoveredScope,
    ids: &[RecordId],
) -> Result<Vec<StoredRecord>, PostgresError> {
    let mut statement = Statement::new(concat!(selected!("records r"), "WHERE r.id = ANY ("));
    statement.bind(uuids(ids)).push(") AND ");
    reach.holds_joined(&mut statement);
    statement.push(" ORDER BY n.username");
    statement.rows(connection).await?.iter().map(read).collect()
}

/// The records of these ids in a namespace.
pub(crate) async fn named(
    connection: &mut PgConnection,
    ns: Uuid,
    ids: &[RecordId],
) -> Result<Vec<Record>, PostgresError> {
    let sql = concat!(selected!("records r"), "WHERE r.ns = $1 AND r.id = ANY ($2)");
    let rows = sqlx::query(sql).bind(ns).bind(uuids(ids)).fetch_all(connection).await?;
    rows.iter().map(|row| Ok(read(row)?.record)).collect()
}

/// Returns the visible records with these ids, by namespace.
pub(crate) async fn keys(
    connection: &mut PgConnection,
    reach: &CoveredScope,
    ids: &[RecordId],
) -> Result<BTreeMap<Uuid, Vec<Uuid>>, PostgresError> {
    let mut statement = Statement::new("SELECT r.ns, r.id FROM records r WHERE r.id = ANY (");
    statement.bind(uuids(ids)).push(") AND ");
    reach.holds("r", &mut statement);
    let mut keys: BTreeMap<Uuid, Vec<Uuid>> = BTreeMap::new();
    for row in statement.rows(connection).await? {
        keys.entry(row.try_get("ns")?).or_default().push(row.try_get("id")?);
    }
    Ok(keys)
}

/// The current version of a record, checked before an index entry for it is stored.
#[derive(Debug)]
pub(crate) struct Current {
    pub(crate) id: RecordId,
    address: Uuid,
    pub(crate) revision: u64,
    pub(crate) indexed: bool,
}

impl Current {
    /// Returns true if this is still the version that was read and indexed.
    pub(crate) fn is(&self, record: &Record) -> bool {
        self.indexed && self.revision == record.revision && self.address == scopes::address(&record.scope)
    }
}

/// The records of these ids in a namespace, without what they say.
pub(crate) async fn current(
    connection: &mut PgConnection,
    ns: Uuid,
    ids: &[RecordId],
) -> Result<Vec<Current>, PostgresError> {
    let sql = concat!(
        "SELECT r.id, r.address, r.revision, ",
        indexed!(),
        " AS indexed FROM records r WHERE r.ns = $1 AND r.id = ANY ($2)"
    );
    let rows = sqlx::query(sql).bind(ns).bind(uuids(ids)).fetch_all(connection).await?;
    let read = |row: &PgRow| {
        let revision = u64::try_from(row.try_get::<i64, _>("revision")?).unwrap_or_default();
        Ok(Current {
            id: record_id(row.try_get("id")?),
            address: row.try_get("address")?,
            revision,
            indexed: row.try_get("indexed")?,
        })
    };
    rows.iter().map(read).collect()
}

/// The records of these namespaces and ids, a pair each.
pub(crate) async fn pairs(
    connection: &mut PgConnection,
    ns: &[Uuid],
    ids: &[Uuid],
) -> Result<Vec<StoredRecord>, PostgresError> {
    let sql = selected!("unnest($1::uuid[], $2::uuid[]) k (ns, id) JOIN records r ON r.ns = k.ns AND r.id = k.id");
    let rows = sqlx::query(sql).bind(ns).bind(ids).fetch_all(connection).await?;
    rows.iter().map(read).collect()
}

/// A record as the statements below read it.
#[derive(Serialize)]
struct RowValues<'r> {
    ns: Uuid,
    id: Uuid,
    address: Uuid,
    revision: u64,
    state: &'static str,
    kind: &'r str,
    trust: &'static str,
    occurred_at: i64,
    recorded_at: i64,
    valid_from: Option<i64>,
    valid_until: Option<i64>,
    role: Option<&'r str>,
    speaker: Option<&'r str>,
    scene: Option<&'r str>,
    topic: Option<&'r str>,
    emotion: Option<&'r str>,
    confidence: f64,
    importance: f64,
    message_id: Option<&'r str>,
    sequence: Option<i64>,
    round: Option<u32>,
    entities: &'r [String],
    tags: &'r [String],
    derived_from: Vec<Uuid>,
    metadata: SortedJson<'r>,
    text: &'r str,
    folded: Option<String>,
    content_hash: String,
}

impl<'r> RowValues<'r> {
    fn of(record: &'r Record, hash: ContentHash) -> Self {
        let folded = text::normalize(&record.text);
        Self {
            ns: scopes::namespace(&record.scope),
            id: uuid(record.id),
            address: scopes::address(&record.scope),
            revision: record.revision,
            state: record.state.as_str(),
            kind: record.kind.as_str(),
            trust: record.trust.as_str(),
            occurred_at: record.occurred_at.as_micros(),
            recorded_at: record.recorded_at.as_micros(),
            valid_from: record.valid_from.map(Timestamp::as_micros),
            valid_until: record.valid_until.map(Timestamp::as_micros),
            role: record.role.as_ref().map(Role::as_str),
            speaker: record.speaker.as_deref(),
            scene: record.scene.as_deref(),
            topic: record.topic.as_deref(),
            emotion: record.emotion.as_deref(),
            confidence: record.confidence,
            importance: record.importance,
            message_id: record.source.message_id.as_deref(),
            sequence: record.source.sequence,
            round: record.source.round,
            entities: &record.entities,
            tags: &record.tags,
            derived_from: uuids(&record.derived_from),
            metadata: SortedJson(&record.metadata),
            text: &record.text,
            folded: (folded != record.text).then_some(folded),
            content_hash: format!("\\x{hash}"),
        }
    }
}

/// Reads the rows in a parameter as a table `x`.
macro_rules! rows {
    ($parameter:literal) => {
        concat!(
            "json_to_recordset(",
            $parameter,
            "::text::json) AS x (ns uuid, id uuid, address uuid, revision bigint, state text, kind text, trust text,
            occurred_at bigint, recorded_at bigint, valid_from bigint, valid_until bigint, role text, speaker text,
            scene text, topic text, emotion text, confidence double precision, importance double precision,
            message_id text, sequence bigint, round bigint, entities text[], tags text[], derived_from uuid[],
            metadata json, text text, folded text, content_hash bytea)"
        )
    };
}
pub(crate) use rows;

/// Writes the rows in a parameter as new records.
macro_rules! inserting {
    ($parameter:literal) => {
        concat!(
            "INSERT INTO records (ns, id, address, revision, state, kind, trust, occurred_at, recorded_at, valid_from,
                valid_until, role, speaker, scene, topic, emotion, confidence, importance, message_id, sequence, round,
                entities, tags, derived_from, metadata, text, folded, content_hash)
             SELECT x.* FROM ",
            $crate::records::row::rows!($parameter)
        )
    };
}
pub(crate) use inserting;

const REPLACE: &str = concat!(
    "UPDATE records r SET revision = x.revision, state = x.state, kind = x.kind, trust = x.trust,
        occurred_at = x.occurred_at, recorded_at = x.recorded_at, valid_from = x.valid_from,
        valid_until = x.valid_until, role = x.role, speaker = x.speaker, scene = x.scene, topic = x.topic,
        emotion = x.emotion, confidence = x.confidence, importance = x.importance, message_id = x.message_id,
        sequence = x.sequence, round = x.round, entities = x.entities, tags = x.tags, derived_from = x.derived_from,
        metadata = x.metadata, text = x.text, folded = x.folded, content_hash = x.content_hash
     FROM ",
    rows!("$1"),
    " WHERE r.ns = $2 AND x.ns = $2 AND r.id = x.id"
);

/// Writes new records, of however many namespaces, whose addresses are known.
pub(crate) async fn insert(connection: &mut PgConnection, chunks: Vec<String>) -> Result<(), PostgresError> {
    for chunk in chunks {
        sqlx::query(inserting!("$1")).bind(chunk).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Writes records in the places of those that are there.
pub(crate) async fn replace(connection: &mut PgConnection, ns: Uuid, records: &[&Record]) -> Result<(), PostgresError> {
    for chunk in chunks(records)? {
        sqlx::query(REPLACE).bind(chunk).bind(ns).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Maximum size of the rows in one statement, in bytes.
const CHUNK: usize = 8 << 20;

/// The records as the statements read them.
pub(crate) fn chunks(records: &[&Record]) -> Result<Vec<String>, PostgresError> {
    let (mut chunks, mut chunk) = (Vec::new(), String::new());
    for (i, record) in records.iter().enumerate() {
        chunk.push(if chunk.is_empty() { '[' } else { ',' });
        let row = serde_json::to_string(&RowValues::of(record, record.content_hash()));
        chunk.push_str(&row.map_err(|_| PostgresError::corrupt("a field that cannot be written"))?);
        if chunk.len() > CHUNK || i + 1 == records.len() {
            chunk.push(']');
            chunks.push(std::mem::take(&mut chunk));
        }
    }
    Ok(chunks)
}

/// Removes records, with what is derived from them, and gives the kind of each.
pub(crate) async fn remove(
    connection: &mut PgConnection,
    ns: Uuid,
    ids: &[Uuid],
) -> Result<Vec<String>, PostgresError> {
    let sql = "DELETE FROM records r WHERE r.ns = $1 AND r.id = ANY ($2) RETURNING r.kind";
    Ok(sqlx::query_scalar(sql).bind(ns).bind(ids).fetch_all(connection).await?)
}
