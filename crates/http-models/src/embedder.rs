//! Embeddings from an OpenAI-compatible API.

pub(crate) mod options;
mod wire;

use async_trait::async_trait;
use memory_engine_core::{Embedding, EmbeddingSpace, Error, ErrorKind, Result};
use memory_engine_embedder::{Embedder, Purpose};
use reqwest::Method;
use serde_json::{Value, json};

pub use options::{EmbeddingOptions, Encoding};

use crate::{
    client::{Call, HttpClient},
    endpoint::Endpoint,
    preset::Preset,
};
use wire::OPERATION;

/// An embedding model behind an OpenAI-compatible API.
///
/// A batch that the service rejects is split in halves. Vectors are ordered by their index, checked for their number,
/// dimensions and finite values, and normalised to length 1.
#[derive(Debug)]
pub struct HttpEmbedder {
    client: HttpClient,
    endpoint: Endpoint,
    options: EmbeddingOptions,
    space: EmbeddingSpace,
}

impl HttpEmbedder {
    /// Creates a client for a model with a configured number of dimensions. Sends nothing.
    ///
    /// # Errors
    /// `InvalidInput` if the number of dimensions, the name of the model or the maximum batch size is missing or 0.
    pub fn new(client: HttpClient, endpoint: Endpoint, options: EmbeddingOptions) -> Result<Self> {
        let dimensions = options.dimensions.filter(|dimensions| *dimensions > 0);
        let missing =
            || Error::invalid(OPERATION, "the number of dimensions is missing; set it, or use HttpEmbedder::connect");
        Self::with_dimensions(client, endpoint, options, dimensions.ok_or_else(missing)?)
    }

    /// Creates a client for a model. If the number of dimensions is not configured, it embeds one word to find it.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new) and of the service.
    pub async fn connect(client: HttpClient, endpoint: Endpoint, options: EmbeddingOptions) -> Result<Self> {
        if options.dimensions.is_some() {
            return Self::new(client, endpoint, options);
        }
        let mut probe = Self::with_dimensions(client, endpoint, options, 1)?;
        let mut vectors = probe.request(&["memory".to_owned()], Purpose::Document).await?;
        probe.space.dimensions = vectors.pop().map_or(0, |vector| vector.len());
        if probe.space.dimensions == 0 {
            return Err(Error::new(ErrorKind::Corrupt, OPERATION, "the vectors of the model have 0 dimensions"));
        }
        Ok(probe)
    }

    /// Creates the embedder of the environment: the service `EMBEDDING_SERVICE` ([a preset](Preset)). Returns `None` if
    /// the variable is not set.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown service or one without an embedding model; the errors of [`Preset::endpoint`] and
    /// [`connect`](Self::connect).
    pub async fn from_env(client: HttpClient) -> Result<Option<Self>> {
        let Some(service) = Preset::from_variable("EMBEDDING_SERVICE")? else { return Ok(None) };
        let missing =
            || Error::invalid(OPERATION, format!("EMBEDDING_SERVICE: {} has no embedding model", service.as_str()));
        let options = service.embedding().ok_or_else(missing)?;
        Self::connect(client, service.endpoint()?, options).await.map(Some)
    }

    fn with_dimensions(
        client: HttpClient,
        endpoint: Endpoint,
        options: EmbeddingOptions,
        dimensions: usize,
    ) -> Result<Self> {
        if options.model.is_empty() || options.max_batch == 0 {
            return Err(Error::invalid(OPERATION, "the name of the model is empty or max_batch is 0; set both"));
        }
        let name = options.space_name.as_deref().unwrap_or(&options.model);
        let space = EmbeddingSpace::cosine(name, dimensions);
        Ok(Self { client, endpoint, options, space })
    }

    /// Embeds the texts. A batch that the service rejects is split in halves.
    async fn embed_all(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>> {
        let mut vectors = Vec::with_capacity(texts.len());
        // A stack: the next batch is the last one.
        let mut batches = vec![texts];
        while let Some(batch) = batches.pop() {
            match self.request(batch, purpose).await {
                Ok(batch_vectors) => vectors.extend(batch_vectors),
                // The first half is sent first, so that a request that is invalid at any size fails after log2(n)
                // requests.
                Err(e) if batch.len() > 1 && e.kind() == ErrorKind::InvalidInput => {
                    let (first, second) = batch.split_at(batch.len() / 2);
                    batches.extend([second, first]);
                }
                Err(e) => return Err(e),
            }
        }
        Ok(vectors)
    }

    async fn request(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>> {
        let mut body = json!({"model": self.options.model, "input": texts});
        let encoding = match self.options.encoding {
            Encoding::Float => "float",
            Encoding::Base64 => "base64",
        };
        body["encoding_format"] = encoding.into();
        if self.options.send_dimensions {
            body["dimensions"] = self.space.dimensions.into();
        }
        let fields = match purpose {
            Purpose::Query => &self.options.query_fields,
            Purpose::Document => &self.options.document_fields,
        };
        for (name, value) in fields {
            body[name] = Value::clone(value);
        }
        let call = Call::new(OPERATION, Method::POST, &self.endpoint, &["embeddings"]).with_json(&body)?;
        let response: wire::EmbeddingResponse = self.client.json(call).await?;
        response.vectors(texts.len())
    }
}

#[async_trait]
impl Embedder for HttpEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn max_batch(&self) -> usize {
        self.options.max_batch
    }

    fn semantic_weight(&self) -> f64 {
        self.options.semantic_weight
    }

    fn score_floor(&self) -> f64 {
        self.options.score_floor
    }

    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        if texts.len() > self.options.max_batch {
            let message = format!("{} texts exceed the maximum batch size of {}", texts.len(), self.options.max_batch);
            return Err(Error::invalid(OPERATION, message));
        }
        if texts.iter().any(|text| text.trim().is_empty()) {
            return Err(Error::invalid(OPERATION, "a text is empty; remove it from the batch"));
        }
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let prefix = match purpose {
            Purpose::Query => &self.options.query_prefix,
            Purpose::Document => &self.options.document_prefix,
        };
        let prefixed = |text: &&str| format!("{prefix}{}", self.options.truncated(text));
        let texts: Vec<String> = texts.iter().map(prefixed).collect();
        let vectors = self.embed_all(&texts, purpose).await?;
        let check = |vector| {
            let corrupt = |e: Error| {
                Error::new(
                    ErrorKind::Corrupt,
                    OPERATION,
                    format!("the service returned an unusable vector: {}", e.message()),
                )
            };
            let embedding = Embedding::new(vector).map_err(corrupt)?;
            self.space.check(OPERATION, &embedding)?;
            Ok(embedding.normalized())
        };
        vectors.into_iter().map(check).collect()
    }
}
