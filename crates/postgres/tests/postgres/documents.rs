//! The SQL functions and views that other programs use, after their set is installed.

use std::{sync::Arc, time::Duration};

use memory_engine_core::{
    Clock, Embedding, ErrorKind, Kind, Record, RecordStore, Role, Scope, SystemClock, Timestamp, ViewSet,
};
use memory_engine_graph::{EntityKind, Extraction, GraphEntry, GraphStore, Mention, Relation};
use memory_engine_postgres::{
    BackupMessage, EventQuery, PostgresStore, check_health, install_views, migrate_down, migration_status,
    receive_backup, remove_views, repair, send_backup,
};
use memory_engine_synonyms::SynonymGroup;
use memory_engine_vector_store::{VectorEntry, VectorStore};
use serde_json::json;
use sqlx::{PgConnection, Row, postgres::PgRow};

use crate::fixtures::{DIMENSIONS, Database, lin, turn, write};

/// Returns an event of this many hours ago.
fn event(number: i64, text: &str, hours: u64, confidence: f64, assets: &[&str]) -> Record {
    let mut record = Record::new(lin(), Kind::EVENT, text, &SystemClock);
    record.occurred_at = SystemClock.now().before(Duration::from_secs(3600 * hours));
    record.confidence = confidence;
    record.tags = assets.iter().map(|asset| (*asset).to_owned()).collect();
    record.source.message_id = Some(number.to_string());
    record
}

fn at_angle(angle: f32) -> Embedding {
    let mut values = vec![0.0; DIMENSIONS];
    values[0] = angle.cos();
    values[1] = angle.sin();
    Embedding::new(values).unwrap()
}

async fn store_event(store: &PostgresStore, record: &Record, angle: f32) {
    store.put(&record.scope, vec![write(record)]).await.unwrap();
    let mut stored = record.clone();
    stored.revision = 1;
    let entry = VectorEntry::new(Arc::new(stored), at_angle(angle));
    VectorStore::upsert(store, &record.scope, &[entry]).await.unwrap();
}

/// Calls an SQL function. Returns the numbers and the scores of the events.
async fn call_function(connection: &mut PgConnection, call: &'static str) -> Vec<(i64, f64)> {
    let rows = sqlx::query(call).fetch_all(connection).await.unwrap();
    let read = |row: &PgRow| (row.get::<i64, _>("news_event_id"), row.get::<f64, _>(4));
    rows.iter().map(read).map(|(id, score)| (id, (score * 1e4).round() / 1e4)).collect()
}

async fn connection_with_events(database: &Database) -> PgConnection {
    let store = database.open_with_views(ViewSet::Evidence).await;
    for (event, angle) in [
        (event(1, "SEC approves the ETF", 1, 0.9, &["BTC", "ETH"]), 0.0),
        (event(2, "Exchange hacked, BTC falls", 2, 0.7, &["BTC"]), 0.3),
        (event(3, "Fed keeps rates", 3, 0.9, &["USD"]), 0.1),
        (event(4, "An old ETF story", 100, 0.9, &["BTC"]), 0.0),
        (event(5, "A rumour about an ETF", 4, 0.3, &["ETH"]), 0.2),
    ] {
        store_event(&store, &event, angle).await;
    }
    let mut translated = event(6, "以太坊升级", 5, 0.8, &["ETH"]);
    translated.metadata.insert("translated_text".into(), json!("Ethereum upgrade before the etf"));
    store_event(&store, &translated, 1.5).await;
    let mut others = event(7, "ETF of another user", 1, 0.9, &["BTC"]);
    others.scope = Scope::tenant_wide("other").unwrap().with_user("mo").unwrap();
    store_event(&store, &others, 0.0).await;
    database.connect_directly().await
}

pub(crate) async fn e6_events_are_searched_by_vector_as_the_document_says(database: &Database) {
    let mut connection = connection_with_events(database).await;
    let near = "SELECT * FROM search_memory_events((ARRAY[1] || array_fill(0, ARRAY[15]))::vector)";
    assert_eq!(
        call_function(&mut connection, near).await,
        [(1, 1.0), (3, 0.995), (2, 0.9553)],
        "the usual window and confidence"
    );
    let named = "SELECT * FROM search_memory_events(
        query_embedding => (ARRAY[1] || array_fill(0, ARRAY[15]))::vector, match_threshold => 0.0, match_count => 3,
        asset_filter => ARRAY['ETH'], min_confidence => 0.0, time_window_hours => 72)";
    assert_eq!(call_function(&mut connection, named).await, [(1, 1.0), (5, 0.9801), (6, 0.0707)]);
    let wide =
        "SELECT * FROM search_memory_events((ARRAY[1] || array_fill(0, ARRAY[15]))::vector, 0.99, 9, NULL, 0.6, 200)";
    assert_eq!(
        call_function(&mut connection, wide).await,
        [(1, 1.0), (4, 1.0), (3, 0.995)],
        "equal scores: newest first"
    );
    let few = "SELECT * FROM search_memory_events((ARRAY[1] || array_fill(0, ARRAY[15]))::vector, 0.0, 1)";
    assert_eq!(call_function(&mut connection, few).await, [(1, 1.0)]);
    let other_user =
        "SELECT * FROM search_memory_events((ARRAY[1] || array_fill(0, ARRAY[15]))::vector, of_user => 'mo')";
    assert_eq!(call_function(&mut connection, other_user).await, []);
    let store = database.open().await;
    let window = Duration::from_secs(72 * 3600);
    let mut direction = vec![0.0; 16];
    direction[0] = 1.0;
    let query = EventQuery::new(3, window).about_assets(["ETH"]);
    let found = store.events_by_vector(&lin(), &direction, 0.0, &query).await.unwrap();
    let texts: Vec<&str> = found.iter().map(|event| event.content_text.as_str()).collect();
    assert_eq!(texts, ["SEC approves the ETF", "A rumour about an ETF", "以太坊升级"], "the same through the store");
    assert_eq!(found.iter().map(|event| event.news_event_id).collect::<Vec<_>>(), [Some(1), Some(5), Some(6)]);
    assert_eq!(found[2].translated_text.as_deref(), Some("Ethereum upgrade before the etf"));
    let keywords = ["etf".to_owned(), "sec".to_owned()];
    let query = EventQuery::new(9, window).with_min_confidence(0.6);
    let found = store.events_by_keywords(&lin(), &keywords, &query).await.unwrap();
    assert_eq!(found.iter().map(|event| event.score).collect::<Vec<_>>(), [1.0, 0.5]);
    assert_eq!(found.iter().map(|event| event.news_event_id).collect::<Vec<_>>(), [Some(1), Some(6)]);
    let narrow = store.events_by_keywords(&lin().with_session("s").unwrap(), &keywords, &query).await.unwrap_err();
    assert_eq!(narrow.kind(), ErrorKind::InvalidInput);
    let ledger = Record::new(lin(), Kind::ledger("companion"), "etf", &SystemClock);
    store.put(&lin(), vec![write(&ledger)]).await.unwrap();
    assert_eq!(store.events_by_keywords(&lin(), &keywords, &query).await.unwrap().len(), 2, "a ledger is no event");
    let other_space = "SELECT * FROM search_memory_events('[1,0]'::vector, 0.0)";
    assert_eq!(call_function(&mut connection, other_space).await, [], "a vector of another length matches nothing");
}

pub(crate) async fn e6_events_are_searched_by_keywords_as_the_document_says(database: &Database) {
    let mut connection = connection_with_events(database).await;
    let both = "SELECT * FROM search_memory_events_keywords(ARRAY['etf', 'SEC'])";
    assert_eq!(
        call_function(&mut connection, both).await,
        [(1, 1.0), (5, 0.5), (6, 0.5)],
        "the case is ignored, and translations are searched"
    );
    let limited = "SELECT * FROM search_memory_events_keywords(query_keywords => ARRAY['etf', 'hacked'],
        time_window_hours => 200, match_count => 3, min_confidence => 0.5, asset_filter => ARRAY['BTC'])";
    assert_eq!(call_function(&mut connection, limited).await, [(1, 0.5), (2, 0.5), (4, 0.5)]);
    assert_eq!(
        call_function(&mut connection, "SELECT * FROM search_memory_events_keywords(ARRAY[]::text[])").await,
        []
    );
    assert_eq!(
        call_function(&mut connection, "SELECT * FROM search_memory_events_keywords(ARRAY['%'])").await,
        [],
        "no wildcard"
    );
    let other = "SELECT * FROM search_memory_events_keywords(ARRAY['etf'], of_tenant => 'other')";
    assert_eq!(call_function(&mut connection, other).await, [(7, 1.0)]);
}

pub(crate) async fn a1_k14_records_are_read_under_the_names_of_the_documents(database: &Database) {
    let store = database.open_with_views(ViewSet::Companion).await;
    install_views(&database.url, &database.options(), ViewSet::Document).await.unwrap();
    let mut message = turn(&lin().with_session("s").unwrap(), "我喜欢爬山");
    message.scene = Some("plot".into());
    message.topic = Some("hobby".into());
    message.role = Some(Role::USER);
    message.entities = vec!["爬山".into()];
    message.metadata.insert("affection_delta".into(), json!(3));
    message.metadata.insert("key_moment_id".into(), json!("first_meet"));
    let mut reply = turn(&message.scope, "Me too");
    reply.role = Some(Role::ASSISTANT);
    let summary = Record::new(lin(), Kind::SUMMARY, "Lin likes hiking", &SystemClock);
    let mut moment = Record::new(lin(), Kind::KEY_MOMENT, "You are my friend", &SystemClock);
    moment.source.message_id = Some("first_meet".into());
    moment.metadata =
        json!({"chapter": 2, "moment_name": "First", "affection_gained": 50}).as_object().unwrap().clone();
    let mut profile = Record::new(lin(), Kind::PROFILE, "curious", &SystemClock);
    profile.metadata = json!({"nickname": "Lin", "affection": 120, "odd": "x"}).as_object().unwrap().clone();
    let mut log = Record::new(lin(), Kind::ledger("affection"), "a message", &SystemClock);
    log.metadata = json!({"delta": 1, "before_value": 119, "after_value": 120}).as_object().unwrap().clone();
    // Another companion of the same user, with a state in a ledger.
    let kai = lin().with_agent("kai").unwrap();
    let mut state = Record::new(kai.clone(), Kind::ledger("companion"), "affection 3500", &SystemClock);
    state.metadata = json!({"affection": 3500, "current_chapter": 3, "total_messages": 412, "consecutive_days": 5,
        "last_active_micros": 1_772_000_000_123_456_i64})
    .as_object()
    .unwrap()
    .clone();
    let mut of_kai = Record::new(kai, Kind::PROFILE, "称呼：小明", &SystemClock);
    of_kai.metadata = json!({"nickname": "小明", "personality_summary": "话不多", "affection": 3490,
        "recent_topics": "加班"})
    .as_object()
    .unwrap()
    .clone();
    let records = [&message, &reply, &summary, &moment, &profile, &log, &state, &of_kai];
    store.put(&lin(), records.into_iter().map(write).collect()).await.unwrap();
    let mut connection = database.connect_directly().await;
    let mut query = async |sql: &'static str| -> String {
        let rows: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap();
        rows.join(" | ")
    };
    let conversations = "SELECT concat_ws(',', user_id, role, content, user_msg, assistant_msg, scene_type, topic,
        entities, affection_delta, is_key_moment, key_moment_id) FROM conversations
        WHERE namespace = memory_namespace('lin') AND created_at > now() - interval '1 hour' ORDER BY role DESC";
    assert_eq!(
        query(conversations).await,
        "lin,user,我喜欢爬山,我喜欢爬山,plot,hobby,{爬山},3,t,first_meet | lin,assistant,Me too,Me too,daily,{},0,f"
    );
    assert_eq!(
        query("SELECT concat_ws(',', user_id, summary, scene_type) FROM summaries").await,
        "lin,Lin likes hiking,daily"
    );
    let moments =
        "SELECT concat_ws(',', id, chapter, moment_name, user_response, affection_gained, status) FROM key_moments";
    assert_eq!(query(moments).await, "first_meet,2,First,You are my friend,50,completed");
    let profiles =
        "SELECT concat_ws(',', user_id, agent, nickname, affection, current_chapter, personality_summary, recent_topics,
        total_messages, consecutive_days, last_active_at < timestamptz '2026-03-01') FROM user_profiles ORDER BY agent";
    assert_eq!(query(profiles).await, "lin,,Lin,120,1,curious,0,0,f | lin,kai,小明,3500,3,话不多,加班,412,5,t");
    let logs = "SELECT concat_ws(',', user_id, delta, reason, before_value, after_value) FROM affection_logs";
    assert_eq!(query(logs).await, "lin,1,a message,119,120");
    let times = "SELECT concat_ws(',', memory_time(1772000000123456), memory_time(-1),
        memory_time(9223372036854775807) > now(), memory_time(-9223372036854775808) < now())";
    assert_eq!(query(times).await, "2026-02-25 06:13:20.123456+00,1969-12-31 23:59:59.999999+00,t,t");
}

/// The statement of the document, which names no user.
pub(crate) async fn k2_synonyms_of_all_users_are_inserted_by_sql(database: &Database) {
    let store = database.open_with_views(ViewSet::Document).await;
    let mut connection = database.connect_directly().await;
    let insert = "INSERT INTO synonym_map (term, synonyms, category)
        VALUES ('剧本', ARRAY['剧本', '角色扮演', 'RP'], 'scene'), ('beagle', ARRAY['dog'], 'pet')
        ON CONFLICT DO NOTHING";
    for _ in 0..2 {
        sqlx::raw_sql(insert).execute(&mut connection).await.unwrap();
    }
    let groups = memory_engine_synonyms::SynonymStoreExt::applicable(&store, &lin()).await.unwrap();
    let beagle = SynonymGroup::new("beagle", ["dog"]).with_category("pet");
    let script = SynonymGroup::new("剧本", ["剧本", "角色扮演", "RP"]).with_category("scene");
    assert_eq!(groups, [beagle, script]);
    let other_tenant = Scope::tenant_wide("other").unwrap().with_user("lin").unwrap();
    assert_eq!(memory_engine_synonyms::SynonymStoreExt::applicable(&store, &other_tenant).await.unwrap(), []);
}

pub(crate) async fn k2_k14_synonyms_have_a_table(database: &Database) {
    let store = database.open_with_views(ViewSet::Document).await;
    RecordStore::put(&store, &lin(), vec![write(&turn(&lin(), "words"))]).await.unwrap();
    let mut connection = database.connect_directly().await;
    let insert = "INSERT INTO synonym_map (namespace, term, synonyms, category)
        VALUES (memory_namespace('lin'), '剧本', ARRAY['剧本', '角色扮演', 'RP'], 'scene')";
    sqlx::raw_sql(insert).execute(&mut connection).await.unwrap();
    let found: Vec<String> = sqlx::query_scalar("SELECT unnest(synonyms) FROM synonym_map WHERE term = '剧本'")
        .fetch_all(&mut connection)
        .await
        .unwrap();
    assert_eq!(found, ["剧本", "角色扮演", "RP"]);
    assert!(sqlx::raw_sql(insert).execute(&mut connection).await.is_err(), "each term has one entry");

    let by_hand = "INSERT INTO synonym_map (namespace, term, synonyms, category)
        VALUES (memory_namespace('lin'), 'cat', ARRAY['猫', NULL], NULL)";
    sqlx::raw_sql(by_hand).execute(&mut connection).await.unwrap();
    let groups = memory_engine_synonyms::SynonymStore::list(&store, &lin()).await.unwrap();
    let script = SynonymGroup::new("剧本", ["剧本", "角色扮演", "RP"]).with_category("scene");
    assert_eq!(groups, [SynonymGroup::new("cat", ["猫"]), script], "the engine reads rows that were inserted by hand");
}

pub(crate) async fn r4_the_tables_of_a_story_are_read_under_the_names_of_its_document(database: &Database) {
    let store = database.open_with_views(ViewSet::Story).await;
    let branch = lin().with_session("story").unwrap().with_branch("main").unwrap();
    let message = |sequence: i64, text: &str| {
        let mut record = turn(&branch, text);
        record.occurred_at = Timestamp::from_micros(1_772_000_000_123_456 + sequence);
        record.source.message_id = Some(format!("m{sequence}"));
        record.source.sequence = Some(sequence);
        record
    };
    // The hash was computed by another program: BLAKE3 of the words in lower case.
    let hash = "fb0ca4e373e683f6cce1459b5c4e35d15e6ebb4f4cdd772a270298beb9e0537b";
    let (first, second) =
        (message(1, "Captain Holt sailed the Sea Hawk into the fog."), message(2, "The captain was lost."));
    let mut summary = Record::new(branch.clone(), Kind::SUMMARY, "A voyage", &SystemClock);
    summary.derived_from = vec![first.id];
    let ledger = Record::new(branch.clone(), Kind::ledger("companion"), "state", &SystemClock);
    let records = [&second, &summary, &ledger];
    store.put(&lin(), records.into_iter().map(write).collect()).await.unwrap();
    store_event(&store, &first, 0.0).await;
    let holt = Mention::new("Captain Holt", EntityKind::Person).with_alias("the captain");
    let extraction = Extraction {
        entities: vec![holt, Mention::new("Sea Hawk", EntityKind::Other)],
        relations: vec![Relation::new("Captain Holt", "sails", "Sea Hawk")],
    };
    let other = Extraction { entities: vec![Mention::new("the captain", EntityKind::Person)], relations: Vec::new() };
    let stored = |record: &Record| {
        let mut record = record.clone();
        record.revision = 1;
        Arc::new(record)
    };
    let entries = [GraphEntry::new(stored(&first), extraction), GraphEntry::new(stored(&second), other)];
    GraphStore::upsert(&store, &lin(), &entries).await.unwrap();
    let mut connection = database.connect_directly().await;
    let mut query =
        async |sql: &'static str| -> Vec<String> { sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap() };
    let items = "SELECT concat_ws(',', user_id, session_id, branch_id, source_message_id, source_seq, kind, content)
        FROM memory_items WHERE namespace = memory_namespace('lin') ORDER BY kind DESC, source_seq";
    let expected = [
        "lin,story,main,m1,1,timeline_chunk,Captain Holt sailed the Sea Hawk into the fog.",
        "lin,story,main,m2,2,timeline_chunk,The captain was lost.",
        "lin,story,main,summary,A voyage",
    ];
    assert_eq!(query(items).await, expected, "a ledger is no item");
    assert_eq!(query("SELECT content_hash FROM memory_items WHERE source_seq = 1").await, [hash]);
    let embeddings = "SELECT concat_ws(',', e.dim, e.model, e.vector_blob::json ->> 0, i.source_message_id)
        FROM memory_embeddings e JOIN memory_items i ON i.namespace = e.namespace AND i.id = e.memory_item_id";
    assert_eq!(query(embeddings).await, ["16,test,1,m1"]);
    let entities = "SELECT concat_ws(',', session_id, name, type, canonical) FROM memory_entities ORDER BY name";
    let expected = [
        "story,Captain Holt,person,Captain Holt",
        "story,Sea Hawk,other,Sea Hawk",
        "story,the captain,person,Captain Holt",
    ];
    let mut found = query(entities).await;
    found.sort();
    assert_eq!(found, expected);
    let edges = "SELECT concat_ws(',', e.session_id, s.name, e.rel, d.name, e.evidence_message_id, e.evidence_seq)
        FROM memory_edges e JOIN memory_entities s ON s.namespace = e.namespace AND s.id = e.src_entity_id
        JOIN memory_entities d ON d.namespace = e.namespace AND d.id = e.dst_entity_id";
    assert_eq!(query(edges).await, ["story,Captain Holt,sails,Sea Hawk,m1,1"]);
    RecordStore::delete(&store, &lin(), &[first.id]).await.unwrap();
    assert_eq!(query("SELECT name FROM memory_entities").await, ["the captain"], "a deleted message names nothing");
    assert_eq!(query("SELECT rel FROM memory_edges").await, [""; 0]);
}

/// Returns the names of the views and functions of the schema, without those of the tables.
async fn view_objects(connection: &mut PgConnection) -> Vec<String> {
    let sql = "SELECT c.relname::text FROM pg_class c
               WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'v'
               UNION ALL SELECT p.proname::text FROM pg_proc p
               WHERE p.pronamespace = current_schema()::regnamespace AND p.prorettype <> 'trigger'::regtype
                   AND p.proname NOT IN ('memory_insert_batch', 'memory_lock_if_new')
                   AND p.proname NOT LIKE 'memory_record_%'
               ORDER BY 1";
    sqlx::query_scalar(sql).fetch_all(connection).await.unwrap()
}

pub(crate) async fn sets_of_views_are_installed_and_removed(database: &Database) {
    let (url, options) = (&database.url, &database.options());
    let store = database.open().await;
    let mut connection = database.connect_directly().await;
    assert_eq!(view_objects(&mut connection).await, [""; 0], "a new database has no views");
    let query = EventQuery::new(1, Duration::from_secs(3600));
    let error = store.events_by_keywords(&lin(), &["etf".to_owned()], &query).await.unwrap_err();
    assert!(error.message().contains("`memory migrate views`"), "{error}");

    for set in ViewSet::ALL.into_iter().chain([ViewSet::Companion]) {
        install_views(url, options, set).await.unwrap();
    }
    assert_eq!(view_objects(&mut connection).await.len(), 17);
    assert_eq!(migration_status(url, options).await.unwrap().views, ViewSet::ALL.into());
    assert_eq!(check_health(url, options).await.unwrap().problems, [""; 0]);
    sqlx::raw_sql("DROP VIEW conversations; DROP FUNCTION memory_namespace").execute(&mut connection).await.unwrap();
    assert_eq!(repair(url, options).await.unwrap().len(), 2);
    assert_eq!(check_health(url, options).await.unwrap().problems, [""; 0]);

    sqlx::raw_sql("CREATE VIEW mine AS SELECT * FROM memory_edges").execute(&mut connection).await.unwrap();
    let error = remove_views(url, options, ViewSet::Story).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Conflict && error.message().contains("depends on one"), "{error}");
    sqlx::raw_sql("DROP VIEW mine").execute(&mut connection).await.unwrap();
    for set in [ViewSet::Evidence, ViewSet::Story, ViewSet::Companion] {
        remove_views(url, options, set).await.unwrap();
    }
    let left = [
        "conversations",
        "memory_default_namespace",
        "memory_int",
        "memory_namespace",
        "memory_time",
        "summaries",
        "synonym_map",
    ];
    assert_eq!(view_objects(&mut connection).await, left, "the other set needs them");
    remove_views(url, options, ViewSet::Document).await.unwrap();
    assert_eq!(view_objects(&mut connection).await, [""; 0]);

    sqlx::raw_sql("CREATE TABLE conversations (mine text)").execute(&mut connection).await.unwrap();
    let error = install_views(url, options, ViewSet::Companion).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Conflict && error.message().contains("rename or remove it first"), "{error}");
    assert_eq!(view_objects(&mut connection).await, [""; 0], "all views are installed or none");
    sqlx::raw_sql("DROP TABLE conversations").execute(&mut connection).await.unwrap();
    install_views(url, options, ViewSet::Story).await.unwrap();
    // Now these views are those of another program.
    sqlx::raw_sql("DELETE FROM index_metadata WHERE part = 'views'").execute(&mut connection).await.unwrap();
    let error = install_views(url, options, ViewSet::Story).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Conflict && error.message().contains("rename or remove it first"), "{error}");
    let drop = "DROP VIEW memory_edges, memory_entities, memory_embeddings, memory_items";
    sqlx::raw_sql(drop).execute(&mut connection).await.unwrap();
    for set in ViewSet::ALL {
        install_views(url, options, set).await.unwrap();
    }
    store.close().await;
    migrate_down(url, options, 0).await.unwrap();
    assert_eq!(view_objects(&mut connection).await, [""; 0]);
}

pub(crate) async fn a_restored_database_has_the_views_of_the_backup(database: &Database) {
    let other = Database::new().unwrap_or_else(|_| panic!("there is a server"));
    let store = database.open_with_views(ViewSet::Companion).await;
    store.put(&lin(), vec![write(&turn(&lin(), "words"))]).await.unwrap();
    store.close().await;
    other.open_with_views(ViewSet::Evidence).await.close().await;
    let (rows, mut received) = tokio::sync::mpsc::channel(4);
    let (messages, restored) = tokio::sync::mpsc::channel(4);
    let (from, to) = (database.options(), other.options());
    let send = async {
        let sent = send_backup(&database.url, &from, rows, &|_, _| ());
        let pass_on = async {
            while let Some(page) = received.recv().await {
                for row in page {
                    messages.send(BackupMessage::Row(Box::new(row))).await.unwrap();
                }
            }
        };
        let (fingerprint, ()) = tokio::join!(sent, pass_on);
        messages.send(BackupMessage::End(fingerprint.unwrap())).await.unwrap();
    };
    let (stored, ()) = tokio::join!(receive_backup(&other.url, &to, restored, &|_, _| ()), send);
    assert_eq!(stored.unwrap().records, 1);
    let views = migration_status(&other.url, &to).await.unwrap().views;
    assert_eq!(views, [ViewSet::Companion, ViewSet::Evidence].into());
    let mut connection = other.connect_directly().await;
    let found: Vec<String> =
        sqlx::query_scalar("SELECT content FROM conversations").fetch_all(&mut connection).await.unwrap();
    assert_eq!(found, ["words"]);
    assert_eq!(check_health(&other.url, &to).await.unwrap().problems, [""; 0]);
    tokio::task::spawn_blocking(move || drop(other)).await.unwrap();
}
