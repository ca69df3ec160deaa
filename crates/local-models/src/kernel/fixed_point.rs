//! Products of 16-bit fixed-point matrices, for attention.
//!
//! Sixteen bits keep the error of attention far below that of the eight-bit linear layers. Sums are exact integers,
//! so all kernels return the same values.

use memory_engine_core::Kernel;

use super::fixed_panels::{FIXED_COLUMNS, FIXED_ROWS, FixedPanels};
#[cfg(target_arch = "x86_64")]
use super::x86_fixed_point;

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
