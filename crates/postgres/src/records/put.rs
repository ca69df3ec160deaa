//! Writing records.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{
    Barred, Basis, ContentHash, Decision, Embedding, Index, Job, Outcome, Record, RecordId, Removed, Terms, Timestamp,
    Tombstone, Write, Written,
};
use rustc_hash::{FxHashMap, FxHashSet};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::{
    database::failure::Failure,
    database::origin::Origin,
    graph::graph_store,
    keywords::keyword_store::{self, Document},
    queue::backlog::{self, Ticket},
    records::bulk_insert::Addition,
    records::derivations,
    records::namespaces,
    records::row,
    records::scopes::{self, uuid},
    vectors::generations::{self, Table},
    vectors::vector_store,
};

type Key = (Uuid, RecordId);

/// What the database says about the records of a batch, and what the batch has made of it so far.
#[derive(Debug, Default)]
struct Known {
    generations: generations::Known,
    /// What the keyword index was made by.
    analyzer: Option<String>,
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
    // After the lock: generations change between two writes, and so does the analyzer. Whoever rebuilds an index meanwhile
    // waits for what is written here.
    let mut known = known(connection, writes).await?;
    let home = known.generations.home(origin);
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
    if writes.iter().any(|write| write.terms.is_some()) {
        origin.check(Index::Keywords, known.analyzer.as_deref(), "put")?;
    }
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
    let sql = "SELECT NULL::uuid, NULL::uuid, NULL::bytea, NULL::boolean, o.part, o.made_by FROM origins o WHERE o.part = ANY ($5)
               UNION ALL
               SELECT r.ns, r.id, NULL, NULL, NULL, NULL FROM unnest($1::uuid[], $2::uuid[]) k (ns, id)
               JOIN records r ON r.ns = k.ns AND r.id = k.id
               UNION ALL
               SELECT b.ns, b.id, NULL, b.withdrawn, NULL, NULL FROM unnest($1::uuid[], $2::uuid[]) k (ns, id)
               JOIN tombstones b ON b.ns = k.ns AND b.id = k.id
               UNION ALL
               SELECT b.ns, NULL, b.content_hash, b.withdrawn, NULL, NULL
               FROM unnest($3::uuid[], $4::bytea[]) k (ns, content_hash)
               JOIN barred_contents b ON b.ns = k.ns AND b.content_hash = k.content_hash";
    let analyzer = Job::Keywords.as_str();
    let parts: Vec<_> = generations::PARTS.into_iter().chain([analyzer]).collect();
    let query = sqlx::query(sql).bind(namespaces).bind(ids).bind(of_hashes).bind(hashes).bind(parts);
    let mut known = Known::default();
    let (mut namespaces, mut there) = (Vec::new(), Vec::new());
    for row in query.fetch_all(&mut *connection).await? {
        match (row.try_get::<Option<Uuid>, _>(0)?, row.try_get::<Option<Uuid>, _>(1)?) {
            (None, _) if row.try_get::<&str, _>(4)? == analyzer => known.analyzer = row.try_get(5)?,
            (None, _) => known.generations.note(row.try_get(4)?, row.try_get(5)?),
            (Some(ns), None) => drop(known.barred.insert((ns, hash(row.try_get(2)?)?), row.try_get(3)?)),
            (Some(ns), Some(id)) if row.try_get::<Option<bool>, _>(3)?.is_some() => {
                known.buried.insert((ns, scopes::record_id(id)));
            }
            (Some(ns), Some(id)) => {
                namespaces.push(ns);
                there.push(id);
            }
        }
    }
    // As a rule none is there.
    if !there.is_empty() {
        for stored in row::pairs(connection, &namespaces, &there).await? {
            known.records.insert((stored.ns, stored.record.id), stored.record);
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
    let mut old: BTreeMap<Uuid, (Vec<&Record>, Vec<Uuid>)> = BTreeMap::new();
    for (record, change) in changes.iter().filter(|(_, change)| !change.insert) {
        let (replaced, reindexed) = old.entry(scopes::namespace(&record.scope)).or_default();
        replaced.push(record);
        reindexed.extend(change.derived.is_some().then(|| uuid(record.id)));
    }
    for (ns, (replaced, reindexed)) in old {
        row::replace(connection, ns, &replaced).await?;
        if !reindexed.is_empty() {
            remove_derived(connection, ns, &reindexed).await?;
        }
    }
    let mut addition = Addition::to(home.unwrap_or_default());
    for (record, change) in changes {
        if change.insert {
            addition.record(record);
        }
        let Some(derived) = &change.derived else { continue };
        if let Some(terms) = &derived.terms {
            addition.document(record, Document::of(record, terms));
        }
        if let (Some(embedding), Some(_)) = (&derived.embedding, home) {
            addition.vector(record, embedding);
        }
        derived.tickets.iter().for_each(|ticket| addition.ticket(record, ticket));
    }
    addition.write(connection).await
}

/// Takes records out of the indexes and off the queue, and counts what went.
pub(crate) async fn remove_derived(connection: &mut PgConnection, ns: Uuid, ids: &[Uuid]) -> Result<Removed, Failure> {
    let mut removed = graph_store::remove(connection, ns, ids).await?;
    removed.keywords = keyword_store::remove(connection, ns, ids).await?;
    removed.vectors = vector_store::remove(connection, ns, ids).await?;
    removed.queued = backlog::unqueue(connection, ns, ids).await?;
    Ok(removed)
}
