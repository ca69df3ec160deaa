//! Weight matrices as stored in files, and linear layers.

use memory_engine_core::Kernel;
use ndarray::{Array2, ArrayView2, aview1, linalg::general_mat_mul};

use crate::{
    kernel::{
        multiply_quantised,
        packed::{PackedWeights, QuantisedRows},
        row_functions::gelu,
        rows::BLOCK,
    },
    matrix,
};

/// Bytes of one Q4_0 block: an f16 scale and 32 nibbles.
pub(crate) const Q4_BLOCK: usize = 18;

/// A row-major matrix in a file encoding.
#[derive(Debug, Clone)]
pub(crate) enum StoredTensor {
    /// Floats.
    Full(Vec<f32>),
    /// Q4_0 blocks: `f16 d`, then byte j with weight j in the low and weight j + 16 in the high
    /// nibble; the value is `(nibble − 8) · d`.
    Q4(Vec<u8>),
}

impl StoredTensor {
    /// Concatenates the rows of matrices of equal width.
    pub(crate) fn stack(parts: &[Self]) -> Self {
        if parts.iter().all(|part| matches!(part, Self::Q4(_))) {
            let parts: Vec<&[u8]> = parts.iter().map(Self::q4_bytes).collect();
            return Self::Q4(parts.concat());
        }
        Self::Full(parts.iter().flat_map(|part| part.to_floats().into_owned()).collect())
    }

    /// Returns the Q4_0 blocks, nothing for floats.
    fn q4_bytes(&self) -> &[u8] {
        match self {
            Self::Q4(bytes) => bytes,
            Self::Full(_) => &[],
        }
    }

    /// Returns all values as floats.
    pub(crate) fn to_floats(&self) -> std::borrow::Cow<'_, [f32]> {
        match self {
            Self::Full(values) => values.into(),
            Self::Q4(bytes) => {
                let mut values = vec![0.0; bytes.len() / Q4_BLOCK * BLOCK];
                expand(bytes, &mut values);
                values.into()
            }
        }
    }

    /// Writes one row of `out.len()` values. `row` must be in range.
    pub(crate) fn read_row(&self, row: usize, out: &mut [f32]) {
        let width = out.len();
        match self {
            Self::Full(values) => out.copy_from_slice(&values[row * width..][..width]),
            Self::Q4(bytes) => {
                let per_row = width / BLOCK * Q4_BLOCK;
                expand(&bytes[row * per_row..][..per_row], out);
            }
        }
    }

    /// Returns true if every float or scale is finite.
    pub(crate) fn is_finite(&self) -> bool {
        match self {
            Self::Full(values) => values.iter().all(|value| value.is_finite()),
            // The exponent of a half-precision number is 31 if it is infinite or not a number.
            Self::Q4(bytes) => bytes.as_chunks::<Q4_BLOCK>().0.iter().all(|block| block[1] & 0x7C != 0x7C),
        }
    }
}

fn scale(block: &[u8; Q4_BLOCK]) -> f32 {
    f16_to_f32(u16::from_le_bytes([block[0], block[1]]))
}

/// Returns the nibbles of a block in the order of the weights.
fn nibbles(block: &[u8; Q4_BLOCK]) -> [u8; BLOCK] {
    let mut out = [0; BLOCK];
    let (low, high) = out.split_at_mut(BLOCK / 2);
    for ((low, high), byte) in low.iter_mut().zip(high).zip(&block[2..]) {
        *low = byte & 15;
        *high = byte >> 4;
    }
    out
}

fn expand(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks::<Q4_BLOCK>().0.iter().zip(out.chunks_exact_mut(BLOCK)) {
        let scale = scale(block);
        for (out, nibble) in out.iter_mut().zip(nibbles(block)) {
            *out = (f32::from(nibble) - 8.0) * scale;
        }
    }
}

/// Converts an IEEE 754 half-precision number exactly.
pub(crate) fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let exponent = u32::from(bits >> 10) & 31;
    let mantissa = u32::from(bits & 0x3FF);
    let magnitude = match exponent {
        // Subnormal: mantissa · 2⁻²⁴, exact in a float.
        0 => (mantissa as f32 * (1.0 / 16_777_216.0)).to_bits(),
        31 => 0x7F80_0000 | mantissa << 13,
        _ => (exponent + 112) << 23 | mantissa << 13,
    };
    f32::from_bits(sign | magnitude)
}

/// `y = x · wᵀ + b`, in exact floats or with integer products.
#[derive(Debug)]
pub(crate) struct Linear {
    inner: usize,
    outer: usize,
    bias: Vec<f32>,
    weights: Weights,
}

#[derive(Debug)]
enum Weights {
    /// Shape \[outer, inner\].
    Exact(Array2<f32>),
    Packed(PackedWeights),
}

impl Linear {
    /// Creates a layer of shape \[outer, inner\]. `integer` selects integer products.
    pub(crate) fn new(stored: &StoredTensor, inner: usize, bias: Vec<f32>, integer: bool) -> Self {
        let outer = bias.len();
        let weights = match stored {
            StoredTensor::Q4(bytes) if integer => {
                let blocks = bytes.as_chunks::<Q4_BLOCK>().0.iter();
                let blocks = blocks.map(|block| (scale(block), nibbles(block)));
                Weights::Packed(PackedWeights::from_nibbles(outer, inner, blocks))
            }
            StoredTensor::Full(values) if integer => Weights::Packed(PackedWeights::from_rows(outer, inner, values)),
            StoredTensor::Q4(_) | StoredTensor::Full(_) => {
                Weights::Exact(matrix::rows(&stored.to_floats(), inner).to_owned())
            }
        };
        Self { inner, outer, bias, weights }
    }

    /// Applies the layer to rows of `inner` contiguous floats; `out` is resized to the same number of rows of `outer`
    /// floats.
    pub(crate) fn apply<'o>(
        &self,
        kernel: Kernel,
        x: &[f32],
        quantised: &mut QuantisedRows,
        out: &'o mut Vec<f32>,
    ) -> ArrayView2<'o, f32> {
        let x = matrix::rows(x, self.inner);
        out.resize(x.nrows() * self.outer, 0.0);
        match &self.weights {
            Weights::Exact(weights) => self.multiply_exact(x, weights, out),
            Weights::Packed(weights) => {
                quantised.fill(kernel, x, weights);
                multiply_quantised(kernel, quantised, weights, &self.bias, out);
            }
        }
        matrix::rows(out, self.outer)
    }

    /// Replaces the rows by their GELU, and computes the output of the layer for it. Faster than two calls: each row is
    /// quantised while it is in the cache.
    pub(crate) fn apply_to_gelu(
        &self,
        kernel: Kernel,
        x: &mut [f32],
        quantised: &mut QuantisedRows,
        out: &mut Vec<f32>,
    ) {
        out.resize(x.len() / self.inner * self.outer, 0.0);
        match &self.weights {
            Weights::Exact(weights) => {
                gelu(kernel, x);
                self.multiply_exact(matrix::rows(x, self.inner), weights, out);
            }
            Weights::Packed(weights) => {
                quantised.fill_with_gelu(kernel, x, weights);
                multiply_quantised(kernel, quantised, weights, &self.bias, out);
            }
        }
    }

    fn multiply_exact(&self, x: ArrayView2<'_, f32>, weights: &Array2<f32>, out: &mut [f32]) {
        let mut out = matrix::rows_mut(out, self.outer);
        out.assign(&aview1(&self.bias));
        general_mat_mul(1.0, &x, &weights.t(), 1.0, &mut out);
    }
}
