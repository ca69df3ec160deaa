//! Vectors from an OpenAI-compatible `/embeddings`.

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
/// A batch that the service refuses as too large is sent in halves. Vectors are sorted by their index, checked for
/// number, length and meaning, and scaled to length one.
#[derive(Debug)]
pub struct HttpEmbedder {
    client: HttpClient,
    endpoint: Endpoint,
    options: EmbeddingOptions,
    space: EmbeddingSpace,
}

impl HttpEmbedder {
    /// A model whose number of dimensions the options state; nothing is sent yet.
    ///
    /// # Errors
    /// `InvalidInput` when the options lack the dimensions or the model's name, or allow no text in a batch.
    pub fn new(client: HttpClient, endpoint: Endpoint, options: EmbeddingOptions) -> Result<Self> {
        let dimensions = options.dimensions.filter(|dimensions| *dimensions > 0);
        let missing =
            || Error::invalid(OPERATION, "the number of dimensions is not given; `connect` asks the model for it");
        Self::with_dimensions(client, endpoint, options, dimensions.ok_or_else(missing)?)
    }

    /// A model that is asked for its number of dimensions, by embedding one word, when the options do not state it.
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
            return Err(Error::new(ErrorKind::Corrupt, OPERATION, "the model gives vectors without numbers"));
        }
        Ok(probe)
    }

    /// The model of the service that `EMBEDDING_SERVICE` names ([a preset](Preset)); `None` when no service is named.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown service or one without embeddings; the errors of [`Preset::endpoint`] and
    /// [`connect`](Self::connect).
    pub async fn from_env(client: HttpClient) -> Result<Option<Self>> {
        let Some(service) = Preset::named_by("EMBEDDING_SERVICE")? else { return Ok(None) };
        let without = || Error::invalid(OPERATION, format!("EMBEDDING_SERVICE: {} has no vectors", service.as_str()));
        let options = service.embedding().ok_or_else(without)?;
        Self::connect(client, service.endpoint()?, options).await.map(Some)
    }

    fn with_dimensions(
        client: HttpClient,
        endpoint: Endpoint,
        options: EmbeddingOptions,
        dimensions: usize,
    ) -> Result<Self> {
        if options.model.is_empty() || options.max_batch == 0 {
            return Err(Error::invalid(OPERATION, "a model's name and at least one text in a batch are needed"));
        }
        let name = options.space_name.as_deref().unwrap_or(&options.model);
        let space = EmbeddingSpace::cosine(name, dimensions);
        Ok(Self { client, endpoint, options, space })
    }

    /// Sends the texts, in halves where the service finds them too many.
    async fn embed_all(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>> {
        let mut vectors = Vec::with_capacity(texts.len());
        // What is still to be sent, the next part last.
        let mut parts = vec![texts];
        while let Some(part) = parts.pop() {
            match self.request(part, purpose).await {
                Ok(found) => vectors.extend(found),
                // Depth first: a request that is invalid at any size fails after a few halves, not after all.
                Err(e) if part.len() > 1 && e.kind() == ErrorKind::InvalidInput => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
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
        let answer: wire::EmbeddingResponse = self.client.json(call).await?;
        answer.vectors(texts.len())
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
            let message = format!("{} texts; a batch holds {}", texts.len(), self.options.max_batch);
            return Err(Error::invalid(OPERATION, message));
        }
        if texts.iter().any(|text| text.trim().is_empty()) {
            return Err(Error::invalid(OPERATION, "a text is empty; leave it out"));
        }
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let prefix = match purpose {
            Purpose::Query => &self.options.query_prefix,
            Purpose::Document => &self.options.document_prefix,
        };
        let prefixed = |text: &&str| format!("{prefix}{}", self.options.beginning(text));
        let texts: Vec<String> = texts.iter().map(prefixed).collect();
        let vectors = self.embed_all(&texts, purpose).await?;
        let check = |vector| {
            let meaningless =
                |e: Error| Error::new(ErrorKind::Corrupt, OPERATION, format!("from the service: {}", e.message()));
            let embedding = Embedding::new(vector).map_err(meaningless)?;
            self.space.check(OPERATION, &embedding)?;
            Ok(embedding.normalized())
        };
        vectors.into_iter().map(check).collect()
    }
}
