//! The arithmetic, and the only module with `unsafe` in it.
//!
//! Everything it offers is safe to call: each function checks its lengths, and takes a [`Kernel`]
//! that the machine is known to have. Each kernel is tested against the plain loops.
#![allow(unsafe_code)]
// Which kernels exist depends on the target, so the last arm has to be open.
#![allow(clippy::wildcard_enum_match_arm)]

mod gemm;
#[cfg(target_arch = "aarch64")]
mod neon;
mod packed;
mod plain;
mod rows;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use gemm::{Matrix, MatrixMut, multiply_exact};
pub(crate) use packed::{BLOCK, PackedWeights, QuantisedRows};
pub(crate) use rows::dot;

/// A set of machine instructions that the integer path and the row functions can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kernel {
    /// Plain loops, on any machine.
    Plain,
    /// x86-64 with AVX2 and FMA (2013 and later).
    Avx2,
    /// x86-64 with AVX-512 and its VNNI extension (2019 and later, not all).
    Vnni,
    /// 64-bit Arm.
    Neon,
}

impl Kernel {
    /// All kernels, best first.
    pub const ALL: [Self; 4] = [Self::Vnni, Self::Avx2, Self::Neon, Self::Plain];

    /// The best kernel that this machine has.
    pub fn detect() -> Self {
        Self::ALL.into_iter().find(|kernel| kernel.is_available()).unwrap_or(Self::Plain)
    }

    /// Whether this machine has the kernel.
    pub fn is_available(self) -> bool {
        match self {
            Self::Plain => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Vnni => {
                Self::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vnni")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Vnni => false,
            Self::Neon => cfg!(target_arch = "aarch64"),
        }
    }

    /// The kernel itself if the machine has it, else the plain one: what makes the calls below
    /// safe for any value.
    fn usable(self) -> Self {
        if self.is_available() { self } else { Self::Plain }
    }
}

/// `out = x · wᵀ + bias` with integer products; shapes \[rows, outer\] = \[rows, inner\] · \[outer, inner\]ᵀ.
///
/// Panics when a length is wrong, which would be a fault of this crate: shapes are checked when a
/// model is loaded.
pub(crate) fn multiply_quantised(kernel: Kernel, x: &QuantisedRows, w: &PackedWeights, bias: &[f32], out: &mut [f32]) {
    match kernel.usable() {
        // SAFETY: `usable` returns only what the machine has.
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx2 => unsafe { x86::multiply_avx2(x, w, bias, out) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Kernel::Vnni => unsafe { x86::multiply_vnni(x, w, bias, out) },
        #[cfg(target_arch = "aarch64")]
        Kernel::Neon => neon::multiply(x, w, bias, out),
        _ => plain::multiply(x, w, bias, out),
    }
}

/// Defines a row function that is compiled twice on x86-64.
macro_rules! row_function {
    ($(#[$docs:meta])* $name:ident($($argument:ident: $type:ty),*)) => {
        $(#[$docs])*
        pub(crate) fn $name(kernel: Kernel, $($argument: $type),*) {
            match kernel.usable() {
                // SAFETY: `usable` returns only what the machine has; VNNI includes AVX2.
                #[cfg(target_arch = "x86_64")]
                Kernel::Avx2 | Kernel::Vnni => unsafe { x86::$name($($argument),*) },
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
