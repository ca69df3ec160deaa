//! Several stores on one database, lost servers, and passwords in errors.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use memory_engine_core::{ErrorKind, Job, JobQueue, Outcome, PutMode, Record, RecordStore, Scope, SystemClock, Write};
use memory_engine_keyword_store::{Clause, KeywordQuery, KeywordStore};
use memory_engine_postgres::{PostgresOptions, PostgresStore};
use memory_engine_vector_store::VectorStore;
use sqlx::{Connection, postgres::PgPoolOptions};

use crate::{
    fixtures::{Database, count_keyword_hits, count_vector_hits, embed, lin, store_options, turn, vector, write},
    server::Server,
};

pub(crate) async fn stores_see_the_writes_of_each_other(database: &Database) {
    let one = database.open().await;
    let other = database.open().await;
    let mut records = Vec::new();
    for (store, number) in [&one, &other, &one, &other].into_iter().zip(0..) {
        let record = turn(&lin().with_session(format!("s{number}")).unwrap(), "the same words");
        store.put(&lin(), vec![write(&record)]).await.unwrap();
        embed(store, &record, vector(number)).await;
        records.push(record);
        for reader in [&one, &other] {
            assert_eq!(count_keyword_hits(reader, &lin(), "words").await, records.len());
            assert_eq!(count_vector_hits(reader, &lin(), vector(9)).await, records.len());
        }
    }
    RecordStore::delete(&other, &lin(), &[records[0].id, records[3].id]).await.unwrap();
    for reader in [&one, &other] {
        assert_eq!(
            (count_keyword_hits(reader, &lin(), "words").await, count_vector_hits(reader, &lin(), vector(0)).await),
            (2, 2)
        );
    }
}

/// While the database has only one tenant, searches do not compare namespaces.
pub(crate) async fn a_second_tenant_is_detected(database: &Database) {
    let first = database.open().await;
    let second = database.open().await;
    let ours = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    let theirs = Scope::tenant_wide("theirs").unwrap();
    let filters = [None, Some(memory_engine_core::Filter::eq(memory_engine_core::Field::Kind, "turn"))];
    let count_hits = async |store: &PostgresStore, scope: &Scope| {
        let mut counts = Vec::new();
        for filter in filters.clone() {
            let words = KeywordQuery::new(vec![Clause::term("words")], 9).with_filter(filter.clone());
            counts.push(KeywordStore::search(store, scope, &words).await.unwrap().len());
            let nearest = memory_engine_vector_store::VectorQuery::new(vector(1), 9).with_filter(filter);
            counts.push(VectorStore::search(store, scope, &nearest).await.unwrap().len());
        }
        counts
    };
    let put = async |store: &PostgresStore, scope: &Scope| {
        let record = turn(scope, "some words");
        store.put(scope, vec![write(&record)]).await.unwrap();
        embed(store, &record, vector(1)).await;
        record.id
    };
    assert_eq!(count_hits(&first, &ours).await, [0; 4], "the database is empty");
    put(&first, &lin()).await;
    assert_eq!((count_hits(&first, &ours).await, count_hits(&first, &theirs).await), (vec![1; 4], vec![0; 4]));
    let mo = theirs.clone().with_user("mo").unwrap();
    let own = put(&second, &mo).await;
    put(&second, &mo).await;
    for store in [&first, &second, &database.open().await] {
        assert_eq!((count_hits(store, &ours).await, count_hits(store, &theirs).await), (vec![1; 4], vec![2; 4]));
        assert_eq!(store.get(&ours, &[own]).await.unwrap(), [None], "the record belongs to another tenant");
        assert!(store.get(&theirs, &[own]).await.unwrap()[0].is_some());
    }
}

/// A call reuses the connection of the previous one, whose statements are prepared.
pub(crate) async fn sequential_calls_share_one_connection(_: &Database) {
    let server = Server::new("-c fsync=off");
    let store = PostgresStore::connect_with(&server.url(), store_options(), server_options().with_max_connections(3))
        .await
        .unwrap();
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'memory-engine'";
    let mut connection = sqlx::PgConnection::connect(&server.url()).await.unwrap();
    for _ in 0..20 {
        store.put(&lin(), vec![write(&turn(&lin(), "some words"))]).await.unwrap();
        assert!(count_keyword_hits(&store, &lin(), "words").await > 0);
    }
    let connections: i64 = sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap();
    assert_eq!(connections, 1);
    // Many concurrent tasks share the maximum number of connections, and a task that is cancelled while it waits
    // leaves none unusable.
    let lin = lin();
    for _ in 0..5 {
        let all = futures::future::join_all((0..40).map(|_| count_keyword_hits(&store, &lin, "words")));
        let _ = tokio::time::timeout(Duration::from_millis(3), all).await;
    }
    let all = futures::future::join_all((0..40).map(|_| count_keyword_hits(&store, &lin, "words"))).await;
    assert!(all.iter().all(|count| *count == 20));
    let connections: i64 = sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap();
    assert!((1..=3).contains(&connections), "{connections}");
    store.close().await;
    let e = store.get(&lin, &[]).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Closed, "{e}");
}

pub(crate) async fn concurrent_writers_do_not_deadlock(database: &Database) {
    let stores = [database.open().await, database.open().await];
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    let write_all = async |store: &PostgresStore, number: usize| {
        for round in 0..10 {
            // Two users in one batch, in a different order in each task: locking in the order of the batch would
            // deadlock.
            let users = [format!("user {}", (number + round) % 3), format!("user {}", (number + round + 1) % 3)];
            let writes = users.iter().map(|user| write(&turn(&Scope::user(user.as_str()).unwrap(), "words")));
            store.put(&tenant, writes.collect()).await.unwrap();
        }
    };
    futures::future::join_all((0..12).map(|number| write_all(&stores[number % 2], number))).await;
    let stats = stores[0].stats(&tenant).await.unwrap();
    assert_eq!((stats.records, count_keyword_hits(&stores[1], &tenant, "words").await), (240, 240));
}

pub(crate) async fn new_users_of_concurrent_writers_are_created_once(database: &Database) {
    let stores = [database.open().await, database.open().await];
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    let write_all = async |store: &PostgresStore| {
        for round in 0..5 {
            let users = (0..20).map(|user| Scope::user(format!("user {round} {user}")).unwrap());
            let writes = users.map(|user| write(&turn(&user, "words"))).collect();
            let written = store.put(&tenant, writes).await.unwrap();
            assert!(written.iter().all(|written| written.outcome == Outcome::Created), "{written:?}");
        }
    };
    futures::future::join_all((0..8).map(|number| write_all(&stores[number % 2]))).await;
    assert_eq!(stores[0].stats(&tenant).await.unwrap().records, 800);
    assert_eq!(count_keyword_hits(&stores[1], &tenant, "words").await, 800);
}

pub(crate) async fn claims_of_a_killed_worker_are_taken_over(database: &Database) {
    let one = database.open().await;
    let other = database.open().await;
    let records: Vec<Record> = (0..6).map(|_| turn(&lin(), "words")).collect();
    one.put(&lin(), records.iter().map(write).collect()).await.unwrap();
    let lease = Duration::from_secs(600);
    assert_eq!(one.claim(Job::Embedding, 4, lease).await.unwrap().len(), 4);
    assert_eq!(
        other.claim(Job::Embedding, 1, lease).await.unwrap().len(),
        1,
        "the leases of a running worker are kept"
    );
    drop(one);
    // The server needs a moment to notice that the connections are gone.
    let started = Instant::now();
    let mut taken_over = Vec::new();
    while taken_over.len() < 5 {
        assert!(started.elapsed() < Duration::from_secs(60), "{} are taken over", taken_over.len());
        let claimed = other.claim(Job::Embedding, 9, lease).await.unwrap();
        taken_over.extend(claimed.into_iter().map(|pending| pending.record.id));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let expected: BTreeSet<_> = [&records[..4], &records[5..]].concat().iter().map(|record| record.id).collect();
    assert_eq!(taken_over.into_iter().collect::<BTreeSet<_>>(), expected);
}

pub(crate) async fn slow_statements_time_out(database: &Database) {
    // Long enough for the statements that do not wait, on a busy machine too.
    let store = database.connect(database.options().with_statement_timeout(Duration::from_secs(2))).await;
    store.put(&lin(), vec![write(&turn(&lin(), "words"))]).await.unwrap();
    // Holds the lock that a writer of this user waits for.
    let mut holder = database.connect_directly().await;
    sqlx::raw_sql("BEGIN; SELECT 1 FROM namespaces FOR UPDATE").execute(&mut holder).await.unwrap();
    let e = store.put(&lin(), vec![write(&turn(&lin(), "a secret"))]).await.unwrap_err();
    assert_eq!((e.kind(), e.is_transient()), (ErrorKind::Timeout, true), "{e}");
    assert_eq!(store.stats(&lin()).await.unwrap().records, 1, "reads continue");
    sqlx::raw_sql("ROLLBACK").execute(&mut holder).await.unwrap();
    store.put(&lin(), vec![write(&turn(&lin(), "words"))]).await.unwrap();
}

/// Another transaction locks the rows in the wrong order. The server aborts the one that first detects the deadlock,
/// which is the store's.
pub(crate) async fn a_deadlocked_write_is_retried(database: &Database) {
    let store = database.open().await;
    let users = [Scope::user("one").unwrap(), Scope::user("two").unwrap()];
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    let batch = || users.iter().map(|user| write(&turn(user, "words"))).collect::<Vec<_>>();
    store.put(&tenant, batch()).await.unwrap();
    let mut other = database.connect_directly().await;
    // Only a superuser may change it. A short time would let the server abort the other transaction.
    let _ = sqlx::raw_sql("SET deadlock_timeout = '60s'").execute(&mut other).await;
    let last = "BEGIN; SELECT namespace FROM namespaces WHERE namespace = (SELECT namespace FROM namespaces ORDER BY namespace DESC LIMIT 1) FOR UPDATE";
    sqlx::raw_sql(last).execute(&mut other).await.unwrap();
    let holder: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut other).await.unwrap();
    let mut observer = database.connect_directly().await;
    let hold = async {
        let waiting = "SELECT count(*) > 0 FROM pg_stat_activity
            WHERE $1 = ANY (pg_blocking_pids(pid)) AND wait_event_type = 'Lock'";
        while !sqlx::query_scalar::<_, bool>(waiting).bind(holder).fetch_one(&mut observer).await.unwrap() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let first = "SELECT namespace FROM namespaces WHERE namespace = (SELECT namespace FROM namespaces ORDER BY namespace LIMIT 1) FOR UPDATE";
        let was_aborted = sqlx::raw_sql(first).execute(&mut other).await.is_err();
        sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
        was_aborted
    };
    let (written, other_was_aborted) = futures::join!(store.put(&tenant, batch()), hold);
    assert_eq!(written.unwrap().len(), 2);
    assert!(!other_was_aborted, "the transaction of the store was aborted and retried");
    assert_eq!(store.stats(&tenant).await.unwrap().records, 4);
}

pub(crate) async fn a_password_is_never_shown(database: &Database) {
    let store = database.open().await;
    let password = database.url.split("postgres:").nth(2).and_then(|rest| rest.split('@').next());
    let password = password.filter(|word| word.len() > 8);
    if let Some(password) = password {
        assert!(!format!("{store:?} {:?}", database.options()).contains(password));
    }
    let wrong = [
        "postgres://postgres:hunter2@127.0.0.1:1/none".to_owned(),
        "postgres://nobody:hunter2@no-such-host.invalid/none".to_owned(),
        database.url.replacen(password.unwrap_or("postgres:"), "hunter2", 1),
    ];
    for url in wrong {
        let options = database.options().with_acquire_timeout(Duration::from_millis(1500)).with_replica(url.as_str());
        let shown = format!("{options:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        let e = PostgresStore::connect_with(&url, store_options(), options).await.unwrap_err();
        let source = std::error::Error::source(&e).map(ToString::to_string);
        let shown = format!("{e} {e:?} {source:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::Unauthorized), "{e}");
    }
}

pub(crate) async fn a_server_without_required_tls_is_refused(_: &Database) {
    let server = Server::new("-c fsync=off");
    let url = server.url().replace("sslmode=disable", "sslmode=require");
    let e = PostgresStore::connect_with(&url, store_options(), server_options()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
    assert!(e.to_string().contains("secure"), "{e}");
    let url = server.url().replace("sslmode=disable", "sslmode=prefer");
    PostgresStore::connect_with(&url, store_options(), server_options()).await.unwrap().close().await;
}

fn server_options() -> PostgresOptions {
    // A call waits this long for a server that was killed.
    PostgresOptions::default().with_acquire_timeout(Duration::from_secs(4))
}

/// The server is killed during an import.
pub(crate) async fn a_killed_server_keeps_acknowledged_writes(_: &Database) {
    let mut server = Server::new("-c synchronous_commit=on -c fsync=off");
    let store = PostgresStore::connect_with(&server.url(), store_options(), server_options()).await.unwrap();
    let batches: Vec<Vec<Write>> = (0..400).map(|n| (0..5).map(|m| import(n * 5 + m)).collect::<Vec<_>>()).collect();
    let mut acknowledged = 0;
    let mut failure = None;
    for batch in &batches {
        if acknowledged == 60 {
            server.kill();
        }
        match store.put(&lin(), batch.clone()).await {
            Ok(_) => acknowledged += 1,
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    let e = failure.unwrap();
    assert_eq!((e.kind(), e.is_transient()), (ErrorKind::Unavailable, true), "{e}");
    // A server process serves its connection until it notices that the main process is gone.
    assert!((60..batches.len()).contains(&acknowledged), "{acknowledged}");
    server.start();
    // The same store reconnects.
    let ids: Vec<_> = batches[..acknowledged].iter().flatten().map(|write| write.record.id).collect();
    let stored = store.get(&lin(), &ids).await.unwrap();
    assert!(stored.iter().all(Option::is_some), "acknowledged writes are stored");
    // The import is repeated; existing records are not changed.
    for batch in &batches {
        store.put(&lin(), batch.clone()).await.unwrap();
    }
    let stats = store.stats(&lin()).await.unwrap();
    assert_eq!((stats.records, stats.queued[&Job::Embedding]), (2000, 2000));
    assert_eq!(count_keyword_hits(&store, &lin(), "words").await, 1000, "limited to 1000 hits");
}

fn import(number: u32) -> Write {
    let mut record =
        Record::new(lin(), memory_engine_core::Kind::TURN, format!("words of message {number}"), &SystemClock);
    record.id = memory_engine_core::RecordId::named(&lin(), &number.to_string());
    Write { mode: PutMode::IfAbsent, ..write(&record) }
}

/// Reads are answered by a streaming replica, and by the primary when there is none.
pub(crate) async fn a_replica_answers_reads(_: &Database) {
    let mut primary = Server::new("-c wal_level=replica -c max_wal_senders=4 -c hot_standby=on -c fsync=off");
    let first = PostgresStore::connect_with(&primary.url(), store_options(), server_options()).await.unwrap();
    let record = turn(&lin(), "some words");
    first.put(&lin(), vec![write(&record)]).await.unwrap();
    embed(&first, &record, vector(1)).await;
    first.close().await;
    let mut replica = primary.replica();
    let options = server_options().with_replica(replica.url()).with_exact_up_to(0);
    let store = PostgresStore::connect_with(&primary.url(), store_options(), options).await.unwrap();
    let later = turn(&lin(), "more words");
    store.put(&lin(), vec![write(&later)]).await.unwrap();
    // It receives the changes of the primary after a moment.
    let deadline = Instant::now() + Duration::from_secs(60);
    while count_keyword_hits(&store, &lin(), "words").await < 2 && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        (count_keyword_hits(&store, &lin(), "words").await, count_vector_hits(&store, &lin(), vector(1)).await),
        (2, 1)
    );
    primary.kill();
    assert_eq!(count_keyword_hits(&store, &lin(), "words").await, 2, "the replica answers");
    let e = store.put(&lin(), vec![write(&turn(&lin(), "words"))]).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unavailable, "a replica does not accept writes");
    primary.start();
    replica.kill();
    assert_eq!(count_keyword_hits(&store, &lin(), "words").await, 2, "the primary answers");
    store.put(&lin(), vec![write(&turn(&lin(), "words"))]).await.unwrap();
    assert_eq!(count_keyword_hits(&store, &lin(), "words").await, 3);
}

/// Selects the settings that the store changes for its calls.
const SELECT_SETTINGS: &str =
    "SELECT concat_ws(' ', current_setting('statement_timeout'), current_setting('search_path'),
    current_setting('timezone'), current_setting('random_page_cost'), current_setting('hnsw.ef_search', true))";

/// The pool keeps its settings and its connections. The store and the caller share one connection.
pub(crate) async fn a_pool_of_the_caller_keeps_its_settings(database: &Database) {
    let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(Duration::from_secs(20));
    let pool = pool.after_connect(|connection, _| {
        Box::pin(async move {
            let own = "SET statement_timeout = '7s'; SET timezone = 'Asia/Tokyo'; SET search_path = pg_catalog";
            sqlx::raw_sql(own).execute(connection).await.map(drop)
        })
    });
    let pool = pool.connect(&database.url).await.unwrap();
    let before: String = sqlx::query_scalar(SELECT_SETTINGS).fetch_one(&pool).await.unwrap();
    assert!(before.starts_with("7s pg_catalog Asia/Tokyo 4"), "{before}");
    // Long enough for the statements that do not wait, on a busy machine too.
    let options = database.options().with_statement_timeout(Duration::from_secs(2));
    let store = PostgresStore::from_pool(pool.clone(), store_options(), options).await.unwrap();
    let record = turn(&lin(), "some words");
    store.put(&lin(), vec![write(&record)]).await.unwrap();
    embed(&store, &record, vector(1)).await;
    assert_eq!(
        (count_keyword_hits(&store, &lin(), "words").await, count_vector_hits(&store, &lin(), vector(1)).await),
        (1, 1)
    );
    assert_eq!(database.open().await.stats(&lin()).await.unwrap().records, 1, "in the schema of the options");
    let select_pid = "SELECT pg_backend_pid()";
    let pid: i32 = sqlx::query_scalar(select_pid).fetch_one(&pool).await.unwrap();
    assert_eq!(sqlx::query_scalar::<_, String>(SELECT_SETTINGS).fetch_one(&pool).await.unwrap(), before);
    assert_eq!(store.get(&lin(), &[record.id]).await.unwrap().len(), 1);
    assert_eq!(sqlx::query_scalar::<_, i32>(select_pid).fetch_one(&pool).await.unwrap(), pid, "the connection is kept");

    // A call exceeds the statement timeout of the store: its connection is closed.
    let mut holder = database.connect_directly().await;
    sqlx::raw_sql("BEGIN; SELECT 1 FROM namespaces FOR UPDATE").execute(&mut holder).await.unwrap();
    let e = store.put(&lin(), vec![write(&turn(&lin(), "more words"))]).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Timeout, "{e}");
    assert_eq!(sqlx::query_scalar::<_, String>(SELECT_SETTINGS).fetch_one(&pool).await.unwrap(), before);
    assert_ne!(sqlx::query_scalar::<_, i32>(select_pid).fetch_one(&pool).await.unwrap(), pid);
    // A call is cancelled: its connection is closed.
    let words = turn(&lin(), "more words");
    let waiting = tokio::time::timeout(Duration::from_millis(50), store.put(&lin(), vec![write(&words)])).await;
    assert!(waiting.is_err());
    assert_eq!(sqlx::query_scalar::<_, String>(SELECT_SETTINGS).fetch_one(&pool).await.unwrap(), before);
    sqlx::raw_sql("ROLLBACK").execute(&mut holder).await.unwrap();

    store.close().await;
    assert_eq!(store.stats(&lin()).await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(
        sqlx::query_scalar::<_, String>(SELECT_SETTINGS).fetch_one(&pool).await.unwrap(),
        before,
        "the pool is open"
    );
    pool.close().await;
}
