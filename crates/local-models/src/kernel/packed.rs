//! The two operands of the integer matrix product, in the order in which the kernels read them.
//!
//! Both operands have one scale per block of 32 values along the inner dimension. A few columns of
//! a layer-normed hidden state are tens of times larger than the rest; with one scale per row they
//! would leave two or three bits for the others. With one per block the whole forward pass stays at
//! cosine 0.9999 to the exact one, where one scale per row gives 0.999.
//!
//! Weights are stored unsigned (value + offset) and activations signed, because the x86
//! instructions multiply exactly that pair. `Σ (w + offset)·x = Σ w·x + offset·Σ x`, so each
//! block's sum starts at `−offset·Σ x` instead of zero, and needs no correction.

use memory_engine_core::Kernel;
use ndarray::ArrayView2;

use super::{
    row_functions::quantise_row,
    rows::{BLOCK, quantise_block},
};

/// Rows of the weight matrix that are stored together.
pub(crate) const PANEL: usize = 16;

/// Bytes of one block of one panel.
pub(crate) const PANEL_BLOCK: usize = BLOCK * PANEL;

/// The range of stored weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WeightRange {
    /// 0..=15 for −8..=7, from a 4-bit file.
    Nibble,
    /// 1..=255 for −127..=127, rounded from floats.
    Byte,
}

impl WeightRange {
    /// Returns the offset that was added to make the weights unsigned.
    pub(crate) fn offset(self) -> i32 {
        match self {
            Self::Nibble => 8,
            Self::Byte => 128,
        }
    }
}

/// A weight matrix of shape \[outer, inner\], quantised and packed.
///
/// Bytes are ordered `[outer / 16][inner / 32][8][16][4]`: one 64-byte line holds four neighbouring
/// inner values of sixteen outputs. Scales are ordered `[outer / 16][inner / 32][16]`. Both
/// dimensions are padded: missing outputs have scale 0, missing inner values meet activation 0.
#[derive(Debug, Clone)]
pub(crate) struct PackedWeights {
    pub(super) outer: usize,
    pub(super) inner: usize,
    pub(super) blocks: usize,
    pub(super) range: WeightRange,
    pub(super) bytes: Vec<u8>,
    pub(super) scales: Vec<f32>,
}

impl PackedWeights {
    fn empty(outer: usize, inner: usize, range: WeightRange) -> Self {
        let panels = outer.div_ceil(PANEL);
        let blocks = inner.div_ceil(BLOCK);
        let bytes = vec![range.offset() as u8; panels * blocks * PANEL_BLOCK];
        let scales = vec![0.0; panels * blocks * PANEL];
        Self { outer, inner, blocks, range, bytes, scales }
    }

    fn put(&mut self, row: usize, block: usize, scale: f32, values: &[u8]) {
        let panel_block = (row / PANEL) * self.blocks + block;
        self.scales[panel_block * PANEL + row % PANEL] = scale;
        let lines = &mut self.bytes[panel_block * PANEL_BLOCK..][..PANEL_BLOCK];
        for (quad, four) in values.chunks(4).enumerate() {
            let start = quad * 4 * PANEL + (row % PANEL) * 4;
            lines[start..start + four.len()].copy_from_slice(four);
        }
    }

    /// Packs blocks of nibbles without rounding.
    ///
    /// `blocks` yields, row after row, the scale and the 32 unsigned nibbles of each block.
    pub(crate) fn from_nibbles(outer: usize, inner: usize, blocks: impl Iterator<Item = (f32, [u8; BLOCK])>) -> Self {
        let mut packed = Self::empty(outer, inner, WeightRange::Nibble);
        let per_row = packed.blocks;
        for (index, (scale, values)) in blocks.take(outer * per_row).enumerate() {
            packed.put(index / per_row, index % per_row, scale, &values);
        }
        packed
    }

    /// Rounds a row-major float matrix to eight bits per weight.
    pub(crate) fn from_rows(outer: usize, inner: usize, weights: &[f32]) -> Self {
        let mut packed = Self::empty(outer, inner, WeightRange::Byte);
        for (row, values) in weights.chunks_exact(inner.max(1)).take(outer).enumerate() {
            for (block, values) in values.chunks(BLOCK).enumerate() {
                let mut padded = [0.0; BLOCK];
                let mut signed = [0i8; BLOCK];
                padded[..values.len()].copy_from_slice(values);
                let (scale, _) = quantise_block(&padded, &mut signed);
                let unsigned = signed.map(|value| (i32::from(value) + 128) as u8);
                packed.put(row, block, scale, &unsigned[..values.len()]);
            }
        }
        packed
    }
}

/// Activations of shape \[rows, inner\], quantised to signed bytes.
#[derive(Debug, Default)]
pub(crate) struct QuantisedRows {
    pub(super) rows: usize,
    pub(super) blocks: usize,
    pub(super) bytes: Vec<i8>,
    pub(super) scales: Vec<f32>,
    /// −offset · Σ bytes of each block: where the kernel's sums start.
    pub(super) starts: Vec<i32>,
}

impl QuantisedRows {
    /// Quantises rows of `weights.inner` contiguous values, for a product with `weights`.
    pub(crate) fn fill(&mut self, kernel: Kernel, values: ArrayView2<'_, f32>, weights: &PackedWeights) {
        debug_assert_eq!(values.ncols(), weights.inner);
        let blocks = weights.blocks;
        self.rows = values.nrows();
        self.blocks = blocks;
        self.bytes.resize(self.rows * blocks * BLOCK, 0);
        self.scales.resize(self.rows * blocks, 0.0);
        self.starts.resize(self.rows * blocks, 0);
        let offset = weights.range.offset();
        for (row, values) in values.rows().into_iter().enumerate() {
            let Some(values) = values.to_slice() else { continue };
            let bytes = &mut self.bytes[row * blocks * BLOCK..][..blocks * BLOCK];
            let scales = &mut self.scales[row * blocks..][..blocks];
            let starts = &mut self.starts[row * blocks..][..blocks];
            quantise_row(kernel, values, bytes, scales, starts, -offset);
        }
    }
}
