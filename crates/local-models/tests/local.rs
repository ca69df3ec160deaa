//! Tests of the real model as embedder and reranker.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a failed assertion panics")]

mod support;

use std::time::Duration;

use futures::executor::block_on;
use memory_engine_core::ErrorKind;
use memory_engine_embedder::{Embedder, Purpose};
use memory_engine_local_models::LocalModel;
use memory_engine_reranker::Reranker;
use support::{cosine, model_path};

fn open() -> LocalModel {
    block_on(LocalModel::open(model_path("e5-small-q4"))).expect("the model opens")
}

const CHINESE: [&str; 3] = ["小王吃了虾就会起疹子", "周五下午两点去面试", "房租每月六千八"];
const ENGLISH: [&str; 3] =
    ["Her cat hides behind the washing machine", "The flat costs 900 a month", "We fly to Kyoto in April"];

/// Returns the index of the memory with the nearest vector, and of the one that the reranker puts first.
fn best_indices(model: &LocalModel, question: &str, memories: &[&str]) -> [Option<usize>; 2] {
    let embedder = model.embedder();
    let vectors = block_on(embedder.embed(memories, Purpose::Document)).unwrap();
    let query = block_on(embedder.embed(&[question], Purpose::Query)).unwrap().remove(0);
    let scores: Vec<f32> = vectors.iter().map(|m| cosine(query.values(), m.values())).collect();
    let reranked = block_on(model.reranker().rerank(question, memories)).unwrap();
    let all = || 0..memories.len();
    [all().max_by(|a, b| scores[*a].total_cmp(&scores[*b])), all().max_by_key(|n| reranked[*n])]
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
    let model = open();
    let (embedder, reranker) = (model.embedder(), model.reranker());
    let embed = || block_on(embedder.embed(&["海鲜"], Purpose::Query)).unwrap();
    let rerank = |candidates: &[&str]| block_on(reranker.rerank("海鲜", candidates)).unwrap();
    assert_eq!(embed(), embed());
    let first = rerank(&CHINESE);
    assert_eq!(rerank(&CHINESE), first);
    assert_eq!(rerank(&CHINESE[1..3]), first[1..3]);
    assert!(rerank(&[]).is_empty());
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
