//! Writing records.

use std::collections::{BTreeMap, BTreeSet};

use memory_core::{
    Barred, Basis, ContentHash, Decision, Embedding, Job, Outcome, Record, RecordId, Removed, Terms, Timestamp,
    Tombstone, Write, Written,
};
use rustc_hash::{FxHashMap, FxHashSet};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::{
    backlog::{self, Ticket},
    derivations,
    failure::Failure,
    generations::{self, Table},
    graph,
    keywords::{self, Document},
    namespaces,
    origin::Origin,
    records,
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
    embedding: Option<Embedding>,
    tickets: Vec<Ticket>,
}

/// Writes records with what is derived from them, also vectors that come along with them. After an error the transaction has to be undone.
pub(crate) async fn put(
    connection: &mut PgConnection,
    origin: &Origin,
    writes: &[Write],
    now: Timestamp,
) -> Result<Vec<Written>, Failure> {
    namespaces::lock(connection, writes.iter().map(|write| &write.record.scope)).await?;
    // After the lock: generations change between two writes.
    let home = match writes.iter().any(|write| write.embedding.is_some()) {
        true => generations::known(connection).await?.home(origin),
        false => None,
    };
    let mut known = known(connection, writes).await?;
    let mut changes: BTreeMap<Key, Change> = BTreeMap::new();
    let mut changed = Vec::new();
    let mut written = Vec::with_capacity(writes.len());
    for write in writes {
        let (one, withdraw) = decide(write, home.is_some(), now, &mut known, &mut changes)?;
        changed.extend(withdraw.then(|| (written.len(), scopes::namespace(&write.record.scope))));
        written.push(one);
    }
    let changes: Vec<_> = changes.iter().filter_map(|(key, change)| Some((known.records.get(key)?, change))).collect();
    carry_out(connection, home, &changes).await?;
    let batch: BTreeSet<RecordId> = writes.iter().map(|write| write.record.id).collect();
    for (i, ns) in changed {
        let (id, removed) = (written[i].id, &mut Removed::default());
        written[i].withdrawn = derivations::withdraw(connection, ns, &[id], &batch, now, removed).await?;
    }
    Ok(written)
}

async fn known(connection: &mut PgConnection, writes: &[Write]) -> Result<Known, Failure> {
    let (mut namespaces, mut ids) = (Vec::new(), Vec::new());
    let (mut of_hashes, mut hashes) = (Vec::new(), Vec::new());
    for Write { record, based_on, .. } in writes {
        let ns = scopes::namespace(&record.scope);
        for id in [record.id].into_iter().chain(based_on.iter().map(|basis| basis.id)) {
            namespaces.push(ns);
            ids.push(uuid(id));
        }
        if Tombstone::bars_content_for(record.trust, false) {
            of_hashes.push(ns);
            hashes.push(record.content_hash().as_bytes().to_vec());
        }
    }
    let mut known = Known::default();
    for stored in records::pairs(connection, &namespaces, &ids).await? {
        known.records.insert((stored.ns, stored.record.id), stored.record);
    }
    let sql = "SELECT b.ns, b.id FROM unnest($1::uuid[], $2::uuid[]) k (ns, id)
               JOIN tombstones b ON b.ns = k.ns AND b.id = k.id";
    for row in sqlx::query(sql).bind(namespaces).bind(ids).fetch_all(&mut *connection).await? {
        known.buried.insert((row.try_get(0)?, scopes::record_id(row.try_get(1)?)));
    }
    if hashes.is_empty() {
        return Ok(known);
    }
    let sql = "SELECT b.ns, b.content_hash, b.withdrawn FROM unnest($1::uuid[], $2::bytea[]) k (ns, content_hash)
               JOIN barred_contents b ON b.ns = k.ns AND b.content_hash = k.content_hash";
    for row in sqlx::query(sql).bind(of_hashes).bind(hashes).fetch_all(&mut *connection).await? {
        known.barred.insert((row.try_get(0)?, hash(row.try_get(1)?)?), row.try_get(2)?);
    }
    Ok(known)
}

pub(crate) fn hash(bytes: Vec<u8>) -> Result<ContentHash, Failure> {
    <[u8; 32]>::try_from(bytes).map(ContentHash::from_bytes).map_err(|_| Failure::corrupt("a content hash"))
}

/// What becomes of one write; also whether it says something else now, so that what was made from it has to go.
fn decide(
    write: &Write,
    keeps_vectors: bool,
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
        let terms = write.terms.clone().filter(|_| record.is_indexed());
        let embedding = write.embedding.clone().filter(|_| keeps_vectors && record.is_indexed());
        pending.retain(|job| match job {
            Job::Keywords => terms.is_none(),
            Job::Embedding => embedding.is_none(),
            Job::Reembedding | Job::Chunks | Job::Metadata | Job::Facts | Job::Graph | Job::Summary | Job::Profile => {
                true
            }
        });
        let tickets = pending.iter().map(|job| Ticket::new(*job, uuid(id), now)).collect();
        change.derived = Some(Derived { terms, embedding, tickets });
    }
    let revision = record.revision;
    known.records.insert(key, *record);
    Ok((Written::new(id, outcome, revision, pending), withdraw))
}

/// Does so for all at once: a batch may be of as many users as it has records.
async fn carry_out(
    connection: &mut PgConnection,
    home: Option<Table>,
    changes: &[(&Record, &Change)],
) -> Result<(), Failure> {
    let new: Vec<&Record> = changes.iter().filter(|(_, change)| change.insert).map(|(record, _)| *record).collect();
    if !new.is_empty() {
        let mut places: Vec<_> = new.iter().map(|record| &record.scope).collect();
        places.sort();
        places.dedup();
        scopes::settle(connection, &places).await?;
        records::insert(connection, &new).await?;
    }
    let mut old: BTreeMap<Uuid, (Vec<&Record>, Vec<Uuid>)> = BTreeMap::new();
    for (record, change) in changes.iter().filter(|(_, change)| !change.insert) {
        let (replaced, reindexed) = old.entry(scopes::namespace(&record.scope)).or_default();
        replaced.push(record);
        reindexed.extend(change.derived.is_some().then(|| uuid(record.id)));
    }
    for (ns, (replaced, reindexed)) in old {
        records::replace(connection, ns, &replaced).await?;
        if !reindexed.is_empty() {
            remove_derived(connection, ns, &reindexed).await?;
        }
    }
    let derived = || changes.iter().filter_map(|(record, change)| Some((*record, change.derived.as_ref()?)));
    let documents = derived().filter_map(|(record, derived)| Some(Document::of(record, derived.terms.as_ref()?)));
    keywords::insert(connection, &documents.collect::<Vec<_>>()).await?;
    if let Some(table) = home {
        let embedded = derived().filter_map(|(record, derived)| Some((record, derived.embedding.as_ref()?)));
        vectors::insert(connection, table, &embedded.collect::<Vec<_>>()).await?;
    }
    let tickets = derived().flat_map(|(record, derived)| {
        let ns = scopes::namespace(&record.scope);
        derived.tickets.iter().map(move |ticket| (ns, ticket))
    });
    backlog::enqueue(connection, &tickets.collect::<Vec<_>>()).await
}

/// Takes records out of the indexes and off the queue, and counts what went.
pub(crate) async fn remove_derived(connection: &mut PgConnection, ns: Uuid, ids: &[Uuid]) -> Result<Removed, Failure> {
    let mut removed = graph::remove(connection, ns, ids).await?;
    removed.keywords = keywords::remove(connection, ns, ids).await?;
    removed.vectors = vectors::remove(connection, ns, ids).await?;
    removed.queued = backlog::unqueue(connection, ns, ids).await?;
    Ok(removed)
}
