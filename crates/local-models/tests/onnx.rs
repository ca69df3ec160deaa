//! Tests with the real ONNX Runtime: two tiny models generated for these tests, and the real MiniLM.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a failed assertion panics")]
#![cfg(feature = "onnx")]

mod support;

use std::{fs, path::PathBuf};

use futures::executor::block_on;
use memory_engine_core::{Error, ErrorKind};
use memory_engine_embedder::{Embedder, Purpose};
use memory_engine_local_models::{Model, ModelOptions, OnnxModel, OnnxOptions, OnnxPooling, Precision};
use memory_engine_reranker::Reranker;
use serde_json::{Value, json};
use support::{cosine, goldens, model_path};

/// A model whose vector of a token is (id, 1).
const ENCODER: &[u8] = include_bytes!("onnx/encoder.onnx");
/// A model whose score of a pair is s / 8 − 1. s is the sum of the ids of the second text and the last separator.
const PAIR: &[u8] = include_bytes!("onnx/pair.onnx");
const PIECES: [&str; 12] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "d", "e", "f", "g", "h"];

fn options() -> OnnxOptions {
    OnnxOptions::default().with_runtime(model_path("onnxruntime/libonnxruntime.so"))
}

/// A temporary directory, removed at the end of the test.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str, model: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("onnx-{}-{name}", std::process::id()));
        fs::create_dir_all(path.join("onnx")).unwrap();
        let vocabulary: serde_json::Map<String, Value> =
            PIECES.iter().enumerate().map(|(id, piece)| (piece.to_string(), json!(id))).collect();
        let tokenizer = json!({
            "normalizer": {"type": "BertNormalizer"},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
            "model": {"type": "WordPiece", "vocab": vocabulary}
        });
        fs::write(path.join("tokenizer.json"), tokenizer.to_string()).unwrap();
        fs::write(path.join("onnx/model.onnx"), model).unwrap();
        Self(path)
    }

    fn open(&self, options: OnnxOptions) -> Result<OnnxModel, Error> {
        block_on(OnnxModel::open(&self.0, options))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn embed(model: &OnnxModel, texts: &[&str], purpose: Purpose) -> Vec<Vec<f32>> {
    let vectors = block_on(async { model.embedder().await.unwrap().embed(texts, purpose).await });
    vectors.unwrap().into_iter().map(|vector| vector.values().to_vec()).collect()
}

/// The direction of (x, 1) with length one.
fn direction(x: f32) -> [f32; 2] {
    let norm = x.hypot(1.0);
    [x / norm, 1.0 / norm]
}

fn assert_close(found: &[f32], expected: [f32; 2]) {
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?} is not {expected:?}");
}

#[test]
#[ignore = "needs the ONNX Runtime: scripts/get-models DIR onnx"]
fn onnx_vectors_use_the_configured_pooling() {
    let directory = Directory::new("pooling", ENCODER);
    let model = directory.open(options()).unwrap();
    let vectors = embed(&model, &["a", "h h h h"], Purpose::Document);
    assert_close(&vectors[0], direction((2.0 + 4.0 + 3.0) / 3.0));
    assert_close(&vectors[1], direction((2.0 + 4.0 * 11.0 + 3.0) / 6.0));
    let first = directory.open(options().with_pooling(OnnxPooling::First)).unwrap();
    assert_close(&embed(&first, &["h"], Purpose::Document)[0], direction(2.0));
    let prefixed = directory.open(options().with_prefixes("b: ", "")).unwrap();
    assert_close(&embed(&prefixed, &["h"], Purpose::Query)[0], direction((2.0 + 5.0 + 1.0 + 11.0 + 3.0) / 5.0));
    assert_close(&embed(&prefixed, &["h"], Purpose::Document)[0], direction((2.0 + 11.0 + 3.0) / 3.0));
}

#[test]
#[ignore = "needs the ONNX Runtime: scripts/get-models DIR onnx"]
fn onnx_long_texts_are_split_into_windows() {
    let directory = Directory::new("windows", ENCODER);
    let model = directory.open(options().with_max_tokens(8)).unwrap();
    let [x, y] = [direction((2.0 + 6.0 * 4.0 + 3.0) / 8.0), direction((2.0 + 6.0 * 11.0 + 3.0) / 8.0)];
    let sum = [x[0] + y[0], x[1] + y[1]];
    assert_close(&embed(&model, &["a a a a a a h h h h h h"], Purpose::Document)[0], direction(sum[0] / sum[1]));
}

#[test]
#[ignore = "needs the ONNX Runtime: scripts/get-models DIR onnx"]
fn onnx_cross_encoders_score_pairs() {
    let directory = Directory::new("pair", PAIR);
    let model = directory.open(options()).unwrap();
    let scores = block_on(async { model.reranker().await?.rerank("c d", &["a", "h h", "b"]).await }).unwrap();
    let logistic = |sum: f64| 1.0 / (1.0 + (1.0 - sum / 8.0).exp());
    for (score, sum) in scores.iter().zip([4.0 + 3.0, 22.0 + 3.0, 5.0 + 3.0]) {
        assert!((score.value() - logistic(sum)).abs() < 1e-6, "{score} is not {}", logistic(sum));
    }
    assert!(block_on(async { model.reranker().await?.rerank("c", &[]).await }).unwrap().is_empty());
    let short = directory.open(options().with_max_tokens(8)).unwrap();
    let cut = block_on(async { short.reranker().await?.rerank("a a a a a a", &["h h h h h h"]).await }).unwrap();
    assert!((cut[0].value() - logistic(33.0 + 3.0)).abs() < 1e-6, "three tokens of the candidate are left: {}", cut[0]);
}

#[test]
#[ignore = "needs the ONNX Runtime: scripts/get-models DIR onnx"]
fn onnx_models_of_another_kind_are_rejected() {
    let kind = |result: Result<(), Error>| result.unwrap_err().kind();
    let encoder = Directory::new("no-pair", ENCODER);
    let model = encoder.open(options()).unwrap();
    assert_eq!(kind(block_on(model.reranker()).map(drop)), ErrorKind::Unsupported);
    let pair = Directory::new("no-encoder", PAIR);
    let model = pair.open(options()).unwrap();
    assert_eq!(kind(block_on(model.embedder()).map(drop)), ErrorKind::Unsupported);
    let damaged = Directory::new("damaged", &PAIR[..PAIR.len() / 2]);
    assert_eq!(kind(damaged.open(options()).map(drop)), ErrorKind::Corrupt);
}

#[test]
#[ignore = "needs the ONNX Runtime: scripts/get-models DIR onnx"]
fn onnx_minilm_is_close_to_the_golden_vectors() {
    let model = block_on(OnnxModel::open(model_path("minilm-int8-onnx"), options())).unwrap();
    let exact = ModelOptions::default().with_precision(Precision::F32);
    let ours = Model::open_with(model_path("all-MiniLM-L6-v2"), &exact).unwrap();
    let (mut sum, mut count) = (0.0, 0.0);
    for golden in goldens(include_str!("minilm.golden")) {
        let found = &embed(&model, &[&golden.text], Purpose::Document)[0];
        let [to_golden, to_ours] =
            [&golden.vector, &ours.embed(&[&golden.text], 1).row(0).to_vec()].map(|v| cosine(found, v));
        println!("{to_golden:.4} {to_ours:.4} {}", golden.text);
        assert!(to_golden > 0.95 && to_ours > 0.95, "{to_golden} and {to_ours} for {}", golden.text);
        (sum, count) = (sum + to_golden, count + 1.0);
    }
    println!("mean {:.4} of {count}", sum / count);
    let space = block_on(model.embedder()).unwrap().space().to_string();
    assert_eq!(space, "minilm-int8-onnx/model.onnx (384-d, cosine)");
}
