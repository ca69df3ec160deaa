//! The generations of vectors: the one that serves, and at most one beside it.

use memory_engine_core::{Clock, Error, ErrorKind, Index, Job, SystemClock};
use memory_engine_vector_store::{Generation, Generations, Role};
use rusqlite::{Connection, params};

use crate::{
    database::failure::Failure,
    database::origin::Origin,
    queue::backlog::{FREE, GIVEN_UP},
    records::row::indexed,
    vectors::vector_store,
};

/// What `origins` calls the space of the second generation, and the queue what it lacks.
const SECOND: &str = Job::Reembedding.as_str();
/// Where `origins` says which of the two tables serves.
const TABLE: &str = "serving table";

/// One of the two tables that hold vectors. Generations do not move: when the second one serves, its table does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Table {
    First,
    Second,
}

impl Table {
    pub(crate) const ALL: [Self; 2] = [Self::First, Self::Second];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::First => "vectors",
            Self::Second => "second_vectors",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// Which generations there are.
#[derive(Debug)]
pub(crate) struct Known {
    /// The space that serves; `None` before the file was first opened.
    pub(crate) serving: Option<String>,
    /// The space of the other one.
    pub(crate) second: Option<String>,
    /// The table that serves.
    pub(crate) table: Table,
}

/// Reads which generations there are.
pub(crate) fn known(connection: &Connection) -> Result<Known, Failure> {
    let mut known = Known { serving: None, second: None, table: Table::First };
    let mut prepared =
        connection.prepare_cached("SELECT part, made_by FROM origins WHERE part IN (?1, ?2, ?3) ORDER BY part")?;
    let mut rows = prepared.query([Index::Embedding.job().as_str(), SECOND, TABLE])?;
    while let Some(row) = rows.next()? {
        let (part, made_by): (String, String) = (row.get(0)?, row.get(1)?);
        match part.as_str() {
            SECOND => known.second = Some(made_by),
            TABLE if made_by == Table::Second.name() => known.table = Table::Second,
            TABLE => {}
            _ => known.serving = Some(made_by),
        }
    }
    Ok(known)
}

/// What the generation of this process' space is to the file, and where it lies.
pub(crate) fn of(connection: &Connection, origin: &Origin, operation: &'static str) -> Result<(Role, Table), Failure> {
    let known = known(connection)?;
    if known.serving.as_deref() == Some(origin.space()) {
        return Ok((Role::Serving, known.table));
    }
    if known.second.as_deref() == Some(origin.space()) {
        return Ok((Role::Second, known.table.other()));
    }
    Err(origin.mismatch(Index::Embedding, known.serving.as_deref(), operation).into())
}

/// Where the generation lies that searches go by, which has to be that of this process.
pub(crate) fn serving(connection: &Connection, origin: &Origin, operation: &'static str) -> Result<Table, Failure> {
    let (Role::Serving, table) = of(connection, origin, operation)? else {
        return Err(not_yet(&known(connection)?, origin, operation).into());
    };
    Ok(table)
}

/// Where the vectors belong that this process makes, when they are all that a record needs; `None` while there is a second
/// generation, and where others serve.
pub(crate) fn home(connection: &Connection, origin: &Origin) -> Result<Option<Table>, Failure> {
    let known = known(connection)?;
    let alone = known.second.is_none() && known.serving.as_deref() == Some(origin.space());
    Ok(alone.then_some(known.table))
}

/// The error of whoever searches in a generation that does not serve.
pub(crate) fn not_yet(known: &Known, origin: &Origin, operation: &'static str) -> Error {
    let serving = known.serving.as_deref().unwrap_or("nothing");
    let message = format!(
        "the store goes by its vectors of '{serving}', and those of '{}' lie beside them; `memory reindex` fills them and \
         changes over, or open it with the embedder of '{serving}'",
        origin.space()
    );
    Error::new(ErrorKind::SchemaMismatch, operation, message)
}

/// Begins a second generation of this process' space, or goes on with it; how many records wait for it.
pub(crate) fn begin(connection: &Connection, origin: &Origin) -> Result<u64, Failure> {
    let known = known(connection)?;
    if known.serving.as_deref() == Some(origin.space()) {
        return Ok(0);
    }
    match known.second.as_deref() {
        Some(second) if second == origin.space() => {}
        Some(second) => {
            let message = format!(
                "vectors of '{second}' lie beside those of '{}' already; `memory reindex --drop` removes them",
                known.serving.as_deref().unwrap_or("nothing")
            );
            return Err(Error::new(ErrorKind::SchemaMismatch, "reindex", message).into());
        }
        None => {
            vector_store::clear(connection, known.table.other())?;
            write(connection, SECOND, origin.space())?;
        }
    }
    queue_missing(connection, known.table.other())?;
    let waiting = connection.query_row("SELECT count(*) FROM backlog WHERE job = ?1", [SECOND], |row| row.get(0))?;
    Ok(waiting)
}

/// Queues every record that has no vector in a table; what waits already keeps its place, unless it was given up.
fn queue_missing(connection: &Connection, table: Table) -> Result<(), Failure> {
    let sql = format!(
        "INSERT INTO backlog (job, record, leased_until, queued_at)
         SELECT ?1, r.record, ?2, ?4 FROM records r WHERE {} AND NOT EXISTS (SELECT 1 FROM {} v WHERE v.record = r.record)
         ORDER BY r.namespace, r.record
         ON CONFLICT (record, job) DO UPDATE SET leased_until = ?2, attempts = 0, reason = NULL WHERE leased_until = ?3",
        indexed!(),
        table.name()
    );
    connection.execute(&sql, params![SECOND, FREE, GIVEN_UP, SystemClock.now().as_micros()])?;
    Ok(())
}

/// Has the second generation serve, if it is this process' and lacks no more than so many; whether it serves now.
pub(crate) fn switch(connection: &Connection, origin: &Origin, lacking: u64) -> Result<bool, Failure> {
    let (Role::Second, table) = of(connection, origin, "reindex")? else { return Ok(true) };
    let (waiting, given_up) = queue(connection, SECOND)?;
    if waiting > 0 || given_up > lacking {
        return Ok(false);
    }
    let missing: u64 = connection.query_row(
        &format!(
            "SELECT count(*) FROM records r WHERE {}
             AND NOT EXISTS (SELECT 1 FROM {} v WHERE v.record = r.record)
             AND NOT EXISTS (SELECT 1 FROM backlog b WHERE b.record = r.record AND b.job = ?1)",
            indexed!(),
            table.name()
        ),
        [SECOND],
        |row| row.get(0),
    )?;
    if missing > 0 {
        queue_missing(connection, table)?;
        return Ok(false);
    }
    let serving = known(connection)?.serving.unwrap_or_default();
    write(connection, SECOND, &serving)?;
    write(connection, Index::Embedding.job().as_str(), origin.space())?;
    write(connection, TABLE, table.name())?;
    // What one of them lacked it lacks under its new name.
    let mut rename = connection.prepare_cached("UPDATE backlog SET job = ?2 WHERE job = ?1")?;
    for (from, to) in [(SECOND, "changing"), (Job::Embedding.as_str(), SECOND), ("changing", Job::Embedding.as_str())] {
        rename.execute([from, to])?;
    }
    Ok(true)
}

/// Removes the generation that does not serve, and gives its space.
pub(crate) fn drop_second(connection: &Connection) -> Result<Option<String>, Failure> {
    let known = known(connection)?;
    if known.second.is_some() {
        connection.execute("DELETE FROM backlog WHERE job = ?1", [SECOND])?;
        connection.execute("DELETE FROM origins WHERE part = ?1", [SECOND])?;
        vector_store::clear(connection, known.table.other())?;
    }
    Ok(known.second)
}

/// Which generations there are, and how full each is.
pub(crate) fn count(connection: &Connection) -> Result<Generations, Failure> {
    let known = known(connection)?;
    let rows = |table: Table| {
        connection.query_row(&format!("SELECT count(*) FROM {}", table.name()), [], |row| row.get::<_, u64>(0))
    };
    let one = |space: String, table: Table, job: &str| {
        let (waiting, given_up) = queue(connection, job)?;
        let mut generation = Generation::new(space);
        (generation.vectors, generation.waiting, generation.given_up) = (rows(table)?, waiting, given_up);
        Ok::<_, Failure>(generation)
    };
    let serving = one(known.serving.unwrap_or_default(), known.table, Job::Embedding.as_str())?;
    let second = known.second.map(|space| one(space, known.table.other(), SECOND)).transpose()?;
    let records = concat!("SELECT count(*) FROM records r WHERE ", indexed!());
    let records = connection.query_row(records, [], |row| row.get(0))?;
    Ok(Generations::new(records, serving).with_second(second))
}

/// How many records wait for a job, and for how many it was given up.
fn queue(connection: &Connection, job: &str) -> rusqlite::Result<(u64, u64)> {
    let sql = "SELECT count(*) FILTER (WHERE leased_until <> ?2), count(*) FILTER (WHERE leased_until = ?2)
               FROM backlog WHERE job = ?1";
    connection.prepare_cached(sql)?.query_row(params![job, GIVEN_UP], |row| Ok((row.get(0)?, row.get(1)?)))
}

fn write(connection: &Connection, part: &str, made_by: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO origins (part, made_by) VALUES (?1, ?2)")?
        .execute([part, made_by])?;
    Ok(())
}
