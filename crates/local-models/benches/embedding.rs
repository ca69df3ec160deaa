//! Measures a local model: one query, a batch, and comparing 200 texts token by token.
//!
//! `MEMORY_MODELS_DIR=models cargo bench -p memory-engine-local-models`; `examples/speed.rs` measures CPU time.

use std::{path::PathBuf, process::ExitCode};

use criterion::{Criterion, Throughput};
use futures::executor::block_on;
use memory_engine_embedder::{Embedder as _, Purpose};
use memory_engine_local_models::{LocalModel, Model};
use memory_engine_vector_store::{TokenIdf, max_sim};

const TEXTS: [&str; 2] = [
    "passage: 昨天下午我和小明去了西湖边的茶馆，他说下个月要搬到上海去工作，我们聊了很久孩子上学。",
    "passage: The quarterly report shows that revenue grew by 12% while operating costs fell, and \
     the board approved the new budget for research.",
];

fn main() -> ExitCode {
    let folder = std::env::var_os("MEMORY_MODELS_DIR").map_or_else(|| PathBuf::from("../../models"), PathBuf::from);
    let path = folder.join("e5-small-q4/e5-small-q4.bin");
    let (Ok(model), Ok(local)) = (Model::open(&path), block_on(LocalModel::open(&path))) else {
        eprintln!(
            "cannot open {}; download it with scripts/get-models, or set MEMORY_MODELS_DIR to its folder",
            path.display()
        );
        return ExitCode::FAILURE;
    };
    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    criterion.bench_function("one question", |b| b.iter(|| model.embed(&["query: 我对什么食物过敏？"], 1)));

    let batch: Vec<&str> = TEXTS.into_iter().cycle().take(64).collect();
    let mut group = criterion.benchmark_group("a batch of 64 texts of 30 tokens");
    group.throughput(Throughput::Elements(64));
    group.bench_function("one thread", |b| b.iter(|| model.embed(&batch, 1)));
    group.bench_function("two threads", |b| b.iter(|| model.embed(&batch, 2)));
    group.finish();

    let idf = TokenIdf::default();
    let texts: Vec<String> = batch.iter().cycle().take(200).map(|text| (*text).to_owned()).collect();
    let encode = |texts: &[&str], purpose| block_on(local.embedder().embed_with_tokens(texts, purpose));
    let query = encode(&["who moves to Shanghai?"], Purpose::Query).ok().and_then(|mut found| found.pop()?.tokens);
    let mut candidates = Vec::new();
    for batch in texts.chunks(32) {
        let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
        candidates
            .extend(encode(&batch, Purpose::Document).unwrap_or_default().into_iter().filter_map(|text| text.tokens));
    }
    let Some(query) = query else { return ExitCode::FAILURE };
    criterion.bench_function("compare a question with 200 texts, token by token", |b| {
        b.iter(|| {
            candidates.iter().filter_map(|text| max_sim(&query, text, &idf)).map(|found| found.of_query).sum::<f32>()
        });
    });
    criterion.final_summary();
    ExitCode::SUCCESS
}
