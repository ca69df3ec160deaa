//! Checks keys, statements and query plans: the data of a user is in one namespace, and searches use the indexes.

use std::sync::Arc;

use memory_engine_core::{
    Embedding, Field, Filter, Job, JobQueue, Kind, Record, RecordStore, ScanQuery, Scope, SystemClock, Terms,
    Tombstone, ViewSet, Write,
};
use memory_engine_graph::{EntityKind, Extraction, GraphEntry, GraphQuery, Mention, Relation, Seeds};
use memory_engine_keyword_store::{Clause, KeywordEntry, KeywordQuery, KeywordStore};
use memory_engine_postgres::{Lookup, Mismatch, PostgresOptions, PostgresStore, install_views};
use memory_engine_synonyms::{PairVerdict, SynonymGroup, WordPair};
use memory_engine_vector_store::{VectorEntry, VectorQuery, VectorStore};
use sqlx::{Connection, Row};

use crate::{
    fixtures::{Database, embed, lin, store_options, turn, vector, words, write},
    server::Server,
};

/// Tables without a namespace: small, often read and seldom written.
const REFERENCE_TABLES: [&str; 3] = ["index_metadata", "memory_schema", "lease_owners"];
/// Tables of the audit log, which has one chain for each tenant.
const TENANT_TABLES: [&str; 2] = ["audit_chains", "audit_log"];

pub(crate) async fn every_key_begins_with_the_namespace(database: &Database) {
    database.open().await;
    let sql = "SELECT c.conrelid::regclass::text, c.conname::text,
                   (SELECT a.attname::text FROM pg_attribute a
                    WHERE a.attrelid = c.conrelid AND a.attnum = c.conkey[1])
               FROM pg_constraint c JOIN pg_namespace n ON n.oid = c.connamespace
               WHERE n.nspname = $1 AND c.contype IN ('p', 'u', 'f')
               UNION ALL
               SELECT i.indrelid::regclass::text, i.indexrelid::regclass::text,
                   (SELECT a.attname::text FROM pg_attribute a
                    WHERE a.attrelid = i.indrelid AND a.attnum = i.indkey[0])
               FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = $1 AND i.indisunique";
    let rows = sqlx::query(sql).bind(&database.schema).fetch_all(&mut database.connect_directly().await).await.unwrap();
    let mut keys = 0;
    for row in rows {
        let (table, key, first): (String, String, String) = (row.get(0), row.get(1), row.get(2));
        if !REFERENCE_TABLES.contains(&table.as_str()) {
            let expected = if TENANT_TABLES.contains(&table.as_str()) { "tenant" } else { "namespace" };
            assert_eq!(first, expected, "{key} of {table}");
            keys += 1;
        }
    }
    assert!(keys >= 20, "only {keys} keys were checked");
}

/// Opens a database with 20 users: lin with `records_of_lin` records, the others with 100. Updates the planner's
/// statistics.
async fn store_with_users(
    database: &Database,
    options: PostgresOptions,
    records_of_lin: u64,
) -> (PostgresStore, Vec<Record>) {
    let store = database.connect(options.clone()).await;
    let mut all = Vec::new();
    for user in 0..20_u64 {
        let scope = if user == 0 { lin() } else { Scope::user(format!("user {user}")).unwrap() };
        let count = if user == 0 { records_of_lin } else { 100 };
        let record = |n: u64| {
            let rare = if n.is_multiple_of(100) { "rare" } else { "often" };
            turn(&scope, &format!("message {n} {rare} of user{user} about subject{}", n % 37))
        };
        let mut records: Vec<Record> = (0..count).map(record).collect();
        store.put(&scope, records.iter().map(write).collect()).await.unwrap();
        let entry = |(n, record): (u64, &mut Record)| {
            record.revision = 1;
            VectorEntry::new(Arc::new(record.clone()), vector(user * 10_000 + n + 1))
        };
        let entries: Vec<VectorEntry> = (0..).zip(&mut records).map(entry).collect();
        VectorStore::upsert(&store, &scope, &entries).await.unwrap();
        all.extend(records);
    }
    // Completes the index.
    store.close().await;
    let store = database.connect(options).await;
    // Autovacuum does the same after a while. It also moves new trigrams into the index.
    let analyze = "VACUUM ANALYZE namespaces, scopes, records, keyword_documents, vectors, jobs";
    sqlx::raw_sql(analyze).execute(&mut database.connect_directly().await).await.unwrap();
    (store, all)
}

pub(crate) async fn searches_use_their_indexes(database: &Database) {
    let (store, _) = store_with_users(database, database.options().with_exact_up_to(1000), 4000).await;
    let words = KeywordQuery::new(vec![Clause::term("rare"), Clause::term("subject3")], 10);
    let plan = store.explain(&lin(), Lookup::Keywords(&words)).await.unwrap();
    assert!(plan.contains("keyword_documents_by_lexeme"), "{plan}");
    let nearest = VectorQuery::new(vector(7), 10);
    let plan = store.explain(&lin(), Lookup::Vectors(&nearest)).await.unwrap();
    assert!(plan.contains("vectors_by_nearness"), "above the limit the index is used: {plan}");
    let few = Scope::user("user 7").unwrap();
    let plan = store.explain(&few, Lookup::Vectors(&nearest)).await.unwrap();
    assert!(
        !plan.contains("vectors_by_nearness") && plan.contains("Index"),
        "below the limit the search is exact: {plan}"
    );
    let plan = store.explain(&few, Lookup::Scan(&ScanQuery::newest(10))).await.unwrap();
    assert!(plan.contains("records_by_time") && !plan.contains("Seq Scan on records"), "{plan}");
    install_views(&database.url, &database.options(), ViewSet::Document).await.unwrap();
    let mut connection = database.connect_directly().await;
    sqlx::raw_sql("SET enable_seqscan = off").execute(&mut connection).await.unwrap();
    let explain = "EXPLAIN (COSTS OFF) SELECT id FROM conversations WHERE content ILIKE '%user 7%'";
    let plan: Vec<String> = sqlx::query_scalar(explain).fetch_all(&mut connection).await.unwrap();
    assert!(plan.iter().any(|line| line.contains("records_by_trigram")), "{plan:#?}");
}

pub(crate) async fn a_search_for_one_user_reads_one_partition(database: &Database) {
    let (store, _) =
        store_with_users(database, database.options().with_partitions(4).with_exact_up_to(1000), 1500).await;
    let words = KeywordQuery::new(vec![Clause::term("rare")], 10).with_filter(Some(Filter::eq(Field::Kind, "turn")));
    let nearest = VectorQuery::new(vector(7), 10).with_filter(Some(Filter::eq(Field::Kind, "turn")));
    let scan = ScanQuery::newest(10);
    let session = lin().with_session("monday").unwrap();
    let lookups = [Lookup::Keywords(&words), Lookup::Vectors(&nearest), Lookup::Scan(&scan)];
    for scope in [lin(), Scope::user("user 7").unwrap(), session] {
        let mut partitions = Vec::new();
        for lookup in lookups {
            let plan = store.explain(&scope, lookup).await.unwrap();
            let read: Vec<u8> = plan.lines().filter_map(partition_number).collect();
            assert!(!read.is_empty(), "{plan}");
            partitions.extend(read);
        }
        assert!(partitions.iter().all(|partition| *partition == partitions[0]), "{scope} is in {partitions:?}");
    }
}

/// Returns the number of the partition that a line of a query plan reads, as in `… on records_3 r`.
fn partition_number(line: &str) -> Option<u8> {
    if line.contains("Bitmap Index") {
        return None;
    }
    line.split(" on ").nth(1)?.split(' ').next()?.rsplit_once('_')?.1.parse().ok()
}

/// Makes every call of every contract: for one user, a session and a whole tenant.
async fn call_everything(store: &PostgresStore) {
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    let session = lin().with_session("monday").unwrap();
    for scope in [lin(), session, tenant] {
        let mut record = turn(&scope, "some words");
        store.put(&scope, vec![write(&record)]).await.unwrap();
        record.text.push('!');
        store.put(&scope, vec![write(&record)]).await.unwrap();
        embed(store, &record, vector(1)).await;
        let stored = store.get(&scope, &[record.id]).await.unwrap().remove(0).unwrap();
        let entry = KeywordEntry { record: Arc::new(stored), terms: words("some words") };
        KeywordStore::upsert(store, &scope, &[entry]).await.unwrap();
        let filter = Some(Filter::eq(Field::Metadata("mood".into()), "glad"));
        for filter in [None, filter] {
            let words = KeywordQuery::new(vec![Clause::term("words")], 9).with_filter(filter.clone());
            KeywordStore::search(store, &scope, &words).await.unwrap();
            let nearest = VectorQuery::new(vector(2), 9).with_filter(filter);
            VectorStore::search(store, &scope, &nearest).await.unwrap();
        }
        let page = store.scan(&scope, &ScanQuery::oldest(1)).await.unwrap();
        store.scan(&scope, &ScanQuery::newest(1).with_after(page.next)).await.unwrap();
        store.adjacent(&scope, &[record.id]).await.unwrap();
        store.stats(&scope).await.unwrap();
        store.record_groups(&scope).await.unwrap();
        store.requeue(&scope, Job::Keywords).await.unwrap();
        store.enqueue(&scope, &[record.id], Job::Facts).await.unwrap();
        store.derived(&scope, &[record.id]).await.unwrap();
        let pending = store.claim(Job::Facts, 1, std::time::Duration::ZERO).await.unwrap().remove(0);
        let error = memory_engine_core::Error::new(memory_engine_core::ErrorKind::Timeout, "facts", "late");
        store.fail(&[pending.failed(&error, None)]).await.unwrap();
        store.failures(&scope, 9).await.unwrap();
        for lease in [0, 60] {
            let lease = std::time::Duration::from_secs(lease);
            let pending = store.claim(Job::Keywords, 9, lease).await.unwrap();
            store.extend_lease(&pending, lease).await.unwrap();
            store.complete(&pending.iter().map(memory_engine_core::Pending::done).collect::<Vec<_>>()).await.unwrap();
        }
        graph(store, &scope, &record).await;
        KeywordStore::delete(store, &scope, &[record.id]).await.unwrap();
        VectorStore::delete(store, &scope, &[record.id]).await.unwrap();
        RecordStore::delete(store, &scope, &[record.id]).await.unwrap();
        let other = Record::new(scope.clone(), Kind::TURN, "deleted", &SystemClock);
        let tombstone = Tombstone::new(other.id, other.scope.clone(), other.content_hash(), other.occurred_at);
        store.import_tombstones(&scope, &[tombstone]).await.unwrap();
        store.tombstones(&scope, None, 9).await.unwrap();
        synonyms(store, &scope).await;
    }
}

async fn graph(store: &PostgresStore, scope: &Scope, record: &Record) {
    let stored = store.get(scope, &[record.id]).await.unwrap().remove(0).unwrap();
    let entities =
        vec![Mention::new("Anna", EntityKind::Person).with_alias("Red"), Mention::new("Bob", EntityKind::Person)];
    let extraction = Extraction { entities, relations: vec![Relation::new("Anna", "knows", "Bob")] };
    let entry = GraphEntry::new(stored, extraction);
    for filter in [None, Some(Filter::eq(Field::Metadata("mood".into()), "glad"))] {
        memory_engine_graph::GraphStore::upsert(store, scope, std::slice::from_ref(&entry)).await.unwrap();
        for from in [Seeds::Names(vec!["red".into()]), Seeds::MostMentioned] {
            let query = GraphQuery::new(from).with_hops(2).with_filter(filter.clone());
            let found = memory_engine_graph::GraphStore::expand(store, scope, &query).await.unwrap();
            assert_eq!(found.edges.is_empty(), filter.is_some());
        }
        memory_engine_graph::GraphStore::stats(store, scope).await.unwrap();
        memory_engine_graph::GraphStore::delete(store, scope, &[record.id]).await.unwrap();
        memory_engine_graph::GraphStore::clear(store, scope).await.unwrap();
    }
}

async fn synonyms(store: &dyn memory_engine_synonyms::SynonymStore, scope: &Scope) {
    store.applicable_groups(scope).await.unwrap();
    let group = SynonymGroup::new("Krueger", ["K"]);
    store.put(scope, std::slice::from_ref(&group)).await.unwrap();
    store.put(scope, &[SynonymGroup::new("KRUEGER", ["克鲁格"])]).await.unwrap();
    let verdict = PairVerdict { pair: WordPair::new("a", "b").unwrap(), accepted: true };
    store.judge(scope, &[verdict]).await.unwrap();
    assert_eq!((store.list(scope).await.unwrap().len(), store.verdicts(scope).await.unwrap().len()), (1, 1));
    assert_eq!(store.remove(scope, &["krueger".into()]).await.unwrap(), 1);
    store.clear(scope).await.unwrap();
}

/// Beginnings of the statements that serve all tenants: those that read and claim the oldest jobs, and read the expired
/// records.
const STATEMENTS_FOR_ALL_TENANTS: [&str; 3] = [
    "SELECT n.tenant, n.username, a.agent, a.session, a.branch, r.namespace, r.id, r.kind, r.text, r.role, r.speaker, \
     r.scene, r.topic, r.emotion, r.message_id, r.sequence, r.round, r.confidence, r.importance, r.occurred_at, \
     r.recorded_at, \
     r.valid_from, r.valid_until, r.trust, r.state, r.pinned, r.expires_at, r.revision, r.entities, r.tags, r.derived_from, r.metadata, \
     c.attempts, c.ticket, c.queued_at FROM (SELECT b.namespace, b.id, b.ticket, b.attempts, b.queued_at FROM jobs b \
     WHERE b.job = $1",
    "WITH free AS ( SELECT b.namespace, b.job, b.id, b.ticket FROM jobs b WHERE b.job = $1",
    "SELECT n.tenant, n.username, a.agent, a.session, a.branch, x.id FROM (SELECT r.namespace, r.scope, r.id, \
     r.expires_at FROM records r WHERE r.expires_at IS NOT NULL",
];

/// Returns true if a bound value limits a statement to its namespaces.
fn is_limited_to_namespaces(sql: &str) -> bool {
    let conditions = [
        ".namespace = $",
        ".namespace = ANY ($",
        // The namespace of each row, in a list parallel to the ids.
        "unnest($1::uuid[]",
        ".namespace IN (SELECT t.namespace FROM namespaces t WHERE t.tenant = $",
        "n.tenant = $",
        // All namespaces, if there is no other tenant.
        "coalesce(min(t.tenant) = $",
        // The rows have their namespaces as values.
        "scope_namespaces => $",
        "locked_namespaces => $",
    ];
    // An inserted row has its namespace as a value.
    let is_insert =
        sql.starts_with("INSERT INTO") && (sql.contains("SELECT $1") || sql.contains("json_to_recordset($1"));
    conditions.iter().any(|condition| sql.contains(condition)) || is_insert
}

pub(crate) async fn every_statement_is_limited_to_namespaces(_: &Database) {
    let server = Server::new("-c log_statement=all -c log_line_prefix=@@ -c log_min_messages=log");
    let url = server.url();
    let options = PostgresOptions::default().with_partitions(2);
    let store = PostgresStore::connect_with(&url, store_options(), options.clone().with_exact_up_to(0)).await.unwrap();
    let log_start = server.log().len();
    call_everything(&store).await;
    let log = server.log();
    let mut checked = 0;
    for entry in log[log_start..].split("@@") {
        let Some((_, sql)) = entry.split_once("LOG:  execute ").and_then(|(_, rest)| rest.split_once(": ")) else {
            continue;
        };
        let sql = sql.split("DETAIL:").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        let tables = [
            "namespaces",
            "scopes",
            "records",
            "tombstones",
            "blocked_",
            "jobs",
            "keyword_doc",
            "vectors",
            "synonym_",
            "graph_",
            "record_groups",
            "memory_insert_",
        ];
        if tables.iter().any(|table| sql.contains(table)) {
            checked += 1;
            let is_allowed = STATEMENTS_FOR_ALL_TENANTS.iter().any(|beginning| sql.starts_with(beginning));
            assert!(is_limited_to_namespaces(&sql) || is_allowed, "{sql}");
        }
    }
    assert!(checked > 150, "only {checked} statements were checked");
    store.close().await;
    // Rebuilding an index changes the data of all tenants; its statements are not checked.
    let rebuild = store_options().with_mismatch(Mismatch::Rebuild);
    PostgresStore::connect_with(&url, rebuild, options).await.unwrap().close().await;
    sqlx::PgConnection::connect(&url).await.unwrap().close().await.unwrap();
}

/// The server cannot rank such a scope. The first search finds that out with a statement that returns no hits.
pub(crate) async fn a_scope_with_uncounted_terms_is_searched_with_one_statement(_: &Database) {
    let server = Server::new("-c log_statement=all -c log_line_prefix=@@ -c log_min_messages=log");
    let options = PostgresOptions::default();
    let store = PostgresStore::connect_with(&server.url(), store_options(), options).await.unwrap();
    let terms: Terms = ["a\0b".to_owned(), "common".to_owned()].into_iter().collect();
    let write = Write { terms: Some(terms), ..Write::upsert(turn(&lin(), "text")) };
    store.put(&lin(), vec![write]).await.unwrap();
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    let query = KeywordQuery::new(vec![Clause::term("common")], 5);
    let mut statements = Vec::new();
    for _ in 0..3 {
        let log_start = server.log().len();
        assert_eq!(KeywordStore::search(&store, &tenant, &query).await.unwrap().len(), 1);
        let log = server.log();
        let is_search = |entry: &&str| entry.contains("LOG:  execute") && entry.contains("FROM keyword_documents");
        statements.push(log[log_start..].split("@@").filter(is_search).count());
    }
    assert_eq!(statements, [2, 1, 1]);
    store.close().await;
}

pub(crate) async fn a_filtered_index_search_returns_enough_hits(database: &Database) {
    let (store, records) = store_with_users(database, database.options().with_exact_up_to(0), 1500).await;
    let own: Vec<&Record> = records.iter().filter(|record| record.scope == lin()).collect();
    let filter = Filter::In(Field::Id, own.iter().step_by(60).map(|r| r.id.to_string().into()).collect());
    let query = VectorQuery::new(vector(5), 20).with_filter(Some(filter.clone()));
    let hits = VectorStore::search(&store, &lin(), &query).await.unwrap();
    assert_eq!(hits.len(), 20, "25 pass the filter");
    assert!(hits.is_sorted_by(|a, b| memory_engine_core::Hit::best_first(a, b).is_le()));
    assert!(hits.iter().all(|hit| own.iter().any(|record| record.id == hit.id && filter.matches(record))));
    let exact = database.connect(database.options()).await;
    let nearest: Embedding = vector(5);
    let expected = VectorStore::search(&exact, &lin(), &VectorQuery::new(nearest.clone(), 20)).await.unwrap();
    let found = VectorStore::search(&store, &lin(), &VectorQuery::new(nearest, 20)).await.unwrap();
    let same = found.iter().filter(|hit| expected.contains(hit)).count();
    assert!(same >= 18, "the index found {same} of the 20 nearest");
}
