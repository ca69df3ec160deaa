//! The SQL views that other programs read, after their set is installed.

use std::{path::Path, sync::Arc};

use memory_engine_core::{
    Embedding, ErrorKind, Kind, Record, RecordStore, Role, Scope, State, SystemClock, Timestamp, ViewSet,
};
use memory_engine_graph::{EntityKind, Extraction, GraphEntry, GraphStore, Mention, Relation};
use memory_engine_sqlite::{
    back_up, check_health, install_views, installed_views, migrate_down, remove_views, repair, restore_backup,
};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::fixtures::{embed, lin, open, turn, write};

fn record(scope: &Scope, kind: Kind, text: &str, metadata: Value) -> Record {
    let mut record = Record::new(scope.clone(), kind, text, &SystemClock);
    record.metadata = metadata.as_object().unwrap().clone();
    record
}

#[tokio::test]
async fn a1_the_tables_of_a_companion_are_read_under_the_names_of_its_document() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let aicy = lin().with_agent("aicy").unwrap();
    let mut question = turn(&aicy, "你好");
    question.metadata = json!({"affection_delta": 21, "key_moment_id": "first_meet"}).as_object().unwrap().clone();
    let mut reply = turn(&aicy, "（眨眼）");
    (reply.role, reply.metadata) =
        (Some(Role::ASSISTANT), json!({"affection_delta": "much"}).as_object().unwrap().clone());
    let mut moment = record(
        &aicy,
        Kind::KEY_MOMENT,
        "用户：你好",
        json!({"chapter": 1, "moment_name": "第一次见面", "user_response": "你好", "aicy_response": "（眨眼）",
            "affection_gained": 20, "status": "completed"}),
    );
    moment.source.message_id = Some("first_meet".into());
    let state = record(
        &aicy,
        Kind::ledger("companion"),
        "affection 21",
        json!({"affection": 21, "current_chapter": 1, "total_messages": 2, "consecutive_days": 1,
            "last_active_micros": 1_772_000_000_123_456_i64}),
    );
    let log = record(
        &aicy,
        Kind::ledger("affection"),
        "message",
        json!({"delta": 1, "reason": "message", "before_value": 0, "after_value": 1}),
    );
    let profile = record(&aicy, Kind::PROFILE, "x", json!({"nickname": "小林", "personality_summary": "话不多"}));
    let mut old = record(&aicy, Kind::PROFILE, "y", json!({"nickname": "Lin"}));
    old.state = State::Superseded;
    let profile_only = record(&Scope::user("mo").unwrap(), Kind::PROFILE, "curious", json!({"affection": 7}));
    let records = [&question, &reply, &moment, &state, &log, &profile, &old];
    store.put(&lin(), records.into_iter().map(write).collect()).await.unwrap();
    store.put(&profile_only.scope, vec![write(&profile_only)]).await.unwrap();
    install_views(&path, ViewSet::Companion).unwrap();
    let connection = Connection::open(&path).unwrap();
    let rows = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let conversations = rows(
        "SELECT concat_ws(',', user_id, agent, role, content, affection_delta, is_key_moment, key_moment_id)
         FROM conversations ORDER BY role DESC",
    );
    assert_eq!(conversations, ["lin,aicy,user,你好,21,1,first_meet", "lin,aicy,assistant,（眨眼）,0,0"]);
    assert_eq!(rows("SELECT id FROM conversations WHERE role = 'user'"), [question.id.to_string()]);
    assert_eq!(
        rows(
            "SELECT concat_ws(',', id, user_id, chapter, moment_name, user_response, aicy_response, affection_gained,
                 status)
             FROM key_moments"
        ),
        ["first_meet,lin,1,第一次见面,你好,（眨眼）,20,completed"]
    );
    assert_eq!(
        rows(
            "SELECT concat_ws(',', user_id, agent, nickname, affection, current_chapter, personality_summary,
                 total_messages, consecutive_days, last_active_at)
             FROM user_profiles ORDER BY user_id"
        ),
        [
            "lin,aicy,小林,21,1,话不多,2,1,2026-02-25T06:13:20.123Z".to_owned(),
            format!("mo,,7,1,curious,0,0,{}", rows("SELECT last_active_at FROM user_profiles WHERE user_id = 'mo'")[0]),
        ]
    );
    assert_eq!(
        rows("SELECT concat_ws(',', user_id, delta, reason, before_value, after_value) FROM affection_logs"),
        ["lin,1,message,0,1"]
    );
    RecordStore::delete(&store, &lin(), &[question.id]).await.unwrap();
    assert_eq!(rows("SELECT content FROM conversations"), ["（眨眼）"]);
}

#[tokio::test]
async fn r4_the_tables_of_a_story_are_read_under_the_names_of_its_document() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let branch = lin().with_session("story").unwrap().with_branch("main").unwrap();
    let message = |sequence: i64, text: &str| {
        let mut record = turn(&branch, text);
        record.occurred_at = Timestamp::from_micros(1_772_000_000_123_456 + sequence);
        record.source.message_id = Some(format!("m{sequence}"));
        record.source.sequence = Some(sequence);
        record
    };
    let (first, second) = (message(1, "沈砚，人称阿砚，拜入青云门。"), message(2, "阿砚下山了。"));
    let mut summary = Record::new(branch.clone(), Kind::SUMMARY, "沈砚学艺", &SystemClock);
    summary.derived_from = vec![first.id];
    let ledger = Record::new(branch.clone(), Kind::ledger("companion"), "state", &SystemClock);
    let records = [&first, &second, &summary, &ledger];
    store.put(&lin(), records.into_iter().map(write).collect()).await.unwrap();
    let mut values = vec![0.0; crate::fixtures::DIMENSIONS];
    (values[0], values[1]) = (0.5, -1.0);
    embed(&store, &first, Embedding::new(values).unwrap()).await;
    let shen = Mention::new("沈砚", EntityKind::Person).with_alias("阿砚");
    let extraction = Extraction {
        entities: vec![shen, Mention::new("青云门", EntityKind::Org)],
        relations: vec![Relation::new("沈砚", "弟子", "青云门")],
    };
    let other = Extraction { entities: vec![Mention::new("阿砚", EntityKind::Person)], relations: Vec::new() };
    let stored = |record: &Record| {
        let mut record = record.clone();
        record.revision = 1;
        Arc::new(record)
    };
    let entries = [GraphEntry::new(stored(&first), extraction), GraphEntry::new(stored(&second), other)];
    GraphStore::upsert(&store, &lin(), &entries).await.unwrap();
    install_views(&path, ViewSet::Story).unwrap();

    let connection = Connection::open(&path).unwrap();
    let rows = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let items = "SELECT concat_ws(',', user_id, session_id, branch_id, source_message_id, source_seq, kind, content)
         FROM memory_items ORDER BY kind DESC, source_seq";
    let expected = [
        "lin,story,main,m1,1,timeline_chunk,沈砚，人称阿砚，拜入青云门。",
        "lin,story,main,m2,2,timeline_chunk,阿砚下山了。",
        "lin,story,main,summary,沈砚学艺",
    ];
    assert_eq!(rows(items), expected, "a ledger is no item");
    let embeddings = "SELECT concat_ws(',', e.dim, e.model, hex(substr(e.vector_blob, 1, 8)), i.source_message_id)
         FROM memory_embeddings e JOIN memory_items i ON i.id = e.memory_item_id";
    assert_eq!(rows(embeddings), ["16,test,0000003F000080BF,m1"], "32-bit floats, little-endian");
    let entities = "SELECT concat_ws(',', session_id, name, type, canonical, created_at) FROM memory_entities
         ORDER BY created_at, type DESC";
    let at = "2026-02-25T06:13:20.123Z";
    let expected = ["沈砚,person,沈砚", "青云门,org,青云门", "阿砚,person,沈砚"];
    let mut found = rows(entities);
    found.sort();
    let mut expected: Vec<String> = expected.iter().map(|entity| format!("story,{entity},{at}")).collect();
    expected.sort();
    assert_eq!(found, expected);
    let edges = "SELECT concat_ws(',', e.session_id, s.name, e.rel, d.name, e.evidence_message_id, e.evidence_seq)
         FROM memory_edges e JOIN memory_entities s ON s.id = e.src_entity_id JOIN memory_entities d ON d.id = e.dst_entity_id";
    assert_eq!(rows(edges), ["story,沈砚,弟子,青云门,m1,1"]);
    RecordStore::delete(&store, &lin(), &[first.id]).await.unwrap();
    assert_eq!(rows("SELECT name FROM memory_entities"), ["阿砚"], "the entities of a deleted message are gone");
    assert_eq!(rows("SELECT rel FROM memory_edges"), [""; 0]);
}

fn views(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY 1").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[tokio::test]
async fn sets_of_views_are_installed_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    assert_eq!(views(&path), [""; 0], "a new database has no views");
    for set in [ViewSet::Companion, ViewSet::Story, ViewSet::Story] {
        install_views(&path, set).unwrap();
    }
    let error = install_views(&path, ViewSet::Evidence).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("can have the views companion and story"), "{error}");
    assert_eq!(views(&path).len(), 8);
    assert_eq!(installed_views(&path).unwrap(), [ViewSet::Companion, ViewSet::Story].into());
    store.put(&lin(), vec![write(&turn(&lin(), "words"))]).await.unwrap();

    Connection::open(&path).unwrap().execute_batch("DROP VIEW memory_items").unwrap();
    assert_eq!(repair(&path).unwrap().len(), 1);
    assert_eq!((check_health(&path).unwrap().problems, views(&path).len()), (Vec::new(), 8));
    remove_views(&path, ViewSet::Companion).unwrap();
    remove_views(&path, ViewSet::Companion).unwrap();
    assert_eq!(views(&path), ["memory_edges", "memory_embeddings", "memory_entities", "memory_items"]);
    store.close().await;
    migrate_down(&path, 0).unwrap();
    assert_eq!((views(&path), installed_views(&path).unwrap()), (Vec::new(), [].into()));
}

#[tokio::test]
async fn a_table_and_a_view_of_another_program_are_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    open(&path).await.close().await;
    // SQLite ignores the case of names.
    for (kind, name) in [("TABLE", "user_profiles"), ("VIEW", "user_profiles"), ("TABLE", "User_Profiles")] {
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(&format!("CREATE {kind} {name} AS SELECT 'mine' AS text")).unwrap();
        let error = install_views(&path, ViewSet::Companion).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.message().contains(&format!("another program has created {name}")), "{error}");
        assert_eq!(installed_views(&path).unwrap(), [].into(), "all views are installed or none");
        connection.execute_batch(&format!("DROP {kind} {name}")).unwrap();
    }
    install_views(&path, ViewSet::Companion).unwrap();
}

#[tokio::test]
async fn a_restored_file_has_the_views_of_the_backup() {
    let directory = tempfile::tempdir().unwrap();
    let [path, backup, restored] = ["memory.db", "backup.db", "restored.db"].map(|name| directory.path().join(name));
    let store = open(&path).await;
    store.put(&lin(), vec![write(&turn(&lin(), "words"))]).await.unwrap();
    install_views(&path, ViewSet::Story).unwrap();
    back_up(&path, &backup, false, Timestamp::from_micros(1), &|_, _| ()).unwrap();
    assert_eq!(views(&backup), [""; 0], "a backup is data");
    restore_backup(&backup, &restored, &|_, _| ()).unwrap();
    assert_eq!(views(&restored), views(&path));
    assert_eq!(check_health(&restored).unwrap().problems, [""; 0]);
}
