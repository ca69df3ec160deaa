//! Traces of deleted records are found in every table.

use std::sync::Arc;

use memory_engine_core::{
    Record, RecordId, RecordStore, Scope, Trust,
    residue::{ResidueProbe, ResidueProbes, ResidueReport, Salt, SearchExtent, SearchedPlace},
};
use memory_engine_graph::{EntityKind, Extraction, GraphEntry, GraphStore, Mention, Relation};
use memory_engine_postgres::{PostgresStore, find_residue};
use memory_engine_vector_store::{VectorEntry, VectorStore};
use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::fixtures::{Database, lin, turn, vector, write};

const SECRETS: [&str; 2] =
    ["the combination of the safe is 31-7-88, behind the atlas", "保险箱的密码写在书架最上面那本地图册的扉页"];
const SALT: Salt = Salt::from_bytes([5; 32]);

fn probes(records: &[Record]) -> ResidueProbes {
    let probe = |record: &Record| ResidueProbe {
        namespace: record.scope.namespace(),
        id: record.id,
        content: SALT.hash(&record.content_hash()),
        cascade_deleted: false,
    };
    let mut probes = ResidueProbes::new(SALT, records.iter().map(probe).collect()).with_extent(SearchExtent::Database);
    records.iter().for_each(|record| probes.add_texts(record));
    probes
}

/// Stores two records with everything that is derived from records, next to others that remain.
async fn fill(store: &PostgresStore) -> Vec<Record> {
    let session = lin().with_session("monday").unwrap();
    let deleted: Vec<Record> = SECRETS.iter().map(|text| turn(&session, text)).collect();
    let mut all = deleted.clone();
    all.extend((0..10).map(|number| turn(&session, &format!("message number {number} about the weather"))));
    for (record, number) in all.iter().zip(0..) {
        RecordStore::put(store, &lin(), vec![write(record)]).await.unwrap();
        let stored = store.get(&session, &[record.id]).await.unwrap().remove(0).unwrap();
        let entry = VectorEntry::new(Arc::new(stored.clone()), vector(number));
        VectorStore::upsert(store, &lin(), &[entry]).await.unwrap();
        let mention = Mention::new("notary", EntityKind::Person).with_alias("the notary");
        let entities = vec![mention, Mention::new("Porto", EntityKind::Place)];
        let extraction = Extraction { entities, relations: vec![Relation::new("notary", "lives in", "Porto")] };
        GraphStore::upsert(store, &lin(), &[GraphEntry::new(stored, extraction)]).await.unwrap();
    }
    deleted
}

async fn delete(store: &PostgresStore, records: &[Record]) {
    let ids: Vec<RecordId> = records.iter().map(|record| record.id).collect();
    assert_eq!(RecordStore::delete(store, &lin(), &ids).await.unwrap().ids, ids);
}

fn place<'r>(report: &'r ResidueReport, name: &str) -> &'r SearchedPlace {
    report.places.iter().find(|place| place.name == name).unwrap_or_else(|| panic!("{name}: {report:#?}"))
}

fn dirty(report: &ResidueReport) -> Vec<&str> {
    report.places.iter().filter(|place| place.residue() > 0).map(|place| &place.name[..]).collect()
}

pub(crate) async fn nothing_remains_of_deleted_records(database: &Database) {
    for partitions in [0, 3] {
        let options = database.options().with_partitions(partitions);
        let store = database.connect(options.clone()).await;
        let records = fill(&store).await;
        let probes = probes(&records);
        let before = store.find_residue(&probes).await.unwrap();
        for name in ["records", "vectors", "keyword_documents", "jobs", "graph_edges", "graph_entities"] {
            assert!(place(&before, name).ids >= 2, "{name}: {before:#?}");
        }
        assert!(place(&before, "records").texts > 0 && before.missing_tombstones.len() == 2);
        delete(&store, &records).await;
        let after = store.find_residue(&probes).await.unwrap();
        assert_eq!((dirty(&after), &after.missing_tombstones), (vec![], &vec![]), "{after:#?}");
        assert_eq!(place(&after, "tombstones").ids, 2);
        assert!(after.limits[0].contains("VACUUM") && after.store_id.is_some(), "{after:#?}");
        store.close().await;
        let report = find_residue(&database.url, &options, &probes).await.unwrap();
        assert_eq!((report.residue(), report.places.len()), (0, after.places.len()));
        memory_engine_postgres::migrate_down(&database.url, &options, 0).await.unwrap();
    }
}

/// A row that was inserted into a table.
struct Planted {
    /// The table and the condition that selects the row.
    place: String,
    has_id: bool,
    has_text: bool,
}

/// Inserts a row with this id in every column that can have one, and this text in every other.
async fn plant(connection: &mut PgConnection, table: &str, id: RecordId, text: &str) -> Planted {
    let columns = "SELECT column_name::text, udt_name::text, ordinal_position::integer FROM information_schema.columns
        WHERE table_schema = current_schema() AND table_name = $1 AND is_generated = 'NEVER' ORDER BY ordinal_position";
    let (mut names, mut values, mut has_id, mut has_text) = (Vec::new(), Vec::new(), false, false);
    for row in sqlx::query(columns).bind(table).fetch_all(&mut *connection).await.unwrap() {
        let (name, kind): (String, String) = (row.get(0), row.get(1));
        let number: i32 = row.get(2);
        let hex: String = id.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        has_id |= name != "namespace" && ["uuid", "_uuid", "bytea"].contains(&&kind[..]);
        has_text |= ["text", "varchar", "_text", "json", "jsonb"].contains(&&kind[..]);
        let value = match (name.as_str(), kind.as_str()) {
            ("namespace", _) => "(SELECT namespace FROM namespaces WHERE username = 'lin')".to_owned(),
            (_, "uuid") => format!("'{id}'"),
            (_, "_uuid") => format!("ARRAY['{id}'::uuid]"),
            (_, "text" | "varchar") => format!("'{text} {number}'"),
            (_, "_text") => format!("ARRAY['{text}']"),
            (_, "json" | "jsonb") => format!("'{{\"a\": \"{text}\"}}'"),
            (_, "bytea") => format!("'\\x{hex}{hex}'"),
            (_, "vector") => format!("'[{}]'", vec!["1"; crate::fixtures::DIMENSIONS].join(",")),
            (_, "tsvector") => "''".to_owned(),
            (_, "bool") => "true".to_owned(),
            (_, "timestamptz") => "now()".to_owned(),
            // Not the number of a later schema.
            _ if table == "memory_schema" => "-1".to_owned(),
            _ => "900001".to_owned(),
        };
        names.push(name);
        values.push(value);
    }
    let sql = format!(
        "INSERT INTO {table} ({}) VALUES ({})
         RETURNING format('%s WHERE ctid = %L', tableoid::regclass, ctid)",
        names.join(", "),
        values.join(", ")
    );
    let place = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(connection).await;
    Planted { place: place.unwrap_or_else(|error| panic!("{table}: {error}")), has_id, has_text }
}

async fn tables(connection: &mut PgConnection) -> Vec<String> {
    let sql = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1";
    sqlx::query_scalar(sql).fetch_all(connection).await.unwrap()
}

pub(crate) async fn an_id_and_a_text_are_found_in_every_table(database: &Database) {
    let store = database.open().await;
    let records = fill(&store).await;
    delete(&store, &records).await;
    let probes = probes(&records);
    let mut connection = database.connect_directly().await;
    // Neither foreign keys nor triggers.
    sqlx::raw_sql("SET session_replication_role = replica").execute(&mut connection).await.unwrap();
    let names = tables(&mut connection).await;
    assert!(names.len() > 14, "{names:?}");
    let (mut with_ids, mut with_texts) = (0, 0);
    for table in &names {
        if table == "tombstones" {
            assert_eq!(place(&store.find_residue(&probes).await.unwrap(), table).ids, 2);
            continue;
        }
        // Its only row of the user exists.
        if table == "namespaces" {
            continue;
        }
        for secret in SECRETS {
            let planted = plant(&mut connection, table, records[0].id, secret).await;
            let found = store.find_residue(&probes).await.unwrap();
            let found = place(&found, table);
            assert_eq!(
                (found.ids > 0, found.texts + found.shared > 0),
                (planted.has_id, planted.has_text),
                "{found:?}"
            );
            assert!(found.residue() > 0 || found.keeps_ids.is_some() || !planted.has_id, "{found:?}");
            with_ids += u32::from(planted.has_id);
            with_texts += u32::from(planted.has_text);
            let delete = format!("DELETE FROM {}", planted.place);
            sqlx::raw_sql(AssertSqlSafe(delete)).execute(&mut connection).await.unwrap();
        }
    }
    assert!(with_ids >= 20 && with_texts >= 16, "{with_ids}, {with_texts}");
    assert_eq!(store.find_residue(&probes).await.unwrap().residue(), 0);
}

pub(crate) async fn a_table_that_no_version_knows_is_searched(database: &Database) {
    let store = database.open().await;
    let records = fill(&store).await;
    delete(&store, &records).await;
    let mut connection = database.connect_directly().await;
    let id = records[1].id;
    let sql = format!(
        "CREATE TABLE later (a integer, b uuid, c jsonb, d bytea);
         INSERT INTO later VALUES (1, '{id}', '{{\"x\": [\"{id}\"]}}', '\\x{}');
         CREATE MATERIALIZED VIEW \"Odd name\" AS SELECT b FROM later",
        id.to_string().replace('-', "")
    );
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
    let report = store.find_residue(&probes(&records)).await.unwrap();
    assert_eq!((place(&report, "later").ids, place(&report, "Odd name").ids), (3, 1));
    assert_eq!(report.residue(), 4, "{report:#?}");
}

pub(crate) async fn rows_without_records_and_copies_of_contents_are_found(database: &Database) {
    let store = database.open().await;
    let records = fill(&store).await;
    let mo = Scope::user("mo").unwrap();
    let mut others = vec![turn(&lin(), SECRETS[0]), turn(&lin(), SECRETS[0]), turn(&mo, SECRETS[1])];
    others[1].trust = Trust::Import;
    (others[2].trust, others[2].id) = (Trust::Import, records[0].id);
    for record in &others {
        RecordStore::put(&store, &record.scope, vec![write(record)]).await.unwrap();
    }
    delete(&store, &records).await;
    let report = store.find_residue(&probes(&records)).await.unwrap();
    assert_eq!(dirty(&report), Vec::<&str>::new(), "another user has a record with the same id: {report:#?}");
    assert_eq!((&report.blocked_copies, report.other_copies), (&vec![others[1].id], 1));

    let mut connection = database.connect_directly().await;
    let sql =
        "SET session_replication_role = replica; DELETE FROM records WHERE kind = 'turn' AND text LIKE 'message%';
        DELETE FROM tombstones";
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    let report = store.find_residue(&probes(&records)).await.unwrap();
    for name in ["vectors", "keyword_documents", "graph_entities", "graph_edges", "jobs"] {
        assert!(place(&report, name).orphans >= 10, "{name}: {report:#?}");
    }
    assert_eq!(report.missing_tombstones.len(), 2);
}
