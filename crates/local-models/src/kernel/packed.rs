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
    row_functions::{gelu, quantise_row},
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

/// Rows of activations that are stored together: one tile of the VNNI kernel.
pub(crate) const TILE: usize = 12;

/// Activations of shape \[rows, inner\], quantised to signed bytes.
///
/// Bytes are ordered `[rows / 12][inner / 32][8][12][4]`, scales and starts `[rows / 12][inner / 32][12]`: a kernel
/// reads them front to back. The rows of the last tile are padded.
#[derive(Debug, Default)]
pub(crate) struct QuantisedRows {
    pub(super) rows: usize,
    pub(super) blocks: usize,
    pub(super) bytes: Vec<i8>,
    pub(super) scales: Vec<f32>,
    /// −offset · Σ bytes of each block: where the kernel's sums start.
    pub(super) starts: Vec<i32>,
    /// One row, before it is put into its tile.
    row: RowBuffer,
}

#[derive(Debug, Default)]
struct RowBuffer {
    bytes: Vec<i8>,
    scales: Vec<f32>,
    starts: Vec<i32>,
}

impl QuantisedRows {
    /// Quantises rows of `weights.inner` values, for a product with `weights`.
    pub(crate) fn fill(&mut self, kernel: Kernel, values: ArrayView2<'_, f32>, weights: &PackedWeights) {
        self.resize(values.nrows(), values.ncols(), weights);
        for (row, values) in values.rows().into_iter().enumerate() {
            match values.to_slice() {
                Some(values) => self.put(kernel, row, values, weights),
                None => self.put(kernel, row, &values.to_vec(), weights),
            }
        }
    }

    /// Applies GELU to rows of `weights.inner` values in place, and quantises each row while it is in the cache.
    pub(crate) fn fill_with_gelu(&mut self, kernel: Kernel, values: &mut [f32], weights: &PackedWeights) {
        let inner = weights.inner;
        self.resize(values.len() / inner.max(1), inner, weights);
        for (row, values) in values.chunks_exact_mut(inner.max(1)).enumerate() {
            gelu(kernel, values);
            self.put(kernel, row, values, weights);
        }
    }

    fn resize(&mut self, rows: usize, inner: usize, weights: &PackedWeights) {
        debug_assert_eq!(inner, weights.inner);
        let blocks = weights.blocks;
        let padded = rows.next_multiple_of(TILE);
        (self.rows, self.blocks) = (rows, blocks);
        self.bytes.resize(padded * blocks * BLOCK, 0);
        self.scales.resize(padded * blocks, 0.0);
        self.starts.resize(padded * blocks, 0);
        self.row.bytes.resize(blocks * BLOCK, 0);
        self.row.scales.resize(blocks, 0.0);
        self.row.starts.resize(blocks, 0);
    }

    fn put(&mut self, kernel: Kernel, row: usize, values: &[f32], weights: &PackedWeights) {
        let RowBuffer { bytes, scales, starts } = &mut self.row;
        quantise_row(kernel, values, bytes, scales, starts, -weights.range.offset());
        let (first, lane) = (row / TILE * self.blocks, row % TILE);
        for (block, bytes) in bytes.as_chunks::<BLOCK>().0.iter().enumerate() {
            let tile = &mut self.bytes[(first + block) * BLOCK * TILE..][..BLOCK * TILE];
            for (quads, four) in tile.as_chunks_mut::<{ 4 * TILE }>().0.iter_mut().zip(bytes.as_chunks::<4>().0) {
                quads[lane * 4..][..4].copy_from_slice(four);
            }
            self.scales[(first + block) * TILE + lane] = scales[block];
            self.starts[(first + block) * TILE + lane] = starts[block];
        }
    }

    /// Returns the index of the scale and the start of a block of a row.
    pub(super) fn scale_index(&self, row: usize, block: usize) -> usize {
        (row / TILE * self.blocks + block) * TILE + row % TILE
    }

    /// Returns the index of the first of four neighbouring bytes of a block of a row.
    pub(super) fn quad_index(&self, row: usize, block: usize, quad: usize) -> usize {
        ((row / TILE * self.blocks + block) * (BLOCK / 4) + quad) * 4 * TILE + row % TILE * 4
    }
}
