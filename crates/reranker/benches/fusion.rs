//! Measures the fusion of the retrievers' hits.
#![allow(missing_docs, reason = "criterion's macros make functions without any")]

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use memory_engine_core::{Hit, RecordId, Score};
use memory_engine_reranker::{Fusion, Method, Ranking, TermSet, diversify, fuse};

/// A ranking of this many hits with every `step`th id, so that two rankings share some.
fn ranking(hits: usize, step: usize) -> Ranking {
    let hit = |n: usize| {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&((n * step) as u64).to_be_bytes());
        Hit { id: RecordId::from_bytes(bytes), score: Score::new(1.0 / (n + 1) as f64) }
    };
    Ranking { weight: 0.5, hits: (0..hits).map(hit).collect(), zero: None }
}

fn fusion(criterion: &mut Criterion) {
    for hits in [50, 200] {
        let rankings = [ranking(hits, 2), ranking(hits, 3)];
        for (name, method) in [("ranks", Method::Ranks { k: 60.0 }), ("scores", Method::Scores)] {
            let fusion = Fusion { method, ..Fusion::default() };
            let name = format!("two rankings of {hits} fused by {name}");
            criterion.bench_function(&name, |bencher| bencher.iter(|| fuse(black_box(&rankings), fusion)));
        }
    }
    let sets: Vec<TermSet> =
        (0..60).map(|n| format!("她 第{n}次 说 海鲜 过敏 we go hiking in hill{n}").split(' ').collect()).collect();
    let scores: Vec<f64> = (0..60).map(|n| 1.0 - f64::from(n) / 60.0).collect();
    criterion.bench_function("10 of 60 candidates diversified", |bencher| {
        bencher.iter(|| diversify(black_box(&scores), 10, |a, b| sets[a].similarity(&sets[b])));
    });
}

/// Settings of short measurements: one second is enough to detect a regression of 10 %.
fn short_measurements() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(50)
}

criterion_group! {
    name = benches;
    config = short_measurements();
    targets = fusion
}
criterion_main!(benches);
