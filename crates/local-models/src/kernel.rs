//! The integer matrix products and the row functions; the only module with `unsafe` in it.
//!
//! Every function is safe to call: it checks its lengths, and uses the given [`Kernel`] only if the machine has it.
//! Each kernel is tested against the plain loops.
#![allow(unsafe_code)]
// The available kernels depend on the target, so the last arm is a wildcard.
#![allow(clippy::wildcard_enum_match_arm)]

pub(crate) mod fixed_panels;
pub(crate) mod fixed_point;
#[cfg(target_arch = "aarch64")]
mod neon;
pub(crate) mod packed;
mod plain;
pub(crate) mod row_functions;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(target_arch = "x86_64")]
mod x86_fixed_point;
#[cfg(target_arch = "x86_64")]
mod x86_quantise;

use memory_engine_core::Kernel;

use self::packed::{PackedWeights, QuantisedRows};

/// `out = x · wᵀ + bias` with integer products; shapes \[rows, outer\] = \[rows, inner\] · \[outer, inner\]ᵀ.
///
/// # Panics
/// Panics if a length is wrong. This is a bug in this crate, because shapes are checked when a model is loaded.
pub(crate) fn multiply_quantised(kernel: Kernel, x: &QuantisedRows, w: &PackedWeights, bias: &[f32], out: &mut [f32]) {
    match kernel.or_plain() {
        // SAFETY: `or_plain` returns only kernels that the machine supports.
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx2 => unsafe { x86::multiply_avx2(x, w, bias, out) },
        // SAFETY: as above; AVX-512 includes VNNI.
        #[cfg(target_arch = "x86_64")]
        Kernel::Vnni | Kernel::Avx512 => unsafe { x86::multiply_vnni(x, w, bias, out) },
        #[cfg(target_arch = "aarch64")]
        Kernel::Neon => neon::multiply(x, w, bias, out),
        _ => plain::multiply(x, w, bias, out),
    }
}
