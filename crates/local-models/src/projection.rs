//! The projection of token vectors to fewer dimensions.

use std::sync::LazyLock;

use ndarray::{Array2, ArrayView2};

use crate::{kernel::rows::scale_to_unit, matrix};

/// Length of the token vectors of multilingual-e5-small.
const INPUT_DIMENSIONS: usize = 384;
/// Length of the projected vectors.
const OUTPUT_DIMENSIONS: usize = 128;

/// The matrix, row by row, in steps of 1 / 32767, little-endian.
///
/// Its columns are orthonormal: the first 128 eigenvectors of the second moments (about zero) of 16 000 token vectors
/// of chat messages in Chinese and English, rotated by the Hadamard matrix of order 128. The rotation changes no inner
/// product. It spreads the direction that all tokens share over all dimensions, so that four bits suffice for each.
static E5_SMALL: LazyLock<TokenProjection> = LazyLock::new(|| {
    let bytes = include_bytes!("../data/e5-small-token-projection.i16");
    let values = bytes.as_chunks::<2>().0.iter().map(|pair| f32::from(i16::from_le_bytes(*pair)) / f32::from(i16::MAX));
    TokenProjection(matrix::from_rows(values.collect(), OUTPUT_DIMENSIONS))
});

/// A linear map of token vectors. It keeps nearly all of their inner products.
#[derive(Debug)]
pub(crate) struct TokenProjection(
    /// A column for each dimension of the result.
    Array2<f32>,
);

impl TokenProjection {
    /// Returns the projection of a model; `None` for a model without one.
    pub(crate) fn of_model(id: &str, dimensions: usize) -> Option<&'static Self> {
        let id = id.to_ascii_lowercase();
        // The name may begin with the organisation. A name with a suffix is that of a fine-tuned model.
        let is_e5_small = id == "e5-small-q4" || id.ends_with("multilingual-e5-small");
        (is_e5_small && dimensions == INPUT_DIMENSIONS).then(|| &*E5_SMALL)
    }

    /// Length of a projected vector.
    pub(crate) fn dimensions(&self) -> usize {
        self.0.ncols()
    }

    /// Projects vectors and scales the results to length 1. A vector of zeros stays one.
    pub(crate) fn project(&self, vectors: ArrayView2<'_, f32>) -> Array2<f32> {
        let mut projected = vectors.dot(&self.0);
        for mut row in projected.rows_mut() {
            if let Some(row) = row.as_slice_mut() {
                scale_to_unit(row);
            }
        }
        projected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_are_orthonormal() {
        let projection = TokenProjection::of_model("e5-small-q4", 384).unwrap();
        let products = projection.0.t().dot(&projection.0);
        for ((row, column), product) in products.indexed_iter() {
            let expected = if row == column { 1.0 } else { 0.0 };
            assert!((product - expected).abs() < 1e-3, "{row} {column}: {product}");
        }
    }

    #[test]
    fn projected_vectors_have_length_one() {
        let projection = TokenProjection::of_model("intfloat-multilingual-e5-small", 384).unwrap();
        let mut vectors = Array2::from_elem((3, 384), 3.0);
        vectors.row_mut(1).fill(0.0);
        let projected = projection.project(vectors.view());
        assert_eq!(projected.dim(), (3, projection.dimensions()));
        let lengths: Vec<f32> = projected.rows().into_iter().map(|row| row.dot(&row)).collect();
        assert!((lengths[0] - 1.0).abs() < 1e-5 && lengths[1] == 0.0, "{lengths:?}");
        assert_eq!(projected.row(0), projected.row(2));
    }

    #[test]
    fn other_models_have_none() {
        assert!(TokenProjection::of_model("all-MiniLM-L6-v2", 384).is_none());
        assert!(TokenProjection::of_model("multilingual-e5-small-legal", 384).is_none());
        assert!(TokenProjection::of_model("multilingual-e5-small", 768).is_none());
    }
}
