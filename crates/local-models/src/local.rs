//! A model as the engine's embedder and reranker.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use memory_core::{Embedding, EmbeddingSpace, Error, ErrorKind, Result, Score};
use memory_embedder::{Embedder, Purpose};
use memory_reranker::Reranker;
use parking_lot::Mutex;

use crate::{Model, ModelError, ModelErrorKind, TokenVectors, recent::Recent, weighted_maxsim, worker::Worker};

/// How many vectors of questions are kept.
const QUESTIONS: usize = 256;
/// How many candidates' token vectors are kept: about 50 kB each at 32 tokens of 384 numbers.
const CANDIDATES: usize = 1000;
/// Small enough that whoever comes next does not wait long.
const BATCH: usize = 32;

/// A model in memory with its inference threads: one for questions and candidates, one for what is to be found, so that
/// a question never waits for an import. Cloning gives another handle on the same model.
#[derive(Debug, Clone)]
pub struct LocalModel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    model: Arc<Model>,
    asking: Worker,
    indexing: Worker,
    threads: usize,
}

impl LocalModel {
    /// Opens a model as [`Model::open`] does, off the calling thread.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt`, `Unsupported` or `InvalidInput` as the model's file deserves.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let (asking, indexing) = (Worker::start("memory-ask")?, Worker::start("memory-embed")?);
        let path = path.into();
        let model = asking.run(move || Model::open(path)).await?.map_err(error)?;
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Ok(Self(Arc::new(Inner { model: Arc::new(model), asking, indexing, threads })))
    }

    /// The model as an embedder.
    pub fn embedder(&self) -> LocalEmbedder {
        let space = EmbeddingSpace::cosine(self.0.model.id(), self.0.model.dimensions());
        LocalEmbedder { model: self.clone(), space, questions: Mutex::new(Recent::new(QUESTIONS)) }
    }

    /// The model as a late-interaction reranker.
    pub fn reranker(&self) -> LateInteractionReranker {
        LateInteractionReranker { model: self.clone(), candidates: Mutex::new(Recent::new(CANDIDATES)) }
    }
}

fn error(e: ModelError) -> Error {
    let kind = match e.kind() {
        ModelErrorKind::NotFound => ErrorKind::NotFound,
        ModelErrorKind::Corrupt => ErrorKind::Corrupt,
        ModelErrorKind::Unsupported => ErrorKind::Unsupported,
        ModelErrorKind::InvalidInput => ErrorKind::InvalidInput,
    };
    Error::new(kind, "local model", e.message())
}

/// Vectors by a local model of the e5 family: `query: ` before a question, `passage: ` before what is to be found.
#[derive(Debug)]
pub struct LocalEmbedder {
    model: LocalModel,
    space: EmbeddingSpace,
    questions: Mutex<Recent<String, Embedding>>,
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn max_batch(&self) -> usize {
        BATCH
    }

    fn semantic_weight(&self) -> f64 {
        1.0
    }

    fn score_floor(&self) -> f64 {
        // Cosines of this family lie in a narrow band: texts that have nothing in common are at .74 (English) to .83
        // (Chinese), so that only what is far below that is no evidence.
        0.7
    }

    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        if texts.len() > BATCH {
            return Err(Error::invalid("embed", format!("{} texts; a batch holds {BATCH}", texts.len())));
        }
        if texts.iter().any(|text| text.trim().is_empty()) {
            return Err(Error::invalid("embed", "a text is empty; leave it out"));
        }
        if let (Purpose::Query, [question]) = (purpose, texts) {
            let known = self.questions.lock().get(&(*question).to_owned());
            if let Some(embedding) = known {
                return Ok(vec![embedding]);
            }
        }
        let (prefix, worker) = match purpose {
            Purpose::Query => ("query: ", &self.model.0.asking),
            Purpose::Document => ("passage: ", &self.model.0.indexing),
        };
        let prefixed: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
        let (model, threads) = (Arc::clone(&self.model.0.model), self.model.0.threads);
        let vectors = worker.run(move || model.embed(&prefixed, threads)).await?;
        let embeddings = vectors.into_iter().map(Embedding::new).collect::<Result<Vec<_>>>()?;
        if let (Purpose::Query, [question], [embedding]) = (purpose, texts, embeddings.as_slice()) {
            self.questions.lock().put((*question).to_owned(), embedding.clone());
        }
        Ok(embeddings)
    }
}

/// Judges candidates by late interaction: the mean, over the tokens of the shorter side, of the best cosine on the other
/// side, each token counted by how rare it is. The scores lie between −1 and 1.
#[derive(Debug)]
pub struct LateInteractionReranker {
    model: LocalModel,
    candidates: Mutex<Recent<String, Arc<TokenVectors>>>,
}

impl LateInteractionReranker {
    async fn tokens(&self, texts: Vec<String>) -> Result<Vec<TokenVectors>> {
        let (model, threads) = (Arc::clone(&self.model.0.model), self.model.0.threads);
        let all = self.model.0.asking.run(move || model.embed_all_with_tokens(&texts, threads)).await?;
        all.into_iter().map(|(_, tokens)| tokens.centred(None).map_err(error)).collect()
    }
}

#[async_trait]
impl Reranker for LateInteractionReranker {
    async fn rerank(&self, question: &str, candidates: &[&str]) -> Result<Vec<Score>> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let mut known: Vec<Option<Arc<TokenVectors>>> = {
            let mut kept = self.candidates.lock();
            candidates.iter().map(|text| kept.get(&(*text).to_owned())).collect()
        };
        let missing: Vec<usize> = (0..candidates.len()).filter(|i| known[*i].is_none()).collect();
        let mut texts = vec![format!("query: {question}")];
        texts.extend(missing.iter().map(|i| format!("passage: {}", candidates[*i])));
        let mut computed = self.tokens(texts).await?.into_iter();
        let Some(question) = computed.next() else { return Ok(vec![Score::default(); candidates.len()]) };
        for (i, tokens) in missing.into_iter().zip(computed) {
            let tokens = Arc::new(tokens);
            self.candidates.lock().put(candidates[i].to_owned(), Arc::clone(&tokens));
            known[i] = Some(tokens);
        }
        let judge = move || {
            let score = |tokens: &Option<Arc<TokenVectors>>| {
                Score::new(tokens.as_ref().map_or(0.0, |tokens| f64::from(weighted_maxsim(&question, tokens))))
            };
            known.iter().map(score).collect()
        };
        self.model.0.asking.run(judge).await
    }
}
