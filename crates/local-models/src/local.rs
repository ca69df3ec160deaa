//! A local model as an embedder.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{
    CodeBits, Embedding, EmbeddingSpace, Error, ErrorKind, MultiVector, Result,
    observe::{Operation, observe},
    operation_span,
    text::is_han,
};
use memory_engine_embedder::{Embedder, Purpose, TextEncoding, WeightedLru, word_vectors};
use parking_lot::Mutex;

use crate::{model::Model, worker::InferenceThread};

/// Capacity of the query cache in bytes.
const QUERY_CACHE_BYTES: usize = 1 << 20;
/// Maximum number of texts of one call. It is small, so that other calls wait only briefly.
const MAX_BATCH_TEXTS: usize = 32;

/// A model in memory with its inference threads: one for queries, one for documents, so that a query
/// never waits for an import. Clones share the model.
#[derive(Debug, Clone)]
pub struct LocalModel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    model: Arc<Model>,
    query_worker: InferenceThread,
    document_worker: InferenceThread,
    threads: usize,
    queries: Mutex<WeightedLru<String, TextEncoding>>,
}

impl LocalModel {
    /// Opens a model as [`Model::open`] does, off the calling thread.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt`, `Unsupported` or `InvalidInput`, depending on the model's file.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let span = operation_span!(INFO, "memory_engine.model.load");
        observe(&span, Operation::Unmeasured, Self::load(path.into())).await
    }

    async fn load(path: PathBuf) -> Result<Self> {
        let query_worker = InferenceThread::start("memory-ask")?;
        let document_worker = InferenceThread::start("memory-embed")?;
        let model = query_worker.run(move || Model::open(path)).await??;
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let queries = Mutex::new(WeightedLru::new(QUERY_CACHE_BYTES));
        Ok(Self(Arc::new(Inner { model: Arc::new(model), query_worker, document_worker, threads, queries })))
    }

    async fn encode_query(&self, query: &str) -> Result<TextEncoding> {
        let cached = self.0.queries.lock().get(query);
        if let Some(encoding) = cached {
            return Ok(encoding);
        }
        let model = Arc::clone(&self.0.model);
        let prefixed = format!("{}{query}", model.own_prefixes()[0]);
        let encode = move || model.encode_for_recall(&[prefixed], 1, CodeBits::Eight);
        let encoding = self.0.query_worker.run(encode).await??.pop();
        let encoding =
            encoding.ok_or_else(|| Error::new(ErrorKind::Internal, "embed", "the model returned no vector"))?;
        self.0.queries.lock().put(query.to_owned(), encoding.clone(), query.len() + encoding.size_bytes());
        Ok(encoding)
    }

    /// Returns the model as an embedder.
    pub fn embedder(&self) -> LocalEmbedder {
        let space = EmbeddingSpace::cosine(self.0.model.id(), self.0.model.dimensions());
        LocalEmbedder { model: self.clone(), space }
    }
}

/// An embedder with a local model. Each text gets the prefix of the model's family: for e5 `query: ` or `passage: `.
#[derive(Debug)]
pub struct LocalEmbedder {
    model: LocalModel,
    space: EmbeddingSpace,
}

/// Returns the typical e5-small score of an unrelated query and text, by whether each is Chinese: higher within
/// Chinese than within English, and lower across languages. `docs/design/retrieval.md` names the data on which it was
/// measured.
fn unrelated_e5(query: bool, text: bool) -> f64 {
    match (query, text) {
        (true, true) => 0.83,
        (false, false) => 0.74,
        (true, false) | (false, true) => 0.7,
    }
}

/// Returns true if most of a text is Chinese. A Chinese character corresponds to a short English word and counts as
/// three letters, so that a few foreign names do not change the language of a sentence.
fn is_chinese(text: &str) -> bool {
    const LETTERS_PER_HAN: usize = 3;
    let all = text.chars().filter(|c| c.is_alphanumeric());
    let (han, others) = all.fold((0, 0), |(h, o), c| if is_han(c) { (h + LETTERS_PER_HAN, o) } else { (h, o + 1) });
    han > others
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn max_batch(&self) -> usize {
        MAX_BATCH_TEXTS
    }

    fn semantic_weight(&self) -> f64 {
        1.0
    }

    fn score_floor(&self) -> f64 {
        // Cosines of the e5 family are in a narrow band, and only those far below it mean unrelated texts. Cosines of
        // other models start near zero.
        if self.model.0.model.is_e5() { 0.7 } else { 0.1 }
    }

    fn unrelated(&self, query: &str, text: &str) -> f64 {
        if self.model.0.model.is_e5() { unrelated_e5(is_chinese(query), is_chinese(text)) } else { self.score_floor() }
    }

    fn static_tokens(&self, text: &str) -> Option<MultiVector> {
        word_vectors(text)
    }

    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        let encodings = self.embed_with_tokens(texts, purpose).await?;
        Ok(encodings.into_iter().map(|encoding| encoding.embedding).collect())
    }

    async fn embed_with_tokens(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<TextEncoding>> {
        let span = operation_span!(DEBUG, "memory_engine.model.run", operation = "embed", texts = texts.len());
        observe(&span, Operation::Model("embed"), self.encode(texts, purpose)).await
    }
}

impl LocalEmbedder {
    async fn encode(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<TextEncoding>> {
        if texts.len() > MAX_BATCH_TEXTS {
            return Err(Error::invalid(
                "embed",
                format!("{} texts exceed the maximum batch size of {MAX_BATCH_TEXTS}", texts.len()),
            ));
        }
        if texts.iter().any(|text| text.trim().is_empty()) {
            return Err(Error::invalid("embed", "a text is empty; remove it from the batch"));
        }
        match purpose {
            Purpose::Query => {
                let mut encodings = Vec::with_capacity(texts.len());
                for text in texts {
                    encodings.push(self.model.encode_query(text).await?);
                }
                Ok(encodings)
            }
            Purpose::Document => self.encode_documents(texts).await,
        }
    }

    async fn encode_documents(&self, texts: &[&str]) -> Result<Vec<TextEncoding>> {
        let prefix = self.model.0.model.own_prefixes()[1];
        let prefixed: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
        let (model, threads) = (Arc::clone(&self.model.0.model), self.model.0.threads);
        let encode = move || model.encode_for_recall(&prefixed, threads, CodeBits::Four);
        self.model.0.document_worker.run(encode).await?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unrelated_score_depends_on_both_languages() {
        let unrelated = |query: &str, text: &str| unrelated_e5(is_chinese(query), is_chinese(text));
        let (chinese, english) = ("我的猫叫什么名字？", "What is my cat called?");
        assert_eq!(unrelated(chinese, "小橘今年三岁。"), 0.83);
        assert_eq!(
            unrelated(chinese, "Lisa: 昨天把 docker 部署好了。"),
            0.83,
            "names and terms do not make it English"
        );
        assert_eq!(unrelated(english, "I have a cat."), 0.74);
        assert_eq!((unrelated(chinese, english), unrelated(english, chinese)), (0.7, 0.7));
        assert_eq!(unrelated("?!", ""), 0.74, "a text without letters is not Chinese");
    }
}
