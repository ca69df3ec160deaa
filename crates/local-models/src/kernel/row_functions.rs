//! The row functions, dispatched to the kernel.

use memory_engine_core::Kernel;

use super::rows;
#[cfg(target_arch = "x86_64")]
use super::x86_rows;

/// Defines a row function that is compiled twice on x86-64.
macro_rules! row_function {
    ($(#[$docs:meta])* $name:ident($($argument:ident: $type:ty),*)) => {
        $(#[$docs])*
        pub(crate) fn $name(kernel: Kernel, $($argument: $type),*) {
            match kernel.or_plain() {
                // SAFETY: `or_plain` returns only kernels that the machine supports; VNNI and AVX-512 include AVX2.
                #[cfg(target_arch = "x86_64")]
                Kernel::Avx2 | Kernel::Vnni | Kernel::Avx512 => unsafe { x86_rows::$name($($argument),*) },
                _ => rows::$name($($argument),*),
            }
        }
    };
}

row_function! {
    /// The exact GELU of every value, in place.
    gelu(values: &mut [f32])
}
row_function! {
    /// Softmax of `scale · row`, in place.
    softmax(row: &mut [f32], scale: f32)
}
row_function! {
    /// LayerNorm of `row + residual`, in place.
    layer_norm(row: &mut [f32], residual: &[f32], weight: &[f32], bias: &[f32], epsilon: f32)
}
row_function! {
    /// Quantises a row block by block.
    quantise_row(
        values: &[f32], bytes: &mut [i8], scales: &mut [f32], starts: &mut [i32], factor: i32
    )
}
