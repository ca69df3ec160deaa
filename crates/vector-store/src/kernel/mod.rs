//! The arithmetic of a search, and the only module with `unsafe` in it.
//!
//! Everything it offers is safe to call: each function takes a [`Kernel`] that the machine is known to have. All kernels
//! give the very same numbers as the plain loops, to the last bit.
#![allow(unsafe_code)]
// Which kernels exist depends on the target, so the last arm has to be open.
#![allow(clippy::wildcard_enum_match_arm)]

mod plain;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

/// How many rows of signs lie side by side: as many 64-bit words as the widest register has.
pub(crate) const LANES: usize = 8;

/// A set of machine instructions. Those of 64-bit Arm are part of its plain loops: every such machine has NEON, and the
/// compiler uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// Plain loops, on any machine.
    Plain,
    /// x86-64 with AVX2 (2013 and later).
    Avx2,
    /// x86-64 with AVX-512, its VNNI and its VPOPCNTDQ extension (2019 and later, not all).
    Avx512,
}

impl Kernel {
    /// All kernels, best first.
    pub(crate) const ALL: [Self; 3] = [Self::Avx512, Self::Avx2, Self::Plain];

    /// The best kernel that this machine has.
    pub(crate) fn detect() -> Self {
        Self::ALL.into_iter().find(|kernel| kernel.is_available()).unwrap_or(Self::Plain)
    }

    /// Whether this machine has the kernel. What was asked once is remembered by the standard library.
    pub(crate) fn is_available(self) -> bool {
        match self {
            Self::Plain => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vnni")
                    && is_x86_feature_detected!("avx512vpopcntdq")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }

    /// The kernel itself if the machine has it, else the plain one: what makes the calls below safe for any value.
    fn usable(self) -> Self {
        if self.is_available() { self } else { Self::Plain }
    }
}

/// Rows of a matrix: all of them, or those of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rows<'r> {
    /// So many, from the first one on.
    First(usize),
    /// These.
    Of(&'r [u32]),
}

impl Rows<'_> {
    /// How many.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::First(count) => count,
            Self::Of(rows) => rows.len(),
        }
    }

    /// The row at a place.
    pub(crate) fn at(self, place: usize) -> usize {
        match self {
            Self::First(_) => place,
            Self::Of(rows) => rows[place] as usize,
        }
    }
}

macro_rules! dispatched {
    ($(#[$docs:meta])* $name:ident($($argument:ident: $type:ty),*)) => {
        $(#[$docs])*
        pub(crate) fn $name(kernel: Kernel, $($argument: $type),*) {
            match kernel.usable() {
                // SAFETY: `usable` returns only what the machine has.
                #[cfg(target_arch = "x86_64")]
                Kernel::Avx2 => unsafe { x86::avx2::$name($($argument),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Kernel::Avx512 => unsafe { x86::avx512::$name($($argument),*) },
                _ => plain::$name($($argument),*),
            }
        }
    };
}

/// The inner product of numbers and codes, as plain loops have it: it is asked for few.
pub(crate) fn mixed_product(query: &[f32], codes: &[i8]) -> f32 {
    plain::mixed_product(query, codes)
}

dispatched! {
    /// Appends the inner product of the query with each of the rows.
    products(query: &[f32], values: &[f32], rows: Rows<'_>, out: &mut Vec<f32>)
}
dispatched! {
    /// Appends the inner product of the query with each of the rows, both in codes of −127 to 127.
    code_products(query: &[i8], codes: &[i8], rows: Rows<'_>, out: &mut Vec<i32>)
}
dispatched! {
    /// Appends, for each row of codes, each times the scale of its row, which are greater than these: 64 a word, the last one of a
    /// row may be a part.
    greater(than: &[f32], codes: &[i8], scales: &[f32], out: &mut Vec<u64>)
}
dispatched! {
    /// Appends, for each of the first so many rows, the number of signs that differ from the query's, those in `heavy`
    /// counted three times. Word w of row r is `signs[(r / LANES · words + w) · LANES + r % LANES]`.
    differences(query: &[u64], heavy: &[u64], signs: &[u64], rows: usize, out: &mut Vec<u16>)
}
