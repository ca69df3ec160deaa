//! The health check compares index caches with the database, and the repair rebuilds them.

use std::{fs, path::Path};

use memory_engine_core::{Finding, ProblemKind, RecordStore, Scope, Write};
use memory_engine_sqlite::{SCHEMA, SqliteStore, check_health, migrate_down, repair};
use memory_engine_vector_store::{VectorQuery, VectorStore};
use rusqlite::Connection;

use crate::fixtures::{found, open, turn, vector, words};

/// Number of records, slightly more than the minimum for a cache.
const COUNT: u64 = 8_050;

fn tenant_wide() -> Scope {
    Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap()
}

/// Creates a database with caches of its terms and vectors.
async fn fill(path: &Path) {
    let store = open(path).await;
    let write = |number: u64| {
        let record = turn(&Scope::user("lin").unwrap(), &format!("w{number} common"));
        Write { terms: Some(words(&record.text)), embedding: Some(vector(number)), ..Write::upsert(record) }
    };
    for start in (0..COUNT).step_by(2_000) {
        let writes = (start..COUNT.min(start + 2_000)).map(write).collect();
        RecordStore::put(&store, &tenant_wide(), writes).await.unwrap();
    }
    store.close().await;
}

/// Returns the text of the record with the nearest vector.
async fn nearest(store: &SqliteStore, seed: u64) -> String {
    let hits = VectorStore::search(store, &tenant_wide(), &VectorQuery::new(vector(seed), 1)).await.unwrap();
    store.get(&tenant_wide(), &[hits[0].id]).await.unwrap().remove(0).unwrap().text
}

fn execute(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn every_disagreement_of_a_cache_is_reported_and_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let filled = directory.path().join("memory.db");
    fill(&filled).await;
    let caches = ["vectors", "terms-1"];
    assert_eq!(check_health(&filled).unwrap().problems, Vec::<String>::new());
    assert_eq!(repair(&filled).unwrap(), Vec::<String>::new());

    // Each statement changes the database without a change in the log, as a fault does that no cache has noticed.
    let faults = [
        (
            "the vectors of many records",
            "vectors",
            "UPDATE vectors SET vector = (SELECT vector FROM vectors v \
          WHERE v.record = vectors.record % 100 + 1) WHERE record > 200",
        ),
        (
            "the address of many vectors",
            "vectors",
            "INSERT INTO scopes (namespace, agent, session, branch) \
          VALUES (1, 'kai', '', ''); UPDATE vectors SET scope = (SELECT max(scope) FROM scopes) WHERE record > 100",
        ),
        ("a vector too many", "vectors", "DELETE FROM vectors WHERE record = 7777"),
        (
            "the terms of many records",
            "terms",
            "UPDATE keyword_documents SET terms = 'other' || record || ' words' \
          WHERE record > 100",
        ),
        ("terms too many", "terms", "DELETE FROM keyword_documents WHERE record = 7777"),
    ];
    for (fault, index, sql) in faults {
        let copy = tempfile::tempdir().unwrap();
        let path = copy.path().join("memory.db");
        for file in ["".to_owned()].into_iter().chain(caches.map(|cache| format!("-{cache}"))) {
            fs::copy(format!("{}{file}", filled.display()), format!("{}{file}", path.display())).unwrap();
        }
        execute(&path, sql);
        let report = check_health(&path).unwrap();
        let is_cache = |finding: &&Finding| finding.kind == ProblemKind::CacheWrong && finding.count == 1;
        assert!(report.findings.iter().any(|finding| is_cache(&finding)), "{fault}: {:?}", report.problems);
        let only_cache = report.findings.len() == 1;
        assert!(report.problems.iter().any(|problem| problem.contains(index)), "{fault}: {:?}", report.problems);
        let running = open(&path).await;
        nearest(&running, 1).await;
        assert_eq!(repair(&path).unwrap().len(), 1, "{fault}");
        let report = check_health(&path).unwrap();
        assert_eq!(report.repairable, 0, "{fault}: {:?}", report.problems);
        // A repair of the database removes the caches; the next process that searches writes them.
        let is_rebuilt = path.with_file_name(format!("memory.db-{index}")).exists();
        assert!(is_rebuilt || !only_cache || index == "terms", "{fault}");
        if fault == "the vectors of many records" {
            // A process that has read the wrong cache reads the rebuilt one.
            let number: u64 = nearest(&running, 5).await.split(' ').next().unwrap()[1..].parse().unwrap();
            assert!(number == 5 || number > 199 && number % 100 == 4, "{number}");
        }
        if fault == "the terms of many records" {
            assert_eq!(found(&running, &tenant_wide(), "other300").await, 1);
            assert_eq!(found(&running, &tenant_wide(), "w300").await, 0);
        }
    }
}

#[tokio::test]
async fn damaged_caches_are_reported_and_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    fill(&path).await;
    for file in ["memory.db-vectors", "memory.db-terms-1"] {
        let file = path.with_file_name(file);
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        fs::write(&file, bytes).unwrap();
    }
    let report = check_health(&path).unwrap();
    assert_eq!((report.repairable, report.findings[0].count), (1, 2), "{:?}", report.problems);
    assert_eq!(repair(&path).unwrap().len(), 2);
    assert_eq!(check_health(&path).unwrap().problems, Vec::<String>::new());
    let store = open(&path).await;
    assert_eq!(nearest(&store, 777).await, "w777 common");
    assert_eq!(found(&store, &tenant_wide(), "w777").await, 1);
}

#[tokio::test]
async fn cut_caches_and_those_of_another_database_are_reported_and_repaired() {
    let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = directory.path().join("memory.db");
    fill(&path).await;
    fill(&other.path().join("memory.db")).await;
    let vectors = fs::read(directory.path().join("memory.db-vectors")).unwrap();
    let foreign = fs::read(other.path().join("memory.db-vectors")).unwrap();
    for (fault, content) in [
        ("empty", &[][..]),
        ("cut in the header", &vectors[..20]),
        ("cut in a segment", &vectors[..vectors.len() / 3]),
        ("without the last byte", &vectors[..vectors.len() - 1]),
        ("of another database", &foreign[..]),
    ] {
        fs::write(directory.path().join("memory.db-vectors"), content).unwrap();
        let report = check_health(&path).unwrap();
        let kinds: Vec<ProblemKind> = report.findings.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, [ProblemKind::CacheWrong], "{fault}: {:?}", report.problems);
        assert_eq!(repair(&path).unwrap().len(), 1, "{fault}");
        assert_eq!(check_health(&path).unwrap().problems, Vec::<String>::new(), "{fault}");
        let store = open(&path).await;
        assert_eq!(nearest(&store, 777).await, "w777 common", "{fault}");
        store.close().await;
    }
}

#[tokio::test]
async fn an_earlier_schema_has_no_caches() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    open(&path).await.close().await;
    let files =
        ["memory.db-vectors", "memory.db-terms-3", "memory.db-terms-3-fresh"].map(|file| path.with_file_name(file));
    files.iter().for_each(|file| fs::write(file, "terms and vectors").unwrap());
    migrate_down(&path, SCHEMA - 1).unwrap();
    assert!(files.iter().all(|file| !file.exists()));
}

#[cfg(unix)]
#[tokio::test]
async fn forgetting_removes_caches_wherever_a_path_leads() {
    use std::os::unix::fs::symlink;

    let directory = tempfile::tempdir().unwrap();
    let (real, links) = (directory.path().join("real"), directory.path().join("links"));
    fs::create_dir(&real).unwrap();
    fs::create_dir(&links).unwrap();
    symlink("../real/memory.db", links.join("alias.db")).unwrap();
    let caches = |directory: &Path| {
        let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        files.filter(|file| file.contains("-vectors") || file.contains("-terms")).count()
    };
    fill(&links.join("alias.db")).await;
    assert_eq!((caches(&real), caches(&links)), (2, 0), "all paths have the same caches");
    // An earlier version wrote caches next to the link.
    for file in ["alias.db-vectors", "alias.db-terms-1", "alias.db-terms-1-fresh"] {
        fs::write(links.join(file), "old").unwrap();
    }
    drop(open(&links.join("alias.db")).await);
    assert_eq!(caches(&links), 0);

    let store = open(&real.join("memory.db")).await;
    let other = open(&links.join("../links/alias.db")).await;
    assert_eq!(store.path(), other.path());
    let lin = Scope::user("lin").unwrap();
    let hits = VectorStore::search(&store, &lin, &VectorQuery::new(vector(5), 1)).await.unwrap();
    RecordStore::delete(&store, &lin, &[hits[0].id]).await.unwrap();
    assert_eq!((caches(&real), caches(&links)), (0, 0));
    assert_eq!(found(&other, &tenant_wide(), "w5").await, 0);
}
