//! The real multilingual-e5-small against values of an independent implementation in double
//! precision and the hub tokenizer.
//!
//! `MEMORY_MODELS_DIR` names the directory with `e5-small-q4/e5-small-q4.bin` in it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a failed assertion panics")]

mod support;

use memory_engine_local_models::{Kernel, Model, ModelOptions, Precision};
use support::{cosine, goldens, model_path};

const GOLDENS: &str = include_str!("e5.golden");

fn open(options: &ModelOptions) -> Model {
    Model::open_with(model_path("e5-small-q4/e5-small-q4.bin"), options).expect("the model opens")
}

fn kernels() -> impl Iterator<Item = Kernel> {
    Kernel::ALL.into_iter().filter(|&kernel| kernel.is_available() && kernel != Kernel::Plain)
}

#[test]
#[ignore = "needs a model: scripts/get-models"]
fn token_ids_equal_the_reference() {
    let model = open(&ModelOptions::default());
    for golden in goldens(GOLDENS) {
        assert_eq!(model.tokenize(&golden.text), golden.ids, "{}", golden.text);
    }
    // Decomposed letters have the same tokens as composed ones.
    assert_eq!(model.tokenize("Vie\u{323}\u{302}t Nam"), model.tokenize("Việt Nam"));
    assert_eq!(model.tokenize("𓀀𓀁"), [0, 6, 3, 2]);
}

#[test]
#[ignore = "needs a model: scripts/get-models"]
fn float_vectors_equal_the_golden_vectors() {
    let model = open(&ModelOptions::default().with_precision(Precision::F32));
    let goldens = goldens(GOLDENS);
    let texts: Vec<&str> = goldens.iter().map(|golden| golden.text.as_str()).collect();
    for (found, golden) in model.embed(&texts, 2).rows().into_iter().zip(&goldens) {
        assert!(cosine(&found.to_vec(), &golden.vector) > 0.999_99, "{}", golden.text);
        for (found, expected) in found.iter().zip(&golden.vector) {
            assert!((found - expected).abs() < 2e-5, "{found} is not {expected}: {}", golden.text);
        }
    }
    let vectors = model.embed(&texts, 1);
    assert!((vectors.row(0).dot(&vectors.row(2)) - 0.8604).abs() < 1e-3);
}

#[test]
#[ignore = "needs a model: scripts/get-models"]
fn integer_vectors_are_close_to_the_golden_vectors() {
    for kernel in kernels() {
        let options = ModelOptions::default().with_precision(Precision::Int8).with_kernel(kernel);
        let model = open(&options);
        for golden in goldens(GOLDENS) {
            let found = &model.embed(&[&golden.text], 1).row(0).to_vec();
            let cosine = cosine(found, &golden.vector);
            assert!(cosine > 0.9995, "{kernel:?}: {cosine} for {}", golden.text);
        }
    }
}

#[test]
#[ignore = "needs a model: scripts/get-models"]
fn vectors_do_not_depend_on_batch_or_threads() {
    let model = open(&ModelOptions::default());
    let texts: Vec<String> = goldens(GOLDENS).into_iter().map(|golden| golden.text).collect();
    let together = model.embed(&texts, 1);
    assert_eq!(model.embed(&texts, 2), together);
    for (text, vector) in texts.iter().zip(together.rows()) {
        assert_eq!(model.embed(&[text], 1).row(0), vector);
        assert!((vector.dot(&vector) - 1.0).abs() < 1e-5);
    }
}

#[test]
#[ignore = "needs a model: scripts/get-models"]
fn a_text_of_many_windows_matches_its_query() {
    let model = open(&ModelOptions::default());
    let long = format!("passage: {}", "我对虾和蟹过敏，吃了会起疹子。".repeat(120));
    assert!(model.tokenize(&long).len() > 2 * model.max_tokens());
    let texts = [long.as_str(), "query: 我对什么食物过敏？", "query: 下周的会议是几点？"];
    let vectors = model.embed(&texts, 1);
    assert!((vectors.row(0).dot(&vectors.row(0)) - 1.0).abs() < 1e-5);
    assert!(vectors.row(0).dot(&vectors.row(1)) > vectors.row(0).dot(&vectors.row(2)) + 0.02);
    assert_eq!(model.embed_with_tokens(&long).1.len(), model.tokenize(&long).len() - 4);
}

#[test]
#[ignore = "needs a model: scripts/get-models"]
fn token_vectors_come_from_the_same_pass() {
    let model = open(&ModelOptions::default());
    let question = "query: What food am I allergic to?";
    let (vector, tokens) = model.embed_with_tokens(question);
    assert_eq!(vector, model.embed(&[question], 1).row(0).to_vec());
    assert_eq!(tokens.len(), model.tokenize(question).len() - 5);
    assert_eq!((tokens.ids().len(), tokens.weights().len()), (tokens.len(), tokens.len()));
    let together = model.embed_all_with_tokens(&[question, "passage: 昨天下午"], 2);
    assert_eq!(together[0], (vector, tokens));
}
