//! Measures the fusion of the retrievers' hits.
#![allow(missing_docs, reason = "criterion's macros make functions without any")]

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use memory_engine_core::{Hit, RecordId, Score};
use memory_engine_reranker::{Fusion, Method, Novelty, Ranking, fuse};

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
    let texts: Vec<String> =
        (0..20).map(|n| format!("她第 {n} 次说她对海鲜过敏，这周末 we go hiking in hill {n}.")).collect();
    criterion.bench_function("20 texts told apart", |bencher| {
        bencher.iter(|| {
            let mut novelty = Novelty::new(0.9);
            texts.iter().filter(|text| novelty.repeats(black_box(text)).is_none()).count()
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
    targets = fusion
}
criterion_main!(benches);
