//! Writing records.

use std::collections::{BTreeMap, BTreeSet};

use memory_core::{
    Barred, Basis, ContentHash, Decision, Job, Outcome, Record, RecordId, Removed, Terms, Timestamp, Tombstone, Write,
    Written,
};
use rustc_hash::{FxHashMap, FxHashSet};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::{
    backlog::{self, Ticket},
    derivations,
    failure::Failure,
    graph,
    keywords::{self, Document},
    namespaces, records,
    scopes::{self, uuid},
    vectors,
};

type Key = (Uuid, RecordId);

/// What the database says about the records of a batch, and what the batch has made of it so far.
#[derive(Debug, Default)]
struct Known {
    records: FxHashMap<Key, Record>,
    buried: FxHashSet<Key>,
    /// What was deleted, and whether it was only withdrawn.
    barred: FxHashMap<(Uuid, ContentHash), bool>,
}

/// What becomes of one record in the end, however many writes of the batch name it.
#[derive(Debug, Default)]
struct Change {
    insert: bool,
    /// What is derived from it, if that has to be made anew.
    derived: Option<Derived>,
}

#[derive(Debug, Default)]
struct Derived {
    terms: Option<Terms>,
    tickets: Vec<Ticket>,
}

/// Writes records with what is derived from them. After an error the transaction has to be undone.
pub(crate) async fn put(
    connection: &mut PgConnection,
    writes: &[Write],
    now: Timestamp,
) -> Result<Vec<Written>, Failure> {
    namespaces::lock(connection, writes.iter().map(|write| &write.record.scope)).await?;
    let mut known = known(connection, writes).await?;
    let mut changes: BTreeMap<Key, Change> = BTreeMap::new();
    let mut changed = Vec::new();
    let mut written = Vec::with_capacity(writes.len());
    for write in writes {
        let (one, withdraw) = decide(write, now, &mut known, &mut changes)?;
        changed.extend(withdraw.then(|| (written.len(), scopes::namespace(&write.record.scope))));
        written.push(one);
    }
    let namespaces: BTreeSet<Uuid> = changes.keys().map(|(ns, _)| *ns).collect();
    for ns in namespaces {
        let own = changes.iter().filter(|((of, _), _)| *of == ns);
        let own: Vec<_> = own.filter_map(|(key, change)| Some((known.records.get(key)?, change))).collect();
        carry_out(connection, ns, &own).await?;
    }
    let batch: BTreeSet<RecordId> = writes.iter().map(|write| write.record.id).collect();
    for (i, ns) in changed {
        let (id, removed) = (written[i].id, &mut Removed::default());
        written[i].withdrawn = derivations::withdraw(connection, ns, &[id], &batch, now, removed).await?;
    }
    Ok(written)
}

async fn known(connection: &mut PgConnection, writes: &[Write]) -> Result<Known, Failure> {
    let mut of: BTreeMap<Uuid, (Vec<RecordId>, Vec<Vec<u8>>)> = BTreeMap::new();
    for Write { record, based_on, .. } in writes {
        let (ids, hashes) = of.entry(scopes::namespace(&record.scope)).or_default();
        ids.push(record.id);
        ids.extend(based_on.iter().map(|basis| basis.id));
        if Tombstone::bars_content_for(record.trust, false) {
            hashes.push(record.content_hash().as_bytes().to_vec());
        }
    }
    let mut known = Known::default();
    for (ns, (ids, hashes)) in of {
        for record in records::named(connection, ns, &ids).await? {
            known.records.insert((ns, record.id), record);
        }
        let sql = "SELECT b.id FROM tombstones b WHERE b.ns = $1 AND b.id = ANY ($2)";
        for row in sqlx::query(sql).bind(ns).bind(scopes::uuids(&ids)).fetch_all(&mut *connection).await? {
            known.buried.insert((ns, scopes::record_id(row.try_get(0)?)));
        }
        if hashes.is_empty() {
            continue;
        }
        let sql =
            "SELECT b.content_hash, b.withdrawn FROM barred_contents b WHERE b.ns = $1 AND b.content_hash = ANY ($2)";
        for row in sqlx::query(sql).bind(ns).bind(hashes).fetch_all(&mut *connection).await? {
            known.barred.insert((ns, hash(row.try_get(0)?)?), row.try_get(1)?);
        }
    }
    Ok(known)
}

pub(crate) fn hash(bytes: Vec<u8>) -> Result<ContentHash, Failure> {
    <[u8; 32]>::try_from(bytes).map(ContentHash::from_bytes).map_err(|_| Failure::corrupt("a content hash"))
}

/// What becomes of one write; also whether it says something else now, so that what was made from it has to go.
fn decide(
    write: &Write,
    now: Timestamp,
    known: &mut Known,
    changes: &mut BTreeMap<Key, Change>,
) -> Result<(Written, bool), Failure> {
    let id = write.record.id;
    let key = (scopes::namespace(&write.record.scope), id);
    for basis in &write.based_on {
        let source = known.records.get(&(key.0, basis.id)).filter(|source| source.is_indexed());
        Basis::check(*basis, source.map(|source| source.revision))?;
    }
    let written = |outcome, revision, pending| (Written::new(id, outcome, revision, pending), false);
    let barred = |record: &Record| {
        let withdrawn = known.barred.get(&(key.0, record.content_hash()));
        withdrawn.is_some_and(|withdrawn| Tombstone::bars_content_for(record.trust, *withdrawn))
    };
    let (outcome, record, reindex, withdraw) =
        match Decision::of(write.mode, write.record.clone(), known.records.get(&key))? {
            Decision::Keep(revision) => return Ok(written(Outcome::Unchanged, revision, Vec::new())),
            Decision::Insert(_) if known.buried.contains(&key) => {
                return Ok(written(Outcome::Barred(Barred::Id), 0, Vec::new()));
            }
            Decision::Insert(record) if barred(&record) => {
                return Ok(written(Outcome::Barred(Barred::Content), 0, Vec::new()));
            }
            Decision::Replace { record, reindex: true, .. } if record.is_indexed() && barred(&record) => {
                return Ok(written(Outcome::Barred(Barred::Content), record.revision - 1, Vec::new()));
            }
            Decision::Insert(record) => (Outcome::Created, record, true, false),
            Decision::Replace { record, reindex, withdraw } => (Outcome::Updated, record, reindex, withdraw),
        };
    let change = changes.entry(key).or_default();
    change.insert |= outcome == Outcome::Created;
    let mut pending = Vec::new();
    if reindex {
        pending = write.pending();
        pending.retain(|job| *job != Job::Keywords || write.terms.is_none());
        let terms = write.terms.clone().filter(|_| record.is_indexed());
        let tickets = pending.iter().map(|job| Ticket::new(*job, uuid(id), now)).collect();
        change.derived = Some(Derived { terms, tickets });
    }
    let revision = record.revision;
    known.records.insert(key, *record);
    Ok((Written::new(id, outcome, revision, pending), withdraw))
}

async fn carry_out(connection: &mut PgConnection, ns: Uuid, changes: &[(&Record, &Change)]) -> Result<(), Failure> {
    let some = |insert: bool| -> Vec<&Record> {
        changes.iter().filter(|(_, change)| change.insert == insert).map(|(record, _)| *record).collect()
    };
    let (new, old) = (some(true), some(false));
    if !new.is_empty() {
        let mut places: Vec<_> = new.iter().map(|record| &record.scope).collect();
        places.sort();
        places.dedup();
        scopes::settle(connection, ns, &places).await?;
        records::insert(connection, ns, &new).await?;
    }
    if !old.is_empty() {
        records::replace(connection, ns, &old).await?;
    }
    let reindexed = changes.iter().filter(|(_, change)| !change.insert && change.derived.is_some());
    let reindexed: Vec<Uuid> = reindexed.map(|(record, _)| uuid(record.id)).collect();
    if !reindexed.is_empty() {
        remove_derived(connection, ns, &reindexed).await?;
    }
    let derived = || changes.iter().filter_map(|(record, change)| Some((*record, change.derived.as_ref()?)));
    let documents = derived().filter_map(|(record, derived)| Some(Document::of(record, derived.terms.as_ref()?)));
    keywords::insert(connection, ns, &documents.collect::<Vec<_>>()).await?;
    let tickets: Vec<&Ticket> = derived().flat_map(|(_, derived)| &derived.tickets).collect();
    backlog::enqueue(connection, ns, &tickets).await
}

/// Takes records out of the indexes and off the queue, and counts what went.
pub(crate) async fn remove_derived(connection: &mut PgConnection, ns: Uuid, ids: &[Uuid]) -> Result<Removed, Failure> {
    let mut removed = graph::remove(connection, ns, ids).await?;
    removed.keywords = keywords::remove(connection, ns, ids).await?;
    removed.vectors = vectors::remove(connection, ns, ids).await?;
    removed.queued = backlog::unqueue(connection, ns, ids).await?;
    Ok(removed)
}
