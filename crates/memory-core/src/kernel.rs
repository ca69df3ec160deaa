//! Detection of the processor's vector instructions, for the crates that have kernels for them.
//!
//! Reasons: `docs/design/decisions/0047-kernel-detection-in-core.md`.

/// A set of vector instructions. Each includes what a crate's kernel of that name needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kernel {
    /// Plain loops, on any machine.
    Plain,
    /// 64-bit Arm. Every such processor has NEON.
    Neon,
    /// x86-64 with AVX2, FMA and POPCNT (2013 and later).
    Avx2,
    /// x86-64 with AVX-512 F, BW and VNNI (2019 and later, not all).
    Vnni,
    /// Like `Vnni`, also with AVX-512 VL and VPOPCNTDQ.
    Avx512,
}

impl Kernel {
    /// All kernels, best first.
    pub const ALL: [Self; 5] = [Self::Avx512, Self::Vnni, Self::Avx2, Self::Neon, Self::Plain];

    /// Returns the best kernel that this machine has.
    pub fn detect() -> Self {
        Self::ALL.into_iter().find(|kernel| kernel.is_available()).unwrap_or(Self::Plain)
    }

    /// Returns true if this machine has the instructions. The standard library caches the result.
    pub fn is_available(self) -> bool {
        match self {
            Self::Plain => true,
            Self::Neon => cfg!(target_arch = "aarch64"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("popcnt")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Vnni => {
                Self::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vnni")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Vnni.is_available()
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vpopcntdq")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Vnni | Self::Avx512 => false,
        }
    }

    /// Returns the kernel if this machine has it, and [`Plain`](Self::Plain) otherwise. With it, kernel dispatch is
    /// safe for any value.
    #[must_use]
    pub fn or_plain(self) -> Self {
        if self.is_available() { self } else { Self::Plain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_kernel_is_available_and_a_missing_one_is_replaced() {
        assert!(Kernel::detect().is_available());
        for kernel in Kernel::ALL {
            let expected = if kernel.is_available() { kernel } else { Kernel::Plain };
            assert_eq!(kernel.or_plain(), expected);
        }
    }
}
