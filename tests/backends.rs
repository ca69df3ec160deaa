//! SQLite and Postgres return the same hits: the same ids in the same order, for keywords, vectors and both.
//!
//! Without the variable `DATABASE_URL` these tests are listed as ignored; where `CONFORMANCE_REQUIRE` names
//! `postgres`, they fail. With `AGREEMENT_DATASET`, a folder with `*.memories.jsonl` and `*.questions.jsonl`, its
//! questions are asked as well.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod forgetting;
mod rest;
mod time_travel;

use std::{env, fs, path::Path, sync::Arc};

use libtest_mimic::{Arguments, Failed, Trial};
use memory_engine::{
    MemoryEngine, PutMode, RecallQuery, Record, RecordId, Scope, Timestamp, Trust, recall::Retrievers,
    testing::ManualClock,
};
use memory_engine_postgres::{PostgresOptions, PostgresStore, migrate_down};
use serde_json::Value;
use tokio::runtime::Runtime;

const NOON: i64 = 1_772_000_000_000_000;

fn url() -> Option<String> {
    env::var("DATABASE_URL").ok().filter(|url| !url.is_empty())
}

fn address() -> Result<String, Failed> {
    Ok(url().ok_or("postgres is required (CONFORMANCE_REQUIRE), and DATABASE_URL names no server")?)
}

fn is_required() -> bool {
    env::var("CONFORMANCE_REQUIRE").is_ok_and(|names| names.split(',').any(|name| name.trim() == "postgres"))
}

/// The stored turns and the questions.
struct Corpus {
    records: Vec<Record>,
    questions: Vec<(Scope, String)>,
}

/// An engine on SQLite and one on Postgres, both with the whole corpus.
struct Pair {
    sqlite: MemoryEngine,
    postgres: MemoryEngine,
    url: String,
    options: PostgresOptions,
    _folder: tempfile::TempDir,
}

impl Pair {
    async fn new(
        corpus: &Corpus,
        schema: &str,
        change: fn(PostgresOptions) -> PostgresOptions,
    ) -> Result<Self, Failed> {
        let url = address()?;
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(NOON)));
        let builder = || {
            let builder = MemoryEngine::builder().clock(clock.clone()).background(false);
            builder.recall_options(time_travel::patient_recall())
        };
        let sqlite = builder().sqlite(folder.path().join("memory.db")).build().await.unwrap();
        let schema = format!("{schema}_{}", std::process::id());
        let options = change(PostgresOptions::default().with_schema(schema));
        let postgres = builder().postgres_with(&url, options.clone()).build().await.unwrap();
        let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
        for engine in [&sqlite, &postgres] {
            for batch in corpus.records.chunks(500) {
                engine.store(&tenant, batch.to_vec(), PutMode::Upsert).await.unwrap();
            }
            engine.drain(&tenant, |_| ()).await.unwrap();
        }
        Ok(Self { sqlite, postgres, url, options, _folder: folder })
    }

    /// Checks that both return the same hits with the same scores in the same order.
    async fn agree(&self, corpus: &Corpus) {
        let mut hits = 0;
        for (scope, question) in &corpus.questions {
            for retrievers in [Retrievers::KeywordOnly, Retrievers::VectorOnly, Retrievers::All] {
                let ask = async |engine: &MemoryEngine| {
                    let query = RecallQuery::new(question).with_limit(20).with_retrievers(retrievers);
                    let recall = engine.recall(scope, query).await.unwrap();
                    assert!(recall.degraded.is_empty(), "{:?}", recall.degraded);
                    recall.hits.into_iter().map(|hit| (hit.record.id, hit.score)).collect::<Vec<_>>()
                };
                let (sqlite, postgres) = (ask(&self.sqlite).await, ask(&self.postgres).await);
                assert_eq!(postgres, sqlite, "{retrievers:?}: {question}");
                hits += sqlite.len();
            }
        }
        assert!(hits > corpus.questions.len() * 3, "{hits} hits are too few to show anything");
        eprintln!("{} questions of {} records, {hits} hits", corpus.questions.len(), corpus.records.len());
    }

    async fn end(self) {
        migrate_down(&self.url, &self.options, 0).await.unwrap();
    }
}

fn turn(scope: &Scope, name: &str, text: &str, second: i64) -> Record {
    let clock = ManualClock::new(Timestamp::from_micros(NOON - 1_000_000_000_000 + second * 1_000_000));
    let mut record = Record::new(scope.clone(), memory_engine::Kind::TURN, text, &clock);
    (record.id, record.trust) = (RecordId::named(scope, name), Trust::Import);
    record
}

/// Sentences of both languages, some of them mixed, that share words with each other: the same every time.
fn generated() -> Corpus {
    const ENGLISH: [&str; 24] = [
        "docker",
        "deployment",
        "the",
        "hiking",
        "mountain",
        "weekend",
        "Krueger",
        "coffee",
        "allergic",
        "seafood",
        "server",
        "postgres",
        "moved",
        "to",
        "Hamburg",
        "birthday",
        "cat",
        "running",
        "marathon",
        "is",
        "was",
        "violin",
        "teacher",
        "C++",
    ];
    const CHINESE: [&str; 24] = [
        "周末",
        "喜欢",
        "去",
        "爬山",
        "我",
        "对",
        "海鲜",
        "过敏",
        "部署",
        "服务器",
        "昨天",
        "搬家",
        "到",
        "汉堡",
        "生日",
        "的",
        "猫",
        "臺北",
        "咖啡",
        "小提琴",
        "老师",
        "马拉松",
        "跑步",
        "是",
    ];
    let mut state = 42_u64;
    let mut draw = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut sentence = move |longest: usize| {
        let (way, mut text) = (draw(3), String::new());
        for _ in 0..3 + draw(longest) {
            match (way, draw(2)) {
                (0, _) | (2, 0) => text.push_str(&format!("{} ", ENGLISH[draw(24)])),
                _ => text.push_str(CHINESE[draw(24)]),
            }
        }
        text.trim().to_owned()
    };
    let scope = |n: usize| {
        let user = Scope::user(format!("user {}", n % 3)).unwrap();
        user.with_session(format!("session {}", n % 12)).unwrap()
    };
    let records = (0..900).map(|n| turn(&scope(n), &format!("message {n}"), &sentence(9), n as i64)).collect();
    let everybody = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    let questions = (0..80).map(|n| {
        let reader = match n % 4 {
            0 => everybody.clone(),
            1 => scope(n),
            _ => scope(n).namespace(),
        };
        (reader, sentence(4))
    });
    let questions = questions.collect();
    Corpus { records, questions }
}

/// The corpus of a folder, as `memory eval` reads it; the first 200 questions.
fn read(folder: &Path) -> Corpus {
    let lines = |ending: &str| -> Vec<Value> {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let file = files.into_iter().find(|path| path.to_string_lossy().ends_with(ending)).unwrap();
        fs::read_to_string(file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let text = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
    let user = |line: &Value| Scope::user(text(line, "scope")).unwrap();
    let record = |(number, line): (i64, &Value)| {
        let scope = match text(line, "session") {
            none if none.is_empty() => user(line),
            session => user(line).with_session(session).unwrap(),
        };
        let mut record = turn(&scope, &text(line, "id"), &text(line, "text"), number);
        record.speaker = line["speaker"].as_str().map(str::to_owned);
        record
    };
    let records = (0..).zip(&lines(".memories.jsonl")).map(record).collect();
    let questions =
        lines(".questions.jsonl").iter().take(200).map(|line| (user(line), text(line, "question"))).collect();
    Corpus { records, questions }
}

fn main() {
    let arguments = Arguments::from_args();
    let ignored = url().is_none() && !is_required();
    let dataset = env::var_os("AGREEMENT_DATASET");
    let played = |corpus: fn() -> Corpus, schema: &'static str, change: fn(PostgresOptions) -> PostgresOptions| {
        move || {
            Runtime::new().unwrap().block_on(async {
                let corpus = corpus();
                let pair = Pair::new(&corpus, schema, change).await?;
                pair.agree(&corpus).await;
                pair.end().await;
                Ok(())
            })
        }
    };
    let mut trials = vec![
        Trial::test("sqlite_and_postgres_agree_on_generated_text", played(generated, "agree", |options| options)),
        Trial::test(
            "sqlite_and_postgres_with_partitions_agree_on_generated_text",
            played(generated, "agree_parts", |options| options.with_partitions(3)),
        ),
        Trial::test("builder_hides_the_address", || Runtime::new().unwrap().block_on(the_builder_takes_an_address())),
    ];
    trials.push(Trial::test("a_user_who_is_forgotten_leaves_no_synonyms_in_postgres", || {
        Runtime::new().unwrap().block_on(with_postgres("forgetting", async |memory| {
            forgetting::a_user_who_is_forgotten_leaves_no_synonyms(memory).await;
        }))
    }));
    trials.push(Trial::test("a_time_shows_what_was_stored_then_in_postgres", || {
        Runtime::new().unwrap().block_on(time_travel_on_postgres())
    }));
    trials = trials.into_iter().map(|trial| trial.with_ignored_flag(ignored)).collect();
    trials.push(Trial::test("a_user_who_is_forgotten_leaves_no_synonyms_in_sqlite", || {
        let folder = tempfile::tempdir().unwrap();
        Runtime::new().unwrap().block_on(forgetting::on_sqlite(folder.path()));
        Ok(())
    }));
    trials.push(Trial::test("a_time_shows_what_was_stored_then_in_memory", || {
        Runtime::new().unwrap().block_on(time_travel::in_memory());
        Ok(())
    }));
    trials.push(Trial::test("a_time_shows_what_was_stored_then_in_sqlite", || {
        let folder = tempfile::tempdir().unwrap();
        Runtime::new().unwrap().block_on(time_travel::on_sqlite(folder.path()));
        Ok(())
    }));
    let trial = Trial::test("evidence_is_the_same_through_rest_and_directly", || {
        Runtime::new().unwrap().block_on(rest::evidence_is_the_same_through_rest_and_directly(&address()?))
    });
    trials.push(trial.with_ignored_flag(ignored || !rest::is_possible()));
    if dataset.is_some() {
        let corpus = || read(Path::new(&env::var_os("AGREEMENT_DATASET").unwrap()));
        let trial =
            Trial::test("sqlite_and_postgres_agree_on_the_dataset", played(corpus, "agree_data", |options| options));
        trials.push(trial.with_ignored_flag(ignored));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// An engine on a schema of its own.
async fn with_postgres(schema: &str, body: impl AsyncFnOnce(&MemoryEngine)) -> Result<(), Failed> {
    let url = address()?;
    let schema = format!("{schema}_{}", std::process::id());
    let options = PostgresOptions::default().with_schema(schema);
    let memory = MemoryEngine::builder().postgres_with(&url, options.clone()).background(false).build().await.unwrap();
    body(&memory).await;
    drop(memory);
    migrate_down(&url, &options, 0).await.unwrap();
    Ok(())
}

async fn time_travel_on_postgres() -> Result<(), Failed> {
    let url = address()?;
    let schema = format!("time_travel_{}", std::process::id());
    let options = PostgresOptions::default().with_schema(schema);
    time_travel::answers(MemoryEngine::builder().postgres_with(&url, options.clone())).await;
    time_travel::run(MemoryEngine::builder().postgres_with(&url, options.clone()), "lin", 11).await;
    migrate_down(&url, &options, 0).await.unwrap();
    Ok(())
}

async fn the_builder_takes_an_address() -> Result<(), Failed> {
    let url = address()?;
    let schema = format!("builder_{}", std::process::id());
    let options = PostgresOptions::default().with_schema(schema.as_str());
    let store = MemoryEngine::builder().store_options();
    PostgresStore::connect_with(&url, store, options.clone()).await.unwrap().close().await;
    let mark = if url.contains('?') { '&' } else { '?' };
    let builder = MemoryEngine::builder().postgres(format!("{url}{mark}options[search_path]={schema},public"));
    assert!(!format!("{builder:?}").contains("postgres://"), "{builder:?}");
    let engine = builder.background(false).build().await.unwrap();
    let lin = Scope::user("lin").unwrap();
    let id = engine.remember(&lin, "我对海鲜过敏").await.unwrap();
    engine.drain(&lin, |_| ()).await.unwrap();
    let recall = engine.recall(&lin, "海鲜").await.unwrap();
    assert_eq!(recall.hits.iter().map(|hit| hit.record.id).collect::<Vec<_>>(), [id]);
    drop(engine);
    migrate_down(&url, &options, 0).await.unwrap();
    Ok(())
}
