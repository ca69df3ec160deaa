//! Vectors, and the space they live in.

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
    /// The model with everything that changes its vectors: version, quantisation.
    pub model: String,
    /// Number of dimensions of a vector.
    pub dimensions: usize,
    /// The measure of similarity.
    pub metric: Metric,
}

impl EmbeddingSpace {
    /// A space measured by cosine.
    pub fn cosine(model: impl Into<String>, dimensions: usize) -> Self {
        Self { model: model.into(), dimensions, metric: Metric::Cosine }
    }

    /// Refuses a vector that cannot belong to this space.
    ///
    /// # Errors
    /// `DimensionMismatch` when the length differs.
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

/// A vector that means something: not empty, all numbers finite, not all of them zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding(Vec<f32>);

impl Embedding {
    /// Takes the numbers as they are.
    ///
    /// # Errors
    /// `InvalidInput` when there are none, one is not finite, or all are zero: such a vector is near to nothing, and a
    /// store that kept it would hide its record without a word.
    pub fn new(values: Vec<f32>) -> Result<Self> {
        let wrong = if values.is_empty() {
            "has no numbers"
        } else if values.iter().any(|v| !v.is_finite()) {
            "holds a number that is not finite"
        } else if values.iter().all(|v| *v == 0.0) {
            "is all zeros"
        } else {
            return Ok(Self(values));
        };
        Err(Error::invalid("embedding", format!("the vector {wrong}")))
    }

    /// The numbers.
    pub fn values(&self) -> &[f32] {
        &self.0
    }

    /// Returns the vector with the same direction and length one.
    #[must_use]
    pub fn normalized(mut self) -> Self {
        let norm = self.0.iter().map(|v| f64::from(*v) * f64::from(*v)).sum::<f64>().sqrt();
        if norm > 0.0 {
            for v in &mut self.0 {
                *v = (f64::from(*v) / norm) as f32;
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_that_means_nothing_is_refused() {
        for bad in [vec![], vec![0.0, 0.0], vec![1.0, f32::NAN]] {
            assert_eq!(Embedding::new(bad).unwrap_err().kind(), ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn normalizing_survives_very_large_and_very_small_numbers() {
        for scale in [1e-30_f32, 1.0, 1e30] {
            let e = Embedding::new(vec![3.0 * scale, 4.0 * scale]).unwrap().normalized();
            assert!((e.values()[0] - 0.6).abs() < 1e-6 && (e.values()[1] - 0.8).abs() < 1e-6);
        }
    }
}
