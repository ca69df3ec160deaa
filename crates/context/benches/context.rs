//! Measures a context of six layers, one of which is a history of 10 000 messages.
#![allow(missing_docs, reason = "the macros of criterion generate functions without docs")]

use criterion::{Criterion, criterion_group, criterion_main};
use memory_engine_context::{ContextPlan, EstimatedTokens, Item, Layer, Overflow, TokenCounter};
use memory_engine_core::Timestamp;

fn plan() -> ContextPlan {
    let text = "她温柔，好奇，会学，会错。She asks why, and remembers what you told her. ".repeat(20);
    let messages = (0..10_000_i64).map(|n| {
        let text = format!("用户：第 {n} 句话，今天 BTC 又跌了，I don't know what to do 怎么办呢？");
        Item::new(text).at(Timestamp::from_micros(n)).with_score((n % 97) as f64)
    });
    let messages: Vec<Item> = messages.collect();
    ContextPlan::new(15_000)
        .with_layer(Layer::text("persona", 1000, text.clone()).with_overflow(Overflow::NeverCut).stable())
        .with_layer(Layer::text("stage", 500, text.clone()).stable())
        .with_layer(Layer::text("profile", 500, text).stable())
        .with_layer(Layer::new("key memories", 2000).with_items(messages[..200].to_vec()).stable())
        .with_layer(Layer::new("recent", 5000).with_heading("【最近对话】\n").with_items(messages.clone()))
        .with_layer(Layer::new("related", 3000).with_overflow(Overflow::DropLowestScore).with_items(messages))
}

fn contexts(criterion: &mut Criterion) {
    let plan = plan();
    let counters: Vec<Box<dyn TokenCounter>> = vec![
        Box::new(EstimatedTokens),
        #[cfg(feature = "bpe")]
        Box::new(memory_engine_context::BpeTokens),
    ];
    for counter in counters {
        let name = format!("10 000 messages, {}", counter.name());
        criterion.bench_function(&name, |bencher| bencher.iter(|| plan.build(&counter)));
    }
}

criterion_group!(benches, contexts);
criterion_main!(benches);
