//! The generations of vectors: the one that serves, and at most one beside it.
//!
//! What is here is for everybody at once. Whoever writes locks a row of `namespaces` first; a lock on that table lets all
//! writes that have begun end and the others wait, so that which generations there are changes between two writes and never
//! in one.

use memory_engine_core::{Clock, Error, ErrorKind, Index, Job, SystemClock};
use memory_engine_vector_store::{Generation, Generations, Role};
use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::{
    database::failure::Failure,
    database::origin::{self, Origin},
    queue::backlog::{FREE, GIVEN_UP},
    records::row::indexed,
    vectors::vector_index::VectorIndex,
    vectors::vector_store,
};

/// What `origins` calls the space of the second generation, and the queue what it lacks.
const SECOND: &str = Job::Reembedding.as_str();
/// Where `origins` says which of the two tables serves.
const TABLE: &str = "serving table";
/// Where it says in which space.
const SERVING: &str = Job::Embedding.as_str();

/// The parts of `origins` that say it all.
pub(crate) const PARTS: [&str; 3] = [SERVING, SECOND, TABLE];

/// One of the two tables that hold vectors. Generations do not move: when the second one serves, its table does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Table {
    #[default]
    First,
    Second,
}

impl Table {
    pub(crate) const ALL: [Self; 2] = [Self::First, Self::Second];

    /// Its name, and that of the column of `addresses` that counts its rows.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::First => "vectors",
            Self::Second => "second_vectors",
        }
    }

    /// The one that `origins` names.
    pub(crate) fn named(name: Option<&str>) -> Self {
        if name == Some(Self::Second.name()) { Self::Second } else { Self::First }
    }

    pub(crate) fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// Which generations there are.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The space that serves; `None` before the database was first opened.
    pub(crate) serving: Option<String>,
    /// The space of the other one.
    pub(crate) second: Option<String>,
    /// The table that serves.
    pub(crate) table: Table,
}

/// Reads which generations there are.
pub(crate) async fn known(connection: &mut PgConnection) -> Result<Known, Failure> {
    let rows = sqlx::query("SELECT part, made_by FROM origins WHERE part = ANY ($1)")
        .bind(PARTS.to_vec())
        .fetch_all(connection)
        .await?;
    let mut known = Known::default();
    for row in rows {
        known.note(row.try_get(0)?, row.try_get(1)?);
    }
    Ok(known)
}

impl Known {
    /// Notes what stands in `origins`; what does not speak of vectors is left aside.
    pub(crate) fn note(&mut self, part: &str, made_by: String) {
        match part {
            SECOND => self.second = Some(made_by),
            TABLE => self.table = Table::named(Some(&made_by)),
            SERVING => self.serving = Some(made_by),
            _ => {}
        }
    }

    /// What the generation of this process' space is to the database, and where it lies.
    pub(crate) fn of(&self, origin: &Origin, operation: &'static str) -> Result<(Role, Table), Failure> {
        if self.serving.as_deref() == Some(origin.space()) {
            return Ok((Role::Serving, self.table));
        }
        if self.second.as_deref() == Some(origin.space()) {
            return Ok((Role::Second, self.table.other()));
        }
        Err(origin.mismatch(Index::Embedding, self.serving.as_deref(), operation).into())
    }

    /// Where the vector of a new record goes that comes with it: nowhere while there are two generations, or another one serves.
    /// Then it is to be made in the background like all others.
    pub(crate) fn home(&self, origin: &Origin) -> Option<Table> {
        (self.serving.as_deref() == Some(origin.space()) && self.second.is_none()).then_some(self.table)
    }

    /// The error of whoever searches, or opens to search, in a space that does not serve.
    pub(crate) fn refusal(&self, origin: &Origin, operation: &'static str) -> Error {
        if self.second.as_deref() != Some(origin.space()) {
            return origin.mismatch(Index::Embedding, self.serving.as_deref(), operation);
        }
        let serving = self.serving.as_deref().unwrap_or("nothing");
        let message = format!(
            "the store goes by its vectors of '{serving}', and those of '{}' lie beside them; `memory reindex` fills them \
             and changes over, or open it with the embedder of '{serving}'",
            origin.space()
        );
        Error::new(ErrorKind::SchemaMismatch, operation, message)
    }
}

/// Has nobody write until the transaction ends, and the server take the time that it takes.
async fn gate(connection: &mut PgConnection) -> Result<(), Failure> {
    sqlx::raw_sql("SET LOCAL statement_timeout = 0; LOCK TABLE namespaces IN EXCLUSIVE MODE")
        .execute(connection)
        .await?;
    Ok(())
}

/// Begins a second generation of this process' space, unless it is there. Whatever is written from then on is queued for it;
/// what was written before is for [`queue_missing`].
pub(crate) async fn begin(connection: &mut PgConnection, origin: &Origin, index: &VectorIndex) -> Result<(), Failure> {
    gate(connection).await?;
    let known = known(connection).await?;
    let table = known.table.other();
    match known.second.as_deref() {
        _ if known.serving.as_deref() == Some(origin.space()) => return Ok(()),
        Some(second) if second == origin.space() => {}
        Some(second) => {
            let message = format!(
                "vectors of '{second}' lie beside those of '{}' already; `memory reindex --drop` removes them",
                known.serving.as_deref().unwrap_or("nothing")
            );
            return Err(Error::new(ErrorKind::SchemaMismatch, "reindex", message).into());
        }
        None => {
            vector_store::clear(connection, table).await?;
            origin::write(connection, SECOND, origin.space()).await?;
        }
    }
    index.settle(connection, table).await
}

/// Makes the index of this process' own vectors, if there are enough of them by now; whether it is there. Writes wait meanwhile.
pub(crate) async fn make_index(
    connection: &mut PgConnection,
    origin: &Origin,
    index: &VectorIndex,
) -> Result<bool, Failure> {
    let (_, table) = known(connection).await?.of(origin, "index")?;
    if index.is_settled(connection, table).await? {
        return Ok(VectorIndex::noted(connection, table).await?.is_some());
    }
    gate(connection).await?;
    let (_, table) = known(connection).await?.of(origin, "index")?;
    index.settle(connection, table).await?;
    Ok(true)
}

/// Queues every record that has no vector in the second generation, and counts all that wait for one. What waits already keeps
/// its place, unless it was given up. Nobody has to wait for it.
pub(crate) async fn queue_missing(connection: &mut PgConnection, origin: &Origin) -> Result<u64, Failure> {
    let (Role::Second, table) = known(connection).await?.of(origin, "reindex")? else { return Ok(0) };
    sqlx::raw_sql("SET LOCAL statement_timeout = 0").execute(&mut *connection).await?;
    let sql = format!(
        "INSERT INTO backlog (ns, job, id, ticket, leased_until, queued_at) SELECT r.ns, $1, r.id, $2, $3, $5 FROM records r
         WHERE {} AND NOT EXISTS (SELECT FROM {} v WHERE v.ns = r.ns AND v.id = r.id) FOR KEY SHARE OF r
         ON CONFLICT (ns, job, id) DO UPDATE SET leased_until = excluded.leased_until, attempts = 0, reason = NULL
         WHERE backlog.leased_until = $4",
        indexed!(),
        table.name()
    );
    sqlx::query(AssertSqlSafe(sql))
        .bind(SECOND)
        .bind(uuid::Uuid::now_v7())
        .bind(FREE)
        .bind(GIVEN_UP)
        .bind(SystemClock.now().as_micros())
        .execute(&mut *connection)
        .await?;
    Ok(queue(connection, SECOND).await?.0)
}

/// Whether nothing waits for the second generation, and no more were given up for it.
async fn is_worked_off(connection: &mut PgConnection, lacking: u64) -> Result<bool, Failure> {
    let (waiting, given_up) = queue(connection, SECOND).await?;
    Ok(waiting == 0 && given_up <= lacking)
}

/// Whether a switch is worth a try, or done already; writes go on meanwhile.
pub(crate) async fn may_switch(connection: &mut PgConnection, origin: &Origin, lacking: u64) -> Result<bool, Failure> {
    let (role, _) = known(connection).await?.of(origin, "reindex")?;
    Ok(role == Role::Serving || is_worked_off(connection, lacking).await?)
}

/// Has the second generation serve, if it is this process' and lacks no more than so many; whether it serves now.
pub(crate) async fn switch(connection: &mut PgConnection, origin: &Origin, lacking: u64) -> Result<bool, Failure> {
    gate(connection).await?;
    let known = known(connection).await?;
    let (Role::Second, table) = known.of(origin, "reindex")? else { return Ok(true) };
    if !is_worked_off(connection, lacking).await? {
        return Ok(false);
    }
    let missing = format!(
        "SELECT count(*) FROM records r WHERE {} AND NOT EXISTS (SELECT FROM {} v WHERE v.ns = r.ns AND v.id = r.id)
         AND NOT EXISTS (SELECT FROM backlog b WHERE b.ns = r.ns AND b.id = r.id AND b.job = $1)",
        indexed!(),
        table.name()
    );
    let missing: i64 = sqlx::query_scalar(AssertSqlSafe(missing)).bind(SECOND).fetch_one(&mut *connection).await?;
    if missing > 0 {
        queue_missing(connection, origin).await?;
        return Ok(false);
    }
    origin::write(connection, SECOND, known.serving.as_deref().unwrap_or_default()).await?;
    origin::write(connection, Job::Embedding.as_str(), origin.space()).await?;
    origin::write(connection, TABLE, table.name()).await?;
    // What one of them lacked it lacks under its new name.
    for (from, to) in [(SECOND, "changing"), (Job::Embedding.as_str(), SECOND), ("changing", Job::Embedding.as_str())] {
        sqlx::query("UPDATE backlog SET job = $2 WHERE job = $1").bind(from).bind(to).execute(&mut *connection).await?;
    }
    Ok(true)
}

/// Removes the generation that does not serve, and gives its space.
pub(crate) async fn drop_second(connection: &mut PgConnection) -> Result<Option<String>, Failure> {
    gate(connection).await?;
    let known = known(connection).await?;
    if known.second.is_some() {
        let table = known.table.other();
        sqlx::query("DELETE FROM backlog WHERE job = $1").bind(SECOND).execute(&mut *connection).await?;
        sqlx::query("DELETE FROM origins WHERE part = $1").bind(SECOND).execute(&mut *connection).await?;
        VectorIndex::remove(connection, table).await?;
        vector_store::clear(connection, table).await?;
    }
    Ok(known.second)
}

/// Which generations there are, and how full each is.
pub(crate) async fn count(connection: &mut PgConnection) -> Result<Generations, Failure> {
    let known = known(connection).await?;
    let records = concat!("SELECT count(*) FROM records r WHERE ", indexed!());
    let records: i64 = sqlx::query_scalar(records).fetch_one(&mut *connection).await?;
    let serving = known.serving.unwrap_or_default();
    let serving = one(connection, serving, known.table, Job::Embedding.as_str()).await?;
    let second = match known.second {
        Some(space) => Some(one(connection, space, known.table.other(), SECOND).await?),
        None => None,
    };
    Ok(Generations::new(u64::try_from(records).unwrap_or_default(), serving).with_second(second))
}

async fn one(connection: &mut PgConnection, space: String, table: Table, job: &str) -> Result<Generation, Failure> {
    let mut generation = Generation::new(space);
    let sql = format!("SELECT coalesce(sum(a.{}), 0)::bigint FROM addresses a", table.name());
    let vectors: i64 = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut *connection).await?;
    generation.vectors = u64::try_from(vectors).unwrap_or_default();
    (generation.waiting, generation.given_up) = queue(connection, job).await?;
    Ok(generation)
}

/// How many records wait for a job, and for how many it was given up.
async fn queue(connection: &mut PgConnection, job: &str) -> Result<(u64, u64), Failure> {
    let sql = "SELECT count(*) FILTER (WHERE b.leased_until <> $2), count(*) FILTER (WHERE b.leased_until = $2)
               FROM backlog b WHERE b.job = $1";
    let row = sqlx::query(sql).bind(job).bind(GIVEN_UP).fetch_one(connection).await?;
    let count = |column: usize| row.try_get::<i64, _>(column).map(|count| u64::try_from(count).unwrap_or_default());
    Ok((count(0)?, count(1)?))
}
