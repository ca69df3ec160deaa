//! Measures a search for the nearest vectors: the kernels, with and without the comparison of signs.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark: criterion's macros make functions without docs")]

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use memory_engine_core::{Embedding, EmbeddingSpace};
use memory_engine_vector_store::{Among, FlatIndex};

const DIMENSIONS: usize = 384;

/// Numbers between -1 and 1 that look like chance (xorshift64*, Vigna 2016).
#[derive(Debug)]
struct Chance(u64);

impl Chance {
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
    let mut chance = Chance(2026);
    let mut index = FlatIndex::new(&EmbeddingSpace::cosine("chance", DIMENSIONS));
    for n in 0..vectors {
        index.insert(n, n % 1000, chance.embedding());
    }
    index
}

fn nearness(criterion: &mut Criterion) {
    let query = Chance(10).embedding();
    let small = index(10_000);
    criterion.bench_function("ten nearest of 10 000: bytes, then numbers", |bencher| {
        bencher.iter(|| small.search(black_box(&query), Among::Everything, 10));
    });
    criterion.bench_function("ten nearest of the 10 of one group", |bencher| {
        bencher.iter(|| small.search(black_box(&query), Among::Groups(&[7]), 10));
    });
    let keys: Vec<u32> = (0..10_000).step_by(25).collect();
    criterion.bench_function("ten nearest of a list of 400", |bencher| {
        bencher.iter(|| small.search(black_box(&query), Among::Keys(&keys), 10));
    });
    let large = index(40_000);
    criterion.bench_function("ten nearest of 40 000: signs, then bytes, then numbers", |bencher| {
        bencher.iter(|| large.search(black_box(&query), Among::Everything, 10));
    });
    let mut chance = Chance(3);
    let entries: Vec<Embedding> = (0..1000).map(|_| chance.embedding()).collect();
    criterion.bench_function("1000 vectors taken in", |bencher| {
        bencher.iter(|| {
            let mut index = FlatIndex::new(&EmbeddingSpace::cosine("chance", DIMENSIONS));
            for (n, entry) in (0_u32..).zip(&entries) {
                index.insert(n, 0_u32, entry.clone());
            }
            index
        });
    });
}

/// Short ones: a regression of a tenth shows in a second.
fn short() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(50)
}

criterion_group! {
    name = benches;
    config = short();
    targets = nearness
}
criterion_main!(benches);
