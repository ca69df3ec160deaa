//! Responses of embedding services.

use base64::{Engine, engine::general_purpose::STANDARD};
use memory_engine_core::{Error, ErrorKind, Result};
use serde::Deserialize;

pub(super) const OPERATION: &str = "embed";

#[derive(Deserialize)]
pub(super) struct EmbeddingResponse {
    data: Vec<EmbeddingItem>,
}

#[derive(Deserialize)]
struct EmbeddingItem {
    index: Option<usize>,
    embedding: Numbers,
}

/// Both encodings are accepted, because some services ignore the requested one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Numbers {
    Floats(Vec<f32>),
    Base64(String),
}

fn corrupt(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, OPERATION, message)
}

impl EmbeddingResponse {
    /// Returns one vector for each of `count` texts, in their order.
    pub(super) fn vectors(self, count: usize) -> Result<Vec<Vec<f32>>> {
        let received = self.data.len();
        if received != count {
            return Err(corrupt(format!("the service returned {received} vectors for {count} texts")));
        }
        let mut vectors = vec![None; count];
        for (position, item) in self.data.into_iter().enumerate() {
            // Without an index, vectors are in the order of the texts.
            match vectors.get_mut(item.index.unwrap_or(position)) {
                Some(slot @ None) => *slot = Some(item.embedding.floats()?),
                Some(Some(_)) => return Err(corrupt("the service returned two vectors for one text")),
                None => return Err(corrupt("the service returned a vector for a text that was not sent")),
            }
        }
        Ok(vectors.into_iter().flatten().collect())
    }
}

impl Numbers {
    fn floats(self) -> Result<Vec<f32>> {
        match self {
            Self::Floats(floats) => Ok(floats),
            Self::Base64(text) => {
                let bytes = STANDARD.decode(text).map_err(|_| corrupt("a vector is not valid base64"))?;
                let (floats, []) = bytes.as_chunks() else {
                    return Err(corrupt("the length of a base64 vector is not a multiple of 4 bytes"));
                };
                Ok(floats.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn vectors(data: serde_json::Value, count: usize) -> Result<Vec<Vec<f32>>, String> {
        let response: EmbeddingResponse =
            serde_json::from_value(json!({"object": "list", "data": data})).map_err(|_| "form")?;
        response.vectors(count).map_err(|e| e.message().to_owned())
    }

    #[test]
    fn vectors_are_ordered_by_index() {
        let data = json!([{"index": 1, "embedding": [2.0]}, {"index": 0, "embedding": [1.0]}]);
        assert_eq!(vectors(data, 2).unwrap(), [[1.0], [2.0]]);
        assert_eq!(vectors(json!([{"embedding": [1]}, {"embedding": [2]}]), 2).unwrap(), [[1.0], [2.0]]);
    }

    #[test]
    fn base64_is_parsed_as_little_endian_floats() {
        let text = STANDARD.encode([1.5_f32.to_le_bytes(), (-2.0_f32).to_le_bytes()].concat());
        assert_eq!(vectors(json!([{"index": 0, "embedding": text}]), 1).unwrap(), [[1.5, -2.0]]);
        assert!(vectors(json!([{"index": 0, "embedding": "AAA="}]), 1).unwrap_err().contains("multiple of 4"));
        assert!(vectors(json!([{"index": 0, "embedding": "!"}]), 1).unwrap_err().contains("not valid base64"));
    }

    #[test]
    fn a_response_needs_one_vector_per_text() {
        let one = |index: usize| json!({"index": index, "embedding": [1.0]});
        assert!(vectors(json!([one(0)]), 2).unwrap_err().contains("1 vectors for 2 texts"));
        assert!(vectors(json!([one(0), one(0)]), 2).unwrap_err().contains("two vectors"));
        assert!(vectors(json!([one(0), one(2)]), 2).unwrap_err().contains("not sent"));
        assert_eq!(vectors(json!([{"index": 0, "embedding": [null]}]), 1), Err("form".into()));
    }
}
