//! Writing records.

use std::collections::BTreeSet;

use memory_engine_core::{
    Barred, Basis, Decision, Embedding, Job, Outcome, Record, RecordId, Removed, Scope, Terms, Timestamp, Tombstone,
    Write, Written,
};
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashMap;

use crate::{
    cache::change_log,
    database::failure::Failure,
    graph::graph_store,
    keywords::keyword_store,
    queue::backlog,
    records::derivations,
    records::row,
    records::scopes::{self, Place},
    vectors::generations::Table,
    vectors::vector_store,
};

/// Writes records with what is derived from them; also tells whether something that a record said was replaced. After
/// an error the transaction has to be undone. Vectors that come along go to `home`; where there is none, they are to be made
/// in the background like all others.
pub(crate) fn put(
    connection: &Connection,
    writes: Vec<Write>,
    home: Option<Table>,
    now: Timestamp,
) -> Result<(Vec<Written>, bool), Failure> {
    let mut places: FxHashMap<Scope, Place> = FxHashMap::default();
    let batch: BTreeSet<RecordId> = writes.iter().map(|write| write.record.id).collect();
    let mut changed = Vec::new();
    let (mut written, mut replaced) = (Vec::with_capacity(writes.len()), false);
    for write in writes {
        let place = match places.get(&write.record.scope) {
            Some(place) => *place,
            None => {
                let place = scopes::settle(connection, &write.record.scope)?;
                places.insert(write.record.scope.clone(), place);
                place
            }
        };
        let (one, withdraw) = put_one(connection, place, write, home, now, &mut replaced)?;
        changed.extend(withdraw.then_some((written.len(), place.namespace)));
        written.push(one);
    }
    for (i, namespace) in changed {
        let (id, removed) = (written[i].id, &mut Removed::default());
        written[i].withdrawn =
            derivations::withdraw(connection, namespace, &BTreeSet::from([id]), &batch, now, removed)?;
    }
    change_log::trim(connection)?;
    Ok((written, replaced))
}

/// Writes one record; also tells whether it says something else now, so that what was made from it has to go.
fn put_one(
    connection: &Connection,
    place: Place,
    write: Write,
    home: Option<Table>,
    now: Timestamp,
    replaced: &mut bool,
) -> Result<(Written, bool), Failure> {
    for basis in &write.based_on {
        let source = row::current(connection, place.namespace, basis.id)?.filter(|source| source.indexed);
        Basis::check(*basis, source.map(|source| source.revision))?;
    }
    let (id, mut pending) = (write.record.id, write.pending());
    let embedding = home.zip(write.embedding);
    pending.retain(|job| match job {
        Job::Keywords => write.terms.is_none(),
        Job::Embedding => embedding.is_none(),
        Job::Reembedding | Job::Chunks | Job::Metadata | Job::Facts | Job::Graph | Job::Summary | Job::Profile => true,
    });
    let derived = Derived { terms: write.terms, embedding, pending };
    let old = row::named(connection, place.namespace, id)?;
    let written = |outcome, revision, pending| (Written::new(id, outcome, revision, pending), false);
    Ok(match Decision::of(write.mode, write.record, old.as_ref().map(|old| &old.record))? {
        Decision::Keep(revision) => written(Outcome::Unchanged, revision, Vec::new()),
        Decision::Insert(record) => match barred(connection, place, &record)? {
            Some(why) => written(Outcome::Barred(why), 0, Vec::new()),
            None => {
                let row = row::insert(connection, place, &record)?;
                derivations::note(connection, place.namespace, row, &record)?;
                index(connection, row, place, &record, &derived, now)?;
                written(Outcome::Created, record.revision, derived.pending)
            }
        },
        Decision::Replace { record, reindex: true, .. }
            if record.is_indexed() && bars_content(connection, place, &record)? =>
        {
            written(Outcome::Barred(Barred::Content), record.revision - 1, Vec::new())
        }
        Decision::Replace { record, reindex, withdraw } => {
            row::replace(connection, place, &record)?;
            *replaced |= old.as_ref().is_some_and(|old| !says_all_of(&record, &old.record));
            if let Some(old) = &old
                && old.record.derived_from != record.derived_from
            {
                derivations::forget(connection, place.namespace, old.row, &old.record)?;
                derivations::note(connection, place.namespace, old.row, &record)?;
            }
            let pending = match old {
                Some(old) if reindex => {
                    remove_derived(connection, old.row)?;
                    index(connection, old.row, place, &record, &derived, now)?;
                    derived.pending
                }
                Some(old) if old.record.occurred_at != record.occurred_at => {
                    change_log::note(connection, old.row)?;
                    Vec::new()
                }
                _ => Vec::new(),
            };
            (Written::new(id, Outcome::Updated, record.revision, pending), withdraw)
        }
    })
}

/// Whether nothing that `old` said is missing from the new record. Its state or its weight may differ.
fn says_all_of(new: &Record, old: &Record) -> bool {
    let mut twin = old.clone();
    (twin.state, twin.kind, twin.trust) = (new.state, new.kind.clone(), new.trust);
    (twin.confidence, twin.importance) = (new.confidence, new.importance);
    (twin.valid_from, twin.valid_until, twin.occurred_at) = (new.valid_from, new.valid_until, new.occurred_at);
    twin.same_content(new)
}

fn barred(connection: &Connection, place: Place, record: &Record) -> Result<Option<Barred>, Failure> {
    let sql = "SELECT 1 FROM tombstones WHERE namespace = ?1 AND id = ?2";
    let mut prepared = connection.prepare_cached(sql)?;
    if prepared.exists(params![place.namespace, record.id.as_bytes()])? {
        return Ok(Some(Barred::Id));
    }
    Ok(bars_content(connection, place, record)?.then_some(Barred::Content))
}

/// Whether what the record says was deleted and stays away from records of its trust.
fn bars_content(connection: &Connection, place: Place, record: &Record) -> Result<bool, Failure> {
    if !Tombstone::bars_content_for(record.trust, false) {
        return Ok(false);
    }
    // As a rule nothing is barred, and to find out what a record says takes longer than to find that out.
    let any = "SELECT 1 FROM barred_contents WHERE namespace = ?1 LIMIT 1";
    if !connection.prepare_cached(any)?.exists([place.namespace])? {
        return Ok(false);
    }
    let sql = "SELECT withdrawn FROM barred_contents WHERE namespace = ?1 AND content_hash = ?2";
    let hash = record.content_hash();
    let key = params![place.namespace, hash.as_bytes()];
    let withdrawn = connection.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()?;
    Ok(withdrawn.is_some_and(|withdrawn| Tombstone::bars_content_for(record.trust, withdrawn)))
}

/// What is made of a record: what is there already, and what is still to be done.
struct Derived {
    terms: Option<Terms>,
    embedding: Option<(Table, Embedding)>,
    pending: Vec<Job>,
}

/// Takes a record into the indexes as far as that can be done now, and queues it for the rest.
fn index(
    connection: &Connection,
    row: i64,
    place: Place,
    record: &Record,
    derived: &Derived,
    now: Timestamp,
) -> Result<(), Failure> {
    if record.is_indexed() {
        if let Some(terms) = &derived.terms {
            keyword_store::insert(connection, row, record.id, place, terms)?;
        }
        if let Some((table, embedding)) = &derived.embedding {
            vector_store::insert(connection, *table, row, record.id, place, embedding)?;
        }
        if derived.terms.is_some() || derived.embedding.is_some() {
            change_log::note(connection, row)?;
        }
    }
    for job in &derived.pending {
        backlog::enqueue(connection, row, *job, now)?;
    }
    Ok(())
}

/// Takes a record out of everything that is derived from it, and off the queue; counts what went.
pub(crate) fn remove_derived(connection: &Connection, row: i64) -> Result<Removed, Failure> {
    let mut removed = graph_store::remove(connection, row)?;
    removed.keywords = u64::from(keyword_store::remove(connection, row)?);
    removed.vectors = u64::from(vector_store::remove(connection, row)?);
    if removed.keywords + removed.vectors > 0 {
        change_log::note(connection, row)?;
    }
    removed.queued = backlog::unqueue(connection, row)?;
    Ok(removed)
}
