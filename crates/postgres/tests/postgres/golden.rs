//! The golden files: databases of every schema, as a version with that schema wrote them.

use memory_engine_core::{Job, RecordStore, ScanQuery};
use memory_engine_postgres::{SCHEMA, check_health, migrate_down};
use memory_engine_synonyms::{SynonymGroup, SynonymStore};
use sqlx::AssertSqlSafe;

use crate::fixtures::{Database, count_keyword_hits, count_vector_hits, embed, lin, turn, vector, write};

/// The name of the schema in a golden file.
const GOLDEN_SCHEMA: &str = "golden_schema";

fn golden_file(schema: u32) -> String {
    format!("{}/tests/golden/schema-{schema}.sql", env!("CARGO_MANIFEST_DIR"))
}

/// Migrates and reads a database of each schema. With `WRITE_GOLDEN` in the environment, it first writes the file of the
/// current schema if that is missing. A file of a released schema never changes: users have such databases.
pub(crate) async fn golden_files_of_all_schemas_are_read(database: &Database) {
    if std::env::var_os("WRITE_GOLDEN").is_some() && !std::fs::exists(golden_file(SCHEMA)).unwrap() {
        write_golden_file(database).await;
    }
    for schema in 1..=SCHEMA {
        let dump = std::fs::read_to_string(golden_file(schema)).unwrap().replace(GOLDEN_SCHEMA, &database.schema);
        sqlx::raw_sql(AssertSqlSafe(dump)).execute(&mut database.connect_directly().await).await.unwrap();
        let store = database.open().await;
        let records = store.scan(&lin(), &ScanQuery::oldest(10)).await.unwrap().records;
        let texts: Vec<&str> = records.iter().map(|record| &*record.text).collect();
        assert_eq!(texts, ["我 对 海鲜 过敏", "docker and c++ 3.14"]);
        assert_eq!((records[1].tags.len(), records[1].metadata["mood"].to_string()), (1, "[1,2.5,null]".to_owned()));
        assert_eq!(count_keyword_hits(&store, &lin(), "海鲜").await, 1);
        assert_eq!(count_vector_hits(&store, &lin(), vector(1)).await, 1);
        assert_eq!(store.tombstones(&lin(), None, 10).await.unwrap().len(), 1);
        assert_eq!(store.stats(&lin()).await.unwrap().queued, [(Job::Embedding, 2)].into());
        let groups = SynonymStore::list(&store, &lin()).await.unwrap();
        assert_eq!(groups, [SynonymGroup::new("docker", ["容器"])]);
        let new = turn(&lin(), "written by the new version");
        RecordStore::put(&store, &lin(), vec![write(&new)]).await.unwrap();
        store.close().await;
        let found = check_health(&database.url, &database.options()).await.unwrap();
        assert_eq!(found.problems, Vec::<String>::new());
        migrate_down(&database.url, &database.options(), 0).await.unwrap();
    }
}

/// Stores the records of the golden file, and writes them with `pg_dump`.
async fn write_golden_file(database: &Database) {
    let store = database.open().await;
    let mut records = ["我 对 海鲜 过敏", "docker and c++ 3.14", "to be forgotten"].map(|text| turn(&lin(), text));
    records[1].tags = vec!["btc".into()];
    records[1].metadata.insert("mood".into(), serde_json::json!([1, 2.5, null]));
    for record in &records {
        RecordStore::put(&store, &lin(), vec![write(record)]).await.unwrap();
    }
    embed(&store, &records[0], vector(1)).await;
    RecordStore::delete(&store, &lin(), &[records[2].id]).await.unwrap();
    let groups = [SynonymGroup::new("docker", ["容器"])];
    SynonymStore::put(&store, &lin(), &groups).await.unwrap();
    store.close().await;
    let dump = std::process::Command::new("pg_dump")
        .args(["--inserts", "--no-owner", "--no-privileges", "--schema", &database.schema, &database.url])
        .output()
        .unwrap();
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    let dump = String::from_utf8(dump.stdout).unwrap().replace(&database.schema, GOLDEN_SCHEMA);
    // Without comments, settings that only some servers have, and commands of psql.
    let is_sql = |line: &&str| {
        let skipped = ["--", "\\", "SET "];
        !line.is_empty() && !skipped.iter().any(|start| line.starts_with(start)) && !line.contains("set_config")
    };
    let lines: Vec<&str> = dump.lines().filter(is_sql).collect();
    std::fs::create_dir_all(format!("{}/tests/golden", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let dump = lines.join("\n").replace("CREATE SCHEMA", "CREATE SCHEMA IF NOT EXISTS") + "\n";
    std::fs::write(golden_file(SCHEMA), dump).unwrap();
    migrate_down(&database.url, &database.options(), 0).await.unwrap();
}
