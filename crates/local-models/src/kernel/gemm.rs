//! A safe face for `matrixmultiply::sgemm`: strided views that know their bounds.

/// A read-only strided matrix over a slice.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    data: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// Row-major, `stride` floats from row to row.
    pub(crate) fn new(data: &'a [f32], rows: usize, columns: usize, stride: usize) -> Self {
        Self { data, rows, columns, row_stride: stride, column_stride: 1 }
    }

    /// The same numbers with rows and columns exchanged.
    pub(crate) fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }
}

/// A row-major matrix to write to; its rows do not overlap.
pub(crate) struct MatrixMut<'a> {
    data: &'a mut [f32],
    stride: usize,
}

impl<'a> MatrixMut<'a> {
    /// `stride` floats from row to row.
    pub(crate) fn new(data: &'a mut [f32], stride: usize) -> Self {
        Self { data, stride }
    }
}

/// Whether the last element of the view lies within its slice.
fn fits(length: usize, rows: usize, columns: usize, strides: (usize, usize)) -> bool {
    rows == 0 || columns == 0 || (rows - 1) * strides.0 + (columns - 1) * strides.1 < length
}

/// `c = keep · c + a · b`.
///
/// Panics when the shapes do not fit each other or their slices: a fault of this crate.
pub(crate) fn multiply_exact(a: Matrix<'_>, b: Matrix<'_>, keep: f32, c: MatrixMut<'_>) {
    assert_eq!(a.columns, b.rows, "inner dimensions differ");
    assert!(fits(a.data.len(), a.rows, a.columns, (a.row_stride, a.column_stride)));
    assert!(fits(b.data.len(), b.rows, b.columns, (b.row_stride, b.column_stride)));
    assert!(fits(c.data.len(), a.rows, b.columns, (c.stride, 1)) && c.stride >= b.columns);
    // SAFETY: every element that the strides reach lies within its slice (checked above), `c` is
    // borrowed for writing and so apart from `a` and `b`, and its rows do not overlap.
    unsafe {
        matrixmultiply::sgemm(
            a.rows,
            a.columns,
            b.columns,
            1.0,
            a.data.as_ptr(),
            a.row_stride as isize,
            a.column_stride as isize,
            b.data.as_ptr(),
            b.row_stride as isize,
            b.column_stride as isize,
            keep,
            c.data.as_mut_ptr(),
            c.stride as isize,
            1,
        );
    }
}
