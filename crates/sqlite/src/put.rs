//! Writing records.

use memory_core::{Barred, Decision, Job, Outcome, Record, Scope, State, Terms, Tombstone, Write, Written};
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashMap;

use crate::{
    backlog,
    failure::Failure,
    graph, keywords, records,
    scopes::{self, Place},
    vectors,
};

/// Writes records with what is derived from them; also tells whether something that a record said was replaced. After
/// an error the transaction has to be undone.
pub(crate) fn put(connection: &Connection, writes: Vec<Write>) -> Result<(Vec<Written>, bool), Failure> {
    let mut places: FxHashMap<Scope, Place> = FxHashMap::default();
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
        written.push(put_one(connection, place, write, &mut replaced)?);
    }
    vectors::forget_old_changes(connection)?;
    Ok((written, replaced))
}

fn put_one(connection: &Connection, place: Place, write: Write, replaced: &mut bool) -> Result<Written, Failure> {
    let id = write.record.id;
    let old = records::named(connection, place.namespace, id)?;
    let written = |outcome, revision, pending| Written { id, outcome, revision, pending };
    Ok(match Decision::of(write.mode, write.record, old.as_ref().map(|old| &old.record))? {
        Decision::Keep(revision) => written(Outcome::Unchanged, revision, Vec::new()),
        Decision::Insert(record) => match barred(connection, place, &record)? {
            Some(why) => written(Outcome::Barred(why), 0, Vec::new()),
            None => {
                let row = records::insert(connection, place, &record)?;
                let pending = index(connection, row, place, &record, write.terms.as_ref())?;
                written(Outcome::Created, record.revision, pending)
            }
        },
        Decision::Replace { record, reindex: true } if bars_content(connection, place, &record)? => {
            written(Outcome::Barred(Barred::Content), record.revision - 1, Vec::new())
        }
        Decision::Replace { record, reindex } => {
            records::replace(connection, place, &record)?;
            *replaced |= old.as_ref().is_some_and(|old| !says_all_of(&record, &old.record));
            let pending = match old {
                Some(old) if reindex => {
                    remove_derived(connection, old.row, place, &record.scope)?;
                    index(connection, old.row, place, &record, write.terms.as_ref())?
                }
                _ => Vec::new(),
            };
            written(Outcome::Updated, record.revision, pending)
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
    if is_there(connection, sql, place, record.id.as_bytes())? {
        return Ok(Some(Barred::Id));
    }
    Ok(bars_content(connection, place, record)?.then_some(Barred::Content))
}

/// Whether what the record says was deleted and stays away from records of its trust.
fn bars_content(connection: &Connection, place: Place, record: &Record) -> Result<bool, Failure> {
    let sql = "SELECT 1 FROM barred_contents WHERE namespace = ?1 AND content_hash = ?2";
    Ok(Tombstone::bars_content_for(record.trust) && is_there(connection, sql, place, record.content_hash().as_bytes())?)
}

fn is_there(connection: &Connection, sql: &'static str, place: Place, key: &[u8]) -> Result<bool, Failure> {
    let mut prepared = connection.prepare_cached(sql)?;
    Ok(prepared.query_row(params![place.namespace, key], |_| Ok(())).optional()?.is_some())
}

/// Takes an active record into the indexes as far as that can be done now, and queues it for the rest.
fn index(
    connection: &Connection,
    row: i64,
    place: Place,
    record: &Record,
    terms: Option<&Terms>,
) -> Result<Vec<Job>, Failure> {
    if record.state != State::Active {
        return Ok(Vec::new());
    }
    let mut pending = Job::ALL.to_vec();
    if let Some(terms) = terms {
        keywords::insert(connection, row, record.id, place, &record.scope, terms)?;
        pending.retain(|job| *job != Job::Keywords);
    }
    for job in &pending {
        backlog::enqueue(connection, row, *job)?;
    }
    Ok(pending)
}

/// Takes a record out of everything that is derived from it, and off the queue.
pub(crate) fn remove_derived(connection: &Connection, row: i64, place: Place, scope: &Scope) -> Result<(), Failure> {
    keywords::remove(connection, row, place, scope)?;
    vectors::remove(connection, row)?;
    graph::remove(connection, row)?;
    Ok(backlog::unqueue(connection, row)?)
}
