//! Tests of Hugging Face directories: a generated tiny one, and the real all-MiniLM-L6-v2.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a failed assertion panics")]
#![cfg(feature = "hf")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use memory_engine_local_models::{Kernel, Model, ModelErrorKind, ModelOptions, Precision};
use serde_json::{Value, json};
use support::{cosine, goldens, model_path};

/// A temporary directory, removed at the end of the test.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("local-models-{}-{name}", std::process::id()));
        fs::create_dir_all(path.join("1_Pooling")).expect("a directory");
        Self(path)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), content).expect("a file");
    }

    fn open(&self) -> Result<Model, ModelErrorKind> {
        Model::open(&self.0).map_err(|error| error.kind())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const PIECES: [&str; 12] =
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "play", "##ing", "##ed", "cafe", ",", "中", "文", "##s"];

fn config() -> Value {
    json!({
        "model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 12, "vocab_size": 12, "max_position_embeddings": 10,
        "type_vocab_size": 2, "layer_norm_eps": 1e-12, "hidden_act": "gelu"
    })
}

fn tokenizer() -> Value {
    let vocabulary: serde_json::Map<String, Value> =
        PIECES.iter().enumerate().map(|(id, piece)| (piece.to_string(), json!(id))).collect();
    json!({
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 20, "vocab": vocabulary}
    })
}

fn unigram() -> Value {
    let vocabulary = ["<s>", "<pad>", "</s>", "<unk>", "\u{2581}", "\u{2581}a", "b"];
    let scores = [0.0, 0.0, 0.0, 0.0, -2.0, -3.0, -4.0];
    let special = |name: &str| json!({"SpecialToken": {"id": name, "type_id": 0}});
    json!({
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u{2581}", "add_prefix_space": true},
        "post_processor": {"type": "TemplateProcessing",
            "single": [special("<s>"), {"Sequence": {"id": "A", "type_id": 0}}, special("</s>")],
            "special_tokens": {"<s>": {"ids": [0]}, "</s>": {"ids": [2]}}},
        "model": {"type": "Unigram", "unk_id": 3,
                  "vocab": vocabulary.iter().zip(scores).map(|(p, s)| json!([p, s])).collect::<Vec<_>>()}
    })
}

/// A safetensors file with pseudo-random weights. `half` stores them in 16 bits.
fn safetensors(half: bool) -> Vec<u8> {
    let mut header = serde_json::Map::new();
    let mut data = Vec::new();
    let mut state = 1u32;
    let mut tensor = |name: &str, shape: &[usize]| {
        let begin = data.len();
        for _ in 0..shape.iter().product::<usize>() {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Multiples of 1/64 below 2 are exact in both types.
            let value = ((state >> 24) as f32 - 128.0) / 64.0;
            match half {
                true => data.extend(&value.to_le_bytes()[2..]),
                false => data.extend(value.to_le_bytes()),
            }
        }
        let kind = if half { "BF16" } else { "F32" };
        header.insert(
            format!("bert.{name}"),
            json!({"dtype": kind, "shape": shape, "data_offsets": [begin, data.len()]}),
        );
    };
    tensor("embeddings.word_embeddings.weight", &[12, 8]);
    tensor("embeddings.position_embeddings.weight", &[10, 8]);
    tensor("embeddings.token_type_embeddings.weight", &[2, 8]);
    let layer = "encoder.layer.0";
    for (name, outer, inner) in [
        ("attention.self.query", 8, 8),
        ("attention.self.key", 8, 8),
        ("attention.self.value", 8, 8),
        ("attention.output.dense", 8, 8),
        ("intermediate.dense", 12, 8),
        ("output.dense", 8, 12),
    ] {
        tensor(&format!("{layer}.{name}.weight"), &[outer, inner]);
        tensor(&format!("{layer}.{name}.bias"), &[outer]);
    }
    let norms = ["attention.output.LayerNorm", "output.LayerNorm"].map(|name| format!("{layer}.{name}"));
    for name in norms.iter().map(String::as_str).chain(["embeddings.LayerNorm"]) {
        tensor(&format!("{name}.weight"), &[8]);
        tensor(&format!("{name}.bias"), &[8]);
    }
    let header = Value::Object(header).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

fn sample(name: &str) -> Directory {
    let directory = Directory::new(name);
    directory.write("config.json", config().to_string());
    directory.write("tokenizer.json", tokenizer().to_string());
    directory.write("model.safetensors", safetensors(false));
    directory
}

#[test]
fn words_are_split_into_the_longest_pieces() {
    let model = sample("pieces").open().expect("a valid directory");
    assert_eq!(model.tokenize("Playing, PLAYED"), [2, 4, 5, 8, 4, 6, 3]);
    assert_eq!(model.tokenize("Café cafe\u{301}s"), [2, 7, 7, 11, 3]);
    assert_eq!(model.tokenize("中文x"), [2, 9, 10, 1, 3]);
    assert_eq!(model.tokenize("playx play\u{200b}ing"), [2, 1, 4, 5, 3]);
    assert_eq!(model.tokenize(&"play".repeat(6)), [2, 1, 3]);
    assert_eq!(model.tokenize(""), [2, 3]);
}

#[test]
fn a_unigram_tokenizer_is_read_too() {
    let directory = sample("unigram");
    directory.write("tokenizer.json", unigram().to_string());
    let model = directory.open().expect("a valid directory");
    assert_eq!(model.tokenize("a  ab"), [0, 5, 5, 6, 2]);
    assert_eq!(model.tokenize("xy"), [0, 4, 3, 2]);
}

#[test]
fn pooling_is_the_mean_unless_configured() {
    let directory = sample("pooling");
    let texts = ["playing", "played, 中文"];
    let mean = directory.open().expect("a valid directory").embed(&texts, 1);
    directory.write("1_Pooling/config.json", r#"{"pooling_mode_mean_tokens": true}"#);
    assert_eq!(directory.open().expect("a valid directory").embed(&texts, 1), mean);
    directory.write("1_Pooling/config.json", r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#);
    let first = directory.open().expect("a valid directory").embed(&texts, 1);
    assert!(first.row(0).dot(&mean.row(0)) < 0.9999);
    directory.write("1_Pooling/config.json", r#"{"pooling_mode_max_tokens": true}"#);
    assert_eq!(directory.open().err(), Some(ModelErrorKind::Unsupported));
}

#[test]
fn sixteen_bit_weights_give_the_same_vectors() {
    let directory = sample("half");
    let texts = ["playing", "中文, cafe"];
    let full = directory.open().expect("a valid directory").embed(&texts, 1);
    directory.write("model.safetensors", safetensors(true));
    assert_eq!(directory.open().expect("a valid directory").embed(&texts, 1), full);
}

#[test]
fn xlm_r_positions_start_after_the_padding_id() {
    let directory = sample("xlm-r");
    let mut config = config();
    config["model_type"] = json!("xlm-roberta");
    config["pad_token_id"] = json!(1);
    directory.write("config.json", config.to_string());
    let model = directory.open().expect("a valid directory");
    assert_eq!(model.max_tokens(), 8);
    assert_eq!(model.embed(&["play ".repeat(50)], 1).ncols(), 8);
}

#[test]
fn the_window_is_limited_by_the_encoder() {
    let directory = sample("window");
    directory.write("sentence_bert_config.json", r#"{"max_seq_length": 512}"#);
    assert_eq!(directory.open().expect("a valid directory").max_tokens(), 10);
}

#[test]
fn unsupported_parts_are_rejected() {
    let error_with = |name: &str, file: &str, content: Value| {
        let directory = sample(name);
        directory.write(file, content.to_string());
        directory.open().err()
    };
    let unsupported = Some(ModelErrorKind::Unsupported);
    let corrupt = Some(ModelErrorKind::Corrupt);
    let changed = |mut value: Value, name: &str, to: Value| {
        value[name] = to;
        value
    };
    assert_eq!(error_with("a", "config.json", changed(config(), "hidden_act", json!("relu"))), unsupported);
    assert_eq!(error_with("b", "config.json", changed(config(), "model_type", json!("gpt2"))), unsupported);
    assert_eq!(error_with("c", "config.json", changed(config(), "hidden_size", json!(16))), corrupt);
    assert_eq!(error_with("d", "config.json", changed(config(), "num_hidden_layers", json!(2))), corrupt);
    assert_eq!(error_with("e", "config.json", changed(config(), "hidden_size", json!(1u64 << 60))), corrupt);
    assert_eq!(error_with("f", "tokenizer.json", changed(tokenizer(), "model", json!({"type": "BPE"}))), unsupported);
    assert_eq!(error_with("g", "tokenizer.json", json!([1, 2])), unsupported);
    let dense = json!([{"type": "sentence_transformers.models.Dense"}]);
    assert_eq!(error_with("h", "modules.json", dense), unsupported);
}

#[test]
fn a_missing_file_is_not_found() {
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        let directory = sample(&format!("missing-{name}"));
        fs::remove_file(directory.0.join(name)).expect("it existed");
        assert_eq!(directory.open().err(), Some(ModelErrorKind::NotFound), "{name}");
    }
    assert_eq!(Model::open(Path::new("no/such/place")).err().map(|e| e.kind()), Some(ModelErrorKind::NotFound));
}

#[test]
fn a_damaged_weights_file_never_panics() {
    let directory = sample("damage");
    let whole = safetensors(false);
    let header = whole.len() - whole.len() / 2;
    for length in (0..whole.len()).step_by(41) {
        directory.write("model.safetensors", &whole[..length]);
        assert!(directory.open().is_err(), "cut at {length}");
    }
    for offset in (0..12).chain((12..header).step_by(7)) {
        for damage in [0x01, 0x02, 0x80] {
            let mut bytes = whole.clone();
            bytes[offset] ^= damage;
            directory.write("model.safetensors", bytes);
            if let Ok(model) = directory.open() {
                assert_eq!(model.embed(&["playing"], 1).ncols(), 8);
            }
        }
    }
}

const MINILM: &str = include_str!("minilm.golden");

#[test]
#[ignore = "needs a model: scripts/get-models"]
fn minilm_gives_the_golden_ids_and_vectors() {
    let path = model_path("all-MiniLM-L6-v2");
    let exact = ModelOptions::default().with_precision(Precision::F32);
    let exact = Model::open_with(&path, &exact).expect("the model opens");
    assert_eq!((exact.id(), exact.dimensions()), ("all-MiniLM-L6-v2", 384));
    for golden in goldens(MINILM) {
        assert_eq!(exact.tokenize(&golden.text), golden.ids);
        let found = &exact.embed(&[&golden.text], 1).row(0).to_vec();
        for (found, expected) in found.iter().zip(&golden.vector) {
            assert!((found - expected).abs() < 2e-5, "{found} is not {expected}: {}", golden.text);
        }
    }
    for kernel in Kernel::ALL.into_iter().filter(|&kernel| kernel.is_available() && kernel != Kernel::Plain) {
        let options = ModelOptions::default().with_precision(Precision::Int8).with_kernel(kernel);
        let model = Model::open_with(&path, &options).expect("the model opens");
        for golden in goldens(MINILM) {
            let cosine = cosine(&model.embed(&[&golden.text], 1).row(0).to_vec(), &golden.vector);
            assert!(cosine > 0.998, "{kernel:?}: {cosine} for {}", golden.text);
        }
    }
}
