//! A local model as embedder and reranker.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{
    Embedding, EmbeddingSpace, Error, Result, Score,
    observe::{Operation, observe},
    operation_span,
    text::is_han,
};
use memory_engine_embedder::{Embedder, Purpose, WeightedLru};
use memory_engine_reranker::Reranker;
use parking_lot::Mutex;

use crate::{
    late::{TokenVectors, weighted_maxsim},
    model::Model,
    worker::InferenceThread,
};

/// Capacity of the query cache in tokens. A token takes 1.5 kB at 384 dimensions.
const QUERY_CACHE_TOKENS: usize = 4_000;
/// Capacity of the candidate cache in tokens.
const CANDIDATE_CACHE_TOKENS: usize = 32_000;
/// Maximum number of texts of one call. It is small, so that other calls wait only briefly.
const MAX_BATCH_TEXTS: usize = 32;
/// Number of characters at the start of a candidate that are compared. Twenty long messages would take seconds.
const RERANKED_CHARS: usize = 480;

/// A model in memory with its inference threads: one for queries and candidates, one for documents, so that a query
/// never waits for an import. Clones share the model.
#[derive(Debug, Clone)]
pub struct LocalModel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    model: Arc<Model>,
    query_worker: InferenceThread,
    document_worker: InferenceThread,
    threads: usize,
    queries: Mutex<WeightedLru<String, QueryEncoding>>,
}

/// The vector and the token vectors of a query, computed in one pass.
#[derive(Debug, Clone)]
struct QueryEncoding {
    embedding: Embedding,
    tokens: Arc<TokenVectors>,
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
        let queries = Mutex::new(WeightedLru::new(QUERY_CACHE_TOKENS));
        Ok(Self(Arc::new(Inner { model: Arc::new(model), query_worker, document_worker, threads, queries })))
    }

    async fn encode_query(&self, query: &str) -> Result<QueryEncoding> {
        let cached = self.0.queries.lock().get(query);
        if let Some(encoding) = cached {
            return Ok(encoding);
        }
        let model = Arc::clone(&self.0.model);
        let prefixed = format!("{}{query}", model.own_prefixes()[0]);
        let (vector, tokens) = self.0.query_worker.run(move || model.embed_with_tokens(&prefixed)).await?;
        let tokens = Arc::new(tokens.centred(None)?);
        let encoding = QueryEncoding { embedding: Embedding::new(vector)?, tokens };
        self.0.queries.lock().put(query.to_owned(), encoding.clone(), encoding.tokens.len().max(1));
        Ok(encoding)
    }

    /// Returns the model as an embedder.
    pub fn embedder(&self) -> LocalEmbedder {
        let space = EmbeddingSpace::cosine(self.0.model.id(), self.0.model.dimensions());
        LocalEmbedder { model: self.clone(), space }
    }

    /// Returns the model as a late-interaction reranker.
    pub fn reranker(&self) -> LateInteractionReranker {
        LateInteractionReranker {
            model: self.clone(),
            candidates: Mutex::new(WeightedLru::new(CANDIDATE_CACHE_TOKENS)),
        }
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

    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        let span = operation_span!(DEBUG, "memory_engine.model.run", operation = "embed", texts = texts.len());
        observe(&span, Operation::Model("embed"), self.embed_texts(texts, purpose)).await
    }
}

impl LocalEmbedder {
    async fn embed_texts(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        if texts.len() > MAX_BATCH_TEXTS {
            return Err(Error::invalid(
                "embed",
                format!("{} texts exceed the maximum batch size of {MAX_BATCH_TEXTS}", texts.len()),
            ));
        }
        if texts.iter().any(|text| text.trim().is_empty()) {
            return Err(Error::invalid("embed", "a text is empty; remove it from the batch"));
        }
        if let (Purpose::Query, [query]) = (purpose, texts) {
            return Ok(vec![self.model.encode_query(query).await?.embedding]);
        }
        let [query_prefix, document_prefix] = self.model.0.model.own_prefixes();
        let (prefix, worker) = match purpose {
            Purpose::Query => (query_prefix, &self.model.0.query_worker),
            Purpose::Document => (document_prefix, &self.model.0.document_worker),
        };
        let prefixed: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
        let (model, threads) = (Arc::clone(&self.model.0.model), self.model.0.threads);
        let vectors = worker.run(move || model.embed(&prefixed, threads)).await?;
        vectors.rows().into_iter().map(|row| Embedding::new(row.to_vec())).collect()
    }
}

/// Scores candidates by late interaction: the mean, over the tokens of the shorter side, of the best cosine on the
/// other side, weighted by the rarity of each token (Khattab & Zaharia, "ColBERT", 2020, over the embedder's own
/// tokens). The scores lie between −1 and 1. Only the first 480 characters of a candidate are compared.
#[derive(Debug)]
pub struct LateInteractionReranker {
    model: LocalModel,
    candidates: Mutex<WeightedLru<String, Arc<TokenVectors>>>,
}

impl LateInteractionReranker {
    async fn tokens(&self, texts: Vec<String>) -> Result<Vec<TokenVectors>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let (model, threads) = (Arc::clone(&self.model.0.model), self.model.0.threads);
        let all = self.model.0.query_worker.run(move || model.embed_all_with_tokens(&texts, threads)).await?;
        all.into_iter().map(|(_, tokens)| Ok(tokens.centred(None)?)).collect()
    }
}

fn truncated(text: &str) -> &str {
    text.char_indices().nth(RERANKED_CHARS).map_or(text, |(end, _)| &text[..end])
}

#[async_trait]
impl Reranker for LateInteractionReranker {
    async fn rerank(&self, query: &str, candidates: &[&str]) -> Result<Vec<Score>> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let span = operation_span!(DEBUG, "memory_engine.model.run", operation = "rerank", texts = candidates.len());
        observe(&span, Operation::Model("rerank"), self.score(query, candidates)).await
    }
}

impl LateInteractionReranker {
    async fn score(&self, query_text: &str, candidates: &[&str]) -> Result<Vec<Score>> {
        let candidates: Vec<&str> = candidates.iter().map(|text| truncated(text)).collect();
        let query = self.model.encode_query(query_text).await?.tokens;
        let mut tokens_of: Vec<Option<Arc<TokenVectors>>> = {
            let mut cache = self.candidates.lock();
            candidates.iter().map(|text| cache.get(*text)).collect()
        };
        let missing: Vec<usize> = (0..candidates.len()).filter(|i| tokens_of[*i].is_none()).collect();
        let prefix = self.model.0.model.own_prefixes()[1];
        let texts = missing.iter().map(|i| format!("{prefix}{}", candidates[*i])).collect();
        for (i, tokens) in missing.into_iter().zip(self.tokens(texts).await?) {
            let tokens = Arc::new(tokens);
            self.candidates.lock().put(candidates[i].to_owned(), Arc::clone(&tokens), tokens.len().max(1));
            tokens_of[i] = Some(tokens);
        }
        let score_all = move || {
            let score = |tokens: &Option<Arc<TokenVectors>>| {
                Score::new(tokens.as_ref().map_or(0.0, |tokens| f64::from(weighted_maxsim(&query, tokens))))
            };
            tokens_of.iter().map(score).collect()
        };
        self.model.0.query_worker.run(score_all).await
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
