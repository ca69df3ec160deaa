//! The row functions, compiled for each kernel and dispatched to it.

use memory_engine_core::Kernel;

use super::rows;
#[cfg(target_arch = "x86_64")]
use super::x86_quantise;

/// Defines functions that are compiled once for any machine, and on x86-64 also for AVX2 and for AVX-512.
macro_rules! row_functions {
    ($($(#[$docs:meta])* $name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            $(#[$docs])*
            pub(crate) fn $name(kernel: Kernel, $($argument: $type),*) {
                match kernel.or_plain() {
                    // SAFETY: `or_plain` returns only kernels that the machine supports.
                    #[cfg(target_arch = "x86_64")]
                    Kernel::Avx2 => unsafe { avx2::$name($($argument),*) },
                    // SAFETY: as above; VNNI and AVX-512 include AVX2 and AVX-512 F and BW.
                    #[cfg(target_arch = "x86_64")]
                    Kernel::Vnni | Kernel::Avx512 => unsafe { avx512::$name($($argument),*) },
                    _ => rows::$name($($argument),*),
                }
            }
        )*

        #[cfg(target_arch = "x86_64")]
        mod avx2 {
            use super::rows;
            $(
                #[target_feature(enable = "avx2,fma")]
                pub(super) fn $name($($argument: $type),*) {
                    rows::$name($($argument),*);
                }
            )*
        }

        #[cfg(target_arch = "x86_64")]
        mod avx512 {
            use super::rows;
            $(
                #[target_feature(enable = "avx2,fma,avx512f,avx512bw")]
                pub(super) fn $name($($argument: $type),*) {
                    rows::$name($($argument),*);
                }
            )*
        }
    };
}

row_functions! {
    /// The exact GELU of every value, in place.
    gelu(values: &mut [f32]);
    /// Softmax of `scale · row`, in place.
    softmax(row: &mut [f32], scale: f32);
    /// Softmax of a row with the base 2, as fixed-point numbers. `row` becomes unnormalised.
    softmax_fixed(row: &mut [f32], fixed: &mut [i16]);
    /// Rounds `value · factor` for each column of a row.
    to_fixed(row: &[f32], factors: &[f32], fixed: &mut [i16]);
    /// Replaces each maximum by the magnitude of the row's value in that column, if that is larger.
    raise_maxima(maxima: &mut [f32], row: &[f32]);
    /// LayerNorm of `row + residual`, in place.
    layer_norm(row: &mut [f32], residual: &[f32], weight: &[f32], bias: &[f32], epsilon: f32);
    /// Quantises a row block by block, with loops that the compiler vectorises.
    quantise_row_by_loops(values: &[f32], bytes: &mut [i8], scales: &mut [f32], starts: &mut [i32], factor: i32);
}

/// Quantises a row block by block.
pub(crate) fn quantise_row(
    kernel: Kernel,
    values: &[f32],
    bytes: &mut [i8],
    scales: &mut [f32],
    starts: &mut [i32],
    factor: i32,
) {
    match kernel.or_plain() {
        // SAFETY: `or_plain` returns only kernels that the machine supports; VNNI includes AVX-512 F and BW.
        #[cfg(target_arch = "x86_64")]
        Kernel::Vnni | Kernel::Avx512 => unsafe { x86_quantise::quantise_row(values, bytes, scales, starts, factor) },
        other => quantise_row_by_loops(other, values, bytes, scales, starts, factor),
    }
}
