//! Ranking by token vectors, with an embedder whose text vectors are all equal.

use std::sync::LazyLock;

use async_trait::async_trait;
use memory_engine::{
    Recall, Result,
    embed::{CodeBits, Embedder, Embedding, EmbeddingSpace, MultiVector, Purpose, TextEncoding},
    recall::Feature,
};

use crate::given::{Backend, lin};

/// Gives every text the same vector. The words of one meaning have the same token vector.
#[derive(Debug)]
struct TokenEmbedder;

static SPACE: LazyLock<EmbeddingSpace> = LazyLock::new(|| EmbeddingSpace::cosine("tokens", 2));

const MEANINGS: [&[&str]; 3] = [&["cat", "kitty"], &["nap", "sleeps"], &["invoice", "bill"]];
const DIMENSIONS: usize = MEANINGS.len() + 1;

fn tokens(text: &str) -> MultiVector {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let mut values = Vec::new();
    let mut ids = Vec::new();
    for word in &words {
        let meaning = MEANINGS.iter().position(|words| words.contains(&word.as_str())).unwrap_or(MEANINGS.len());
        values.extend((0..DIMENSIONS).map(|dimension| if dimension == meaning { 1.0 } else { 0.0 }));
        let weight = if meaning == MEANINGS.len() { 0.0 } else { 1.0 };
        ids.push((u32::try_from(meaning).unwrap(), weight));
    }
    MultiVector::quantize(CodeBits::Four, DIMENSIONS, &values, &ids, 128).unwrap()
}

#[async_trait]
impl Embedder for TokenEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &SPACE
    }
    fn max_batch(&self) -> usize {
        8
    }
    fn semantic_weight(&self) -> f64 {
        1.0
    }
    fn score_floor(&self) -> f64 {
        0.0
    }
    async fn embed(&self, texts: &[&str], _: Purpose) -> Result<Vec<Embedding>> {
        texts.iter().map(|_| Embedding::new(vec![1.0, 0.0])).collect()
    }
    async fn embed_with_tokens(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<TextEncoding>> {
        let embeddings = self.embed(texts, purpose).await?;
        let encodings = embeddings.into_iter().zip(texts);
        Ok(encodings.map(|(embedding, text)| TextEncoding::new(embedding).with_tokens(tokens(text))).collect())
    }
}

const MEMORIES: [&str; 4] =
    ["our kitty sleeps all day", "they sent an invoice", "a walk along the river", "two tickets for friday"];

fn max_sim(recall: &Recall, text: &str) -> f64 {
    let hit = recall.hits.iter().find(|hit| hit.record.text == text).unwrap();
    hit.features.iter().find(|score| score.feature == Feature::MaxSim).map_or(0.0, |score| score.value)
}

#[tokio::test]
async fn a_text_with_tokens_of_the_same_meaning_comes_first() {
    for backend in Backend::all() {
        let memory = backend.builder().embedder(TokenEmbedder).background(false).build().await.unwrap();
        for text in MEMORIES {
            memory.remember(&lin(), text).await.unwrap();
        }
        memory.drain(&lin(), |_| {}).await.unwrap();
        for (query, expected) in [("where does my cat nap", MEMORIES[0]), ("did I pay the bill", MEMORIES[1])] {
            let found = memory.recall(&lin(), query).await.unwrap();
            assert!(found.degraded.is_empty(), "{:?}", found.degraded);
            assert_eq!(found.hits[0].record.text, expected);
            assert_eq!(max_sim(&found, expected), 1.0);
            assert!(max_sim(&found, MEMORIES[2]) <= 0.0);
        }
    }
}

#[tokio::test]
async fn a_deleted_record_is_not_compared() {
    for backend in Backend::all() {
        let memory = backend.builder().embedder(TokenEmbedder).background(false).build().await.unwrap();
        let mut ids = Vec::new();
        for text in MEMORIES {
            ids.push(memory.remember(&lin(), text).await.unwrap());
        }
        memory.drain(&lin(), |_| {}).await.unwrap();
        memory.forget(&lin(), ids[0]).await.unwrap();
        let found = memory.recall(&lin(), "where does my cat nap").await.unwrap();
        assert!(found.hits.iter().all(|hit| hit.record.text != MEMORIES[0]));
    }
}
