//! Measures vector search: the kernels, with and without the comparison of signs.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark: criterion's macros make functions without docs")]

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use memory_engine_core::{Embedding, EmbeddingSpace};
use memory_engine_vector_store::{FlatIndex, SearchSubset};

const DIMENSIONS: usize = 384;

/// Pseudo-random numbers between -1 and 1 (xorshift64*, Vigna 2016).
#[derive(Debug)]
struct Xorshift(u64);

impl Xorshift {
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    }

    fn embedding(&mut self) -> Embedding {
        Embedding::new((0..DIMENSIONS).map(|_| self.next()).collect()).unwrap()
    }
}

fn index(vectors: u32) -> FlatIndex<u32, u32> {
    let mut random = Xorshift(2026);
    let mut index = FlatIndex::new(&EmbeddingSpace::cosine("random", DIMENSIONS));
    for n in 0..vectors {
        index.insert(n, n % 1000, random.embedding());
    }
    index
}

fn vector_search(criterion: &mut Criterion) {
    let query = Xorshift(10).embedding();
    let small = index(10_000);
    criterion.bench_function("ten nearest of 10 000: codes, then full vectors", |bencher| {
        bencher.iter(|| small.search(black_box(&query), SearchSubset::All, 10));
    });
    criterion.bench_function("ten nearest of the 10 of one group", |bencher| {
        bencher.iter(|| small.search(black_box(&query), SearchSubset::Groups(&[7]), 10));
    });
    let keys: Vec<u32> = (0..10_000).step_by(25).collect();
    criterion.bench_function("ten nearest of a list of 400", |bencher| {
        bencher.iter(|| small.search(black_box(&query), SearchSubset::Keys(&keys), 10));
    });
    let large = index(40_000);
    criterion.bench_function("ten nearest of 40 000: signs, then codes, then full vectors", |bencher| {
        bencher.iter(|| large.search(black_box(&query), SearchSubset::All, 10));
    });
    let mut random = Xorshift(3);
    let entries: Vec<Embedding> = (0..1000).map(|_| random.embedding()).collect();
    criterion.bench_function("insert 1000 vectors", |bencher| {
        bencher.iter(|| {
            let mut index = FlatIndex::new(&EmbeddingSpace::cosine("random", DIMENSIONS));
            for (n, entry) in (0_u32..).zip(&entries) {
                index.insert(n, 0_u32, entry.clone());
            }
            index
        });
    });
}

/// One second for each benchmark, which is enough to detect a regression of 10 %.
fn short_run() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(50)
}

criterion_group! {
    name = benches;
    config = short_run();
    targets = vector_search
}
criterion_main!(benches);
