use std::{sync::Arc, time::{Duration, Instant}};
use memory_core::*;
use memory_engine_sqlite::*;
use memory_keyword_store::*;
use memory_vector_store::*;

struct Rng(u64);
impl Rng { fn next(&mut self) -> u64 { self.0 ^= self.0 << 13; self.0 ^= self.0 >> 7; self.0 ^= self.0 << 17; self.0 }
 fn unit(&mut self) -> f64 { (self.next() >> 11) as f64 / (1u64 << 53) as f64 } }
fn zipf(r: &mut Rng) -> usize { ((30000f64).powf(r.unit())) as usize }
fn vector(r: &mut Rng) -> Embedding { Embedding::new((0..384).map(|_| r.unit() as f32 - 0.5).collect()).unwrap() }
fn p50(mut v: Vec<Duration>) -> (Duration, Duration) { v.sort(); (v[v.len()/2], v[v.len()*95/100]) }

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let users: usize = std::env::args().nth(1).map_or(1, |a| a.parse().unwrap());
    let dir = tempfile::tempdir_in("/work").unwrap();
    let path = dir.path().join("m.db");
    let options = || SqliteOptions::new(EmbeddingSpace::cosine("m", 384), "a");
    let store = SqliteStore::open(&path, options()).await.unwrap();
    let mut r = Rng(88172645463325252);
    let scopes: Vec<Scope> = (0..1000).map(|n| Scope::user(format!("user {}", n % users)).unwrap().with_session(format!("session {n}")).unwrap()).collect();
    let all = Scope::tenant_wide("default").unwrap();
    let mut records = vec![];
    let t = Instant::now();
    let mut puts = Duration::ZERO;
    for batch in 0..200 {
        let writes: Vec<Write> = (0..500).map(|i| {
            let scope = &scopes[(batch * 500 + i) / 100];
            let words: Vec<String> = (0..30).map(|_| format!("w{}", zipf(&mut r))).collect();
            let record = Record::new(scope.clone(), Kind::TURN, words.join(" "), &SystemClock);
            let terms = Some(words.into_iter().collect());
            Write { record, mode: PutMode::Upsert, terms }
        }).collect();
        records.extend(writes.iter().map(|w| { let mut r = w.record.clone(); r.revision = 1; Arc::new(r) }));
        let t = Instant::now();
        store.put(&all, writes).await.unwrap();
        puts += t.elapsed();
    }
    println!("put: {:.0} records/s ({:?} with making them)", 100_000.0 / puts.as_secs_f64(), t.elapsed());
    let t = Instant::now();
    for chunk in records.chunks(500) {
        let entries: Vec<_> = chunk.iter().map(|record| VectorEntry { record: record.clone(), embedding: vector(&mut r) }).collect();
        VectorStore::upsert(&store, &all, &entries).await.unwrap();
    }
    println!("vectors: {:.0}/s", 100_000.0 / t.elapsed().as_secs_f64());
    store.close().await;
    println!("file: {} MB", std::fs::metadata(&path).unwrap().len() >> 20);
    let t = Instant::now();
    let store = SqliteStore::open(&path, options()).await.unwrap();
    println!("open: {:?}", t.elapsed());
    let t = Instant::now();
    VectorStore::search(&store, &scopes[5], &VectorQuery::new(vector(&mut r), 10)).await.unwrap();
    println!("first vector search: {:?}", t.elapsed());
    for (label, limit_scope) in [("session", true), ("user", false)] {
        let (mut kw, mut kwf, mut vec, mut vecf, mut scan) = (vec![], vec![], vec![], vec![], vec![]);
        for n in 0..200 {
            let scope = &scopes[n * 7 % 1000];
            let scope = if limit_scope { scope.clone() } else { scope.namespace() };
            let q = KeywordQuery::new((0..8).map(|_| Clause::term(format!("w{}", zipf(&mut r)))).collect(), 50);
            let t = Instant::now();
            KeywordStore::search(&store, &scope, &q).await.unwrap();
            kw.push(t.elapsed());
            let f = Filter::compare(Field::Confidence, Op::Gt, 0.3);
            let t = Instant::now();
            KeywordStore::search(&store, &scope, &q.with_filter(Some(f.clone()))).await.unwrap();
            kwf.push(t.elapsed());
            let q = VectorQuery::new(vector(&mut r), 50);
            let t = Instant::now();
            VectorStore::search(&store, &scope, &q).await.unwrap();
            vec.push(t.elapsed());
            let t = Instant::now();
            VectorStore::search(&store, &scope, &q.with_filter(Some(f))).await.unwrap();
            vecf.push(t.elapsed());
            let t = Instant::now();
            store.scan(&scope, &ScanQuery::newest(50)).await.unwrap();
            scan.push(t.elapsed());
            if !limit_scope && users < 10 && n > 20 { break; }
        }
        println!("{label}: keyword {:?} filtered {:?} vector {:?} filtered {:?} scan {:?}", p50(kw), p50(kwf), p50(vec), p50(vecf), p50(scan));
    }
    let q = KeywordQuery::new((0..8).map(|_| Clause::term(format!("w{}", zipf(&mut r)))).collect(), 50);
    let t = Instant::now();
    KeywordStore::search(&store, &all, &q).await.unwrap();
    println!("tenant keyword {:?}", t.elapsed());
    let t = Instant::now();
    store.scan(&all, &ScanQuery::newest(50)).await.unwrap();
    println!("tenant scan {:?}", t.elapsed());
    let t = Instant::now();
    store.stats(&all).await.unwrap();
    println!("tenant stats {:?}", t.elapsed());
    let mut one = vec![];
    for n in 0..100 {
        let record = Record::new(scopes[n].clone(), Kind::TURN, "one two three four", &SystemClock);
        let terms = Some(record.text.split(' ').collect());
        let t = Instant::now();
        store.put(&all, vec![Write { record, mode: PutMode::Upsert, terms }]).await.unwrap();
        one.push(t.elapsed());
    }
    println!("single put {:?}", p50(one));
    let mut one = vec![];
    for n in 0..50 {
        let t = Instant::now();
        RecordStore::delete(&store, &all, &[records[n * 1999].id]).await.unwrap();
        one.push(t.elapsed());
    }
    println!("single delete {:?}", p50(one));
}
