//! Damages of a database, and the store contents that they are applied to.
//!
//! `data/damage.sql` lists the damages of each backend: raw SQL, and the kinds of problems that a health check has to
//! report. A backend fills a store, applies each damage to a copy of it, and checks the report and the repair.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use memory_engine_core::{
    CodeBits, DamagedRecord, Embedding, Failure, Field, Filter, Job, Kind, MultiVector, ProblemKind, Record, RecordId,
    Role, ScanQuery, Scope, Source, State, Terms, Timestamp, Trust, Write,
};
use memory_engine_graph::{EntityKind, Extraction, GraphEntry, GraphQuery, Mention, Relation};
use memory_engine_keyword_store::KeywordEntry;
use memory_engine_synonyms::{PairVerdict, SynonymGroup, WordPair};
use memory_engine_vector_store::VectorEntry;
use serde_json::json;

use crate::{
    World,
    fixtures::{LARGE_LIMIT, find, id, near, turn},
    space,
};

const DAMAGES: &str = include_str!("../data/damage.sql");

/// A damage of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// A description, unique within the backend.
    pub name: &'static str,
    /// The kinds of problems that a health check reports, and no others.
    pub kinds: BTreeSet<ProblemKind>,
    /// The statements that cause it.
    pub sql: &'static str,
}

impl Damage {
    /// Returns true if a repair fixes all problems of the damage.
    pub fn is_repairable(&self) -> bool {
        self.kinds.iter().all(|kind| kind.remedy().is_repair())
    }
}

/// Returns the damages of a backend, `sqlite` or `postgres`. Panics if the data file is wrong.
pub fn damages(backend: &str) -> Vec<Damage> {
    let section = DAMAGES.split("-- backend: ").skip(1).find_map(|section| section.strip_prefix(backend)).unwrap();
    let damages: Vec<Damage> = section.split("-- damage: ").skip(1).map(parse).collect();
    let names: BTreeSet<&str> = damages.iter().map(|damage| damage.name).collect();
    assert_eq!(names.len(), damages.len(), "two damages of {backend} have the same name");
    damages
}

fn parse(text: &'static str) -> Damage {
    let (name, rest) = text.split_once('\n').unwrap();
    let (kinds, sql) = rest.strip_prefix("-- expect: ").and_then(|rest| rest.split_once('\n')).unwrap();
    let kinds: BTreeSet<ProblemKind> = kinds.split_whitespace().map(|kind| kind.parse().unwrap()).collect();
    let sql = sql.trim();
    assert!(!kinds.is_empty() && !sql.is_empty(), "the damage '{name}' is not complete");
    Damage { name: name.trim(), kinds, sql }
}

/// The users of the contents: names in two scripts, with a blank, in two tenants; and a record of no user.
fn scopes() -> [Scope; 5] {
    let lin = Scope::user("lin").unwrap();
    [
        lin.clone().with_session("monday").unwrap(),
        lin.with_session("周二 下午").unwrap().with_agent("kai").unwrap().with_branch("b 1").unwrap(),
        Scope::user("林 小明").unwrap(),
        Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap(),
        Scope::tenant_wide("acme").unwrap().with_user("lin").unwrap(),
    ]
}

fn records() -> Vec<Record> {
    let [monday, branch, other_user, no_user, other_tenant] = scopes();
    let mut number = 0;
    let mut record = |scope: &Scope, kind: Kind, text: &str| {
        number += 1;
        let mut record = turn(scope, text, 1_772_000_000_000_000 + i64::from(number) * 1_000_000);
        record.id = id(number);
        record.kind = kind;
        record
    };
    let mut records = vec![
        record(&monday, Kind::TURN, "docker runs at home and docker is fast"),
        record(&monday, Kind::TURN, "我 对 海鲜 过敏"),
        record(&branch, Kind::TURN, "gin and tonic"),
        record(&monday, Kind::SUMMARY, "summary of monday"),
        record(&branch, Kind::FACT, "lin likes gin"),
        record(&monday, Kind::TURN, "old phone number"),
        record(&monday, Kind::ledger("companion"), "state of the companion"),
        record(&other_user, Kind::TURN, "北京 下雨 了"),
        record(&no_user, Kind::NOTE, "shared note"),
        record(&other_tenant, Kind::TURN, "docker elsewhere"),
        record(&monday, Kind::TURN, "secret words"),
        record(&monday, Kind::FACT, "derived from secret words"),
        record(&branch, Kind::KEY_MOMENT, "the first dance"),
        record(&monday, Kind::PROFILE, "lin is a programmer"),
        record(&monday, Kind::TURN, "still to be indexed"),
        record(&monday, Kind::ledger("affection"), "a kind word"),
        record(&branch, Kind::CHUNK, "part of a long message"),
    ];
    records[0].importance = 0.0;
    records[0].source = Source { message_id: Some("D1:3".into()), sequence: Some(-7), round: Some(2) };
    records[2].metadata.insert("mood".into(), json!({"glad": [1, 2.5, null, true, "so"], "杯": "\"quoted\""}));
    records[2].tags = vec!["btc".into(), "\"quoted\"".into()];
    records[2].entities = vec!["Gin".into(), "林".into()];
    records[2].valid_from = Some(Timestamp::from_micros(-1));
    records[2].valid_until = Some(Timestamp::from_micros(1 << 50));
    records[2].role = Some(Role::ASSISTANT);
    records[2].speaker = Some("凯".into());
    records[3].derived_from = vec![id(1), id(2)];
    records[3].trust = Trust::Derived;
    records[4].derived_from = vec![id(3)];
    records[5].state = State::Superseded;
    records[6].metadata.insert("affection".into(), json!(7));
    records[11].derived_from = vec![id(11)];
    records
}

fn terms(record: &Record) -> Terms {
    record.text.split_whitespace().collect()
}

/// Returns a vector that depends on the text alone.
fn embedding(record: &Record) -> Embedding {
    let mut state = record
        .text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    Embedding::new((0..space().dimensions).map(|_| next()).collect()).unwrap()
}

fn tokens(record: &Record) -> MultiVector {
    let embedding = embedding(record);
    MultiVector::quantize(CodeBits::Eight, space().dimensions, embedding.values(), &[(1, 1.0)], 1).unwrap()
}

fn extraction(record: &Record) -> Extraction {
    let mut extraction = Extraction::default();
    if record.text.contains("docker") {
        extraction.entities = vec![
            Mention::new("Lin", EntityKind::Person),
            Mention::new("Docker", EntityKind::Concept).with_alias("容器"),
        ];
        extraction.relations = vec![Relation::new("Lin", "uses", "Docker")];
    }
    extraction
}

/// Fills the empty stores of a world with records of every kind, tombstones, index entries, queued, failed and leased
/// jobs, entities, relations and synonyms.
pub async fn fill(world: &World) {
    let records = records();
    for record in &records {
        let scope = record.scope.clone();
        let writes = vec![Write::upsert(record.clone())];
        world.records.put(&scope, writes).await.unwrap();
    }
    index_pending(world).await;
    for record in &records {
        let stored = world.stored(record).await.unwrap();
        let entry = GraphEntry::new(stored, extraction(record));
        if !entry.extraction.entities.is_empty() {
            world.graph.as_ref().unwrap().upsert(&record.scope, &[entry]).await.unwrap();
        }
    }
    let monday = &scopes()[0];
    world.records.delete(monday, &[id(11)]).await.unwrap();
    // A write that is not indexed yet.
    let mut waiting = records[14].clone();
    waiting.text = "to be indexed again".into();
    world.put(&[&waiting]).await;
    for (job, number) in [(Job::Metadata, 1), (Job::Facts, 2), (Job::Graph, 4)] {
        world.jobs.enqueue(monday, &[id(number)], job).await.unwrap();
    }
    let retry_at = Timestamp::from_micros(1_772_000_900_000_000);
    let failure = |number, job| Failure::new(id(number), monday.clone(), job, 1, "the model does not answer");
    let failures = [failure(2, Job::Facts).with_retry_at(Some(retry_at)), failure(4, Job::Graph)];
    world.jobs.fail(&failures).await.unwrap();
    let synonyms = world.synonyms.as_ref().unwrap();
    let groups = [SynonymGroup::new("Docker", ["容器", "鲸鱼 \"whale\""]).with_category("tool")];
    synonyms.put(&Scope::user("lin").unwrap(), &groups).await.unwrap();
    let pair = WordPair::new("docker", "鲸鱼").unwrap();
    synonyms.judge(&Scope::user("lin").unwrap(), &[PairVerdict { pair, accepted: true }]).await.unwrap();
}

/// Adds this many indexed records of one user.
pub async fn fill_many(world: &World, count: u32) {
    let scope = Scope::user("many").unwrap();
    let write = |number: u32| {
        let record = turn(&scope, &format!("record number {number} of many"), i64::from(number));
        let (terms, embedding) = (terms(&record), embedding(&record));
        Write { terms: Some(terms), embedding: Some(embedding), ..Write::upsert(record) }
    };
    for start in (0..count).step_by(500) {
        let writes = (start..count.min(start + 500)).map(write).collect();
        world.records.put(&scope, writes).await.unwrap();
    }
}

/// Computes the queued terms and vectors.
pub async fn index_pending(world: &World) {
    for job in Job::INDEXING {
        for pending in world.jobs.claim(job, LARGE_LIMIT, Duration::ZERO).await.unwrap() {
            let done = pending.done();
            let record = Arc::new(pending.record);
            let scope = record.scope.clone();
            if !record.is_indexed() {
                world.jobs.complete(&[done]).await.unwrap();
                continue;
            }
            if job == Job::Keywords {
                let terms = terms(&record);
                world.keywords.upsert(&scope, &[KeywordEntry { record, terms }]).await.unwrap();
            } else {
                let (embedding, tokens) = (embedding(&record), tokens(&record));
                let entry = VectorEntry::new(record, embedding).with_tokens(Some(tokens));
                world.vectors.upsert(&scope, &[entry]).await.unwrap();
            }
            world.jobs.complete(&[done]).await.unwrap();
        }
    }
}

/// Returns what the stores answer: all records, the hits of searches, tombstones, the graph and the synonyms, in each
/// scope.
pub async fn answers(world: &World) -> Vec<String> {
    let mut answers = Vec::new();
    let lin = Scope::user("lin").unwrap();
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    for scope in scopes().into_iter().chain([lin, tenant]) {
        let page = world.records.scan(&scope, &ScanQuery::oldest(LARGE_LIMIT)).await.unwrap();
        let ids: Vec<RecordId> = page.records.iter().map(|record| record.id).collect();
        answers.push(format!("{scope}: {:?}", page.records));
        answers.push(format!("derived: {:?}", world.records.derived(&scope, &ids).await.unwrap()));
        for words in [&["docker", "海鲜"][..], &["gin"], &["下雨"], &["secret"], &["monday"]] {
            let hits = world.keywords.search(&scope, &find(words)).await.unwrap();
            answers.push(format!("{words:?}: {hits:?}"));
        }
        for record in records().iter().take(4) {
            let hits = world.vectors.search(&scope, &near(embedding(record))).await.unwrap();
            let hits: Vec<String> = hits.iter().map(|hit| format!("{} {:.4}", hit.id, hit.score.value())).collect();
            answers.push(format!("near {}: {hits:?}", record.id));
        }
        answers.push(format!("tokens: {:?}", world.vectors.token_vectors(&scope, &ids).await.unwrap()));
        answers.push(format!("tombstones: {:?}", world.records.tombstones(&scope, None, LARGE_LIMIT).await.unwrap()));
        let query = GraphQuery::of(["Docker", "容器", "Lin"]);
        answers.push(format!("graph: {:?}", world.graph.as_ref().unwrap().expand(&scope, &query).await.unwrap()));
        let synonyms = world.synonyms.as_ref().unwrap();
        answers.push(format!("synonyms: {:?}", synonyms.list(&scope).await.unwrap()));
        answers.push(format!("verdicts: {:?}", synonyms.verdicts(&scope).await.unwrap()));
    }
    answers
}

/// Returns the damages of a backend that concern single rows: a store still answers, and deletes everything.
pub fn row_damages(backend: &str) -> Vec<Damage> {
    let tables = ["record-", "scope-name-", "derivation-", "tombstone-", "queue-", "keyword-", "vector-", "token-"];
    let more = ["graph-", "synonym-", "verdict-"];
    let is_row = |kind: &ProblemKind| tables.iter().chain(&more).any(|prefix| kind.as_str().starts_with(prefix));
    // A row that belongs to no record is left for the repair.
    let is_orphan = |kind: &ProblemKind| kind.as_str().ends_with("-orphan");
    let mut damages = damages(backend);
    damages.retain(|damage| damage.kinds.iter().any(is_row) && !damage.kinds.iter().any(is_orphan));
    damages.retain(|damage| !damage.sql.contains("DROP"));
    damages
}

/// Checks that a damaged row costs one row: all calls for several records answer, a read by id names the damaged
/// record, and everything can be deleted. Returns the records that were reported as damaged.
pub async fn check_damaged_row(world: &World, name: &str) -> BTreeSet<DamagedRecord> {
    let default_tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    let other_tenant = Scope::tenant_wide("acme").unwrap();
    let mut damaged = BTreeSet::new();
    for scope in [Scope::user("lin").unwrap(), scopes()[2].clone(), default_tenant.clone(), other_tenant.clone()] {
        let found = scan_in_pages(world, &scope, name).await;
        read_all(world, &scope, name).await;
        for record in found.iter().filter(|record| record.table == "records" && record.column != "id") {
            let read = world.records.get(&scope, &[record.id]).await;
            assert_eq!(DamagedRecord::of(&read.unwrap_err()), Some(record), "{name}");
        }
        damaged.extend(found);
    }
    for job in Job::ALL {
        // A damaged record becomes a dead letter: the second claim does not meet it.
        for _ in 0..2 {
            let pending = world.jobs.claim(job, LARGE_LIMIT, Duration::from_secs(60)).await;
            assert!(
                pending.unwrap().iter().all(|item| damaged.iter().all(|record| record.id != item.record.id)),
                "{name}"
            );
        }
    }
    for scope in [Scope::user("lin").unwrap(), default_tenant, other_tenant] {
        delete_everything(world, &scope, name).await;
        assert_eq!(scan_in_pages(world, &scope, name).await, BTreeSet::new(), "{name}");
        assert_eq!(world.records.scan(&scope, &ScanQuery::oldest(1)).await.unwrap().records, Vec::new(), "{name}");
        world.records.tombstones(&scope, None, LARGE_LIMIT).await.unwrap();
    }
    damaged
}

/// Reads all records in small pages, so that pages end at damaged ones. Returns the damaged ones.
async fn scan_in_pages(world: &World, scope: &Scope, name: &str) -> BTreeSet<DamagedRecord> {
    let mut damaged = BTreeSet::new();
    let mut query = ScanQuery::oldest(2);
    for _ in 0..LARGE_LIMIT {
        let page = world.records.scan(scope, &query).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        damaged.extend(page.damaged);
        query.after = page.next;
        if query.after.is_none() {
            return damaged;
        }
    }
    panic!("{name}: the scan does not end");
}

/// Makes every other call that returns several records.
async fn read_all(world: &World, scope: &Scope, name: &str) {
    let ids: Vec<RecordId> = records().iter().map(|record| record.id).collect();
    let failed = |error: memory_engine_core::Error| -> () { panic!("{name}: {error}") };
    for filter in [Filter::eq(Field::Tags, "btc"), Filter::eq(Field::meta("mood"), "glad")] {
        let filtered = world.records.scan(scope, &ScanQuery::oldest(LARGE_LIMIT).with_filter(filter)).await;
        filtered.map(drop).unwrap_or_else(failed);
    }
    world.records.derived(scope, &ids).await.map(drop).unwrap_or_else(failed);
    world.records.adjacent(scope, &ids).await.map(drop).unwrap_or_else(failed);
    world.records.record_groups(scope).await.map(drop).unwrap_or_else(failed);
    world.records.stats(scope).await.map(drop).unwrap_or_else(failed);
    world.records.tombstones(scope, None, LARGE_LIMIT).await.map(drop).unwrap_or_else(failed);
    world.records.raw_rows(scope, &ids).await.map(drop).unwrap_or_else(failed);
    world.jobs.failures(scope, LARGE_LIMIT).await.map(drop).unwrap_or_else(failed);
    world.keywords.terms(scope, &ids).await.map(drop).unwrap_or_else(failed);
    world.keywords.records_with_terms(scope, &ids).await.map(drop).unwrap_or_else(failed);
    for words in [&["docker", "old"][..], &["gin", "海鲜"]] {
        world.keywords.search(scope, &find(words)).await.map(drop).unwrap_or_else(failed);
        world.keywords.search_records(scope, &find(words)).await.map(drop).unwrap_or_else(failed);
    }
    for record in records().iter().take(4) {
        world.vectors.search_records(scope, &near(embedding(record))).await.map(drop).unwrap_or_else(failed);
    }
    world.vectors.token_vectors(scope, &ids).await.map(drop).unwrap_or_else(failed);
    let query = GraphQuery::of(["Docker", "容器", "Lin"]);
    world.graph.as_ref().unwrap().expand(scope, &query).await.map(drop).unwrap_or_else(failed);
    let synonyms = world.synonyms.as_ref().unwrap();
    synonyms.list(scope).await.map(drop).unwrap_or_else(failed);
    synonyms.verdicts(scope).await.map(drop).unwrap_or_else(failed);
}

/// Deletes all records of a scope, damaged ones as well, page by page.
async fn delete_everything(world: &World, scope: &Scope, name: &str) {
    loop {
        let page = world.records.scan(scope, &ScanQuery::oldest(LARGE_LIMIT)).await.unwrap();
        let damaged = page.damaged.iter().map(|record| record.id);
        let ids: Vec<RecordId> = page.records.iter().map(|record| record.id).chain(damaged).collect();
        let deleted = world.records.delete(scope, &ids).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        if deleted.ids.is_empty() {
            break;
        }
    }
    world.records.delete_unreachable(scope).await.unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// Returns the number of kinds that the damages of a backend cause.
pub fn count_kinds(damages: &[Damage]) -> usize {
    damages.iter().flat_map(|damage| &damage.kinds).collect::<BTreeSet<_>>().len()
}
