//! Several stores on one database, servers that go away, and what is never shown.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use memory_engine_core::{
    ErrorKind, Job, JobQueue, PutMode, Record, RecordStore, ScanQuery, Scope, SystemClock, Write,
};
use memory_engine_keyword_store::{Clause, KeywordQuery, KeywordStore};
use memory_engine_postgres::{PostgresOptions, PostgresStore, ShardedStore};
use memory_engine_vector_store::{VectorEntry, VectorStore};
use sqlx::{Connection, postgres::PgPoolOptions};

use crate::{
    given::{Database, embed, found, lin, near, turn, usual, vector, write},
    server::Server,
};

pub(crate) async fn each_sees_what_the_other_has_written_and_deleted(database: &Database) {
    let (one, other) = (database.open().await, database.open().await);
    let mut records = Vec::new();
    for (store, number) in [&one, &other, &one, &other].into_iter().zip(0..) {
        let record = turn(&lin().with_session(format!("s{number}")).unwrap(), "the same words");
        store.put(&lin(), vec![write(&record)]).await.unwrap();
        embed(store, &record, vector(number)).await;
        records.push(record);
        for reader in [&one, &other] {
            assert_eq!(found(reader, &lin(), "words").await, records.len());
            assert_eq!(near(reader, &lin(), vector(9)).await, records.len());
        }
    }
    RecordStore::delete(&other, &lin(), &[records[0].id, records[3].id]).await.unwrap();
    for reader in [&one, &other] {
        assert_eq!((found(reader, &lin(), "words").await, near(reader, &lin(), vector(0)).await), (2, 2));
    }
}

/// With only one tenant, no owner is compared, until there is another tenant.
pub(crate) async fn a_whole_tenant_is_told_from_one_that_comes_later(database: &Database) {
    let (first, second) = (database.open().await, database.open().await);
    let (ours, theirs) = (Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap(), Scope::tenant_wide("theirs").unwrap());
    let filters = [None, Some(memory_engine_core::Filter::eq(memory_engine_core::Field::Kind, "turn"))];
    let finds = async |store: &PostgresStore, scope: &Scope| {
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
    assert_eq!(finds(&first, &ours).await, [0; 4], "nobody is there");
    put(&first, &lin()).await;
    assert_eq!((finds(&first, &ours).await, finds(&first, &theirs).await), (vec![1; 4], vec![0; 4]));
    let mo = theirs.clone().with_user("mo").unwrap();
    let own = put(&second, &mo).await;
    put(&second, &mo).await;
    for store in [&first, &second, &database.open().await] {
        assert_eq!((finds(store, &ours).await, finds(store, &theirs).await), (vec![1; 4], vec![2; 4]));
        assert_eq!(store.get(&ours, &[own]).await.unwrap(), [None], "not theirs to read");
        assert!(store.get(&theirs, &[own]).await.unwrap()[0].is_some());
    }
}

/// The next call takes the connection of the last one, where everything is prepared.
pub(crate) async fn who_asks_one_thing_after_the_other_needs_one_connection(_: &Database) {
    let server = Server::new("-c fsync=off");
    let store =
        PostgresStore::connect_with(&server.url(), usual(), server_options().with_max_connections(3)).await.unwrap();
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'memory-engine'";
    let mut look = sqlx::PgConnection::connect(&server.url()).await.unwrap();
    for _ in 0..20 {
        store.put(&lin(), vec![write(&turn(&lin(), "some words"))]).await.unwrap();
        assert!(found(&store, &lin(), "words").await > 0);
    }
    let connections: i64 = sqlx::query_scalar(sql).fetch_one(&mut look).await.unwrap();
    assert_eq!(connections, 1);
    // Many concurrent tasks share the maximum number of connections, and a task that is cancelled while it waits
    // leaves none unusable.
    let lin = lin();
    for _ in 0..5 {
        let all = futures::future::join_all((0..40).map(|_| found(&store, &lin, "words")));
        let _ = tokio::time::timeout(Duration::from_millis(3), all).await;
    }
    let all = futures::future::join_all((0..40).map(|_| found(&store, &lin, "words"))).await;
    assert!(all.iter().all(|count| *count == 20));
    let connections: i64 = sqlx::query_scalar(sql).fetch_one(&mut look).await.unwrap();
    assert!((1..=3).contains(&connections), "{connections}");
    store.close().await;
    let e = store.get(&lin, &[]).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Closed, "{e}");
}

pub(crate) async fn writers_of_several_users_and_of_one_user_all_get_through(database: &Database) {
    let stores = [database.open().await, database.open().await];
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    let write_all = async |store: &PostgresStore, number: usize| {
        for round in 0..10 {
            // Two users in one batch, in a different order in each task: locking in the order of the batch would be a
            // deadlock.
            let users = [format!("user {}", (number + round) % 3), format!("user {}", (number + round + 1) % 3)];
            let writes = users.iter().map(|user| write(&turn(&Scope::user(user.as_str()).unwrap(), "words")));
            store.put(&tenant, writes.collect()).await.unwrap();
        }
    };
    futures::future::join_all((0..12).map(|number| write_all(&stores[number % 2], number))).await;
    let stats = stores[0].stats(&tenant).await.unwrap();
    assert_eq!((stats.records, found(&stores[1], &tenant, "words").await), (240, 240));
}

pub(crate) async fn what_a_killed_worker_had_claimed_is_taken_over(database: &Database) {
    let (one, other) = (database.open().await, database.open().await);
    let records: Vec<Record> = (0..6).map(|_| turn(&lin(), "words")).collect();
    one.put(&lin(), records.iter().map(write).collect()).await.unwrap();
    let lease = Duration::from_secs(600);
    assert_eq!(one.claim(Job::Embedding, 4, lease).await.unwrap().len(), 4);
    assert_eq!(other.claim(Job::Embedding, 1, lease).await.unwrap().len(), 1, "the other worker lives");
    drop(one);
    // The server needs a moment to notice that the connections are gone.
    let started = Instant::now();
    let mut taken = Vec::new();
    while taken.len() < 5 {
        assert!(started.elapsed() < Duration::from_secs(10), "{} are taken over", taken.len());
        taken.extend(other.claim(Job::Embedding, 9, lease).await.unwrap().into_iter().map(|one| one.record.id));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let expected: BTreeSet<_> = [&records[..4], &records[5..]].concat().iter().map(|record| record.id).collect();
    assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), expected);
}

pub(crate) async fn a_statement_that_takes_too_long_times_out(database: &Database) {
    let store = database.connect(database.options().with_statement_timeout(Duration::from_millis(200))).await;
    store.put(&lin(), vec![write(&turn(&lin(), "words"))]).await.unwrap();
    // Holds the lock that a writer of this user waits for.
    let mut holder = database.look().await;
    sqlx::raw_sql("BEGIN; SELECT 1 FROM namespaces FOR UPDATE").execute(&mut holder).await.unwrap();
    let e = store.put(&lin(), vec![write(&turn(&lin(), "a secret"))]).await.unwrap_err();
    assert_eq!((e.kind(), e.is_transient()), (ErrorKind::Timeout, true), "{e}");
    assert_eq!(store.stats(&lin()).await.unwrap().records, 1, "reading goes on");
    sqlx::raw_sql("ROLLBACK").execute(&mut holder).await.unwrap();
    store.put(&lin(), vec![write(&turn(&lin(), "words"))]).await.unwrap();
}

/// Another transaction locks the rows in the wrong order. The server aborts the one that first detects the deadlock,
/// which is the store's.
pub(crate) async fn a_write_that_lost_to_a_deadlock_is_run_again(database: &Database) {
    let store = database.open().await;
    let users = [Scope::user("one").unwrap(), Scope::user("two").unwrap()];
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    let batch = || users.iter().map(|user| write(&turn(user, "words"))).collect::<Vec<_>>();
    store.put(&tenant, batch()).await.unwrap();
    let mut other = database.look().await;
    let last =
        "BEGIN; SELECT ns FROM namespaces WHERE ns = (SELECT ns FROM namespaces ORDER BY ns DESC LIMIT 1) FOR UPDATE";
    sqlx::raw_sql(last).execute(&mut other).await.unwrap();
    let hold = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let first = "SELECT ns FROM namespaces WHERE ns = (SELECT ns FROM namespaces ORDER BY ns LIMIT 1) FOR UPDATE";
        let ended = sqlx::raw_sql(first).execute(&mut other).await.is_err();
        sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
        ended
    };
    let (written, other_ended) = futures::join!(store.put(&tenant, batch()), hold);
    assert_eq!(written.unwrap().len(), 2);
    assert!(!other_ended, "the store is the one that was ended, and began anew");
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
        let e = PostgresStore::connect_with(&url, usual(), options).await.unwrap_err();
        let source = std::error::Error::source(&e).map(ToString::to_string);
        let shown = format!("{e} {e:?} {source:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::Unauthorized), "{e}");
    }
}

pub(crate) async fn a_server_without_tls_is_refused_by_who_requires_it(_: &Database) {
    let server = Server::new("-c fsync=off");
    let url = server.url().replace("sslmode=disable", "sslmode=require");
    let e = PostgresStore::connect_with(&url, usual(), server_options()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
    assert!(e.to_string().contains("secure"), "{e}");
    let url = server.url().replace("sslmode=disable", "sslmode=prefer");
    PostgresStore::connect_with(&url, usual(), server_options()).await.unwrap().close().await;
}

fn server_options() -> PostgresOptions {
    PostgresOptions::default().with_acquire_timeout(Duration::from_secs(3))
}

/// The server is killed during an import.
pub(crate) async fn a_server_that_is_killed_loses_nothing_that_was_acknowledged(_: &Database) {
    let mut server = Server::new("-c synchronous_commit=on -c fsync=off");
    let store = PostgresStore::connect_with(&server.url(), usual(), server_options()).await.unwrap();
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
    // The very same store finds the server again.
    let ids: Vec<_> = batches[..acknowledged].iter().flatten().map(|write| write.record.id).collect();
    let kept = store.get(&lin(), &ids).await.unwrap();
    assert!(kept.iter().all(Option::is_some), "what was acknowledged is there");
    // The import is simply run again: what is there already stays as it is.
    for batch in &batches {
        store.put(&lin(), batch.clone()).await.unwrap();
    }
    let stats = store.stats(&lin()).await.unwrap();
    assert_eq!((stats.records, stats.backlog[&Job::Embedding]), (2000, 2000));
    assert_eq!(found(&store, &lin(), "words").await, 1000, "as many as were asked for");
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
    let first = PostgresStore::connect_with(&primary.url(), usual(), server_options()).await.unwrap();
    let record = turn(&lin(), "some words");
    first.put(&lin(), vec![write(&record)]).await.unwrap();
    embed(&first, &record, vector(1)).await;
    first.close().await;
    let mut replica = primary.replica();
    let options = server_options().with_replica(replica.url()).with_exact_up_to(0);
    let store = PostgresStore::connect_with(&primary.url(), usual(), options).await.unwrap();
    let later = turn(&lin(), "more words");
    store.put(&lin(), vec![write(&later)]).await.unwrap();
    for _ in 0..200 {
        if found(&store, &lin(), "words").await == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!((found(&store, &lin(), "words").await, near(&store, &lin(), vector(1)).await), (2, 1));
    primary.kill();
    assert_eq!(found(&store, &lin(), "words").await, 2, "the replica answers");
    let e = store.put(&lin(), vec![write(&turn(&lin(), "words"))]).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unavailable, "and takes no writes");
    primary.start();
    replica.kill();
    assert_eq!(found(&store, &lin(), "words").await, 2, "the primary answers");
    store.put(&lin(), vec![write(&turn(&lin(), "words"))]).await.unwrap();
    assert_eq!(found(&store, &lin(), "words").await, 3);
}

/// Users are spread over two servers, and one of them is killed.
pub(crate) async fn of_two_routed_servers_one_is_killed_and_the_users_of_the_other_notice_nothing(_: &Database) {
    let mut servers = [Server::new("-c fsync=off"), Server::new("-c fsync=off")];
    let mut shards = Vec::new();
    for server in &servers {
        let options = server_options().with_acquire_timeout(Duration::from_millis(800));
        shards.push(PostgresStore::connect_with(&server.url(), usual(), options).await.unwrap());
    }
    let store = ShardedStore::new(shards).unwrap();
    let users: Vec<Scope> = (0..12).map(|n| Scope::user(format!("user {n}")).unwrap()).collect();
    for user in &users {
        store.put(user, vec![write(&turn(user, "some words"))]).await.unwrap();
    }
    let everybody = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    assert_eq!(store.stats(&everybody).await.unwrap().records, 12);
    assert_eq!(store.scan(&everybody, &ScanQuery::oldest(9)).await.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(store.claim(Job::Embedding, 99, Duration::ZERO).await.unwrap().len(), 12);
    // As the engine's worker does it: what is pending, of whichever user, in one call.
    let pending = store.claim(Job::Embedding, 99, Duration::from_secs(60)).await.unwrap();
    let entry =
        |pending: memory_engine_core::Pending| VectorEntry { record: pending.record.into(), embedding: vector(1) };
    let done: Vec<_> = pending.iter().map(memory_engine_core::Pending::done).collect();
    let entries: Vec<_> = pending.into_iter().map(entry).collect();
    VectorStore::upsert(&store, &everybody, &entries).await.unwrap();
    assert!(store.complete(&done).await.unwrap().iter().all(|fresh| *fresh));
    let both = users.iter().map(|user| write(&turn(user, "words"))).collect();
    assert_eq!(store.put(&everybody, both).await.unwrap_err().kind(), ErrorKind::Unsupported);
    let home = |user: &Scope| format!("{:?}", store.shard(user).unwrap());
    let first = home(&users[0]);
    let (dead, alive): (Vec<&Scope>, Vec<&Scope>) = users.iter().partition(|user| home(user) == first);
    assert!(dead.len() > 2 && alive.len() > 2, "{} and {}", dead.len(), alive.len());
    let place = servers.iter().position(|server| first.contains(&server.port().to_string())).unwrap();
    servers[place].kill();
    let words = KeywordQuery::new(vec![Clause::term("words")], 9);
    for user in &alive {
        assert_eq!(KeywordStore::search(&store, user, &words).await.unwrap().len(), 1);
        store.put(user, vec![write(&turn(user, "more words"))]).await.unwrap();
    }
    for user in &dead[..2] {
        let e = KeywordStore::search(&store, user, &words).await.unwrap_err();
        assert_eq!((e.kind(), e.is_transient()), (ErrorKind::Unavailable, true), "{e}");
    }
    let pending = store.claim(Job::Embedding, 99, Duration::from_secs(60)).await.unwrap();
    assert_eq!(pending.len(), alive.len(), "work for the others goes on");
    let done: Vec<_> = pending.iter().map(memory_engine_core::Pending::done).collect();
    assert!(store.complete(&done).await.unwrap().iter().all(|fresh| *fresh));
    servers[place].start();
    for user in &users {
        assert!(!KeywordStore::search(&store, user, &words).await.unwrap().is_empty(), "{user} is back");
    }
}

/// Settings that the store changes for its calls.
const SETTINGS: &str = "SELECT concat_ws(' ', current_setting('statement_timeout'), current_setting('search_path'),
    current_setting('timezone'), current_setting('random_page_cost'), current_setting('hnsw.ef_search', true))";

/// The pool keeps its settings and its connections, and one connection serves the store and its owner.
pub(crate) async fn a_pool_of_the_caller_keeps_its_settings(database: &Database) {
    let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(Duration::from_millis(500));
    let pool = pool.after_connect(|connection, _| {
        Box::pin(async move {
            let own = "SET statement_timeout = '7s'; SET timezone = 'Asia/Tokyo'; SET search_path = pg_catalog";
            sqlx::raw_sql(own).execute(connection).await.map(drop)
        })
    });
    let pool = pool.connect(&database.url).await.unwrap();
    let before: String = sqlx::query_scalar(SETTINGS).fetch_one(&pool).await.unwrap();
    assert!(before.starts_with("7s pg_catalog Asia/Tokyo 4"), "{before}");
    let options = database.options().with_statement_timeout(Duration::from_millis(300));
    let store = PostgresStore::from_pool(pool.clone(), usual(), options).await.unwrap();
    let record = turn(&lin(), "some words");
    store.put(&lin(), vec![write(&record)]).await.unwrap();
    embed(&store, &record, vector(1)).await;
    assert_eq!((found(&store, &lin(), "words").await, near(&store, &lin(), vector(1)).await), (1, 1));
    assert_eq!(database.open().await.stats(&lin()).await.unwrap().records, 1, "in the schema of the options");
    let process = "SELECT pg_backend_pid()";
    let pid: i32 = sqlx::query_scalar(process).fetch_one(&pool).await.unwrap();
    assert_eq!(sqlx::query_scalar::<_, String>(SETTINGS).fetch_one(&pool).await.unwrap(), before);
    assert_eq!(store.get(&lin(), &[record.id]).await.unwrap().len(), 1);
    assert_eq!(sqlx::query_scalar::<_, i32>(process).fetch_one(&pool).await.unwrap(), pid, "the connection is kept");

    // A call that fails with the store's own time limit: the next user of the pool does not get its connection.
    let mut holder = database.look().await;
    sqlx::raw_sql("BEGIN; SELECT 1 FROM namespaces FOR UPDATE").execute(&mut holder).await.unwrap();
    let e = store.put(&lin(), vec![write(&turn(&lin(), "more words"))]).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Timeout, "{e}");
    assert_eq!(sqlx::query_scalar::<_, String>(SETTINGS).fetch_one(&pool).await.unwrap(), before);
    assert_ne!(sqlx::query_scalar::<_, i32>(process).fetch_one(&pool).await.unwrap(), pid);
    // So does one that is cancelled.
    let words = turn(&lin(), "more words");
    let waiting = tokio::time::timeout(Duration::from_millis(50), store.put(&lin(), vec![write(&words)])).await;
    assert!(waiting.is_err());
    assert_eq!(sqlx::query_scalar::<_, String>(SETTINGS).fetch_one(&pool).await.unwrap(), before);
    sqlx::raw_sql("ROLLBACK").execute(&mut holder).await.unwrap();

    store.close().await;
    assert_eq!(store.stats(&lin()).await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(sqlx::query_scalar::<_, String>(SETTINGS).fetch_one(&pool).await.unwrap(), before, "the pool is open");
    pool.close().await;
}
