//! Row-major slices as `ndarray` views.

use ndarray::{Array2, ArrayView2, ArrayViewMut2};

/// Returns a matrix of whole rows. Values after the last whole row are ignored.
pub(crate) fn from_rows(mut values: Vec<f32>, columns: usize) -> Array2<f32> {
    let rows = values.len().checked_div(columns).unwrap_or(0);
    values.truncate(rows * columns);
    // The shape fits by construction.
    Array2::from_shape_vec((rows, columns), values).unwrap_or_default()
}

/// Returns a view of whole rows. Values after the last whole row are ignored.
pub(crate) fn rows(values: &[f32], columns: usize) -> ArrayView2<'_, f32> {
    let rows = values.len().checked_div(columns).unwrap_or(0);
    let values = &values[..rows * columns];
    // The shape fits by construction.
    ArrayView2::from_shape((rows, columns), values).unwrap_or_else(|_| ArrayView2::from(&[] as &[[f32; 0]]))
}

/// Returns a mutable view of whole rows. Values after the last whole row are ignored.
pub(crate) fn rows_mut(values: &mut [f32], columns: usize) -> ArrayViewMut2<'_, f32> {
    let rows = values.len().checked_div(columns).unwrap_or(0);
    let values = &mut values[..rows * columns];
    // The shape fits by construction.
    ArrayViewMut2::from_shape((rows, columns), values)
        .unwrap_or_else(|_| ArrayViewMut2::from(&mut [] as &mut [[f32; 0]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_have_whole_rows() {
        let mut values = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(rows(&values, 2), ndarray::arr2(&[[1.0, 2.0], [3.0, 4.0]]));
        rows_mut(&mut values, 2).fill(0.0);
        assert_eq!(values, [0.0, 0.0, 0.0, 0.0, 5.0]);
        assert_eq!((rows(&values, 0).dim(), rows(&[], 3).dim()), ((0, 0), (0, 3)));
    }
}
