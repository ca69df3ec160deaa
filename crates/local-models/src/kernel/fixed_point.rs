//! Products of 16-bit fixed-point matrices, for attention.
//!
//! Sixteen bits keep the error of attention far below that of the eight-bit linear layers. Sums are exact integers,
//! so all kernels return the same values.

use memory_engine_core::Kernel;

#[cfg(target_arch = "x86_64")]
use super::x86_fixed_point;

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

/// `out = scale · x · w` for twelve rows of `w.inner()` values; rows of `out` have `w.columns()` values.
///
/// The sums must fit into 32 bits; otherwise they wrap around.
///
/// # Panics
/// Panics if a length is wrong. This is a bug in this crate.
pub(crate) fn multiply_fixed(kernel: Kernel, x: &[i16], w: &FixedPanels, scale: f32, out: &mut [f32]) {
    assert_eq!(w.values.len(), w.panels * w.pairs * 2 * FIXED_COLUMNS);
    assert_eq!((x.len(), out.len()), (FIXED_ROWS * w.inner(), FIXED_ROWS * w.columns()));
    match kernel.or_plain() {
        // SAFETY: `or_plain` returns only kernels that the machine supports, and the lengths were checked above.
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx2 => unsafe { x86_fixed_point::multiply_avx2(x, w, scale, out) },
        // SAFETY: as above; AVX-512 includes VNNI.
        #[cfg(target_arch = "x86_64")]
        Kernel::Vnni | Kernel::Avx512 => unsafe { x86_fixed_point::multiply_vnni(x, w, scale, out) },
        _ => multiply_plain(x, w, scale, out),
    }
}

fn multiply_plain(x: &[i16], w: &FixedPanels, scale: f32, out: &mut [f32]) {
    let columns = w.columns();
    for (row, x) in x.chunks_exact(w.inner().max(1)).enumerate() {
        for (panel, lines) in w.values.chunks_exact(w.pairs * 2 * FIXED_COLUMNS).enumerate() {
            let mut sums = [0i32; FIXED_COLUMNS];
            for (line, x) in lines.as_chunks::<{ 2 * FIXED_COLUMNS }>().0.iter().zip(x.as_chunks::<2>().0) {
                let [first, second] = x.map(i32::from);
                for (sum, w) in sums.iter_mut().zip(line.as_chunks::<2>().0) {
                    let products = (first * i32::from(w[0])).wrapping_add(second * i32::from(w[1]));
                    *sum = sum.wrapping_add(products);
                }
            }
            let out = &mut out[row * columns + panel * FIXED_COLUMNS..][..FIXED_COLUMNS];
            for (out, sum) in out.iter_mut().zip(sums) {
                *out = sum as f32 * scale;
            }
        }
    }
}
