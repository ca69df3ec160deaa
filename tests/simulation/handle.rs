//! A handle on the database under test: a store with its engine.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use memory_engine::{
    Clock, Error, Field, Filter, MemoryEngine, Order, RecordId, ScanQuery, Scope, State, Timestamp, Turn,
    embed::{Embedder, Embedding, HashEmbedder, Purpose},
    history::Fork,
    sqlite::{SqliteOptions, SqliteStore, Synchronous},
    store::{Clause, KeywordQuery, KeywordStore, VectorQuery, VectorStore},
};

use crate::{
    model::{Document, Model, Observed, Outcome},
    operation::{DocumentNumber, Operation, Place},
};

const PAGE_ROWS: usize = 1000;

/// The clock of all handles of a history.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedClock(Arc<AtomicI64>);

impl SharedClock {
    pub(crate) fn set(&self, micros: i64) {
        self.0.store(micros, Ordering::SeqCst);
    }
}

impl Clock for SharedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// The ids of retractions, by their numbers in the model.
pub(crate) type RetractionIds = BTreeMap<u32, RecordId>;

pub(crate) struct Handle {
    engine: MemoryEngine,
    store: Arc<SqliteStore>,
}

pub(crate) fn lin() -> Scope {
    Scope::user("lin").unwrap()
}

fn scope_of(place: Place) -> Scope {
    let scope = lin().with_session(format!("s{}", place.session)).unwrap();
    match place.branch {
        Some(branch) => scope.with_branch(format!("b{branch}")).unwrap(),
        None => scope,
    }
}

fn place_of(scope: &Scope) -> Place {
    let number = |name: &str| name[1..].parse().unwrap();
    Place { session: number(scope.session().unwrap()), branch: scope.branch().map(number) }
}

fn id_of(document: DocumentNumber) -> RecordId {
    let mut bytes = [7; 16];
    bytes[12..].copy_from_slice(&document.to_be_bytes());
    RecordId::from_bytes(bytes)
}

fn document_of(id: RecordId) -> Option<DocumentNumber> {
    let bytes = *id.as_bytes();
    (bytes[..12] == [7; 12]).then(|| u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]))
}

fn ids_of(documents: &[DocumentNumber]) -> Vec<RecordId> {
    documents.iter().map(|document| id_of(*document)).collect()
}

/// Returns the bytes of an empty, migrated database, so that a history need not migrate.
pub(crate) fn template() -> Vec<u8> {
    let folder = crate::temporary_folder();
    let path = folder.path().join("memory.db");
    run(async {
        Handle::open(&path, &SharedClock::default(), Synchronous::Normal).await.unwrap().close().await;
    });
    std::fs::read(path).unwrap()
}

pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

impl Handle {
    pub(crate) async fn open(path: &Path, clock: &SharedClock, synchronous: Synchronous) -> Result<Self, Error> {
        let builder = MemoryEngine::builder().embedder(HashEmbedder::default()).clock(clock.clone()).background(false);
        let options = SqliteOptions::default().with_readers(1).with_synchronous(synchronous);
        let store = Arc::new(SqliteStore::open_with(path, builder.store_options(), options).await?);
        let engine = builder.stores(Arc::clone(&store)).build().await?;
        Ok(Self { engine, store })
    }

    pub(crate) async fn close(self) {
        self.engine.close().await.unwrap();
    }

    /// Runs an operation. `next_retraction` is the number of the retraction that it may create.
    pub(crate) async fn run(
        &self,
        operation: &Operation,
        next_retraction: u32,
        retractions: &mut RetractionIds,
    ) -> Result<u64, Error> {
        let (engine, lin) = (&self.engine, lin());
        let mut record_retraction = |retraction: memory_engine::history::Retraction| {
            if !retraction.records.is_empty() {
                retractions.insert(next_retraction, retraction.id);
            }
            retraction.records.len() as u64
        };
        match operation {
            Operation::Remember { document, place, text } => {
                let turn = Turn::user(text.clone()).with_id(id_of(*document)).with_sequence(i64::from(*document));
                engine.remember(&scope_of(*place), turn).await.map(|_| 1)
            }
            Operation::Update { document, text } => {
                engine.update(&lin, id_of(*document), text.clone()).await.map(|_| 1)
            }
            Operation::Forget { documents } => Ok(engine.forget(&lin, ids_of(documents)).await?.records()),
            Operation::Retract { documents } => {
                engine.history().retract(&lin, &ids_of(documents), "").await.map(&mut record_retraction)
            }
            Operation::Restore { retraction } => {
                let id = retractions.get(retraction).copied().unwrap_or_else(|| id_of(u32::MAX));
                engine.history().restore(&lin, id).await
            }
            Operation::Rewind { place, rewind } => {
                engine.history().rewind(&scope_of(*place), *rewind).await.map(&mut record_retraction)
            }
            Operation::Fork { session, branch, at } => {
                let scope = scope_of(Place { session: *session, branch: Some(*branch) });
                engine.history().fork(&scope, Fork::at(*at)).await.map(|()| 1)
            }
            Operation::Reindex => {
                engine.admin().reindex(&lin).await?;
                engine.drain(&lin, |_| ()).await.map(|_| 0)
            }
            Operation::Drain => engine.drain(&lin, |_| ()).await.map(|_| 0),
            // The caller does these.
            Operation::Reopen | Operation::SetClock { .. } => Ok(0),
        }
    }

    /// Reads everything. `model` names the branches to read.
    pub(crate) async fn observe(&self, model: &Model) -> Result<Observed, Error> {
        let mut observed = Observed::default();
        let mut query = ScanQuery::oldest(PAGE_ROWS);
        query.order = Order::OldestFirst;
        for record in self.engine.scan(&lin(), &query).await?.records {
            let Some(number) = document_of(record.id) else { continue };
            let document = Document {
                place: place_of(&record.scope),
                text: record.text,
                state: record.state,
                occurred_at: record.occurred_at.as_micros(),
            };
            observed.documents.insert(number, document);
        }
        let tombstones = self.engine.admin().tombstones(&lin(), None, PAGE_ROWS).await?;
        observed.forgotten = tombstones.iter().filter_map(|tombstone| document_of(tombstone.id)).collect();
        for retraction in self.engine.history().retractions(&lin(), PAGE_ROWS).await? {
            let documents = retraction.records.iter().filter_map(|id| document_of(*id));
            let left: std::collections::BTreeSet<DocumentNumber> =
                documents.filter(|document| observed.documents.contains_key(document)).collect();
            if !left.is_empty() {
                observed.retractions.insert(left);
            }
        }
        for place in model.forks() {
            let scope = scope_of(place);
            if self.engine.history().fork_of(&scope).await?.is_none() {
                continue;
            }
            let active = Filter::eq(Field::State, State::Active.as_str()).and(Filter::eq(Field::Kind, "turn"));
            let page =
                self.engine.history().timeline(&scope, &ScanQuery::oldest(PAGE_ROWS).with_filter(active)).await?;
            let visible = page.records.iter().filter_map(|record| document_of(record.id)).collect();
            observed.branches.insert(place, visible);
        }
        Ok(observed)
    }

    /// Finishes the jobs, and checks that the indexes contain exactly the active documents.
    pub(crate) async fn check_indexes(&self, model: &Model) {
        self.engine.drain(&lin(), |_| ()).await.unwrap();
        let stats = self.engine.stats(&lin()).await.unwrap();
        assert!(stats.queued.is_empty() && stats.dead_letters.is_empty(), "jobs are left: {stats:?}");
        let query = KeywordQuery::new(vec![Clause::term("common")], PAGE_ROWS);
        let hits = KeywordStore::search(&*self.store, &lin(), &query).await.unwrap();
        assert_eq!(hits.len(), model.active(), "documents in the keyword index");
        let embedding: Embedding = HashEmbedder::default().embed(&["common"], Purpose::Query).await.unwrap().remove(0);
        let query = VectorQuery::new(embedding, PAGE_ROWS);
        let hits = VectorStore::search(&*self.store, &lin(), &query).await.unwrap();
        assert_eq!(hits.len(), model.active(), "vectors");
        let health = memory_engine::sqlite::check_health(self.store.path()).unwrap();
        assert!(health.problems.is_empty(), "{:?}", health.problems);
    }
}

/// Returns the outcome as the model has it.
pub(crate) fn outcome(result: Result<u64, Error>) -> Outcome {
    result.map_err(|error| error.kind())
}
