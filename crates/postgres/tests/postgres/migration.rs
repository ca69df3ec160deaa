//! Migrations, and the reconciliation of a database with the process that opens it.

use std::time::Duration;

use memory_engine_core::{EmbeddingSpace, ErrorKind, Job, JobQueue, RecordStore, ViewSet};
use memory_engine_postgres::{
    Mismatch, PostgresStore, SCHEMA, StoreOptions, check_health, install_views, migrate_down, migrate_up,
    migration_status,
};
use memory_engine_vector_store::EmbeddingVersionStore;
use sqlx::{AssertSqlSafe, Row};

use crate::fixtures::{
    Database, count_keyword_hits, count_vector_hits, embed, lin, store_options, turn, vector, write,
};

/// Returns a description of every table, index and function of the schema.
async fn describe_schema(database: &Database) -> Vec<String> {
    let sql = "SELECT c.relname::text || ' ' || c.relkind::text || ' ' || coalesce(pg_get_indexdef(c.oid), '')
               FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1
               UNION ALL
               SELECT 'function ' || p.proname::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
               WHERE n.nspname = $1 ORDER BY 1";
    sqlx::query_scalar(sql).bind(&database.schema).fetch_all(&mut database.connect_directly().await).await.unwrap()
}

pub(crate) async fn k14_up_data_down_up(database: &Database) {
    for partitions in [0, 3] {
        let options = database.options().with_partitions(partitions);
        assert_eq!(migrate_up(&database.url, &options).await.unwrap(), 0);
        assert_eq!(migrate_up(&database.url, &options).await.unwrap(), SCHEMA, "the second time nothing is migrated");
        let migrated_schema = describe_schema(database).await;
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
        assert_eq!(describe_schema(database).await, Vec::<String>::new(), "everything is removed");
        migrate_up(&database.url, &options).await.unwrap();
        assert_eq!(describe_schema(database).await, migrated_schema);
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

pub(crate) async fn the_views_show_the_serving_vectors(database: &Database) {
    for partitions in [0, 2] {
        let store = database.connect(database.options().with_partitions(partitions)).await;
        let record = turn(&lin(), "some words");
        store.put(&lin(), vec![write(&record)]).await.unwrap();
        embed(&store, &record, vector(1)).await;
        let options = database.options();
        let refill = StoreOptions::new(EmbeddingSpace::cosine("newer", 16), "words-1").with_mismatch(Mismatch::Refill);
        let new = database.connect_as(refill, options.clone().with_exact_up_to(0)).await;
        embed(&new, &record, vector(2)).await;
        let done: Vec<_> = new.claim(Job::Reembedding, 9, Duration::ZERO).await.unwrap();
        new.complete(&done.iter().map(|pending| pending.done()).collect::<Vec<_>>()).await.unwrap();
        assert!(new.switch(0).await.unwrap());
        assert_eq!(count_vector_hits(&new, &lin(), vector(2)).await, 1, "the index of the second table is used");
        install_views(&database.url, &options, ViewSet::Companion).await.unwrap();
        let select = "SELECT embedding FROM conversations";
        let visible: pgvector::Vector =
            sqlx::query_scalar(select).fetch_one(&mut database.connect_directly().await).await.unwrap();
        assert_eq!(visible.as_slice(), vector(2).values());
        let found = check_health(&database.url, &database.options()).await.unwrap();
        assert_eq!((found.problems, found.second_space.as_deref()), (Vec::new(), Some("test (16-d, cosine)")));
        store.close().await;
        new.close().await;
        migrate_down(&database.url, &options, 0).await.unwrap();
    }
}

pub(crate) async fn concurrent_opens_create_one_schema(database: &Database) {
    let open = || PostgresStore::connect_with(&database.url, store_options(), database.options());
    let stores = futures::future::join_all((0..6).map(|_| open())).await;
    assert!(stores.iter().all(Result::is_ok), "{stores:?}");
    assert_eq!(migration_status(&database.url, &database.options()).await.unwrap().schema, SCHEMA);
}

pub(crate) async fn a_newer_schema_is_refused(database: &Database) {
    database.open().await.close().await;
    sqlx::query("INSERT INTO memory_schema (version, name) VALUES (99, 'later')")
        .execute(&mut database.connect_directly().await)
        .await
        .unwrap();
    let e = PostgresStore::connect_with(&database.url, store_options(), database.options()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
    assert!(e.to_string().contains("newer"), "{e}");
}

pub(crate) async fn tables_of_another_application_are_left_alone(database: &Database) {
    let sql = format!("CREATE SCHEMA {0}; CREATE TABLE {0}.records (mine text)", database.schema);
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut database.connect_directly().await).await.unwrap();
    let e = PostgresStore::connect_with(&database.url, store_options(), database.options()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidInput, "{e}");
    let tables: i64 = sqlx::query("SELECT count(*) FROM pg_tables WHERE schemaname = $1")
        .bind(&database.schema)
        .fetch_one(&mut database.connect_directly().await)
        .await
        .unwrap()
        .get(0);
    assert_eq!(tables, 1, "a failed migration leaves no tables");
}

pub(crate) async fn a_separate_schema_ignores_tables_in_public(database: &Database) {
    let mut server = database.connect_directly().await;
    sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {}", database.schema))).execute(&mut server).await.unwrap();
    let (address, parameters) = database.url.split_once('?').unwrap_or((&database.url, ""));
    let url = format!("{}/{}?{parameters}", address.rsplit_once('/').unwrap().0, database.schema);
    let mut options = database.options();
    options.schema = None;
    let public = PostgresStore::connect_with(&url, store_options(), options).await.unwrap();
    let record = turn(&lin(), "in public");
    public.put(&lin(), vec![write(&record)]).await.unwrap();
    let own = PostgresStore::connect_with(&url, store_options(), database.options()).await.unwrap();
    assert_eq!(own.get(&lin(), &[record.id]).await.unwrap(), [None]);
    own.put(&lin(), vec![write(&turn(&lin(), "in a schema"))]).await.unwrap();
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
    assert_eq!(count_keyword_hits(&new, &lin(), "words").await, 0);
    for job in Job::INDEXING {
        assert_eq!(new.claim(job, 9, std::time::Duration::ZERO).await.unwrap().len(), 1, "{job:?}");
    }
    // A process that still has the old schema open returns an error instead of mixing the two.
    let e = store.put(&lin(), vec![write(&turn(&lin(), "more words"))]).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
    assert_eq!(store.stats(&lin()).await.unwrap().records, 1);
}

/// Indexes of 32-bit and of 16-bit numbers, and vectors with too many dimensions for an index.
pub(crate) async fn vectors_of_any_length_are_found(database: &Database) {
    let cases = [(16, true, "halfvec"), (2500, false, "halfvec"), (4500, false, ""), (16, false, "vector(16)")];
    for (dimensions, half_precision, index_type) in cases {
        let rebuild = StoreOptions::new(EmbeddingSpace::cosine("test", dimensions), "words-1");
        let rebuild = rebuild.with_mismatch(Mismatch::Rebuild);
        let options = database.options().with_half_precision(half_precision).with_exact_up_to(0);
        let store = database.connect_as(rebuild, options).await;
        let definition: Option<String> = sqlx::query_scalar(
            "SELECT indexdef FROM pg_indexes WHERE schemaname = $1 AND indexname = 'vectors_by_nearness'",
        )
        .bind(&database.schema)
        .fetch_optional(&mut database.connect_directly().await)
        .await
        .unwrap();
        assert_eq!(definition.is_some(), !index_type.is_empty());
        assert!(definition.unwrap_or_default().contains(index_type), "{dimensions}, {half_precision}");
        let record = turn(&lin(), "some words");
        store.put(&lin(), vec![write(&record)]).await.unwrap();
        let mut values = vec![0.25_f32; dimensions];
        values[0] = 1.0;
        let long = memory_engine_core::Embedding::new(values).unwrap();
        embed(&store, &record, long.clone()).await;
        assert_eq!(count_vector_hits(&store, &lin(), long.clone()).await, 1);
        let query = memory_engine_vector_store::VectorQuery::new(long, 1);
        let hits = memory_engine_vector_store::VectorStore::search(&store, &lin(), &query).await.unwrap();
        assert!((hits[0].score.value() - 1.0).abs() < 1e-5, "the score is computed from the stored vector");
        store.close().await;
    }
}
