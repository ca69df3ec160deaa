//! The spans of `docs/reference/metrics.md`: each call has its own, with the documented fields, and no span or event
//! contains text of users.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "observe/capture.rs"]
mod capture;
#[path = "observe/leaky.rs"]
mod leaky;
#[path = "observe/table.rs"]
mod table;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use capture::Capture;
use futures::stream;
use leaky::{LeakyEmbedder, LeakyModel, SECRET};
use memory_engine::{
    Builder, Clock, EnrichmentOptions, Field, Filter, Forget, ForgetText, Kind, MemoryEngine, PutMode, Record,
    RecordId, Result, ScanQuery, Scope, SystemClock, Turn,
    audit::{AuditMode, AuditOptions, AuditQuery},
    context::MemoryBlock,
    embed::{Embedder, Purpose},
    graph::{GraphFactsQuery, RuleExtractor},
    history::{Fork, Rewind},
    recall::{Enhancement, Rewrite},
    retention::RecordPatch,
    review::{ReviewQuery, ReviewSource},
    store::{Periods, VectorQuery, Write},
};
use table::Table;

/// Runs calls and checks the span of each.
struct Checked {
    capture: Capture,
    table: Table,
    seen: BTreeSet<String>,
}

impl Checked {
    /// Runs one call and checks that it has its span once, with the documented level and fields.
    async fn call<T>(&mut self, name: &str, call: impl Future<Output = Result<T>>) -> Option<T> {
        let span = format!("memory_engine.{name}");
        self.absorb();
        let outcome = call.await;
        let spans = self.capture.take();
        let own: Vec<_> = spans.iter().filter(|one| one.name == span).collect();
        assert_eq!(own.len(), 1, "{span} in {spans:?}");
        let expected = if outcome.is_ok() { "ok" } else { "error" };
        assert_eq!(own[0].fields["outcome"], expected, "{:?} of {own:?}", outcome.as_ref().err());
        assert!(own[0].is_closed, "{span} is still open");
        for one in &spans {
            self.check(one);
        }
        outcome.ok()
    }

    /// Checks the spans that no call of [`call`](Self::call) has checked.
    fn absorb(&mut self) {
        for one in self.capture.take() {
            self.check(&one);
        }
    }

    fn check(&mut self, span: &capture::CapturedSpan) {
        let text = format!("{span:?}").to_lowercase();
        assert!(!text.contains(SECRET), "{text}");
        if span.name.starts_with("memory_engine") {
            self.table.check(span);
            self.seen.insert(span.name.to_owned());
        }
    }
}

fn enrichment() -> EnrichmentOptions {
    EnrichmentOptions::model(LeakyModel).unwrap().with_profile(2)
}

fn user() -> Scope {
    Scope::tenant_wide("tenant-qwertz").unwrap().with_user("user-qwertz").unwrap()
}

fn session() -> Scope {
    user().with_session("session-qwertz").unwrap()
}

fn turn(text: &str) -> Turn {
    let mut metadata = memory_engine::serde_json::Map::new();
    metadata.insert("key-qwertz".into(), "value-qwertz".into());
    metadata.insert("request_id".into(), "a request of Qwertz, who is no id".into());
    Turn::user(text).with_metadata(metadata).with_scene("scene-qwertz").with_speaker("Qwertz")
}

/// Writes, corrects, reads and searches.
async fn converse(checked: &mut Checked, memory: &MemoryEngine) {
    let here = session();
    let first = checked.call("remember", memory.remember(&here, turn("I live in Qwertzville."))).await.unwrap();
    let more = ["My sister Anna Qwertz plays the qwertzhorn.", "I'm allergic to qwertznuts. Qwertz knows Anna."];
    checked.call("remember_all", memory.remember_all(&here, more.map(turn))).await;
    let note = Record::new(here.clone(), Kind::NOTE, "a qwertz note", &SystemClock);
    let notes = vec![note.clone()];
    checked.call("store", memory.store(&here, notes, PutMode::Upsert)).await;
    let import = memory.import(&here, stream::iter((0..5).map(|n| turn(&format!("qwertz line {n}")))));
    checked.call("import", import.run()).await;
    checked.call("drain", memory.drain(&user(), |_| ())).await;
    checked.call("warm_up", memory.admin().warm_up()).await;
    checked.call("update", memory.update(&here, note.id, "another qwertz note")).await;
    let missing = RecordId::new();
    checked.call("update", memory.update(&here, missing, "nothing to qwertz")).await;

    checked.call("recall", memory.recall(&here, "Where is Qwertzville?")).await;
    checked.call("recall", memory.recall(&here, "")).await;
    let rewrite = Rewrite::by(LeakyModel).with_names("Qwertz", "Qwertzina");
    let enhancement = Enhancement::new([("user", "the qwertzhorn")]).with_rewrite(rewrite);
    checked.call("recall_enhanced", memory.recall_enhanced(&here, "qwertzing?", &enhancement)).await;
    checked.call("explain", memory.admin().explain(&here, "Where is Qwertzville?", first)).await;
    let block = MemoryBlock::default();
    let context = memory.context(&here, "qwertznuts?").persona("You are Qwertzina.").recent(2).block(block);
    checked.call("context", context.into_future()).await;
    checked.call("facts", memory.facts(&user()).into_future()).await;
    checked.call("get", memory.get(&here, first)).await;
    checked.call("get_all", memory.get_all(&here, &[first, missing])).await;
    let named = ScanQuery::oldest(5).with_filter(Filter::eq(Field::Scene, "scene-qwertz"));
    checked.call("scan", memory.scan(&here, &named)).await;
    checked.call("timeline", memory.history().timeline(&here, &named)).await;
    let snapshot = memory.history().as_of(memory.settings().clock().now());
    checked.call("scan_as_of", snapshot.scan(&here, &named)).await;
    checked.call("get_as_of", snapshot.get_all(&here, &[first, missing])).await;
    checked.call("derived", memory.history().derived(&user(), &[first, missing])).await;
    checked.call("record_groups", memory.admin().record_groups(&user())).await;
    let days = Periods::new(SystemClock.now(), Duration::from_secs(24 * 60 * 60)).unwrap();
    checked.call("period_counts", memory.admin().period_counts(&user(), days)).await;
    checked.call("stats", memory.stats(&user())).await;
    let branch = here.clone().with_branch("branch-qwertz").unwrap();
    checked.call("fork", memory.history().fork(&branch, Fork::at(1))).await;
    checked.call("fork", memory.history().fork(&branch, Fork::at(1))).await;
    checked.call("fork_of", memory.history().fork_of(&branch)).await;
    let graph = memory.graph();
    checked.call("graph.index", graph.index(&here, &[note])).await;
    checked.call("graph.rebuild", graph.rebuild(&user(), |_| ())).await;
    checked.call("graph.facts", graph.facts(&user(), &GraphFactsQuery::about(["Anna Qwertz"]))).await;
}

/// Pins a record, masks secrets, and reads the audit log.
async fn control(checked: &mut Checked, memory: &MemoryEngine) {
    let here = session();
    let id = memory.remember(&here, turn("The qwertz password is tiger4711")).await.unwrap();
    checked.call("patch", memory.patch(&here, &[id], RecordPatch::default().pinned(true))).await;
    checked.call("patch", memory.patch(&here, &[id], RecordPatch::default())).await;
    checked.call("scan_secrets", memory.screening().scan(&here).redact(true).run()).await;
    let audit = memory.audit();
    checked.call("audit.start", audit.start(&here)).await;
    checked.call("audit.log_export", audit.log_export(&here, "a test")).await;
    checked.call("audit.read", audit.read(&here, &AuditQuery::default())).await;
    checked.call("audit.chain", audit.chain(&here)).await;
    checked.call("audit.verify", audit.verify(&here, None)).await;
    checked.call("audit.prune", audit.prune(&here, memory.settings().clock().now())).await;
    #[cfg(feature = "certificates")]
    {
        use memory_engine::certificate::{CertificateKey, SearchExtent};

        let key = CertificateKey::generate().unwrap();
        let deletion = memory.deletion();
        let certified = deletion.forget_with_certificate(&here, id, &key, SearchExtent::Users);
        checked.call("forget_with_certificate", certified).await;
    }
}

/// Reviews statements of a tool.
async fn review(checked: &mut Checked, memory: &MemoryEngine) {
    let here = session();
    let mut ids = Vec::new();
    let review = memory.review();
    for text in ["a qwertz tool", "another qwertz tool", "a third qwertz tool"] {
        let stored = review.remember_from(ReviewSource::Tools, &here, turn(text));
        ids.push(checked.call("remember_from", stored).await.unwrap());
    }
    let listed = checked.call("pending_reviews", review.pending(&here, &ReviewQuery::default())).await.unwrap();
    assert_eq!(listed.total, 3);
    checked.call("accept", review.accept(&here, &ids[..1])).await;
    checked.call("reject", review.reject(&here, &ids[1..2], "no qwertztool")).await;
    checked.call("accept_edited", review.accept_edited(&here, ids[2], "an edited qwertz tool")).await;
    checked.call("accept_edited", review.accept_edited(&here, ids[2], "qwertz once more")).await;
}

/// Retracts and deletes.
async fn forget(checked: &mut Checked, memory: &MemoryEngine) {
    let here = session();
    let wrong = memory.remember(&here, turn("It was a qwertzboat.")).await.unwrap();
    let retraction = checked.call("retract", memory.history().retract(&here, &[wrong], "no qwertzboat")).await.unwrap();
    checked.call("retractions", memory.history().retractions(&here, 5)).await;
    checked.call("restore", memory.history().restore(&here, retraction.id)).await;
    checked.call("restore", memory.history().restore(&here, RecordId::new())).await;
    #[cfg(feature = "enrichment")]
    {
        let requests = memory.requests();
        checked.call("forget_topic", requests.forget_topic(&here, "qwertzboat", false)).await;
        checked.call("restore_topic", requests.restore_topic(&here)).await;
        checked.call("block", requests.block(&here, &[(RecordId::new(), "a qwertz secret")])).await;
    }
    checked.call("rewind", memory.history().rewind(&here, Rewind::Last(1))).await;
    checked.call("preview_forget", memory.deletion().preview(&here, wrong, 1)).await;
    checked.call("forget", memory.forget(&here, wrong)).await;
    let matching = Forget::Matching(Filter::eq(Field::Metadata("key-qwertz".into()), "value-qwertz"));
    checked.call("forget", memory.forget(&here, matching)).await;
    let standing = ForgetText::new("a qwertzkey").with_redact(true).with_keep_out(true);
    checked.call("forget", memory.forget(&here, Forget::Text(standing))).await;
    checked.call("remember", memory.remember(&here, turn("It is a qwertzkey."))).await;
    checked.call("kept_out", memory.deletion().kept_out(&here)).await;
}

async fn operate(checked: &mut Checked, memory: &MemoryEngine) {
    let here = session();
    let admin = memory.admin();
    let record = |text: &str| Record::new(session(), Kind::NOTE, text, &SystemClock);
    checked.call("admin.analyze_texts", admin.analyze_texts(vec!["qwertz".into()])).await;
    checked.call("admin.reindex", admin.reindex(&user())).await;
    checked.call("admin.requeue_enrichment", admin.requeue_enrichment(&user())).await;
    let turns = vec![Record::new(here.clone(), Kind::TURN, "I like qwertzcake.", &SystemClock)];
    let ids = [turns[0].id];
    checked.call("admin.enrich", admin.enrich(&here, turns, Duration::from_secs(5))).await;
    checked.call("admin.facts_from", admin.facts_from(&here, &ids)).await;
    checked.call("admin.summarize_now", admin.summarize_now(&here)).await;
    checked.call("admin.remember_without", admin.remember_without(&here, turn("qwertz"), &[])).await;
    let writes = vec![Write::new(record("qwertz written"), PutMode::Upsert)];
    checked.call("admin.write", admin.write(&here, writes)).await;
    let stored = record("qwertz embedded");
    let embedder = memory_engine::embed::DefaultEmbedder::default();
    let vector = embedder.embed(&["qwertz"], Purpose::Document).await.unwrap().remove(0);
    let records = vec![(stored.clone(), vector.clone())];
    let imported = vec![record("qwertz imported")];
    let review = memory.review();
    checked.call("admin.store_from", review.store_from(ReviewSource::Imports, &here, imported, PutMode::Upsert)).await;
    checked.call("admin.store_embedded", admin.store_embedded(&here, records, PutMode::Upsert)).await;
    let vectors = vec![(stored.id, vector.values().to_vec())];
    checked.call("admin.adopt_vectors", admin.adopt_vectors(&here, vectors)).await;
    checked.call("admin.search_vectors", admin.search_vectors(&here, &VectorQuery::new(vector, 3))).await;
    let tombstones = checked.call("admin.tombstones", admin.tombstones(&user(), None, 5)).await.unwrap();
    checked.call("admin.import_tombstones", admin.import_tombstones(&user(), &tombstones)).await;
    checked.call("admin.failures", admin.failures(&user(), 5)).await;
    checked.call("admin.embedding_versions", admin.embedding_versions()).await;
    checked.call("admin.cut_over", admin.cut_over(0, |_| ())).await;
    checked.call("admin.drop_second_embedding_version", admin.drop_second_embedding_version()).await;
}

async fn script(checked: &mut Checked, builder: Builder) {
    let embedder = Arc::new(LeakyEmbedder::default());
    let builder = builder.embedder(Arc::clone(&embedder)).graph(RuleExtractor::default()).enrichment(enrichment());
    let builder = builder.review("tools=review".parse().unwrap()).audit(AuditOptions::new(AuditMode::On));
    let memory = builder.background(false).build().await.unwrap();
    converse(checked, &memory).await;
    operate(checked, &memory).await;
    review(checked, &memory).await;
    control(checked, &memory).await;
    embedder.fail();
    // With an embedder that fails and repeats its input in the error.
    checked.call("remember", memory.remember(&session(), turn("Qwertzville is lost."))).await;
    assert!(memory.drain(&user(), |_| ()).await.is_err());
    let recall = checked.call("recall", memory.recall(&session(), "Where is Qwertzville?")).await.unwrap();
    assert!(recall.is_partial());
    checked.call("warm_up", memory.admin().warm_up()).await;
    forget(checked, &memory).await;
    checked.call("close", memory.close()).await;
    checked.call("recall", memory.recall(&session(), "qwertz after the end")).await;
}

#[cfg(feature = "http-models")]
async fn call_a_service_that_is_away() {
    use memory_engine::http_models::{EmbeddingOptions, Endpoint, HttpClient, HttpEmbedder, HttpOptions, Secret};

    let options = HttpOptions::default().with_retries(1).with_waits(Duration::from_millis(1), Duration::from_millis(1));
    // Port 9 of this machine: nothing listens there.
    let endpoint = Endpoint::new("http://127.0.0.1:9/v1/path-qwertz").unwrap();
    let endpoint = endpoint.with_key(&Secret::new("key-qwertz")).unwrap();
    let client = HttpClient::new(options.with_system_proxy(false)).unwrap();
    let model = EmbeddingOptions::new("model-qwertz").with_dimensions(4);
    let embedder = HttpEmbedder::new(client, endpoint, model).unwrap();
    assert!(embedder.embed(&["a text of Qwertz"], Purpose::Document).await.is_err());
}

/// One test: a process has one subscriber, and the threads of the stores report to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_has_its_documented_span_and_no_text_of_users_is_recorded() {
    let folder = tempfile::Builder::new().prefix("folder-qwertz").tempdir().unwrap();
    let mut checked = Checked { capture: Capture::install(), table: Table::read(), seen: BTreeSet::new() };
    let path = folder.path().join("qwertz.db");
    script(&mut checked, MemoryEngine::builder().sqlite(&path)).await;
    memory_engine::admin::migrate_down(&memory_engine::Database::file(path), 0).await.unwrap();
    let mut unseen = vec!["memory_engine.model.load", "memory_engine.model.run"];
    if cfg!(not(feature = "certificates")) {
        unseen.push("memory_engine.forget_with_certificate");
    }
    #[cfg(feature = "http-models")]
    call_a_service_that_is_away().await;
    if cfg!(not(feature = "http-models")) {
        unseen.push("memory_engine.model.request");
    }
    let mut has_postgres = false;
    #[cfg(feature = "postgres")]
    if let Ok(url) = std::env::var("DATABASE_URL") {
        has_postgres = true;
        script(&mut checked, MemoryEngine::builder().postgres(url)).await;
    }
    if !has_postgres {
        unseen.push("memory_engine.connection.acquire");
    }
    checked.absorb();
    let missing: Vec<&String> = checked
        .table
        .names()
        .filter(|name| !checked.seen.contains(*name) && !unseen.contains(&name.as_str()))
        .collect();
    assert!(missing.is_empty(), "documented, and never seen: {missing:?}");
    let events = checked.capture.take_events();
    let warnings = events.iter().filter(|event| event.contains("the model failed")).count();
    assert!(warnings > 0, "the capture works, and the model has failed: {events:?}");
    for event in events {
        assert!(!event.to_lowercase().contains(SECRET), "{event}");
    }
}
