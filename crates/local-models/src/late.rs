//! Late interaction: comparing two texts token by token (ColBERT, Khattab and Zaharia 2020).
//!
//! An encoder's token vectors share a strong common direction, which hides the differences.
//! Subtracting the mean over a corpus removes it (after Mu and Viswanath 2018).

use ndarray::{Array2, ArrayView2};

use crate::{
    error::{ModelError, ModelErrorKind},
    kernel::rows::{dot, scale_to_unit},
    matrix,
};

/// The vectors of the tokens of a text, without special tokens and prefix. A text may have none.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenVectors {
    /// A row for each token.
    values: Array2<f32>,
    weights: Vec<f32>,
}

impl TokenVectors {
    /// Creates token vectors from row-major values and one weight for each vector.
    ///
    /// # Errors
    /// `InvalidInput` if `dimensions` is 0, or the number of values is not `dimensions` times the number of weights.
    pub fn new(dimensions: usize, values: Vec<f32>, weights: Vec<f32>) -> Result<Self, ModelError> {
        if dimensions == 0 || values.len() != dimensions * weights.len() {
            let (values, count) = (values.len(), weights.len());
            let message = format!("{values} values do not make {count} vectors of {dimensions} dimensions");
            return Err(ModelError::new(ModelErrorKind::InvalidInput, message));
        }
        Ok(Self { values: matrix::from_rows(values, dimensions), weights })
    }

    /// Like [`Self::new`], for lengths that were checked.
    pub(crate) fn from_parts(values: Array2<f32>, weights: Vec<f32>) -> Self {
        debug_assert_eq!(values.nrows(), weights.len());
        Self { values, weights }
    }

    /// Length of a vector.
    pub fn dimensions(&self) -> usize {
        self.values.ncols()
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Returns true if there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// The vectors, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = &[f32]> {
        self.values.as_slice().unwrap_or(&[]).chunks_exact(self.dimensions())
    }

    /// All vectors, in contiguous rows.
    pub fn values(&self) -> ArrayView2<'_, f32> {
        self.values.view()
    }

    /// Returns the weight of each token in 0..=1: a / (a + p), a = 10⁻⁴, where p is the token's probability (Arora,
    /// Liang and Ma 2017). 1 if the tokenizer has no probabilities.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Subtracts the corpus mean, if one is given, and scales every vector to length 1.
    ///
    /// Store this result if vectors are stored. A vector equal to the mean becomes zero.
    ///
    /// # Errors
    /// `InvalidInput` if the mean has another number of dimensions.
    pub fn centred(mut self, mean: Option<&[f32]>) -> Result<Self, ModelError> {
        if let Some(mean) = mean.filter(|mean| mean.len() != self.dimensions()) {
            let (actual, expected) = (mean.len(), self.dimensions());
            let message = format!("the mean has {actual} dimensions; expected {expected}");
            return Err(ModelError::new(ModelErrorKind::InvalidInput, message));
        }
        for mut row in self.values.rows_mut() {
            let Some(row) = row.as_slice_mut() else { continue };
            for (value, &mean) in row.iter_mut().zip(mean.unwrap_or(&[])) {
                *value -= mean;
            }
            scale_to_unit(row);
        }
        Ok(self)
    }
}

/// Computes the mean of the token vectors of a corpus.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TokenMean {
    sums: Vec<f64>,
    count: u64,
}

impl TokenMean {
    /// Creates an empty mean.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the vectors of a text. They must not be centred.
    ///
    /// # Errors
    /// `InvalidInput` if their number of dimensions differs from that of earlier ones.
    pub fn add(&mut self, tokens: &TokenVectors) -> Result<(), ModelError> {
        if self.sums.is_empty() {
            self.sums.resize(tokens.dimensions(), 0.0);
        }
        if self.sums.len() != tokens.dimensions() {
            let (actual, expected) = (tokens.dimensions(), self.sums.len());
            let message = format!("the token vectors have {actual} dimensions; earlier ones had {expected}");
            return Err(ModelError::new(ModelErrorKind::InvalidInput, message));
        }
        for row in tokens.iter() {
            for (sum, &value) in self.sums.iter_mut().zip(row) {
                *sum += f64::from(value);
            }
        }
        self.count += tokens.len() as u64;
        Ok(())
    }

    /// Returns the number of added vectors.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean, or `None` if no vector was added.
    pub fn mean(&self) -> Option<Vec<f32>> {
        let count = self.count as f64;
        (self.count > 0).then(|| self.sums.iter().map(|sum| (sum / count) as f32).collect())
    }
}

/// Returns the similarity of two texts, −1..=1: the mean, over the tokens of the shorter side, of the maximum cosine
/// with a token of the other side.
///
/// The shorter side is usually the query. With equal lengths it is the query. Both sides should be
/// [centred](TokenVectors::centred) on the same mean. Returns 0 if a side has no tokens or the
/// dimensions differ.
///
/// ```
/// use memory_engine_local_models::{TokenVectors, maxsim};
///
/// # fn main() -> Result<(), memory_engine_local_models::ModelError> {
/// let query = TokenVectors::new(2, vec![1.0, 0.0], vec![1.0])?;
/// let passage = TokenVectors::new(2, vec![0.0, 3.0, 2.0, 0.0], vec![1.0, 1.0])?;
/// assert_eq!(maxsim(&query, &passage), 1.0);
/// # Ok(())
/// # }
/// ```
pub fn maxsim(query: &TokenVectors, passage: &TokenVectors) -> f32 {
    mean_of_max_cosines(query, passage, |_| 1.0)
}

/// [`maxsim`] with the [weights](TokenVectors::weights) of the tokens of the shorter side. It measures slightly better
/// for queries with many common words.
pub fn weighted_maxsim(query: &TokenVectors, passage: &TokenVectors) -> f32 {
    mean_of_max_cosines(query, passage, |weight| weight)
}

fn mean_of_max_cosines(query: &TokenVectors, passage: &TokenVectors, weigh: impl Fn(f32) -> f32) -> f32 {
    let (short, long) = if query.len() <= passage.len() { (query, passage) } else { (passage, query) };
    if short.is_empty() || short.dimensions() != long.dimensions() {
        return 0.0;
    }
    let products = short.values.dot(&long.values.t());
    let inverse_length = |row: &[f32]| {
        let length = dot(row, row).sqrt();
        if length > 0.0 { 1.0 / length } else { 0.0 }
    };
    let long_lengths: Vec<f32> = long.iter().map(inverse_length).collect();
    let mut total = 0.0;
    let mut weights = 0.0;
    for ((products, row), &weight) in products.rows().into_iter().zip(short.iter()).zip(&short.weights) {
        let cosines = products.iter().zip(&long_lengths).map(|(product, length)| product * length);
        let best = cosines.fold(f32::NEG_INFINITY, f32::max) * inverse_length(row);
        total += best * weigh(weight);
        weights += weigh(weight);
    }
    if weights > 0.0 { total / weights } else { 0.0 }
}

#[cfg(test)]
mod tests;
