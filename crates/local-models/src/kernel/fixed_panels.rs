//! The right operand of a product of 16-bit fixed-point matrices.

/// Rows of the left operand of one product.
pub(crate) const FIXED_ROWS: usize = 12;
/// Columns of the right operand that are stored together.
pub(crate) const FIXED_COLUMNS: usize = 16;

/// A right operand of shape \[inner, columns\].
///
/// Values are ordered `[columns / 16][inner / 2][16][2]`: one 64-byte line holds two neighbouring inner values of
/// sixteen columns. Both dimensions are padded with zeros.
#[derive(Debug, Default)]
pub(crate) struct FixedPanels {
    /// Pairs of inner values.
    pub(super) pairs: usize,
    pub(super) panels: usize,
    pub(super) values: Vec<i16>,
}

impl FixedPanels {
    /// Changes the shape and sets all values to zero.
    pub(crate) fn reset(&mut self, inner: usize, columns: usize) {
        self.pairs = inner.div_ceil(2);
        self.panels = columns.div_ceil(FIXED_COLUMNS);
        self.values.clear();
        self.values.resize(self.panels * self.pairs * 2 * FIXED_COLUMNS, 0);
    }

    /// Number of columns, with padding.
    pub(crate) fn columns(&self) -> usize {
        self.panels * FIXED_COLUMNS
    }

    /// Number of inner values, with padding.
    pub(crate) fn inner(&self) -> usize {
        self.pairs * 2
    }

    /// Writes a column.
    pub(crate) fn put_column(&mut self, column: usize, values: &[i16]) {
        let panel = &mut self.values[column / FIXED_COLUMNS * self.pairs * 2 * FIXED_COLUMNS..];
        let lane = column % FIXED_COLUMNS * 2;
        let mut lines = panel.as_chunks_mut::<{ 2 * FIXED_COLUMNS }>().0.iter_mut();
        let (whole, last) = values.as_chunks::<2>();
        for (pair, line) in whole.iter().zip(&mut lines) {
            line[lane..lane + 2].copy_from_slice(pair);
        }
        if let (Some(last), Some(line)) = (last.first(), lines.next()) {
            line[lane] = *last;
        }
    }

    /// Writes the rows `2 · pair` and `2 · pair + 1`.
    pub(crate) fn put_row_pair(&mut self, pair: usize, first: &[i16], second: &[i16]) {
        let lines = self.values.as_chunks_mut::<{ 2 * FIXED_COLUMNS }>().0.iter_mut().skip(pair).step_by(self.pairs);
        for ((line, first), second) in lines.zip(first.chunks(FIXED_COLUMNS)).zip(second.chunks(FIXED_COLUMNS)) {
            for ((both, &first), &second) in line.as_chunks_mut::<2>().0.iter_mut().zip(first).zip(second) {
                *both = [first, second];
            }
        }
    }
}
