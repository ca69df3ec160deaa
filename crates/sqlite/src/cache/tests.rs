//! Cache files written by an earlier version of this crate are read, and the same content gives the same bytes.
//!
//! The golden files are in `tests/golden`. They hold one hundred records: eighty in the first segment, and in a second
//! segment one changed and twenty new ones.
#![allow(clippy::unwrap_used, reason = "this is test code: a failed expectation is a panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use memory_engine_core::{Embedding, EmbeddingSpace, RecordId, Scope, Terms, packed_terms};
use memory_engine_keyword_store::{Clause, KeywordQuery, KeywordStore};
use memory_engine_vector_store::{VectorQuery, VectorStore};
use rusqlite::{Connection, params};
use tempfile::TempDir;

use super::{file::IndexCacheFile, filter_cache::FilterCache, keywords::KeywordIndex, vectors::VectorIndex};
use crate::{database::change_log, rows::addresses::AddressCache, store::SqliteStore};
use memory_engine_sql::embedding_versions::VectorTable;
use memory_engine_sql::options::StoreOptions;

const DIMENSIONS: usize = 16;
/// Number of records in the first segment.
const FIRST_SEGMENT_RECORDS: i64 = 80;
/// Number of records in both segments. The last record has terms and no vector.
const ALL_RECORDS: i64 = 100;
const TENANT: i64 = 1;
/// The cache files, by the suffix that follows the name of the database.
const FILES: [&str; 3] = ["vectors", "terms-1", "terms-1-fresh"];

fn space() -> EmbeddingSpace {
    EmbeddingSpace::cosine("golden", DIMENSIONS)
}

fn golden(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("cache-4.sqlite-{file}"))
}

fn cache_file(database: &Path, file: &str) -> PathBuf {
    database.with_file_name(format!("memory.db-{file}"))
}

/// Returns the pseudo-random vector of a seed, the same on every machine (xorshift).
fn vector(seed: i64) -> Embedding {
    let mut state = (seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    Embedding::new((0..DIMENSIONS).map(|_| next()).collect()).unwrap()
}

fn id(record: i64) -> RecordId {
    RecordId::from_bytes([record as u8; 16])
}

fn terms(record: i64, text: &str) -> Terms {
    // A count that needs more than a byte.
    let repetitions = if record == 7 { 300 } else { 1 };
    std::iter::repeat_n("common", repetitions).chain(text.split_whitespace()).collect()
}

fn put_terms(connection: &Connection, record: i64, terms: &Terms) {
    let (words, counts) = packed_terms::pack_short(terms);
    let sql = "INSERT OR REPLACE INTO keyword_documents (record, id, scope, length, terms, counts)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    connection
        .execute(sql, params![record, id(record).as_bytes(), scope(record), terms.length(), words, counts])
        .unwrap();
}

fn put_vector(connection: &Connection, record: i64, embedding: &Embedding) {
    let bytes: Vec<u8> = embedding.values().iter().flat_map(|value| value.to_le_bytes()).collect();
    let sql = "INSERT OR REPLACE INTO vectors (record, id, scope, vector) VALUES (?1, ?2, ?3, ?4)";
    connection.execute(sql, params![record, id(record).as_bytes(), scope(record), bytes]).unwrap();
}

fn execute(connection: &Connection, sql: &str) {
    connection.execute(sql, []).unwrap();
}

/// Returns the address of a record. There are two addresses; the first has two thirds of the records.
fn scope(record: i64) -> i64 {
    1 + record % 3 / 2
}

fn put(connection: &Connection, record: i64) {
    let sql =
        "INSERT INTO records (record, namespace, scope, id, revision, state, kind, trust, occurred_at, recorded_at,
        confidence, importance, entities, tags, derived_from, metadata, text)
        VALUES (?1, 1, ?2, ?3, 1, 'active', 'turn', 'user', ?4, 0, 1, 1, '[]', '[]', '[]', '{}', '')";
    let occurred_at = record * 37 % 100 * 1_000_000;
    connection.execute(sql, params![record, scope(record), id(record).as_bytes(), occurred_at]).unwrap();
    put_terms(connection, record, &terms(record, &format!("every{} w{record}", record % 5)));
    if record < ALL_RECORDS {
        put_vector(connection, record, &vector(record));
    }
    log_change(connection, record);
}

/// Logs a change with a nonce that is the same in every run.
fn log_change(connection: &Connection, record: i64) {
    change_log::append(connection, record).unwrap();
    execute(connection, "UPDATE changes SET nonce = 1000 + change WHERE change = (SELECT max(change) FROM changes)");
}

/// Creates a database with the records of the first segment.
async fn database() -> (TempDir, PathBuf, Connection) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    open(&path).await.close().await;
    let connection = Connection::open(&path).unwrap();
    let scopes = "INSERT INTO tenants VALUES (1, 'default'); INSERT INTO namespaces VALUES (1, 1, 'lin');
        INSERT INTO scopes (scope, namespace, agent, session, branch) VALUES (1, 1, '', '', ''), (2, 1, 'kai', '', '');
        INSERT INTO index_metadata VALUES ('cache epoch', '0123456789abcdef');
        UPDATE index_metadata SET made_by = 'fedcba9876543210' WHERE part = 'store id';";
    connection.execute_batch(scopes).unwrap();
    (1..=FIRST_SEGMENT_RECORDS).for_each(|record| put(&connection, record));
    (directory, path, connection)
}

/// Makes the changes of the second segment.
fn make_later_changes(connection: &Connection) {
    put_terms(connection, 10, &terms(10, "revised"));
    put_vector(connection, 10, &vector(1010));
    log_change(connection, 10);
    (FIRST_SEGMENT_RECORDS + 1..=ALL_RECORDS).for_each(|record| put(connection, record));
}

/// Creates a database with all records, and copies the golden files next to it.
async fn database_with_caches() -> (TempDir, PathBuf, Connection) {
    let (directory, path, connection) = database().await;
    make_later_changes(&connection);
    for file in FILES {
        fs::copy(golden(file), cache_file(&path, file)).unwrap();
    }
    (directory, path, connection)
}

async fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, StoreOptions::new(space(), "golden")).await.unwrap()
}

fn tenant_wide() -> Scope {
    Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap()
}

async fn records_with_term(store: &SqliteStore, term: &str) -> Vec<RecordId> {
    let query = KeywordQuery::new(vec![Clause::term(term)], 1000);
    let hits = KeywordStore::search(store, &tenant_wide(), &query).await.unwrap();
    hits.into_iter().map(|hit| hit.id).collect()
}

async fn nearest(store: &SqliteStore, query: &Embedding) -> Vec<RecordId> {
    let query = VectorQuery::new(query.clone(), 1000);
    let hits = VectorStore::search(store, &tenant_wide(), &query).await.unwrap();
    hits.into_iter().map(|hit| hit.id).collect()
}

/// Changes rows without logging it: an index that is read from the database contains these changes, and one that is
/// read from a cache does not.
fn change_without_log(connection: &Connection) {
    put_terms(connection, 5, &terms(5, "unseen"));
    put_vector(connection, ALL_RECORDS, &vector(ALL_RECORDS));
}

async fn assert_read_from_caches(path: &Path) {
    let store = open(path).await;
    assert_eq!(records_with_term(&store, "common").await.len() as i64, ALL_RECORDS);
    assert_eq!(records_with_term(&store, "every0").await.len() as i64, ALL_RECORDS / 5 - 1);
    assert_eq!(records_with_term(&store, "w5").await, [id(5)]);
    assert_eq!(records_with_term(&store, "revised").await, [id(10)]);
    assert_eq!(records_with_term(&store, "w10").await, []);
    assert_eq!(records_with_term(&store, "unseen").await, []);
    let found = nearest(&store, &vector(1010)).await;
    assert_eq!((found[0], found.len() as i64), (id(10), ALL_RECORDS - 1));
}

async fn assert_read_from_database(path: &Path) {
    let store = open(path).await;
    assert_eq!(records_with_term(&store, "unseen").await, [id(5)]);
    assert_eq!(nearest(&store, &vector(ALL_RECORDS)).await[0], id(ALL_RECORDS));
}

#[tokio::test]
async fn golden_caches_are_read_instead_of_the_database() {
    let (_directory, path, connection) = database_with_caches().await;
    change_without_log(&connection);
    assert_read_from_caches(&path).await;
    for file in FILES {
        assert_eq!(fs::read(cache_file(&path, file)).unwrap(), fs::read(golden(file)).unwrap(), "{file}");
    }
}

#[tokio::test]
async fn damaged_or_stale_golden_caches_are_ignored() {
    let stale: [fn(&Connection); 5] = [
        // Another epoch: a record was deleted since.
        |connection| execute(connection, "UPDATE index_metadata SET made_by = '1' WHERE part = 'cache epoch'"),
        // Another fingerprint: the database was restored to an earlier state and then written to.
        |connection| {
            execute(connection, "DELETE FROM changes WHERE change = (SELECT max(change) FROM changes)");
            change_log::append(connection, ALL_RECORDS).unwrap();
        },
        // Another database.
        |connection| execute(connection, "UPDATE index_metadata SET made_by = '1' WHERE part = 'store id'"),
        // A restored backup of an earlier state, which was not written to.
        |connection| execute(connection, "DELETE FROM changes WHERE change = (SELECT max(change) FROM changes)"),
        // A gap in the change log.
        |connection| change_log::invalidate_all(connection).unwrap(),
    ];
    for make_stale in stale {
        let (_directory, path, connection) = database_with_caches().await;
        make_stale(&connection);
        change_without_log(&connection);
        let store = open(&path).await;
        assert_eq!(records_with_term(&store, "unseen").await, [id(5)]);
        assert_eq!(nearest(&store, &vector(ALL_RECORDS)).await.len() as i64, ALL_RECORDS);
    }
    let (_directory, path, connection) = database_with_caches().await;
    change_without_log(&connection);
    for file in ["vectors", "terms-1"] {
        let mut bytes = fs::read(golden(file)).unwrap();
        let middle = bytes.len() / 3;
        bytes[middle] ^= 4;
        fs::write(cache_file(&path, file), bytes).unwrap();
    }
    assert_read_from_database(&path).await;
    assert_eq!(FILES.map(|file| cache_file(&path, file).exists()), [false; 3], "damaged files are removed");
}

/// Creates a database, and writes caches of it with two segments.
async fn database_with_written_caches() -> (TempDir, PathBuf, Connection) {
    let (directory, path, connection) = database().await;
    let vectors = VectorIndex::new(space(), Some(IndexCacheFile::new(&path, "vectors")));
    let keywords = KeywordIndex::new(path.clone());
    let newest = change_log::newest(&connection).unwrap();
    vectors.rebuild(&connection, VectorTable::First, newest).unwrap();
    keywords.rebuild(&connection, TENANT, newest).unwrap();

    make_later_changes(&connection);
    let newest = change_log::newest(&connection).unwrap();
    let manifest = vectors.file().unwrap().manifest(&connection).unwrap().unwrap();
    vectors.append(&connection, VectorTable::First, &manifest, newest).unwrap();
    let manifest = keywords.file(TENANT).manifest(&connection).unwrap().unwrap();
    keywords.append(&connection, TENANT, &manifest, newest).unwrap();
    (directory, path, connection)
}

#[tokio::test]
async fn the_same_content_gives_the_golden_bytes() {
    let (_directory, path, _connection) = database_with_written_caches().await;
    for file in FILES {
        assert!(fs::read(cache_file(&path, file)).unwrap() == fs::read(golden(file)).unwrap(), "{file}");
    }
}

/// Writes the golden files of the current format. Never run it again for a released format. Command:
/// `cargo test -- --ignored write_the_golden_caches`.
#[tokio::test]
#[ignore = "it writes into the source tree"]
async fn write_the_golden_caches() {
    let (_directory, path, _connection) = database_with_written_caches().await;
    for file in FILES {
        fs::copy(cache_file(&path, file), golden(file)).unwrap();
    }
}

/// Returns each offset at which a segment of a file ends.
fn segment_ends(bytes: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut start = 0;
    while let Some(length) = bytes.get(start..start + 8) {
        start += 8 + u64::from_le_bytes(length.try_into().unwrap()) as usize;
        ends.push(start);
    }
    ends
}

/// Returns the records of a user with a term, by an index with this minimum size of a cache.
fn records_of_user(path: &Path, connection: &Connection, user: &str, min_records: usize) -> Vec<RecordId> {
    let mut index = KeywordIndex::new(path.to_owned());
    index.set_min_records(min_records);
    let query = KeywordQuery::new(vec![Clause::term("unseen")], 1000);
    let user = tenant_wide().with_user(user).unwrap();
    let hits = index.search(connection, &AddressCache::default(), &FilterCache::default(), &user, &query).unwrap();
    hits.into_iter().map(|found| found.hit.id).collect()
}

#[tokio::test]
async fn a_user_with_a_large_share_of_the_tenant_is_searched_in_the_cache() {
    let (_directory, path, connection) = database_with_caches().await;
    // Only the rows contain this change.
    change_without_log(&connection);
    assert_eq!(records_of_user(&path, &connection, "lin", 10), []);
    assert_eq!(records_of_user(&path, &connection, "lin", 200), [id(5)]);
    // A user with 20 of the records in the cache.
    let move_records = "INSERT INTO namespaces VALUES (2, 1, 'mei');
        INSERT INTO scopes (scope, namespace, agent, session, branch) VALUES (3, 2, '', '', '');
        UPDATE records SET namespace = 2, scope = 3 WHERE record < 21;";
    connection.execute_batch(move_records).unwrap();
    assert_eq!(records_of_user(&path, &connection, "mei", 10), [id(5)]);
}

/// A cache that is rebuilt in several segments, cut behind each of them and at every 97th byte, never hides a record.
#[tokio::test]
async fn a_cache_that_was_cut_anywhere_hides_no_vector() {
    let (_directory, path, connection) = database().await;
    let mut cache = VectorIndex::new(space(), Some(IndexCacheFile::new(&path, "vectors")));
    cache.set_segment_records(17);
    let newest = change_log::newest(&connection).unwrap();
    cache.rebuild(&connection, VectorTable::First, newest).unwrap();
    let file = cache_file(&path, "vectors");
    let bytes = fs::read(&file).unwrap();
    let ends = segment_ends(&bytes);
    assert_eq!(ends.len(), 6, "five segments and the list of them");
    let cuts = ends.iter().copied().chain((0..bytes.len()).step_by(97));
    for cut in cuts {
        fs::write(&file, &bytes[..cut]).unwrap();
        let store = open(&path).await;
        assert_eq!(nearest(&store, &vector(1)).await.len() as i64, FIRST_SEGMENT_RECORDS, "cut at {cut}");
    }
    // A segment that was replaced by another one of the same length is not in the list.
    let mut exchanged = bytes.clone();
    exchanged.copy_within(..ends[0], ends[0]);
    if ends[1] == 2 * ends[0] {
        fs::write(&file, exchanged).unwrap();
        assert_eq!(nearest(&open(&path).await, &vector(1)).await.len() as i64, FIRST_SEGMENT_RECORDS);
    }
}
