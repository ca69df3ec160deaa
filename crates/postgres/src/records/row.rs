//! Reads and writes rows of the table `records`.

use std::collections::BTreeMap;

use memory_engine_core::{
    ContentHash, Cursor, DamagedRecord, Kind, Record, RecordId, Role, Scope, SortedJson, Source, Timestamp, text,
};
use memory_engine_sql::{indexed, rows::ScannedRow};
use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::{Decode, PgConnection, Postgres, Row, Type, postgres::PgRow, types::Json};
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    database::statement::StatementBuilder,
    records::scopes::{self, CoveredScope, record_id, uuid, uuids},
};

/// SQL of the columns of a record `r`, its namespace `n` and its address `a`.
macro_rules! record_columns {
    () => {
        concat!("n.tenant, n.username, ", $crate::records::row::columns_without_owner!())
    };
}
pub(crate) use record_columns;

/// SQL of the columns of a record `r` and its address `a`, without the names in its namespace.
macro_rules! columns_without_owner {
    () => {
        concat!(
            "a.agent, a.session, a.branch, r.ns, r.id, r.kind, r.text, r.role, ",
            "r.speaker, r.scene, r.topic, r.emotion, r.message_id, r.sequence, r.round, r.confidence, r.importance, ",
            "r.occurred_at, r.recorded_at, r.valid_from, r.valid_until, r.trust, r.state, r.pinned, r.expires_at, ",
            "r.revision, r.entities, r.tags, r.derived_from, r.metadata",
        )
    };
}
pub(crate) use columns_without_owner;

/// SQL that looks up the record of each hit `h` as `y`.
///
/// `OFFSET 0` makes the planner look up each record by its key. Otherwise it may read all records of a user, since it
/// expects few.
const JOIN_RECORDS: &str = " LEFT JOIN LATERAL (
        SELECT {columns} FROM records r{join_namespaces} JOIN scopes a ON a.ns = r.ns AND a.scope = r.scope
        WHERE r.ns = h.ns AND r.id = h.id{namespace} OFFSET 0
    ) y ON true";

/// Appends a join that adds the record of each hit `h` as `y`: all columns if `reads_records`, otherwise the namespace
/// and the id. `push_columns` appends further columns of `y`, each with a preceding comma.
pub(crate) fn push_join_records(
    scope: &Scope,
    covered: &CoveredScope,
    reads_records: bool,
    statement: &mut StatementBuilder,
    push_columns: impl Fn(&mut StatementBuilder),
) {
    statement.push_template(JOIN_RECORDS, |part, statement| match (part, scope.user_name()) {
        ("columns", _) if !reads_records => push_columns(statement.push("r.ns, r.id")),
        ("columns", _) => {
            push_record_columns(scope, statement);
            push_columns(statement);
        }
        ("join_namespaces", None) if reads_records => {
            statement.push(" JOIN namespaces n ON n.ns = r.ns");
        }
        ("namespace", _) => covered.push_joined_namespace_condition("r", statement),
        _ => {}
    });
}

/// Appends the columns of a record `r` within `scope`. It needs the address `a`, and for a tenant the namespace `n`.
/// The names of one user are bound, since looking them up for each hit would take time.
fn push_record_columns(scope: &Scope, statement: &mut StatementBuilder) {
    match scope.user_name() {
        None => drop(statement.push(record_columns!())),
        Some(user) => {
            statement.bind(scope.tenant().to_owned()).push("::text AS tenant, ");
            statement.bind(user.to_owned()).push(concat!("::text AS username, ", columns_without_owner!()));
        }
    }
}

/// Appends the selection of records within `scope`, up to the conditions, with further columns and joined tables.
pub(crate) fn push_select_records(
    scope: &Scope,
    more_columns: &'static str,
    more_tables: &'static str,
    statement: &mut StatementBuilder,
) {
    push_record_columns(scope, statement.push("SELECT "));
    statement.push(more_columns).push(" FROM records r");
    if scope.user_name().is_none() {
        statement.push(" JOIN namespaces n ON n.ns = r.ns");
    }
    statement.push(" JOIN scopes a ON a.ns = r.ns AND a.scope = r.scope").push(more_tables);
}

/// SQL that selects the columns of records, up to the conditions. `$from` must provide the table alias `r`.
macro_rules! select_records {
    ($from:literal) => {
        select_records!($from, "")
    };
    ($from:literal, $more:literal) => {
        concat!(
            "SELECT ",
            $crate::records::row::record_columns!(),
            $more,
            " FROM ",
            $from,
            " JOIN namespaces n ON n.ns = r.ns JOIN scopes a ON a.ns = r.ns AND a.scope = r.scope "
        )
    };
}
pub(crate) use select_records;

/// A record with its namespace.
#[derive(Debug)]
pub(crate) struct StoredRecord {
    pub(crate) ns: Uuid,
    pub(crate) record: Record,
}

/// Reads a row with `record_columns!`.
pub(crate) fn read(row: &PgRow) -> Result<StoredRecord, DamagedRecord> {
    let id = record_id(row.try_get("id").unwrap_or_default());
    let scope = scopes::read(row).map_err(|_| DamagedRecord::new(id, "scopes", "scope"))?;
    let record = RecordValues { row }.record(id, scope);
    let record = record.map_err(|column| DamagedRecord::new(id, "records", column))?;
    Ok(StoredRecord { ns: row.try_get("ns").unwrap_or_default(), record })
}

/// Reads a row with `record_columns!` for a page.
pub(crate) fn scanned(row: &PgRow) -> ScannedRow {
    match read(row) {
        Ok(stored) => ScannedRow::Record(Box::new(stored.record)),
        Err(damaged) => {
            let position = RecordValues { row }.position(damaged.id);
            ScannedRow::Damaged(damaged, position.ok())
        }
    }
}

/// The values of the columns of a record. A value that cannot be read is named by its column.
struct RecordValues<'r> {
    row: &'r PgRow,
}

impl<'r> RecordValues<'r> {
    fn record(&self, id: RecordId, scope: Scope) -> Result<Record, &'static str> {
        let kind = Kind::new(self.get::<String>("kind")?);
        let mut record = Record::with_id(id, scope, kind, self.get("text")?, self.time("occurred_at")?);
        record.role = self.get::<Option<String>>("role")?.map(Role::new);
        record.speaker = self.get("speaker")?;
        record.scene = self.get("scene")?;
        record.topic = self.get("topic")?;
        record.emotion = self.get("emotion")?;
        let round = self.get::<Option<i64>>("round")?.map(u32::try_from).transpose();
        let round = round.map_err(|_| "round")?;
        record.source = Source { message_id: self.get("message_id")?, sequence: self.get("sequence")?, round };
        record.confidence = self.get("confidence")?;
        record.importance = self.get("importance")?;
        record.recorded_at = self.time("recorded_at")?;
        record.valid_from = self.optional_time("valid_from")?;
        record.valid_until = self.optional_time("valid_until")?;
        record.trust = self.get::<&str>("trust")?.parse().map_err(|_| "trust")?;
        record.state = self.get::<&str>("state")?.parse().map_err(|_| "state")?;
        record.pinned = self.get("pinned")?;
        record.expires_at = self.optional_time("expires_at")?;
        record.revision = u64::try_from(self.get::<i64>("revision")?).map_err(|_| "revision")?;
        record.entities = self.get("entities")?;
        record.tags = self.get("tags")?;
        record.derived_from = self.get::<Vec<Uuid>>("derived_from")?.into_iter().map(record_id).collect();
        record.metadata = self.get::<Json<Map<String, Value>>>("metadata")?.0;
        Ok(record)
    }

    fn get<T: Decode<'r, Postgres> + Type<Postgres>>(&self, column: &'static str) -> Result<T, &'static str> {
        self.row.try_get(column).map_err(|_| column)
    }

    fn time(&self, column: &'static str) -> Result<Timestamp, &'static str> {
        self.get(column).map(Timestamp::from_micros)
    }

    fn optional_time(&self, column: &'static str) -> Result<Option<Timestamp>, &'static str> {
        Ok(self.get::<Option<i64>>(column)?.map(Timestamp::from_micros))
    }

    /// Returns the position of the record.
    fn position(&self, id: RecordId) -> Result<Cursor, &'static str> {
        let sequence = self.get::<Option<i64>>("sequence")?.unwrap_or(0);
        Ok(Cursor { occurred_at: self.time("occurred_at")?, sequence, id })
    }
}

/// Returns the records with these ids in a scope, ordered by user. Two users may have records with the same id.
pub(crate) async fn find(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    ids: &[RecordId],
) -> Result<Vec<StoredRecord>, PostgresError> {
    let mut statement = StatementBuilder::new(concat!(select_records!("records r"), "WHERE r.id = ANY ("));
    statement.bind(uuids(ids)).push(") AND ");
    covered.push_joined_record_condition(&mut statement);
    statement.push(" ORDER BY n.username");
    statement.fetch_all(connection).await?.iter().map(|row| Ok(read(row)?)).collect()
}

/// Returns the values of the rows of the records with these ids in a scope, by column.
pub(crate) async fn raw(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    ids: &[RecordId],
) -> Result<Vec<Value>, PostgresError> {
    let mut statement = StatementBuilder::new(
        "SELECT row_to_json(x)::text AS raw FROM (
            SELECT n.tenant, n.username AS \"user\", a.agent, a.session, a.branch, r.*
            FROM records r JOIN namespaces n ON n.ns = r.ns
            LEFT JOIN scopes a ON a.ns = r.ns AND a.scope = r.scope WHERE r.id = ANY (",
    );
    statement.bind(uuids(ids)).push(") AND ");
    covered.push_joined_record_condition(&mut statement);
    statement.push(") x");
    let raw = |row: &PgRow| {
        let raw: String = row.try_get("raw")?;
        // The metadata may have a number that is not one of this program.
        Ok(serde_json::from_str(&raw).unwrap_or(Value::String(raw)))
    };
    statement.fetch_all(connection).await?.iter().map(raw).collect()
}

/// Returns the ids of the existing records with these ids in a scope, by namespace.
pub(crate) async fn ids_by_namespace(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    ids: &[RecordId],
) -> Result<BTreeMap<Uuid, Vec<Uuid>>, PostgresError> {
    let mut statement = StatementBuilder::new("SELECT r.ns, r.id FROM records r WHERE r.id = ANY (");
    statement.bind(uuids(ids)).push(") AND ");
    covered.push_row_condition("r", &mut statement);
    let mut ids_by_namespace: BTreeMap<Uuid, Vec<Uuid>> = BTreeMap::new();
    for row in statement.fetch_all(connection).await? {
        ids_by_namespace.entry(row.try_get("ns")?).or_default().push(row.try_get("id")?);
    }
    Ok(ids_by_namespace)
}

/// The current revision of a record, which is checked before an index entry is stored.
#[derive(Debug)]
pub(crate) struct CurrentRevision {
    pub(crate) id: RecordId,
    address: Uuid,
    pub(crate) revision: u64,
    pub(crate) is_indexed: bool,
}

impl CurrentRevision {
    /// Returns true if `record` is the current revision, and records in its state are indexed.
    pub(crate) fn matches(&self, record: &Record) -> bool {
        self.is_indexed && self.revision == record.revision && self.address == scopes::address(&record.scope)
    }
}

/// Returns the current revisions of the records with these ids in a namespace.
pub(crate) async fn current_revisions(
    connection: &mut PgConnection,
    ns: Uuid,
    ids: &[RecordId],
) -> Result<Vec<CurrentRevision>, PostgresError> {
    let sql = concat!(
        "SELECT r.id, r.scope, r.revision, ",
        indexed!(),
        " AS indexed FROM records r WHERE r.ns = $1 AND r.id = ANY ($2)"
    );
    let rows = sqlx::query(sql).bind(ns).bind(uuids(ids)).fetch_all(connection).await?;
    let read = |row: &PgRow| {
        let revision = u64::try_from(row.try_get::<i64, _>("revision")?).unwrap_or_default();
        Ok(CurrentRevision {
            id: record_id(row.try_get("id")?),
            address: row.try_get("scope")?,
            revision,
            is_indexed: row.try_get("indexed")?,
        })
    };
    rows.iter().map(read).collect()
}

/// Returns the records with these keys: `ns` and `ids` hold the namespace and the id of each.
pub(crate) async fn find_by_keys(
    connection: &mut PgConnection,
    ns: &[Uuid],
    ids: &[Uuid],
) -> Result<Vec<StoredRecord>, PostgresError> {
    let sql =
        select_records!("unnest($1::uuid[], $2::uuid[]) k (ns, id) JOIN records r ON r.ns = k.ns AND r.id = k.id");
    let rows = sqlx::query(sql).bind(ns).bind(ids).fetch_all(connection).await?;
    rows.iter().map(|row| Ok(read(row)?)).collect()
}

/// A record in the JSON parameter of the statements below.
#[derive(Serialize)]
struct RecordRow<'r> {
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
    pinned: bool,
    expires_at: Option<i64>,
}

impl<'r> RecordRow<'r> {
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
            pinned: record.pinned,
            expires_at: record.expires_at.map(Timestamp::as_micros),
        }
    }
}

/// SQL that reads the JSON rows in a parameter as a table `x`.
macro_rules! json_rows {
    ($parameter:literal) => {
        concat!(
            "json_to_recordset(",
            $parameter,
            "::text::json) AS x (ns uuid, id uuid, scope uuid, revision bigint, state text, kind text, trust text,
            occurred_at bigint, recorded_at bigint, valid_from bigint, valid_until bigint, role text, speaker text,
            scene text, topic text, emotion text, confidence double precision, importance double precision,
            message_id text, sequence bigint, round bigint, entities text[], tags text[], derived_from uuid[],
            metadata json, text text, folded text, content_hash bytea, pinned boolean, expires_at bigint)"
        )
    };
}
pub(crate) use json_rows;

/// SQL that inserts the JSON rows in a parameter as new records.
macro_rules! insert_records {
    ($parameter:literal) => {
        concat!(
            "INSERT INTO records (ns, id, scope, revision, state, kind, trust, occurred_at, recorded_at, valid_from,
                valid_until, role, speaker, scene, topic, emotion, confidence, importance, message_id, sequence, round,
                entities, tags, derived_from, metadata, text, folded, content_hash, pinned, expires_at)
             SELECT x.* FROM ",
            $crate::records::row::json_rows!($parameter)
        )
    };
}

const REPLACE_RECORDS: &str = concat!(
    "UPDATE records r SET revision = x.revision, state = x.state, kind = x.kind, trust = x.trust,
        occurred_at = x.occurred_at, recorded_at = x.recorded_at, valid_from = x.valid_from,
        valid_until = x.valid_until, role = x.role, speaker = x.speaker, scene = x.scene, topic = x.topic,
        emotion = x.emotion, confidence = x.confidence, importance = x.importance, message_id = x.message_id,
        sequence = x.sequence, round = x.round, entities = x.entities, tags = x.tags, derived_from = x.derived_from,
        metadata = x.metadata, text = x.text, folded = x.folded, content_hash = x.content_hash, pinned = x.pinned,
        expires_at = x.expires_at
     FROM ",
    json_rows!("$1"),
    " WHERE r.ns = $2 AND x.ns = $2 AND r.id = x.id"
);

/// Inserts new records of any number of namespaces. Their addresses must exist.
pub(crate) async fn insert(connection: &mut PgConnection, chunks: Vec<String>) -> Result<(), PostgresError> {
    for chunk in chunks {
        sqlx::query(insert_records!("$1")).bind(chunk).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Replaces existing records of a namespace.
pub(crate) async fn replace(connection: &mut PgConnection, ns: Uuid, records: &[&Record]) -> Result<(), PostgresError> {
    for chunk in json_chunks(records)? {
        sqlx::query(REPLACE_RECORDS).bind(chunk).bind(ns).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Size in bytes at which the rows of one statement are complete.
const CHUNK_BYTES: usize = 8 << 20;

/// Encodes records as JSON arrays, one for each statement.
pub(crate) fn json_chunks(records: &[&Record]) -> Result<Vec<String>, PostgresError> {
    let mut chunks = Vec::new();
    let mut chunk = String::new();
    for (i, record) in records.iter().enumerate() {
        chunk.push(if chunk.is_empty() { '[' } else { ',' });
        let row = serde_json::to_string(&RecordRow::of(record, record.content_hash()));
        chunk.push_str(&row.map_err(|_| PostgresError::corrupt("a field that cannot be encoded as JSON"))?);
        if chunk.len() > CHUNK_BYTES || i + 1 == records.len() {
            chunk.push(']');
            chunks.push(std::mem::take(&mut chunk));
        }
    }
    Ok(chunks)
}

/// Deletes records. Foreign keys delete the rows that refer to them. Returns the kind of each deleted record.
pub(crate) async fn remove(
    connection: &mut PgConnection,
    ns: Uuid,
    ids: &[Uuid],
) -> Result<Vec<String>, PostgresError> {
    let sql = "DELETE FROM records r WHERE r.ns = $1 AND r.id = ANY ($2) RETURNING r.kind";
    Ok(sqlx::query_scalar(sql).bind(ns).bind(ids).fetch_all(connection).await?)
}
