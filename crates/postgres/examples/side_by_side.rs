//! Compares the store with hand-written SQL, on the server that `DATABASE_URL` names: 100 000 records, 384 dimensions.
//!
//!     scripts/with-postgres cargo run --release -p memory-engine-postgres --example side_by_side [RECORDS]
//!
//! Half of the records belong to one user, the other half to users with a thousand records each. A hybrid search is a
//! keyword search and a vector search for 50 hits each, followed by reading the best ten records.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a measurement that cannot go on fails")]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use memory_engine_core::{
    Embedding, EmbeddingSpace, Hit, Kind, PutMode, Record, RecordId, RecordStore, Scope, SystemClock, Write,
};
use memory_engine_keyword_store::{Analyzer, KeywordQuery, KeywordStore, TextAnalyzer};
use memory_engine_postgres::{Lookup, PostgresOptions, PostgresStore, StoreOptions, migrate_down};
use memory_engine_vector_store::{VectorEntry, VectorQuery, VectorStore};
use pgvector::Vector;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use uuid::Uuid;

const DIMENSIONS: usize = 384;
const QUESTIONS: usize = 60;
const WORDS: [&str; 48] = [
    "周末",
    "喜欢",
    "爬山",
    "海鲜",
    "过敏",
    "部署",
    "服务器",
    "昨天",
    "搬家",
    "汉堡",
    "生日",
    "咖啡",
    "小提琴",
    "老师",
    "马拉松",
    "跑步",
    "妈妈",
    "医院",
    "电影",
    "旅游",
    "北京",
    "上海",
    "工作",
    "会议",
    "docker",
    "deployment",
    "hiking",
    "mountain",
    "weekend",
    "Krueger",
    "coffee",
    "allergic",
    "seafood",
    "server",
    "postgres",
    "Hamburg",
    "birthday",
    "running",
    "marathon",
    "violin",
    "teacher",
    "meeting",
    "hospital",
    "movie",
    "journey",
    "project",
    "garden",
    "winter",
];

/// A deterministic generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn sentence(&mut self, words: usize) -> String {
        // One word in four is rare.
        let word = |random: &mut Self| match random.below(4) {
            0 => format!("item{} ", random.below(3000)),
            _ => format!("{} ", WORDS[random.below(WORDS.len())]),
        };
        (0..words).map(|_| word(self)).collect()
    }

    /// Returns a vector near one of 500 cluster centers, as those of a model are.
    fn vector(&mut self) -> Embedding {
        let mut center = Random(self.below(500) as u64 + 1);
        let value = |random: &mut Self| random.below(2001) as f32 / 1000.0 - 1.0;
        let values = (0..DIMENSIONS).map(|_| value(&mut center) + 0.6 * value(self)).collect();
        Embedding::new(values).unwrap().normalized()
    }
}

fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort();
    let ms = |time: &Duration| time.as_secs_f64() * 1e3;
    format!("{:7.1} ms (p95 {:7.1} ms)", ms(&times[times.len() / 2]), ms(&times[times.len() * 95 / 100]))
}

async fn load(store: &PostgresStore, scope: &Scope, count: usize, random: &mut Random) {
    let analyzer = TextAnalyzer;
    for batch in (0..count).collect::<Vec<_>>().chunks(1000) {
        let records: Vec<Record> = batch
            .iter()
            .map(|_| {
                let words = 6 + random.below(12);
                Record::new(scope.clone(), Kind::TURN, random.sentence(words), &SystemClock)
            })
            .collect();
        let write = |record: &Record| Write {
            terms: Some(analyzer.document(&record.text)),
            ..Write::new(record.clone(), PutMode::Create)
        };
        store.put(scope, records.iter().map(write).collect()).await.unwrap();
        let entry = |mut record: Record| {
            record.revision = 1;
            VectorEntry::new(Arc::new(record), random.vector())
        };
        let entries: Vec<VectorEntry> = records.into_iter().map(entry).collect();
        VectorStore::upsert(store, scope, &entries).await.unwrap();
    }
}

/// A hand-written hybrid search: both retrievers and their fusion in one statement, over the same indexes.
const HAND_WRITTEN_SEARCH: &str = "
    WITH near AS (
        SELECT id, row_number() OVER (ORDER BY distance) AS rank FROM (
            SELECT v.id, NEARNESS AS distance FROM vectors v WHERE v.namespace = $1 ORDER BY NEARNESS LIMIT 50) v
    ), words AS (
        SELECT id, row_number() OVER (ORDER BY score DESC) AS rank FROM (
            SELECT d.id, ts_rank(d.lexemes, $3::tsquery, 1) AS score FROM keyword_documents d
            WHERE d.namespace = $1 AND d.lexemes @@ $3::tsquery ORDER BY score DESC LIMIT 50) d
    )
    SELECT r.id, r.text, r.occurred_at FROM (
        SELECT id, coalesce(1.0 / (60 + n.rank), 0) + coalesce(1.0 / (60 + w.rank), 0) AS score
        FROM near n FULL JOIN words w USING (id) ORDER BY score DESC LIMIT 10) best
    JOIN records r ON r.namespace = $1 AND r.id = best.id ORDER BY best.score DESC";

struct Question {
    words: KeywordQuery,
    vector: Embedding,
    lexemes: String,
}

async fn measure(
    store: &PostgresStore,
    connection: &mut PgConnection,
    scope: &Scope,
    questions: &[Question],
    namespace: Uuid,
) {
    let mut keyword_times = Vec::new();
    let mut vector_times = Vec::new();
    let mut hybrid_times = Vec::new();
    for question in questions {
        let nearest = VectorQuery::new(question.vector.clone(), 50);
        let begin = Instant::now();
        KeywordStore::search(store, scope, &question.words).await.unwrap();
        keyword_times.push(begin.elapsed());
        let begin = Instant::now();
        VectorStore::search(store, scope, &nearest).await.unwrap();
        vector_times.push(begin.elapsed());
        let begin = Instant::now();
        let (keyword_hits, vector_hits) = futures::join!(
            KeywordStore::search(store, scope, &question.words),
            VectorStore::search(store, scope, &nearest)
        );
        let mut all: Vec<Hit> = keyword_hits.unwrap().into_iter().chain(vector_hits.unwrap()).collect();
        all.sort_by(Hit::best_first);
        let best: Vec<RecordId> = all.iter().take(10).map(|hit| hit.id).collect();
        assert!(!store.get(scope, &best).await.unwrap().is_empty());
        hybrid_times.push(begin.elapsed());
    }
    println!("  store, words            {}", percentiles(keyword_times));
    println!("  store, vectors          {}", percentiles(vector_times));
    println!("  store, hybrid           {}", percentiles(hybrid_times));
    let nearness =
        [("index", "(v.embedding::vector(384) <=> $2::vector(384))"), ("exact", "((v.embedding <=> $2) + 0)")];
    for (name, nearness) in nearness {
        let sql = HAND_WRITTEN_SEARCH.replace("NEARNESS", nearness);
        let mut times = Vec::new();
        for question in questions {
            let begin = Instant::now();
            let mut transaction = connection
                .begin_with("BEGIN; SET LOCAL hnsw.iterative_scan = strict_order; SET LOCAL hnsw.ef_search = 200")
                .await
                .unwrap();
            let rows = sqlx::query(AssertSqlSafe(sql.as_str()))
                .bind(namespace)
                .bind(Vector::from(question.vector.values().to_vec()))
                .bind(&question.lexemes)
                .fetch_all(&mut *transaction)
                .await
                .unwrap();
            transaction.commit().await.unwrap();
            assert!(!rows.is_empty());
            times.push(begin.elapsed());
        }
        println!("  by hand, hybrid, {name}  {}", percentiles(times));
    }
}

async fn fetch_namespace(connection: &mut PgConnection, scope: &Scope) -> Uuid {
    let sql = "SELECT namespace FROM namespaces WHERE tenant = $1 AND username = $2";
    let row = sqlx::query(sql).bind(scope.tenant()).bind(scope.user_name()).fetch_one(connection).await.unwrap();
    row.get(0)
}

#[tokio::main]
async fn main() {
    let url = std::env::var("DATABASE_URL").unwrap();
    let records = std::env::args().nth(1).map_or(100_000, |count| count.parse().unwrap());
    let space = EmbeddingSpace::cosine("bench", DIMENSIONS);
    let indexes = StoreOptions::new(space, TextAnalyzer.fingerprint());
    let options = PostgresOptions::default().with_statement_timeout(Duration::ZERO);
    let store = PostgresStore::connect_with(&url, indexes.clone(), options.clone()).await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let mut random = Random(7);
    // As usual for a bulk load, the HNSW graph is built at the end.
    let definition: String =
        sqlx::query_scalar("SELECT indexdef FROM pg_indexes WHERE indexname = 'vectors_by_nearness'")
            .fetch_one(&mut connection)
            .await
            .unwrap();
    sqlx::raw_sql("DROP INDEX vectors_by_nearness").execute(&mut connection).await.unwrap();
    let begin = Instant::now();
    let mut scopes = vec![(Scope::user("many").unwrap(), records / 2)];
    scopes.extend((0..records / 2000).map(|n| (Scope::user(format!("user {n}")).unwrap(), 1000)));
    for (scope, count) in &scopes {
        load(&store, scope, *count, &mut random).await;
    }
    println!("{records} records with terms and vectors: {:.0} s", begin.elapsed().as_secs_f64());
    let begin = Instant::now();
    sqlx::raw_sql(AssertSqlSafe(definition)).execute(&mut connection).await.unwrap();
    println!("the graph over their vectors: {:.0} s", begin.elapsed().as_secs_f64());
    sqlx::raw_sql("VACUUM ANALYZE").execute(&mut connection).await.unwrap();
    let sizes = "SELECT relname::text, pg_relation_size(oid) FROM pg_class WHERE relkind IN ('r', 'i')
                 AND relnamespace = 'public'::regnamespace AND pg_relation_size(oid) > 1000000 ORDER BY 2 DESC";
    for row in sqlx::query(sizes).fetch_all(&mut connection).await.unwrap() {
        println!(
            "  {:32} {:6.0} bytes a record",
            row.get::<String, _>(0),
            row.get::<i64, _>(1) as f64 / records as f64
        );
    }
    let analyzer = TextAnalyzer;
    for (scope, count) in [&scopes[0], &scopes[3]] {
        let namespace = fetch_namespace(&mut connection, scope).await;
        let mut questions = Vec::new();
        for _ in 0..QUESTIONS {
            let words = KeywordQuery::new(analyzer.query(&random.sentence(4)), 50);
            // The lexemes that the store searches for, from its query plan.
            let plan = store.explain(scope, Lookup::Keywords(&words)).await.unwrap();
            let quoted = plan.split("@@ '").nth(1).and_then(|rest| rest.split("'::tsquery").next()).unwrap();
            questions.push(Question { words, vector: random.vector(), lexemes: quoted.replace("''", "'") });
        }
        for exact_up_to in [0, u64::MAX] {
            let options = options.clone().with_exact_up_to(exact_up_to);
            let store = PostgresStore::connect_with(&url, indexes.clone(), options).await.unwrap();
            println!(
                "{count} records of one user among {records}, {}:",
                if exact_up_to == 0 { "index" } else { "exact" }
            );
            measure(&store, &mut connection, scope, &questions, namespace).await;
            store.close().await;
        }
    }
    for count in [2000, 5000, 10_000, 20_000] {
        // A session of this many vectors.
        let sql = "SELECT v.id FROM (SELECT id, embedding FROM vectors WHERE namespace = $1 LIMIT $3) v
                   ORDER BY v.embedding <=> $2 LIMIT 50";
        let namespace = fetch_namespace(&mut connection, &scopes[0].0).await;
        let mut times = Vec::new();
        for _ in 0..20 {
            let begin = Instant::now();
            let target = Vector::from(random.vector().values().to_vec());
            sqlx::query(sql).bind(namespace).bind(target).bind(count).fetch_all(&mut connection).await.unwrap();
            times.push(begin.elapsed());
        }
        println!("an exact scan of {count:6} vectors  {}", percentiles(times));
    }
    store.close().await;
    migrate_down(&url, &options, 0).await.unwrap();
}
