//! The arithmetic of searches and of quantization, and the only module with `unsafe` in it.
//!
//! Every function is safe to call: it uses the given [`Kernel`] only if the processor supports it. All kernels return
//! the same numbers as the plain loops, to the last bit.
#![allow(unsafe_code)]
// Which kernels exist depends on the target, so the last arm has to be open.
#![allow(clippy::wildcard_enum_match_arm)]

mod plain;
pub(crate) mod quantization;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

use memory_engine_core::Kernel;

use self::{quantization::Quantization, rows::RowSelection};

macro_rules! dispatched {
    ($(#[$docs:meta])* $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?) => {
        $(#[$docs])*
        pub(crate) fn $name(kernel: Kernel, $($argument: $type),*) $(-> $result)? {
            match kernel.or_plain() {
                // SAFETY: `or_plain` returns only kernels that the processor supports; VNNI includes AVX2.
                #[cfg(target_arch = "x86_64")]
                Kernel::Avx2 | Kernel::Vnni => unsafe { x86::avx2::$name($($argument),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Kernel::Avx512 => unsafe { x86::avx512::$name($($argument),*) },
                _ => plain::$name($($argument),*),
            }
        }
    };
}

/// Returns the inner product of numbers and codes. It has only a plain kernel, because it is computed for few rows.
pub(crate) fn mixed_product(query: &[f32], codes: &[i8]) -> f32 {
    plain::mixed_product(query, codes)
}

dispatched! {
    /// Appends the inner product of the query with each of the rows.
    products(query: &[f32], values: &[f32], rows: RowSelection<'_>, out: &mut Vec<f32>)
}
dispatched! {
    /// Appends the inner product of the query with each of the rows, both in codes of −127 to 127.
    code_products(query: &[i8], codes: &[i8], rows: RowSelection<'_>, out: &mut Vec<i32>)
}
dispatched! {
    /// Appends the codes of a vector: each number divided by the scale, and rounded to an integer from −127 to 127. The
    /// scale is the greatest absolute number divided by 127.
    encode(values: &[f32], codes: &mut Vec<i8>) -> Quantization
}
dispatched! {
    /// Appends one bit for each code: 1 if the code times the scale of its row is greater than the threshold of its
    /// dimension. A word has 64 bits; the last word of a row may be partial.
    greater_bits(thresholds: &[f32], codes: &[i8], scales: &[f32], out: &mut Vec<u64>)
}
dispatched! {
    /// Replaces the content of `out` by the number of sign bits that differ from the query's, for each of the first
    /// `rows` rows. Bits that are set in `heavy` count three times. Word w of row r is
    /// `signs[(r / LANES · query.len() + w) · LANES + r % LANES]`.
    differences(query: &[u64], heavy: &[u64], signs: &[u64], rows: usize, out: &mut Vec<u16>)
}
dispatched! {
    /// Appends the indexes of the differences that are at most `threshold`, in ascending order.
    indexes_within(differences: &[u16], threshold: u16, out: &mut Vec<u32>)
}
