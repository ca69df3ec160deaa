//! Schemas and their versions.

use std::time::Duration;

use memory_engine_core::{EmbeddingSpace, ErrorKind, Job, JobQueue, RecordStore};
use memory_engine_postgres::{
    Mismatch, PostgresStore, SCHEMA, StoreOptions, checkup, migrate_down, migrate_up, migration_status,
};
use memory_engine_vector_store::GenerationStore;
use sqlx::{AssertSqlSafe, Row};

use crate::given::{Database, embed, found, lin, near, turn, usual, vector, write};

/// Everything that a database holds, as the catalogue names it.
async fn catalogue(database: &Database) -> Vec<String> {
    let sql = "SELECT c.relname::text || ' ' || c.relkind::text || ' ' || coalesce(pg_get_indexdef(c.oid), '')
               FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1
               UNION ALL SELECT 'function ' || p.proname::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
               WHERE n.nspname = $1 ORDER BY 1";
    sqlx::query_scalar(sql).bind(&database.schema).fetch_all(&mut database.look().await).await.unwrap()
}

pub(crate) async fn k14_up_data_down_up(database: &Database) {
    for partitions in [0, 3] {
        let options = database.options().with_partitions(partitions);
        assert_eq!(migrate_up(&database.url, &options).await.unwrap(), 0);
        assert_eq!(
            migrate_up(&database.url, &options).await.unwrap(),
            SCHEMA,
            "the second time there is nothing to do"
        );
        let made = catalogue(database).await;
        let store = database.connect(options.clone()).await;
        let record = turn(&lin(), "some words");
        store.put(&lin(), vec![write(&record)]).await.unwrap();
        embed(&store, &record, vector(1)).await;
        RecordStore::delete(&store, &lin(), &[record.id]).await.unwrap();
        store.put(&lin(), vec![write(&turn(&lin(), "other words"))]).await.unwrap();
        store.close().await;
        for schema in (0..SCHEMA).rev() {
            migrate_down(&database.url, &options, schema).await.unwrap();
            let status = migration_status(&database.url, &options).await.unwrap();
            assert_eq!((status.schema, status.pending.len() as u32), (schema, SCHEMA - schema));
        }
        assert_eq!(catalogue(database).await, Vec::<String>::new(), "nothing is left behind");
        migrate_up(&database.url, &options).await.unwrap();
        assert_eq!(catalogue(database).await, made);
        let status = migration_status(&database.url, &options).await.unwrap();
        assert_eq!((status.schema, status.pending.len(), status.partitions), (SCHEMA, 0, partitions));
        let store = database.connect(options.clone()).await;
        assert_eq!(store.stats(&lin()).await.unwrap().records, 0);
        store.close().await;
        migrate_down(&database.url, &options, 0).await.unwrap();
    }
    let e = migrate_down(&database.url, &database.options(), 1).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidInput);
}

/// The serving vectors are kept, whichever table they are in.
pub(crate) async fn going_back_before_generations_keeps_the_vectors_that_serve(database: &Database) {
    for partitions in [0, 2] {
        let store = database.connect(database.options().with_partitions(partitions)).await;
        let record = turn(&lin(), "some words");
        store.put(&lin(), vec![write(&record)]).await.unwrap();
        embed(&store, &record, vector(1)).await;
        let options = database.options();
        let newer = StoreOptions::new(EmbeddingSpace::cosine("newer", 16), "words-1");
        let refill = newer.clone().with_mismatch(Mismatch::Refill);
        let new = database.connect_as(refill, options.clone().with_exact_up_to(0)).await;
        embed(&new, &record, vector(2)).await;
        let done: Vec<_> = new.claim(Job::Reembedding, 9, Duration::ZERO).await.unwrap();
        new.complete(&done.iter().map(|pending| pending.done()).collect::<Vec<_>>()).await.unwrap();
        assert!(new.switch(0).await.unwrap());
        assert_eq!(near(&new, &lin(), vector(2)).await, 1, "by the index of the second table");
        let seen = "SELECT embedding FROM conversations";
        let seen: pgvector::Vector = sqlx::query_scalar(seen).fetch_one(&mut database.look().await).await.unwrap();
        assert_eq!(seen.as_slice(), vector(2).values(), "the views show what serves");
        let found = checkup(&database.url, &database.options()).await.unwrap();
        assert_eq!((found.problems, found.second_space.as_deref()), (Vec::new(), Some("test (16-d, cosine)")));
        store.close().await;
        new.close().await;
        migrate_down(&database.url, &options, 6).await.unwrap();
        let store = database.connect_as(newer, options.clone()).await;
        assert_eq!(near(&store, &lin(), vector(2)).await, 1);
        assert_eq!(store.generations().await.unwrap().second, None);
        let found = checkup(&database.url, &database.options()).await.unwrap();
        assert_eq!(found.problems, Vec::<String>::new());
        store.close().await;
        migrate_down(&database.url, &options, 0).await.unwrap();
    }
}

pub(crate) async fn many_who_open_a_new_database_at_once_find_one_schema(database: &Database) {
    let open = || PostgresStore::connect_with(&database.url, usual(), database.options());
    let stores = futures::future::join_all((0..6).map(|_| open())).await;
    assert!(stores.iter().all(Result::is_ok), "{stores:?}");
    assert_eq!(migration_status(&database.url, &database.options()).await.unwrap().schema, SCHEMA);
}

pub(crate) async fn a_newer_schema_is_refused(database: &Database) {
    database.open().await.close().await;
    sqlx::query("INSERT INTO memory_schema (version, name) VALUES (99, 'later')")
        .execute(&mut database.look().await)
        .await
        .unwrap();
    let e = PostgresStore::connect_with(&database.url, usual(), database.options()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
    assert!(e.to_string().contains("newer"), "{e}");
}

pub(crate) async fn tables_of_another_application_are_left_alone(database: &Database) {
    let sql = format!("CREATE SCHEMA {0}; CREATE TABLE {0}.records (mine text)", database.schema);
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut database.look().await).await.unwrap();
    let e = PostgresStore::connect_with(&database.url, usual(), database.options()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidInput, "{e}");
    let tables: i64 = sqlx::query("SELECT count(*) FROM pg_tables WHERE schemaname = $1")
        .bind(&database.schema)
        .fetch_one(&mut database.look().await)
        .await
        .unwrap()
        .get(0);
    assert_eq!(tables, 1, "nothing was half made");
}

pub(crate) async fn a_schema_of_its_own_is_made_beside_tables_in_public(database: &Database) {
    let mut server = database.look().await;
    sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {}", database.schema))).execute(&mut server).await.unwrap();
    let (address, query) = database.url.split_once('?').unwrap_or((&database.url, ""));
    let url = format!("{}/{}?{query}", address.rsplit_once('/').unwrap().0, database.schema);
    let mut options = database.options();
    options.schema = None;
    let public = PostgresStore::connect_with(&url, usual(), options).await.unwrap();
    let record = turn(&lin(), "in public");
    public.put(&lin(), vec![write(&record)]).await.unwrap();
    let own = PostgresStore::connect_with(&url, usual(), database.options()).await.unwrap();
    assert_eq!(own.get(&lin(), &[record.id]).await.unwrap(), [None]);
    own.put(&lin(), vec![write(&turn(&lin(), "on its own"))]).await.unwrap();
    assert_eq!(public.stats(&lin()).await.unwrap().records, 1);
    public.close().await;
    own.close().await;
    sqlx::raw_sql(AssertSqlSafe(format!("DROP DATABASE {}", database.schema))).execute(&mut server).await.unwrap();
}

pub(crate) async fn another_analyzer_or_embedder_is_refused_or_rebuilt(database: &Database) {
    let store = database.open().await;
    let record = turn(&lin(), "some words");
    store.put(&lin(), vec![write(&record)]).await.unwrap();
    embed(&store, &record, vector(1)).await;
    for (other, word) in [
        (StoreOptions::new(EmbeddingSpace::cosine("test", 16), "words-2"), "analyzer"),
        (StoreOptions::new(EmbeddingSpace::cosine("newer", 16), "words-1"), "embedding space"),
    ] {
        let e = PostgresStore::connect_with(&database.url, other, database.options()).await.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
        assert!(e.to_string().contains(word) && e.to_string().contains("Mismatch::"), "{e}");
    }
    let rebuild = StoreOptions::new(EmbeddingSpace::cosine("newer", 24), "words-2").with_mismatch(Mismatch::Rebuild);
    let new = database.connect_as(rebuild, database.options()).await;
    assert_eq!(found(&new, &lin(), "words").await, 0);
    for job in Job::INDEXING {
        assert_eq!(new.claim(job, 9, std::time::Duration::ZERO).await.unwrap().len(), 1, "{job:?}");
    }
    // A process that still has the old schema open returns an error instead of mixing the two.
    let e = store.put(&lin(), vec![write(&turn(&lin(), "more words"))]).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
    assert_eq!(store.stats(&lin()).await.unwrap().records, 1);
}

/// The index may hold half the numbers' bits, more dimensions than it can hold otherwise, or not be there at all.
pub(crate) async fn vectors_of_any_length_are_found_with_and_without_an_index(database: &Database) {
    let cases = [(16, true, "halfvec"), (2500, false, "halfvec"), (4500, false, ""), (16, false, "vector(16)")];
    for (dimensions, half, index) in cases {
        let rebuild = StoreOptions::new(EmbeddingSpace::cosine("test", dimensions), "words-1");
        let rebuild = rebuild.with_mismatch(Mismatch::Rebuild);
        let options = database.options().with_half_precision(half).with_exact_up_to(0);
        let store = database.connect_as(rebuild, options).await;
        let definition: Option<String> = sqlx::query_scalar(
            "SELECT indexdef FROM pg_indexes WHERE schemaname = $1 AND indexname = 'vectors_by_nearness'",
        )
        .bind(&database.schema)
        .fetch_optional(&mut database.look().await)
        .await
        .unwrap();
        assert_eq!(definition.is_some(), !index.is_empty());
        assert!(definition.unwrap_or_default().contains(index), "{dimensions}, {half}");
        let record = turn(&lin(), "some words");
        store.put(&lin(), vec![write(&record)]).await.unwrap();
        let mut values = vec![0.25_f32; dimensions];
        values[0] = 1.0;
        let long = memory_engine_core::Embedding::new(values).unwrap();
        embed(&store, &record, long.clone()).await;
        assert_eq!(near(&store, &lin(), long.clone()).await, 1, "looked at");
        let query = memory_engine_vector_store::VectorQuery::new(long, 1);
        let hits = memory_engine_vector_store::VectorStore::search(&store, &lin(), &query).await.unwrap();
        assert!((hits[0].score.value() - 1.0).abs() < 1e-5, "scored by the numbers themselves");
        store.close().await;
    }
}
