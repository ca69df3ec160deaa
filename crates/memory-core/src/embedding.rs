//! Embedding vectors, and the spaces that they belong to.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// The measure of similarity of two vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Metric {
    /// The cosine of the angle: −1 to 1.
    Cosine,
    /// The inner product, unbounded.
    Dot,
}

crate::enum_names! {
    Metric, "metric" {
        Cosine => "cosine",
        Dot => "dot",
    }
}

/// The model of a vector, and its number of dimensions. Vectors of different spaces are never compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EmbeddingSpace {
    /// Name of the model, with everything that changes its vectors, such as version and quantisation.
    pub model: String,
    /// Number of dimensions of a vector.
    pub dimensions: usize,
    /// The measure of similarity.
    pub metric: Metric,
}

impl EmbeddingSpace {
    /// Creates a space with the metric [`Metric::Cosine`].
    pub fn cosine(model: impl Into<String>, dimensions: usize) -> Self {
        Self { model: model.into(), dimensions, metric: Metric::Cosine }
    }

    /// Returns the space of a text that [`Display`](fmt::Display) has written; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (model, rest) = text.rsplit_once(" (")?;
        let (dimensions, metric) = rest.strip_suffix(')')?.split_once("-d, ")?;
        let metric = [Metric::Cosine, Metric::Dot].into_iter().find(|known| known.to_string() == metric)?;
        Some(Self { model: model.to_owned(), dimensions: dimensions.parse().ok()?, metric })
    }

    /// Checks that a vector has the dimensions of this space.
    ///
    /// # Errors
    /// `DimensionMismatch` for any other number of dimensions.
    pub fn check(&self, operation: &'static str, embedding: &Embedding) -> Result<()> {
        let found = embedding.values().len();
        if found == self.dimensions {
            return Ok(());
        }
        let message = format!("the vector has {found} dimensions, the space {self} has {}", self.dimensions);
        Err(Error::new(ErrorKind::DimensionMismatch, operation, message))
    }
}

impl fmt::Display for EmbeddingSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}-d, {})", self.model, self.dimensions, self.metric)
    }
}

/// A vector with a direction: it is not empty, all values are finite, and not all are zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding(Vec<f32>);

impl Embedding {
    /// Creates a vector from these values, without normalising them.
    ///
    /// # Errors
    /// `InvalidInput` if there are no values, one is not finite, or all are zero. Such a vector has no cosine, so
    /// vector search could never find its record.
    pub fn new(values: Vec<f32>) -> Result<Self> {
        let problem = if values.is_empty() {
            "has no numbers"
        } else if values.iter().any(|v| !v.is_finite()) {
            "holds a number that is not finite"
        } else if values.iter().all(|v| *v == 0.0) {
            "is all zeros"
        } else {
            return Ok(Self(values));
        };
        Err(Error::invalid("embedding", format!("the vector {problem}")))
    }

    /// Returns the values.
    pub fn values(&self) -> &[f32] {
        &self.0
    }

    /// Scales the vector to length 1.
    #[must_use]
    pub fn normalized(mut self) -> Self {
        let length = squared_length(&self.0).sqrt();
        if length > 0.0 {
            let factor = 1.0 / length;
            for value in &mut self.0 {
                *value = (f64::from(*value) * factor) as f32;
            }
        }
        self
    }
}

/// Returns the sum of the squared values. It uses partial sums, so that the compiler vectorises the additions.
fn squared_length(values: &[f32]) -> f64 {
    const PARTIAL_SUMS: usize = 8;
    let (chunks, rest) = values.as_chunks::<PARTIAL_SUMS>();
    let mut sums = [0.0_f64; PARTIAL_SUMS];
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += f64::from(*value).powi(2);
        }
    }
    sums.into_iter().chain(rest.iter().map(|value| f64::from(*value).powi(2))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_space_is_parsed() {
        let spaces = [EmbeddingSpace::cosine("a model (v2)", 384), EmbeddingSpace::cosine("", 1)];
        let dot = EmbeddingSpace { metric: Metric::Dot, ..spaces[0].clone() };
        for space in spaces.into_iter().chain([dot]) {
            assert_eq!(EmbeddingSpace::parse(&space.to_string()), Some(space));
        }
        for text in ["", "model", "model (x-d, cosine)", "model (3-d, other)", "model (3-d, cosine"] {
            assert_eq!(EmbeddingSpace::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_vector_without_a_direction_is_invalid() {
        for bad in [vec![], vec![0.0, 0.0], vec![1.0, f32::NAN]] {
            assert_eq!(Embedding::new(bad).unwrap_err().kind(), ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn very_large_and_very_small_vectors_are_normalised() {
        for scale in [1e-30_f32, 1.0, 1e30] {
            let normalised = Embedding::new(vec![3.0 * scale, 4.0 * scale]).unwrap().normalized();
            assert!((normalised.values()[0] - 0.6).abs() < 1e-6 && (normalised.values()[1] - 0.8).abs() < 1e-6);
        }
    }

    #[test]
    fn normalising_divides_each_number_by_the_length() {
        // Less than one chunk of partial sums, whole chunks, and chunks with a rest.
        for dimensions in [1, 7, 8, 9, 384, 1023] {
            let embedding = Embedding::new((1..=dimensions).map(|n| (n as f32).sin()).collect()).unwrap();
            let length = embedding.values().iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
            let expected: Vec<f64> = embedding.values().iter().map(|value| f64::from(*value) / length).collect();
            let normalised = embedding.normalized();
            assert_eq!(normalised.values().len(), expected.len());
            for (found, expected) in normalised.values().iter().zip(expected) {
                assert!((f64::from(*found) - expected).abs() < 1e-7, "{dimensions} dimensions: {found}, {expected}");
            }
        }
    }
}
