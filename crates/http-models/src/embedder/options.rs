//! Options of an embedding model.

use serde_json::{Map, Value};

/// The encoding of vectors in responses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Encoding {
    /// JSON numbers. Every service supports them.
    #[default]
    Float,
    /// Base64 of little-endian floats: about a third of the bytes. Not every service supports it.
    Base64,
}

/// An embedding model and the form of its requests.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EmbeddingOptions {
    /// Name of the model in the service. There is no default.
    pub model: String,
    /// Number of dimensions. Default: `None`, taken from the first response.
    pub dimensions: Option<usize>,
    /// True if the number of dimensions is sent, for models that can return shorter vectors. Default: false.
    pub send_dimensions: bool,
    /// Name of the embedding space. Default: `None`, the name of the model. Set it if the service serves a changed
    /// model under the same name.
    pub space_name: Option<String>,
    /// Maximum number of texts in one request. Default: 32.
    pub max_batch: usize,
    /// Maximum number of tokens of a text, for services that reject longer ones. Longer texts are truncated. Default:
    /// `None`, no limit.
    pub max_tokens: Option<usize>,
    /// Text before each query. Default: empty.
    pub query_prefix: String,
    /// Text before each document. Default: empty.
    pub document_prefix: String,
    /// Further fields of requests for queries, such as `input_type` (Voyage) or `task` (Jina). Default: none.
    pub query_fields: Map<String, Value>,
    /// Further fields of requests for documents. Default: none.
    pub document_fields: Map<String, Value>,
    /// Encoding of vectors in responses. Default: JSON numbers.
    pub encoding: Encoding,
    /// Weight of vector similarity relative to keywords, 0 to 1. Default: 1.
    pub semantic_weight: f64,
    /// Cosine up to which two texts are unrelated. Default: 0, unknown.
    pub score_floor: f64,
}

impl Default for EmbeddingOptions {
    fn default() -> Self {
        Self {
            model: String::new(),
            dimensions: None,
            send_dimensions: false,
            space_name: None,
            max_batch: 32,
            max_tokens: None,
            query_prefix: String::new(),
            document_prefix: String::new(),
            query_fields: Map::new(),
            document_fields: Map::new(),
            encoding: Encoding::Float,
            semantic_weight: 1.0,
            score_floor: 0.0,
        }
    }
}

impl EmbeddingOptions {
    /// Options for the model with this name, otherwise with default values.
    pub fn new(model: impl Into<String>) -> Self {
        Self { model: model.into(), ..Self::default() }
    }

    /// Sets the number of dimensions and sends it with every request.
    #[must_use]
    pub fn with_requested_dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self.send_dimensions = true;
        self
    }

    memory_engine_core::setters! {
        #![must_use]
        /// Sets the number of dimensions.
        with_dimensions(dimensions: usize) => dimensions = Some(dimensions);
        /// Sets the name of the embedding space.
        with_space_name(name: impl Into<String>) => space_name = Some(name.into());
        /// Sets the maximum number of texts in one request.
        with_max_batch(texts: usize) => max_batch = texts;
        /// Sets the maximum number of tokens of a text.
        with_max_tokens(tokens: usize) => max_tokens = Some(tokens);
        /// Sets the encoding of vectors in responses.
        with_encoding(encoding: Encoding);
    }

    /// Sets the texts before each query and before each document.
    #[must_use]
    pub fn with_prefixes(mut self, query: impl Into<String>, document: impl Into<String>) -> Self {
        self.query_prefix = query.into();
        self.document_prefix = document.into();
        self
    }

    /// Adds a request field with its values for queries and for documents.
    #[must_use]
    pub fn with_field(mut self, name: &str, query: impl Into<Value>, document: impl Into<Value>) -> Self {
        self.query_fields.insert(name.to_owned(), query.into());
        self.document_fields.insert(name.to_owned(), document.into());
        self
    }

    /// Sets the weight of vector similarity, and the cosine up to which two texts are unrelated.
    #[must_use]
    pub fn with_scale(mut self, semantic_weight: f64, score_floor: f64) -> Self {
        self.semantic_weight = semantic_weight;
        self.score_floor = score_floor;
        self
    }

    /// Truncates the text to `max_tokens` by a conservative estimate: 2/5 of a token for an ASCII character and one
    /// token for any other. Tokenizers need fewer tokens for ordinary text.
    pub(super) fn truncated<'a>(&self, text: &'a str) -> &'a str {
        let Some(max_tokens) = self.max_tokens else { return text };
        let mut fifths = 0;
        let end = text.char_indices().find(|(_, c)| {
            fifths += if c.is_ascii() { 2 } else { 5 };
            fifths > max_tokens * 5
        });
        end.map_or(text, |(offset, _)| &text[..offset])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_truncated_between_characters() {
        let options = EmbeddingOptions::new("m").with_max_tokens(4);
        assert_eq!(options.truncated("我对海鲜过敏"), "我对海鲜");
        assert_eq!(options.truncated("abcdefghijklmn"), "abcdefghij");
        assert_eq!(EmbeddingOptions::new("m").truncated("我对海鲜过敏"), "我对海鲜过敏");
    }
}
