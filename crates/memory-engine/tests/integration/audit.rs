//! The audit log of an engine.
#![cfg(all(feature = "sqlite", feature = "enrichment"))]

use std::{path::Path, sync::Arc, time::Duration};

use memory_engine::{
    Builder, Clock, EnrichmentOptions, ErrorKind, Filter, Forget, Kind, MemoryEngine, PutMode, Record, RecordId, Scope,
    Turn,
    audit::{
        Actor, AuditAction, AuditContext, AuditEntry, AuditMode, AuditOptions, AuditOutcome, AuditQuery, in_context,
    },
    embed::Purpose,
    history::{Fork, Rewind},
    store::Write,
    synonyms::{SynonymGroup, WordPair},
    testing::ManualClock,
    transfer::{Copier, Merge},
};

fn lin() -> Scope {
    Scope::user("lin").unwrap()
}

fn tenant() -> Scope {
    Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap()
}

fn builder() -> Builder {
    let audit = AuditOptions::new(AuditMode::On);
    MemoryEngine::builder().audit(audit).enrichment(EnrichmentOptions::rules().unwrap()).background(false)
}

async fn in_memory() -> MemoryEngine {
    builder().in_memory().build().await.unwrap()
}

async fn entries(memory: &MemoryEngine) -> Vec<AuditEntry> {
    memory.audit().read(&tenant(), &AuditQuery::oldest(1000)).await.unwrap().entries
}

async fn of_action(memory: &MemoryEngine, action: AuditAction) -> Vec<AuditEntry> {
    entries(memory).await.into_iter().filter(|entry| entry.event.action == action).collect()
}

fn laptop() -> Actor {
    Actor::new(Some("laptop"), Some("tests"))
}

#[tokio::test]
async fn every_changing_verb_is_logged_with_its_actor() {
    let memory = in_memory().await;
    let engine = memory.with_actor(laptop());
    let session = lin().with_session("s").unwrap();
    let branch = session.clone().with_branch("b").unwrap();
    let mut seen = 0;
    let mut check = async |verb: &str, action: AuditAction, records: &[RecordId]| {
        let entries = entries(&memory).await;
        let new = &entries[seen..];
        let found = new.iter().find(|entry| entry.event.action == action && entry.event.operation == verb);
        let entry = found.unwrap_or_else(|| panic!("{verb} is not logged as {action}: {new:#?}"));
        assert!(records.iter().all(|id| entry.event.records.contains(id)), "{verb}: {entry:#?}");
        assert!(new.iter().all(|entry| entry.event.actor == laptop()), "{verb}: {new:#?}");
        assert!(new.iter().all(|entry| entry.event.outcome == AuditOutcome::Started), "{verb}: {new:#?}");
        seen = entries.len();
    };

    let turn = engine.remember(&session, Turn::user("I live in Porto.").with_sequence(1)).await.unwrap();
    check("remember", AuditAction::Write, &[turn]).await;
    let all = engine.remember_all(&lin(), ["one", "two"]).await.unwrap();
    check("remember_all", AuditAction::Write, &[all[0].id, all[1].id]).await;
    let record = Record::new(lin(), Kind::NOTE, "three", engine.settings().clock());
    engine.store(&lin(), vec![record.clone()], PutMode::Upsert).await.unwrap();
    check("store", AuditAction::Write, &[record.id]).await;
    let fourth = Record::new(lin(), Kind::NOTE, "four", engine.settings().clock());
    engine.admin().write(&lin(), vec![Write::upsert(fourth.clone())]).await.unwrap();
    check("admin.write", AuditAction::Write, &[fourth.id]).await;
    let fifth = engine.admin().remember_without(&lin(), Turn::note("five"), &[]).await.unwrap();
    check("admin.remember_without", AuditAction::Write, &[fifth]).await;
    let sixth = Record::new(lin(), Kind::NOTE, "six", engine.settings().clock());
    let embedding = engine.settings().embedder().embed(&["six"], Purpose::Document).await.unwrap().remove(0);
    engine.admin().store_embedded(&lin(), vec![(sixth.clone(), embedding)], PutMode::Upsert).await.unwrap();
    check("admin.store_embedded", AuditAction::Write, &[sixth.id]).await;
    engine.update(&lin(), record.id, "three and a half").await.unwrap();
    check("update", AuditAction::Change, &[record.id]).await;
    engine.history().fork(&branch, Fork::at(1)).await.unwrap();
    check("fork", AuditAction::Write, &[]).await;
    let retraction = engine.history().retract(&lin(), &[fifth], "a test").await.unwrap();
    check("retract", AuditAction::Retract, &[fifth]).await;
    engine.history().restore(&lin(), retraction.id).await.unwrap();
    check("restore", AuditAction::Restore, &[fifth]).await;
    engine.history().rewind(&session, Rewind::Last(1)).await.unwrap();
    check("rewind", AuditAction::Retract, &[turn]).await;
    let seventh = Record::new(lin(), Kind::NOTE, "seven", engine.settings().clock());
    engine.import(&lin(), futures::stream::iter([seventh.clone()])).run().await.unwrap();
    check("import", AuditAction::Import, &[seventh.id]).await;
    let said = Record::new(lin(), Kind::TURN, "I work in Lisbon.", engine.settings().clock());
    engine.admin().enrich(&lin(), vec![said], Duration::from_secs(5)).await.unwrap();
    check("admin.enrich", AuditAction::Derive, &[]).await;
    engine.forget(&lin(), seventh.id).await.unwrap();
    check("forget", AuditAction::Delete, &[seventh.id]).await;
    let tombstones = engine.admin().tombstones(&lin(), None, 10).await.unwrap();
    engine.admin().import_tombstones(&lin(), &tombstones).await.unwrap();
    check("admin.import_tombstones", AuditAction::Import, &[seventh.id]).await;
    engine.audit().log_export(&lin(), "a test").await.unwrap();
    check("a test", AuditAction::Export, &[]).await;

    assert!(memory.audit().verify(&lin(), None).await.unwrap().is_intact());
    let text = serde_json::to_string(&entries(&memory).await).unwrap();
    for word in ["Porto", "Lisbon", "three", "seven", "spare"] {
        assert!(!text.contains(word), "the log contains the text {word}");
    }
}

#[tokio::test]
async fn the_actor_of_a_task_counts_for_handles_without_one() {
    let memory = in_memory().await;
    let context = AuditContext::default().with_actor(Actor::new(Some("phone"), None).into());
    in_context(context.clone(), memory.remember(&lin(), "one")).await.unwrap();
    in_context(context.clone(), memory.with_actor(laptop()).remember(&lin(), "two")).await.unwrap();
    memory.remember(&lin(), "three").await.unwrap();
    let synonyms = memory.settings().synonyms().store();
    in_context(context, synonyms.put(&lin(), &[SynonymGroup::new("tea", ["茶"])])).await.unwrap();
    let entries = entries(&memory).await;
    let keys: Vec<Option<&str>> = entries.iter().map(|entry| entry.event.actor.key()).collect();
    assert_eq!(keys, [Some("phone"), Some("laptop"), None, Some("phone")]);
    assert_eq!(entries[3].event.operation, "synonyms.put");
}

#[tokio::test]
async fn background_work_is_logged_as_that_of_the_engine() {
    let memory = in_memory().await;
    let engine = memory.with_actor(laptop());
    engine.remember(&lin(), "I live in Porto.").await.unwrap();
    let context = AuditContext::default().with_actor(laptop().into());
    in_context(context, engine.drain(&lin(), |_| ())).await.unwrap();
    let fact = engine.facts(&lin()).await.unwrap().remove(0).id;
    let derived = of_action(&memory, AuditAction::Derive).await;
    let entry = derived.iter().find(|entry| entry.event.records.contains(&fact)).unwrap();
    assert_eq!((entry.event.actor.clone(), entry.event.operation.as_str()), (Actor::engine(), "background"));
}

#[tokio::test]
async fn deletions_name_the_derived_records() {
    let memory = in_memory().await;
    let turn = memory.remember(&lin(), "I live in Porto.").await.unwrap();
    let other = memory.remember(&lin(), "I'm allergic to seafood.").await.unwrap();
    memory.drain(&lin(), |_| ()).await.unwrap();
    let derived_from = async |turn: RecordId| -> Vec<RecordId> {
        let facts = memory.facts(&lin()).await.unwrap();
        facts.iter().filter(|fact| fact.evidence.iter().any(|e| e.record == turn)).map(|fact| fact.id).collect()
    };
    let (facts, others) = (derived_from(turn).await, derived_from(other).await);
    assert!(!facts.is_empty() && !others.is_empty());

    memory.forget(&lin(), turn).await.unwrap();
    let deleted: Vec<RecordId> =
        of_action(&memory, AuditAction::Delete).await.into_iter().flat_map(|entry| entry.event.records).collect();
    assert!(deleted.contains(&turn) && facts.iter().all(|fact| deleted.contains(fact)), "{deleted:?}");

    // A new text deletes what was derived from the old one.
    memory.update(&lin(), other, "I'm allergic to peanuts.").await.unwrap();
    let deleted = of_action(&memory, AuditAction::Delete).await;
    let cascade = deleted.iter().find(|entry| entry.event.operation == "update").unwrap();
    assert!(others.iter().all(|fact| cascade.event.records.contains(fact)), "{cascade:?}");
}

#[tokio::test]
async fn a_failed_call_has_a_second_entry() {
    let memory = in_memory().await;
    let record = Record::new(lin(), Kind::NOTE, "once", memory.settings().clock());
    memory.store(&lin(), vec![record.clone()], PutMode::Create).await.unwrap();
    let error = memory.store(&lin(), vec![record], PutMode::Create).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let outcomes: Vec<AuditOutcome> = entries(&memory).await.iter().map(|entry| entry.event.outcome).collect();
    let failed = AuditOutcome::Failed { entry: 2, error: ErrorKind::Conflict };
    assert_eq!(outcomes, [AuditOutcome::Started, AuditOutcome::Started, failed]);
}

#[tokio::test]
async fn a_refused_address_does_not_write_to_the_log_of_its_tenant() {
    let memory = in_memory().await;
    let theirs = Scope::tenant_wide("theirs").unwrap();
    let record = Record::new(theirs.clone().with_user("mo").unwrap(), Kind::NOTE, "x", memory.settings().clock());
    let error = memory.store(&lin(), vec![record], PutMode::Upsert).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized);
    assert!(memory.audit().read(&theirs, &AuditQuery::default()).await.unwrap().entries.is_empty());
    assert_eq!(entries(&memory).await.len(), 2, "the attempt and its failure are in the log of the caller");
}

#[tokio::test]
async fn users_see_only_their_own_entries() {
    let memory = in_memory().await;
    let mo = Scope::user("mo").unwrap();
    let records = [lin(), mo.clone()].map(|scope| Record::new(scope, Kind::NOTE, "x", memory.settings().clock()));
    let ids = records.each_ref().map(|record| record.id);
    memory.store(&tenant(), records.to_vec(), PutMode::Upsert).await.unwrap();
    memory.forget(&tenant(), Forget::Matching(Filter::eq(memory_engine::Field::Kind, "note"))).await.unwrap();
    for (scope, id) in [(lin(), ids[0]), (mo, ids[1])] {
        let page = memory.audit().read(&scope, &AuditQuery::oldest(10)).await.unwrap();
        let actions: Vec<AuditAction> = page.entries.iter().map(|entry| entry.event.action).collect();
        assert_eq!(actions, [AuditAction::Write, AuditAction::Delete], "{scope}");
        assert!(page.entries.iter().all(|entry| entry.event.records == [id]), "{scope}");
    }
}

#[tokio::test]
async fn deleting_everything_keeps_the_log() {
    let memory = in_memory().await;
    let id = memory.remember(&lin(), "I live in Porto.").await.unwrap();
    memory.forget(&lin(), Forget::Everything).await.unwrap();
    assert_eq!(memory.stats(&lin()).await.unwrap().records, 0);
    let of_record = AuditQuery::oldest(10).with_record(id);
    let page = memory.audit().read(&lin(), &of_record).await.unwrap();
    let actions: Vec<AuditAction> = page.entries.iter().map(|entry| entry.event.action).collect();
    assert_eq!(actions, [AuditAction::Write, AuditAction::Delete]);
}

#[tokio::test]
async fn large_batches_name_every_record() {
    let memory = in_memory().await;
    let written = memory.remember_all(&lin(), (0..1201).map(|n| format!("turn {n}"))).await.unwrap();
    let entries = of_action(&memory, AuditAction::Write).await;
    let counts: Vec<u64> = entries.iter().map(|entry| entry.event.count).collect();
    assert_eq!(counts, [500, 500, 201]);
    let named: Vec<RecordId> = entries.into_iter().flat_map(|entry| entry.event.records).collect();
    assert!(written.iter().all(|written| named.contains(&written.id)));
}

fn over(path: &Path, mode: AuditMode) -> Builder {
    MemoryEngine::builder().sqlite(path).background(false).audit(AuditOptions::new(mode))
}

#[tokio::test]
async fn nothing_is_logged_until_auditing_begins_and_everything_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let silent = over(&path, AuditMode::Auto).build().await.unwrap();
    assert!(!silent.audit().is_on());
    silent.remember(&lin(), "one").await.unwrap();
    silent.audit().log_export(&lin(), "a test").await.unwrap();
    assert_eq!(entries(&silent).await.len(), 0);
    silent.audit().start(&lin()).await.unwrap();
    silent.close().await.unwrap();

    let logging = over(&path, AuditMode::Auto).build().await.unwrap();
    assert!(logging.audit().is_on());
    logging.remember(&lin(), "two").await.unwrap();
    let actions: Vec<AuditAction> = entries(&logging).await.iter().map(|entry| entry.event.action).collect();
    assert_eq!(actions, [AuditAction::Start, AuditAction::Write]);
    logging.close().await.unwrap();
    let error = logging.audit().read(&lin(), &AuditQuery::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);

    let off = over(&path, AuditMode::Off).build().await.unwrap();
    off.remember(&lin(), "three").await.unwrap();
    assert_eq!(entries(&off).await.len(), 2);
}

#[tokio::test]
async fn entries_older_than_the_retention_are_removed() {
    let clock = Arc::new(ManualClock::new("2026-02-18T20:00:00Z".parse().unwrap()));
    let day = Duration::from_secs(24 * 60 * 60);
    let audit = AuditOptions::new(AuditMode::On).with_retention(30 * day);
    let memory = MemoryEngine::builder().in_memory().clock(clock.clone()).audit(audit).build().await.unwrap();
    memory.remember(&lin(), "one").await.unwrap();
    clock.advance(31 * day);
    memory.remember(&lin(), "two").await.unwrap();
    let left = entries(&memory).await;
    let actions: Vec<AuditAction> = left.iter().map(|entry| entry.event.action).collect();
    assert_eq!(actions, [AuditAction::Write, AuditAction::Prune], "{left:#?}");
    assert_eq!((left[0].at, left[1].event.actor.clone()), (clock.now(), Actor::engine()));
    assert!(memory.audit().verify(&lin(), None).await.unwrap().is_intact());
}

#[tokio::test]
async fn verdicts_on_synonyms_are_logged_without_words() {
    let memory = in_memory().await;
    let store = memory.settings().synonyms().store();
    let pair = WordPair::new("纹身", "双头鹰").unwrap();
    store.judge(&lin(), &[memory_engine::synonyms::PairVerdict { pair, accepted: false }]).await.unwrap();
    let [entry] = entries(&memory).await.try_into().unwrap();
    assert_eq!((entry.event.action, entry.event.count), (AuditAction::Review, 1));
    assert!(!serde_json::to_string(&entry).unwrap().contains("纹身"));
}

#[tokio::test]
async fn copies_and_merges_are_logged_as_imports_of_their_actor() {
    let source = MemoryEngine::builder().in_memory().background(false).build().await.unwrap();
    let id = source.remember(&lin(), "I live in Porto.").await.unwrap();
    for operation in ["copy", "merge"] {
        let memory = in_memory().await;
        let target = memory.with_actor(laptop());
        match operation {
            "copy" => Copier::new(&source, &target).copy(&lin()).await.unwrap(),
            _ => Merge::new(&source, &target).merge(&lin()).await.unwrap(),
        }
        let imports = of_action(&memory, AuditAction::Import).await;
        let entry = imports.iter().find(|entry| entry.event.records.contains(&id)).unwrap();
        assert_eq!((entry.event.operation.as_str(), &entry.event.actor), (operation, &laptop()));
    }
}

#[tokio::test]
async fn expired_records_are_logged_as_expired() {
    let clock = Arc::new(ManualClock::new("2026-02-18T20:00:00Z".parse().unwrap()));
    let memory = builder().in_memory().clock(clock.clone()).build().await.unwrap();
    let mut record = Record::new(lin(), Kind::NOTE, "The code of the gate is 4711", memory.settings().clock());
    record.expires_at = Some(clock.now().after(Duration::from_secs(60)));
    memory.store(&lin(), vec![record.clone()], PutMode::Upsert).await.unwrap();
    clock.advance(Duration::from_secs(61));
    memory.with_actor(laptop()).deletion().delete_expired().await.unwrap();
    let entry = of_action(&memory, AuditAction::Expire).await.remove(0);
    assert_eq!((entry.event.records, entry.event.actor), (vec![record.id], Actor::engine()));
}

/// Prints the time of a write with and without auditing. Run it alone:
/// `cargo nextest run --workspace --all-features --run-ignored all --no-capture -E 'test(overhead_of_a_write)'`.
#[tokio::test]
#[ignore = "measures"]
async fn overhead_of_a_write() {
    const WRITES: u32 = 2000;
    let postgres = std::env::var("DATABASE_URL").ok();
    for backend in ["memory", "sqlite", "postgres"] {
        for round in 0..3 {
            for mode in [AuditMode::Off, AuditMode::Auto, AuditMode::On] {
                let folder = tempfile::tempdir().unwrap();
                let builder = MemoryEngine::builder().background(false).audit(AuditOptions::new(mode));
                let builder = match (backend, &postgres) {
                    ("memory", _) => builder.in_memory(),
                    ("sqlite", _) => builder.sqlite(folder.path().join("memory.db")),
                    (_, Some(url)) => {
                        // A log of an earlier round would switch the mode `auto` on.
                        let schema = format!("overhead_{round}_{mode}");
                        let options = memory_engine::postgres::PostgresOptions::default().with_schema(&schema);
                        builder.postgres_with(url.clone(), options)
                    }
                    (_, None) => continue,
                };
                let memory = builder.build().await.unwrap();
                memory.remember(&lin(), "The first one loads the dictionary.").await.unwrap();
                let began = std::time::Instant::now();
                for n in 0..WRITES {
                    memory.remember(&lin(), format!("I moved to street {n} in Porto")).await.unwrap();
                }
                let micros = began.elapsed().as_micros() / u128::from(WRITES);
                println!("{backend}, round {round}, audit {mode}: {micros} µs per write");
                memory.close().await.unwrap();
            }
        }
    }
}
