//! Measures the analysis of a text and of a query, and the search in postings.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark: criterion's macros make functions without docs")]

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use memory_engine_core::{RecordId, Terms, packed_terms};
use memory_engine_keyword_store::{Analyzer, Bm25, Bm25Candidate, DistinctTerms, SegmentedPostings, TextAnalyzer};

const DOCUMENTS: u32 = 20_000;

const CHINESE: &str =
    "周末我们去北京爬山，她说下个月十五号要搬到上海，新家离地铁站只有五分钟，记得帮她订一张靠窗的火车票。";
const ENGLISH: &str = "She is moving to Shanghai on the 15th of next month; the new flat is five minutes from the \
     subway, so remind her to book a window seat on the train and to cancel the old contract (v1.2).";

/// Returns a word that about one in `n + 1` documents contains.
fn word(n: u32) -> String {
    format!("word{n}")
}

/// Returns documents of some ten words. The frequent words are in nearly all of them.
fn documents() -> Vec<Terms> {
    let contains =
        |document: u32, n: u32| document.wrapping_mul(2_654_435_761).rotate_left(n % 32).is_multiple_of(n + 1);
    (0..DOCUMENTS).map(|document| (0..400).filter(|n| contains(document, *n)).map(word).collect()).collect()
}

fn id(n: u32) -> RecordId {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    RecordId::from_bytes(bytes)
}

fn analyzer(criterion: &mut Criterion) {
    for (language, text) in [("Chinese", CHINESE), ("English", ENGLISH)] {
        TextAnalyzer.document(text); // the first call loads the dictionary
        let document = format!("analyzer: a document, {language}");
        criterion.bench_function(&document, |bencher| bencher.iter(|| TextAnalyzer.document(black_box(text))));
        let query = format!("analyzer: a question, {language}");
        criterion.bench_function(&query, |bencher| bencher.iter(|| TextAnalyzer.query(black_box(text))));
    }
}

fn postings(criterion: &mut Criterion) {
    let mut postings = SegmentedPostings::default();
    let documents = documents();
    for (n, terms) in (0_u32..).zip(&documents) {
        postings.insert(n.into(), id(n), (n % 100).into(), terms.length(), terms.iter());
    }
    let rare = TextAnalyzer.query("word399 word311 word250");
    let mixed = TextAnalyzer.query("word0 word1 word2 word120 word399");
    let few: &[i64] = &[0, 1, 2];
    type Admit = fn(i64) -> bool;
    for (name, clauses, groups) in [
        ("postings: rare words of 20 000 documents", &rare, None),
        ("postings: frequent and rare words of 20 000 documents", &mixed, None),
        ("postings: the same, within 3 of 100 groups", &mixed, Some(few)),
    ] {
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| postings.find(groups, black_box(clauses), 50, None::<Admit>));
        });
    }
}

/// Searches the postings of one user with a few hundred or thousand records.
fn small_users(criterion: &mut Criterion) {
    let documents = documents();
    let clauses = TextAnalyzer.query("word0 word1 word2 word120 word399");
    type Admit = fn(i64) -> bool;
    for count in [200, 2_000, 6_000] {
        let mut postings = SegmentedPostings::default();
        for (n, terms) in (0_u32..).zip(documents.iter().take(count)) {
            postings.insert(n.into(), id(n), 0, terms.length(), terms.iter());
        }
        criterion.bench_function(&format!("postings: a user with {count} documents"), |bencher| {
            bencher.iter(|| postings.find(None, black_box(&clauses), 50, None::<Admit>));
        });
        let admit = |number: i64| number % 2 == 0;
        criterion.bench_function(&format!("postings: a user with {count} documents, filtered"), |bencher| {
            bencher.iter(|| postings.find(None, black_box(&clauses), 50, Some(admit)));
        });
    }
}

/// The work of an adapter over a database: count the terms of candidates and rank them.
fn bm25(criterion: &mut Criterion) {
    let documents: Vec<_> =
        documents().iter().take(2000).map(|terms| (packed_terms::pack(terms), terms.length())).collect();
    let clauses = TextAnalyzer.query("word0 word1 word2 word120 word399");
    let query_terms = DistinctTerms::of(&clauses);
    let mut query_counts = vec![0; query_terms.terms().len()];
    let mut candidates = || -> Vec<Bm25Candidate<u32>> {
        let candidate = |(n, ((terms, counts), length)): (u32, &((String, Vec<u8>), u32))| {
            let matches =
                packed_terms::count(terms.as_bytes(), counts, query_terms.terms(), &mut query_counts).unwrap();
            let frequencies = query_terms.frequencies(&query_counts);
            matches.then_some(Bm25Candidate { key: n, frequencies, length: *length, admitted: true })
        };
        (0..).zip(&documents).filter_map(candidate).collect()
    };
    criterion.bench_function("packed terms: 2000 documents counted", |bencher| bencher.iter(&mut candidates));
    let candidates = candidates();
    criterion.bench_function("BM25: their ranking", |bencher| {
        bencher.iter(|| Bm25::default().rank(DOCUMENTS.into(), &clauses, black_box(&candidates), 50));
    });
}

/// Short measurements, which are enough to show a regression of 10 %.
fn short_measurements() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(50)
}

criterion_group! {
    name = benches;
    config = short_measurements();
    targets = analyzer, postings, small_users, bm25
}
criterion_main!(benches);
