//! Vector searches with every plan, and vectors that are stored together with their records.

use memory_engine_core::{Field, Filter, Job, Op, PutMode, Record, RecordStore, Scope, Timestamp, Write};
use memory_engine_postgres::{Mismatch, PostgresStore, StoreOptions};
use memory_engine_vector_store::{EmbeddingVersionStore, FlatIndex, SearchSubset, VectorQuery, VectorStore};

use crate::fixtures::{DIMENSIONS, Database, count_vector_hits, lin, turn, vector, words};

const USERS: u64 = 7;

fn user(n: u64) -> Scope {
    if n == 0 { lin() } else { Scope::user(format!("user {n}")).unwrap().with_agent("kai").unwrap() }
}

fn tenant() -> Scope {
    Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap()
}

fn embedded(record: &Record, seed: u64) -> Write {
    Write {
        terms: Some(words(&record.text)),
        embedding: Some(vector(seed)),
        ..Write::new(record.clone(), PutMode::Upsert)
    }
}

/// Stores one batch of records of several users. The number of a record is the seed of its vector.
async fn put_with_vectors(store: &PostgresStore, records: u64) -> Vec<Record> {
    let record = |n: u64| {
        let mut record = turn(&user(n % USERS), &format!("猫 number {n}"));
        record.occurred_at = Timestamp::from_micros(n as i64);
        record
    };
    let records: Vec<Record> = (0..records).map(record).collect();
    let writes = records.iter().zip(0..).map(|(record, n)| embedded(record, n)).collect();
    let written = store.put(&tenant(), writes).await.unwrap();
    assert!(written.iter().all(|written| !written.pending.contains(&Job::Embedding)), "no record needs an embedding");
    records
}

pub(crate) async fn every_search_plan_finds_the_nearest_vectors(database: &Database) {
    let records = put_with_vectors(&database.open().await, 400).await;
    let at = |op, micros| Filter::compare(Field::OccurredAt, op, Timestamp::from_micros(micros));
    let filters = [
        None,
        Some(at(Op::Ge, 100).and(at(Op::Lt, 130))),
        Some(Filter::eq(Field::Agent, "kai").and(at(Op::Lt, 300))),
        Some(Filter::eq(Field::Kind, "turn")),
        Some(at(Op::Gt, 1000)),
    ];
    // The limits lead to exact searches; to index searches of the tenant; to index searches of all scopes.
    for exact_up_to in [5000, 60, 0] {
        let store = database.connect(database.options().with_exact_up_to(exact_up_to)).await;
        for scope in [lin(), user(3), tenant(), tenant().with_agent("kai").unwrap(), Scope::user("nobody").unwrap()] {
            // An index search returns at most 500 hits, so that a limit of 600 needs an exact search.
            for (filter, limit) in filters.iter().flat_map(|filter| [(filter, 10), (filter, 600)]) {
                let mut reference = FlatIndex::new(VectorStore::space(&store));
                for (record, n) in records.iter().zip(0..) {
                    if scope.covers(&record.scope) && filter.as_ref().is_none_or(|filter| filter.matches(record)) {
                        reference.insert(record.id, (), vector(n));
                    }
                }
                let query = VectorQuery::new(vector(1_000_000), limit).with_filter(filter.clone());
                let found = VectorStore::search(&store, &scope, &query).await.unwrap();
                let found: Vec<_> = found.into_iter().map(|hit| (hit.id, hit.score)).collect();
                let expected = reference.search(&vector(1_000_000), SearchSubset::All, limit);
                let missed = expected.len() - found.iter().filter(|hit| expected.contains(hit)).count();
                // The index may miss one hit; an exact search misses none.
                let max_missed = if exact_up_to < 5000 { 1 } else { 0 };
                assert_eq!(found.len(), expected.len(), "{exact_up_to}, {scope}, {filter:?}");
                assert!(missed <= max_missed, "{exact_up_to}, {scope}, {filter:?}: {missed} missed");
            }
        }
    }
}

pub(crate) async fn vectors_are_replaced_and_deleted_with_their_records(database: &Database) {
    let store = database.open().await;
    let records = put_with_vectors(&store, 20).await;
    assert_eq!(
        (count_vector_hits(&store, &lin(), vector(0)).await, count_vector_hits(&store, &tenant(), vector(0)).await),
        (3, 20)
    );
    // A changed record has the vector of its write, or waits for one.
    let mut changed = records[0].clone();
    changed.text.push('!');
    store.put(&lin(), vec![embedded(&changed, 77)]).await.unwrap();
    let best = VectorStore::search(&store, &lin(), &VectorQuery::new(vector(77), 1)).await.unwrap();
    assert_eq!(best[0].id, changed.id);
    assert!(best[0].score.value() > 0.999);
    changed.text.push('!');
    let write = Write { terms: Some(words(&changed.text)), ..Write::upsert(changed.clone()) };
    let written = store.put(&lin(), vec![write]).await.unwrap();
    assert!(written[0].pending.contains(&Job::Embedding));
    assert_eq!(count_vector_hits(&store, &lin(), vector(0)).await, 2);
    let ids: Vec<_> = records.iter().map(|record| record.id).collect();
    RecordStore::delete(&store, &tenant(), &ids).await.unwrap();
    assert_eq!(count_vector_hits(&store, &tenant(), vector(0)).await, 0);
}

pub(crate) async fn with_a_second_version_supplied_vectors_are_recomputed(database: &Database) {
    database.open().await;
    let space = memory_engine_core::EmbeddingSpace::cosine("other", DIMENSIONS);
    let second = StoreOptions::new(space, "words-1").with_mismatch(Mismatch::Refill);
    let second = database.connect_as(second, database.options()).await;
    for store in [database.open().await, second] {
        let record = turn(&lin(), "some words");
        let written = store.put(&lin(), vec![embedded(&record, 1)]).await.unwrap();
        assert!(written[0].pending.contains(&Job::Embedding));
        let versions = EmbeddingVersionStore::embedding_versions(&store).await.unwrap();
        assert_eq!(versions.serving.vectors, 0);
    }
}

pub(crate) async fn a_vector_of_wrong_length_is_refused(database: &Database) {
    let store = database.open().await;
    let record = turn(&lin(), "some words");
    let embedding = Some(memory_engine_core::Embedding::new(vec![1.0, 2.0]).unwrap());
    let refused = store.put(&lin(), vec![Write { embedding, ..Write::upsert(record.clone()) }]).await.unwrap_err();
    assert_eq!(refused.kind(), memory_engine_core::ErrorKind::DimensionMismatch);
    assert_eq!(store.get(&lin(), &[record.id]).await.unwrap(), [None]);
}

pub(crate) async fn searches_in_a_replaced_space_fail(database: &Database) {
    let old = database.open().await;
    put_with_vectors(&old, 20).await;
    let longer = memory_engine_core::EmbeddingSpace::cosine("longer", DIMENSIONS + 1);
    let new = StoreOptions::new(longer, "words-1").with_mismatch(Mismatch::Rebuild);
    let new = database.connect_as(new, database.options()).await;
    let record = turn(&lin(), "some words");
    let embedding = Some(memory_engine_core::Embedding::new(vec![0.5; DIMENSIONS + 1]).unwrap());
    new.put(&lin(), vec![Write { embedding, ..Write::upsert(record) }]).await.unwrap();
    for scope in [lin(), tenant()] {
        for filter in [None, Some(Filter::eq(Field::Kind, "turn"))] {
            let query = VectorQuery::new(vector(1), 10).with_filter(filter);
            let refused = VectorStore::search(&old, &scope, &query).await.unwrap_err();
            assert_eq!(refused.kind(), memory_engine_core::ErrorKind::SchemaMismatch, "{refused}");
        }
    }
}

/// With few vectors, searches are exact, and an index would only slow down writes.
pub(crate) async fn the_index_is_created_with_enough_vectors(database: &Database) {
    let options = || database.options().with_exact_up_to(1000);
    let count_indexes = async || -> i64 {
        let sql = "SELECT count(*) FROM pg_indexes WHERE schemaname = $1 AND indexname = 'vectors_by_nearness'";
        sqlx::query_scalar(sql).bind(&database.schema).fetch_one(&mut database.connect_directly().await).await.unwrap()
    };
    let store = database.connect(options()).await;
    let records = put_with_vectors(&store, 600).await;
    assert_eq!(count_indexes().await, 0);
    // Each store has written too few vectors to check for the index. A store that opens the database checks.
    let other = database.connect(options()).await;
    put_with_vectors(&other, 450).await;
    assert_eq!(count_indexes().await, 0);
    // A store that is closed completes the build.
    database.connect(options()).await.close().await;
    assert_eq!(count_indexes().await, 1);
    RecordStore::delete(&store, &tenant(), &records[..300].iter().map(|r| r.id).collect::<Vec<_>>()).await.unwrap();
    assert_eq!(count_indexes().await, 1, "the index is kept");
    assert_eq!(count_vector_hits(&other, &tenant(), vector(0)).await, 750);
}

/// Stores open the database and search it while others write the vectors that make the index necessary.
pub(crate) async fn creating_the_index_disturbs_no_other_store(database: &Database) {
    let options = || database.options().with_exact_up_to(1000);
    let writers: Vec<PostgresStore> = vec![database.connect(options()).await, database.connect(options()).await];
    let is_writing = std::sync::atomic::AtomicBool::new(true);
    let write = async {
        futures::future::join_all(writers.iter().map(|store| put_with_vectors(store, 1200))).await;
        is_writing.store(false, std::sync::atomic::Ordering::Relaxed);
    };
    let read = async || {
        while is_writing.load(std::sync::atomic::Ordering::Relaxed) {
            let reader = PostgresStore::connect_with(&database.url, crate::fixtures::store_options(), options()).await;
            let reader = reader.unwrap_or_else(|error| panic!("{error}: {:?}", std::error::Error::source(&error)));
            VectorStore::search(&reader, &tenant(), &VectorQuery::new(vector(1), 10)).await.unwrap();
            reader.close().await;
        }
    };
    tokio::join!(write, read(), read(), read());
    let reader = database.connect(options()).await;
    assert_eq!(VectorStore::search(&reader, &tenant(), &VectorQuery::new(vector(1), 10)).await.unwrap().len(), 10);
}

/// Neither writes nor opening stores wait for the build of an index, and searches are exact until it is complete.
pub(crate) async fn the_index_is_built_in_the_background(database: &Database) {
    use sqlx::Connection;
    let options = || database.options().with_exact_up_to(1000);
    let store = database.connect(options()).await;
    put_with_vectors(&store, 100).await;
    // A build waits for every transaction with an older snapshot.
    let mut other = database.connect_directly().await;
    let mut transaction = other.begin().await.unwrap();
    sqlx::raw_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM vectors")
        .execute(&mut *transaction)
        .await
        .unwrap();
    put_with_vectors(&store, 1100).await;
    let closing = store.close();
    tokio::pin!(closing);
    let is_building = "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND c.relname = 'vectors_by_nearness' AND NOT i.indisvalid";
    let mut connection = database.connect_directly().await;
    while sqlx::query_scalar::<_, i64>(is_building).bind(&database.schema).fetch_one(&mut connection).await.unwrap()
        == 0
    {
        let closed = tokio::time::timeout(std::time::Duration::from_millis(50), &mut closing).await;
        assert!(closed.is_err(), "the build ended before it began");
    }
    let reader = database.connect(options()).await;
    put_with_vectors(&reader, 100).await;
    assert_eq!(count_vector_hits(&reader, &tenant(), vector(0)).await, 1000);
    transaction.commit().await.unwrap();
    closing.await;
    let sql = "SELECT count(*) FROM index_metadata WHERE part = 'vector index'";
    assert_eq!(sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut connection).await.unwrap(), 1);
    assert_eq!(VectorStore::search(&reader, &tenant(), &VectorQuery::new(vector(1), 10)).await.unwrap().len(), 10);
}

/// An invalid index of an interrupted build is replaced.
pub(crate) async fn an_interrupted_build_is_repeated(database: &Database) {
    let options = || database.options().with_exact_up_to(1000);
    let store = database.connect(options()).await;
    put_with_vectors(&store, 1010).await;
    store.close().await;
    let mut connection = database.connect_directly().await;
    sqlx::raw_sql(
        "DELETE FROM index_metadata WHERE part = 'vector index';
         UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass('vectors_by_nearness')",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    database.connect(options()).await.close().await;
    let sql = "SELECT i.indisvalid FROM pg_index i WHERE i.indexrelid = to_regclass('vectors_by_nearness')";
    assert!(sqlx::query_scalar::<_, bool>(sql).fetch_one(&mut connection).await.unwrap());
}

/// The planner does not have to wait for the server's own update of the statistics.
pub(crate) async fn a_bulk_load_updates_the_statistics(database: &Database) {
    let store = database.open().await;
    put_with_vectors(&store, 600).await;
    // Waits for the background task.
    store.close().await;
    let sql = "SELECT min(c.reltuples)::bigint FROM pg_class c
               WHERE c.oid IN ('records'::regclass, 'vectors'::regclass, 'keyword_documents'::regclass)";
    let rows: i64 = sqlx::query_scalar(sql).fetch_one(&mut database.connect_directly().await).await.unwrap();
    assert_eq!(rows, 600);
}

/// The server computes distances in single precision, so that it may order close vectors wrongly.
pub(crate) async fn close_vectors_are_scored_exactly(database: &Database) {
    let store = database.open().await;
    let mut reference = FlatIndex::new(&memory_engine_core::EmbeddingSpace::cosine("test", DIMENSIONS));
    let mut writes = Vec::new();
    for n in 0..40_u32 {
        let record = turn(&lin(), &format!("number {n}"));
        let mut values = vector(1).values().to_vec();
        values[n as usize % DIMENSIONS] += (n / 4) as f32 * 2e-7;
        let embedding = memory_engine_core::Embedding::new(values).unwrap();
        reference.insert(record.id, (), embedding.clone());
        writes.push(Write { embedding: Some(embedding), ..Write::upsert(record) });
    }
    store.put(&lin(), writes).await.unwrap();
    for scope in [lin(), tenant()] {
        for limit in [1, 5, 10, 39, 40, 50] {
            let found = VectorStore::search(&store, &scope, &VectorQuery::new(vector(1), limit)).await.unwrap();
            let expected = reference.search(&vector(1), SearchSubset::All, limit);
            let scores = |hits: &mut dyn Iterator<Item = memory_engine_core::Score>| hits.collect::<Vec<_>>();
            let found = scores(&mut found.iter().map(|hit| hit.score));
            // With more close vectors than extra candidates, a search may miss some, but every score is exact.
            assert_eq!(found.len(), limit.min(40));
            let all = reference.search(&vector(1), SearchSubset::All, 40);
            assert!(found.iter().all(|score| all.iter().any(|(_, exact)| exact == score)), "{limit}");
            if limit >= 39 {
                assert_eq!(found, scores(&mut expected.iter().map(|(_, score)| *score)), "{limit}");
            }
        }
    }
}
