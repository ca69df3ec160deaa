//! Tests of the real model as an embedder.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a failed assertion panics")]

mod support;

use std::time::Duration;

use futures::executor::block_on;
use memory_engine_core::{ErrorKind, MultiVector};
use memory_engine_embedder::{Embedder, Purpose};
use memory_engine_local_models::LocalModel;
use memory_engine_vector_store::{TokenIdf, max_sim};
use support::{cosine, model_path};

fn open() -> LocalModel {
    block_on(LocalModel::open(model_path("e5-small-q4"))).expect("the model opens")
}

const CHINESE: [&str; 3] = ["小王吃了虾就会起疹子", "周五下午两点去面试", "房租每月六千八"];
const ENGLISH: [&str; 3] =
    ["Her cat hides behind the washing machine", "The flat costs 900 a month", "We fly to Kyoto in April"];

/// Returns the index of the memory with the nearest vector, and of the one with the most similar token vectors.
fn best_indices(model: &LocalModel, question: &str, memories: &[&str]) -> [Option<usize>; 2] {
    let embedder = model.embedder();
    let encodings = block_on(embedder.embed_with_tokens(memories, Purpose::Document)).unwrap();
    let query = block_on(embedder.embed_with_tokens(&[question], Purpose::Query)).unwrap().remove(0);
    let tokens: Vec<MultiVector> = encodings.iter().map(|encoding| encoding.tokens.clone().unwrap()).collect();
    let idf = TokenIdf::of_texts(&tokens, 100);
    let query_tokens = query.tokens.unwrap();
    let cosines: Vec<f32> = encodings.iter().map(|m| cosine(query.embedding.values(), m.embedding.values())).collect();
    let max_sims: Vec<f32> = tokens.iter().map(|text| max_sim(&query_tokens, text, &idf).unwrap().of_query).collect();
    [&cosines, &max_sims].map(|scores| (0..memories.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b])))
}

#[test]
#[ignore = "needs a model: scripts/get-models"]
fn a_question_finds_its_answer_without_a_shared_word() {
    let model = open();
    assert_eq!(best_indices(&model, "谁对海鲜过敏？", &CHINESE), [Some(0); 2]);
    assert_eq!(best_indices(&model, "Where is the kitty?", &ENGLISH), [Some(0); 2]);
    assert_eq!(best_indices(&model, "How much is the rent?", &ENGLISH), [Some(1); 2]);
}

#[test]
#[ignore = "needs a model: scripts/get-models"]
fn one_question_in_two_languages_is_similar() {
    let embedder = open().embedder();
    let texts = ["我对什么食物过敏？", "What am I allergic to?", "When does the train leave?"];
    let vectors = texts.map(|text| block_on(embedder.embed(&[text], Purpose::Query)).unwrap().remove(0));
    let similarity = |n: usize| cosine(vectors[0].values(), vectors[n].values());
    assert!(
        similarity(1) > similarity(2) + 0.03 && (similarity(1) - 0.86).abs() < 0.01,
        "{} and {}",
        similarity(1),
        similarity(2)
    );
}

#[test]
#[ignore = "needs a model: scripts/get-models"]
fn cached_results_are_identical() {
    let embedder = open().embedder();
    let embed = || block_on(embedder.embed_with_tokens(&["海鲜"], Purpose::Query)).unwrap();
    assert_eq!(embed(), embed());
}

#[test]
#[ignore = "needs a model: scripts/get-models"]
fn stored_token_vectors_take_at_most_three_kilobytes_for_a_chat_message() {
    let message =
        "Last weekend my sister and her two kids came over, we baked a lemon cake, and then the dog ate half of it.";
    let encoding = block_on(open().embedder().embed_with_tokens(&[message], Purpose::Document)).unwrap().remove(0);
    let bytes = encoding.tokens.unwrap().to_bytes();
    assert!((1000..3000).contains(&bytes.len()), "{} bytes", bytes.len());
}

#[test]
#[ignore = "needs a model: scripts/get-models"]
fn a_question_does_not_wait_for_an_import() {
    let model = open();
    let embedder = model.embedder();
    let long = "一段很长的话，说了很多遍。".repeat(25);
    let importing = std::thread::spawn({
        let model = model.clone();
        move || block_on(model.embedder().embed(&vec![long.as_str(); 32], Purpose::Document)).map(|v| v.len())
    });
    std::thread::sleep(Duration::from_millis(50));
    let result = block_on(embedder.embed(&["what did I order?"], Purpose::Query));
    assert!(result.is_ok() && !importing.is_finished(), "the query finished during the import");
    assert_eq!(importing.join().unwrap().unwrap(), 32);
}

#[test]
#[ignore = "needs a model: scripts/get-models"]
fn invalid_batches_are_rejected() {
    let embedder = open().embedder();
    let kind = |texts: &[&str]| block_on(embedder.embed(texts, Purpose::Document)).unwrap_err().kind();
    assert_eq!(kind(&["x", " "]), ErrorKind::InvalidInput);
    assert_eq!(kind(&["x"; 33]), ErrorKind::InvalidInput);
}

#[test]
fn a_missing_model_is_not_found() {
    let e = block_on(LocalModel::open("no/such/model")).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotFound);
    assert!(e.to_string().contains("no/such/model"), "{e}");
}
