//! A model as the engine's embedder and reranker.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{Embedding, EmbeddingSpace, Error, ErrorKind, Result, Score, text::is_han};
use memory_engine_embedder::{Embedder, Purpose, Recent};
use memory_engine_reranker::Reranker;
use parking_lot::Mutex;

use crate::{Model, ModelError, ModelErrorKind, TokenVectors, weighted_maxsim, worker::Worker};

/// How many tokens of questions are kept: 1.5 kB each at 384 numbers.
const QUESTION_TOKENS: usize = 4_000;
/// How many tokens of candidates are kept.
const CANDIDATE_TOKENS: usize = 32_000;
/// Small enough that whoever comes next does not wait long.
const BATCH: usize = 32;
/// How much of a candidate is judged: its beginning. Twenty long messages read whole would take seconds.
const JUDGED_CHARS: usize = 480;

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
    questions: Mutex<Recent<String, Asked>>,
}

/// A question's vector and its tokens, which come out of one pass.
#[derive(Debug, Clone)]
struct Asked {
    embedding: Embedding,
    tokens: Arc<TokenVectors>,
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
        let questions = Mutex::new(Recent::new(QUESTION_TOKENS));
        Ok(Self(Arc::new(Inner { model: Arc::new(model), asking, indexing, threads, questions })))
    }

    async fn ask(&self, question: &str) -> Result<Asked> {
        let known = self.0.questions.lock().get(question);
        if let Some(asked) = known {
            return Ok(asked);
        }
        let model = Arc::clone(&self.0.model);
        let prefixed = format!("{}{question}", model.own_prefixes()[0]);
        let (vector, tokens) = self.0.asking.run(move || model.embed_with_tokens(&prefixed)).await?;
        let tokens = Arc::new(tokens.centred(None).map_err(error)?);
        let asked = Asked { embedding: Embedding::new(vector)?, tokens };
        self.0.questions.lock().put(question.to_owned(), asked.clone(), asked.tokens.len().max(1));
        Ok(asked)
    }

    /// The model as an embedder.
    pub fn embedder(&self) -> LocalEmbedder {
        let space = EmbeddingSpace::cosine(self.0.model.id(), self.0.model.dimensions());
        LocalEmbedder { model: self.clone(), space }
    }

    /// The model as a late-interaction reranker.
    pub fn reranker(&self) -> LateInteractionReranker {
        LateInteractionReranker { model: self.clone(), candidates: Mutex::new(Recent::new(CANDIDATE_TOKENS)) }
    }
}

pub(crate) fn error(e: ModelError) -> Error {
    let kind = match e.kind() {
        ModelErrorKind::NotFound => ErrorKind::NotFound,
        ModelErrorKind::Corrupt => ErrorKind::Corrupt,
        ModelErrorKind::Unsupported => ErrorKind::Unsupported,
        ModelErrorKind::InvalidInput => ErrorKind::InvalidInput,
    };
    Error::new(kind, "local model", e.message())
}

/// Vectors by a local model, with what its family has before a question and before what is to be found: `query: ` and
/// `passage: ` for e5.
#[derive(Debug)]
pub struct LocalEmbedder {
    model: LocalModel,
    space: EmbeddingSpace,
}

/// What a question and a text without anything in common score in e5-small, by whether each is Chinese: higher within
/// Chinese than within English, and lower from one to the other. `docs/RETRIEVAL.md` says what it was measured on.
fn unrelated_e5(question: bool, text: bool) -> f64 {
    match (question, text) {
        (true, true) => 0.83,
        (false, false) => 0.74,
        (true, false) | (false, true) => 0.7,
    }
}

/// Whether most of a text is Chinese. A character of it says about as much as a short English word, and counts as three
/// letters: names and words in between make no other language of a sentence.
fn is_chinese(text: &str) -> bool {
    const LETTERS: usize = 3;
    let all = text.chars().filter(|c| c.is_alphanumeric());
    let (han, others) = all.fold((0, 0), |(h, o), c| if is_han(c) { (h + LETTERS, o) } else { (h, o + 1) });
    han > others
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
        // Cosines of the e5 family lie in a narrow band, so that only what is far below it is no evidence. Those of others
        // begin near zero.
        if self.model.0.model.is_e5() { 0.7 } else { 0.1 }
    }

    fn unrelated(&self, question: &str, text: &str) -> f64 {
        if self.model.0.model.is_e5() {
            unrelated_e5(is_chinese(question), is_chinese(text))
        } else {
            self.score_floor()
        }
    }

    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        if texts.len() > BATCH {
            return Err(Error::invalid("embed", format!("{} texts; a batch holds {BATCH}", texts.len())));
        }
        if texts.iter().any(|text| text.trim().is_empty()) {
            return Err(Error::invalid("embed", "a text is empty; leave it out"));
        }
        if let (Purpose::Query, [question]) = (purpose, texts) {
            return Ok(vec![self.model.ask(question).await?.embedding]);
        }
        let [before_questions, before_others] = self.model.0.model.own_prefixes();
        let (prefix, worker) = match purpose {
            Purpose::Query => (before_questions, &self.model.0.asking),
            Purpose::Document => (before_others, &self.model.0.indexing),
        };
        let prefixed: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
        let (model, threads) = (Arc::clone(&self.model.0.model), self.model.0.threads);
        let vectors = worker.run(move || model.embed(&prefixed, threads)).await?;
        vectors.into_iter().map(Embedding::new).collect()
    }
}

/// Judges candidates by late interaction: the mean, over the tokens of the shorter side, of the best cosine on the other
/// side, each token counted by how rare it is (Khattab & Zaharia, "ColBERT", 2020, over the embedder's own tokens). The
/// scores lie between −1 and 1. Of a long candidate the first 480 characters are judged.
#[derive(Debug)]
pub struct LateInteractionReranker {
    model: LocalModel,
    candidates: Mutex<Recent<String, Arc<TokenVectors>>>,
}

impl LateInteractionReranker {
    async fn tokens(&self, texts: Vec<String>) -> Result<Vec<TokenVectors>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let (model, threads) = (Arc::clone(&self.model.0.model), self.model.0.threads);
        let all = self.model.0.asking.run(move || model.embed_all_with_tokens(&texts, threads)).await?;
        all.into_iter().map(|(_, tokens)| tokens.centred(None).map_err(error)).collect()
    }
}

fn beginning(text: &str) -> &str {
    text.char_indices().nth(JUDGED_CHARS).map_or(text, |(end, _)| &text[..end])
}

#[async_trait]
impl Reranker for LateInteractionReranker {
    async fn rerank(&self, question: &str, candidates: &[&str]) -> Result<Vec<Score>> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let candidates: Vec<&str> = candidates.iter().map(|text| beginning(text)).collect();
        let asked = self.model.ask(question).await?.tokens;
        let mut known: Vec<Option<Arc<TokenVectors>>> = {
            let mut kept = self.candidates.lock();
            candidates.iter().map(|text| kept.get(*text)).collect()
        };
        let missing: Vec<usize> = (0..candidates.len()).filter(|i| known[*i].is_none()).collect();
        let prefix = self.model.0.model.own_prefixes()[1];
        let texts = missing.iter().map(|i| format!("{prefix}{}", candidates[*i])).collect();
        for (i, tokens) in missing.into_iter().zip(self.tokens(texts).await?) {
            let tokens = Arc::new(tokens);
            self.candidates.lock().put(candidates[i].to_owned(), Arc::clone(&tokens), tokens.len().max(1));
            known[i] = Some(tokens);
        }
        let judge = move || {
            let score = |tokens: &Option<Arc<TokenVectors>>| {
                Score::new(tokens.as_ref().map_or(0.0, |tokens| f64::from(weighted_maxsim(&asked, tokens))))
            };
            known.iter().map(score).collect()
        };
        self.model.0.asking.run(judge).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unrelated_lies_where_the_two_languages_put_it() {
        let between = |question: &str, text: &str| unrelated_e5(is_chinese(question), is_chinese(text));
        let (chinese, english) = ("我的猫叫什么名字？", "What is my cat called?");
        assert_eq!(between(chinese, "小橘今年三岁。"), 0.83);
        assert_eq!(between(chinese, "Lisa: 昨天把 docker 部署好了。"), 0.83, "names and terms do not make it English");
        assert_eq!(between(english, "I have a cat."), 0.74);
        assert_eq!((between(chinese, english), between(english, chinese)), (0.7, 0.7));
        assert_eq!(between("?!", ""), 0.74, "what holds no letters is not Chinese");
    }
}
