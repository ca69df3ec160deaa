//! The forward pass of a BERT encoder (Devlin et al. 2018), as e5, MiniLM and bge use it.
//!
//! Token, position and type embeddings, LayerNorm; then layers of self-attention and a feed-forward
//! network with exact GELU, each followed by a residual sum and LayerNorm. There is no padding: the
//! tokens of a batch are concatenated for the linear layers, and attention runs for each text.

use memory_engine_core::Kernel;
use ndarray::ArrayView2;

use crate::{
    attention,
    error::ModelError,
    kernel::{packed::QuantisedRows, row_functions::layer_norm},
    matrix,
    weights::{Linear, StoredTensor},
};

/// The shape of an encoder, checked by [`EncoderShape::check`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct EncoderShape {
    pub(crate) hidden: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) feed_forward: usize,
    pub(crate) vocabulary: usize,
    /// Rows of the position table.
    pub(crate) positions: usize,
    /// The first position: 0 for BERT, padding id + 1 for RoBERTa and XLM-R.
    pub(crate) first_position: usize,
    pub(crate) types: usize,
    pub(crate) epsilon: f32,
}

impl EncoderShape {
    /// Rejects sizes that no real model has, so that products cannot overflow and a damaged file cannot cause a large
    /// allocation.
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        let check_range = |name: &str, value: usize, low: usize, high: usize| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(ModelError::corrupt(format!("{name} is {value}; expected {low} to {high}")))
        };
        check_range("hidden size", self.hidden, 1, 8192)?;
        check_range("number of layers", self.layers, 1, 128)?;
        check_range("number of heads", self.heads, 1, 256)?;
        check_range("feed-forward size", self.feed_forward, 1, 65536)?;
        check_range("vocabulary", self.vocabulary, 1, 4_000_000)?;
        check_range("first position", self.first_position, 0, 16)?;
        // At least two special tokens and two others.
        check_range("number of positions", self.positions, self.first_position + 4, 8192)?;
        check_range("number of types", self.types, 1, 64)?;
        if !self.hidden.is_multiple_of(self.heads) {
            return Err(ModelError::corrupt(format!(
                "the hidden size {} is not a multiple of the number of heads, {}",
                self.hidden, self.heads
            )));
        }
        if !(self.epsilon >= 0.0 && self.epsilon < 1.0) {
            return Err(ModelError::corrupt(format!("LayerNorm epsilon is {}; expected 0 to 1", self.epsilon)));
        }
        Ok(())
    }
}

/// The source of an encoder's tensors: a file format.
///
/// Names are those of the E5S1 format: `emb.word`, `emb.pos`, `emb.type`, `emb.ln.w`, `l0.q.w`,
/// `l0.q.b`, and so on. Implementations check the number of elements, that the file contains them,
/// and that all are finite.
pub(crate) trait TensorSource {
    /// Reads a matrix of shape \[rows, columns\].
    fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<StoredTensor, ModelError>;

    /// Reads a vector.
    fn vector(&mut self, name: &str, length: usize) -> Result<Vec<f32>, ModelError>;
}

#[derive(Debug)]
struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Norm {
    fn open(source: &mut dyn TensorSource, name: &str, width: usize) -> Result<Self, ModelError> {
        let weight = source.vector(&format!("{name}.w"), width)?;
        let bias = source.vector(&format!("{name}.b"), width)?;
        Ok(Self { weight, bias })
    }

    /// Normalises every row of `x + residual`, in place.
    fn apply(&self, kernel: Kernel, x: &mut [f32], residual: &[f32], epsilon: f32) {
        let width = self.weight.len();
        for (index, row) in x.chunks_exact_mut(width).enumerate() {
            let residual = residual.get(index * width..(index + 1) * width).unwrap_or(&[]);
            layer_norm(kernel, row, residual, &self.weight, &self.bias, epsilon);
        }
    }
}

#[derive(Debug)]
struct EncoderLayer {
    /// Query, key and value in one product.
    query_key_value: Linear,
    attention_output: Linear,
    attention_norm: Norm,
    feed_forward_in: Linear,
    feed_forward_out: Linear,
    output_norm: Norm,
}

impl EncoderLayer {
    fn open(
        source: &mut dyn TensorSource,
        index: usize,
        shape: &EncoderShape,
        integer: bool,
    ) -> Result<Self, ModelError> {
        let (hidden, wide) = (shape.hidden, shape.feed_forward);
        let mut stacked = Vec::new();
        let mut bias = Vec::new();
        for part in ["q", "k", "v"] {
            stacked.push(source.matrix(&format!("l{index}.{part}.w"), hidden, hidden)?);
            bias.extend(source.vector(&format!("l{index}.{part}.b"), hidden)?);
        }
        let query_key_value = Linear::new(&StoredTensor::stack(&stacked), hidden, bias, integer);
        let mut linear = |part: &str, outer: usize, inner: usize| {
            let weights = source.matrix(&format!("l{index}.{part}.w"), outer, inner)?;
            let bias = source.vector(&format!("l{index}.{part}.b"), outer)?;
            Ok::<_, ModelError>(Linear::new(&weights, inner, bias, integer))
        };
        let attention_output = linear("ao", hidden, hidden)?;
        let feed_forward_in = linear("fi", wide, hidden)?;
        let feed_forward_out = linear("fo", hidden, wide)?;
        let attention_norm = Norm::open(source, &format!("l{index}.aln"), hidden)?;
        let output_norm = Norm::open(source, &format!("l{index}.oln"), hidden)?;
        Ok(Self { query_key_value, attention_output, attention_norm, feed_forward_in, feed_forward_out, output_norm })
    }
}

/// Buffers of a forward pass, reused for every batch.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    hidden: Vec<f32>,
    projected: Vec<f32>,
    context: Vec<f32>,
    residual_update: Vec<f32>,
    wide: Vec<f32>,
    quantised: QuantisedRows,
    attention: attention::Scratch,
}

/// A loaded encoder. It is immutable, so threads can share it.
#[derive(Debug)]
pub(crate) struct Encoder {
    shape: EncoderShape,
    kernel: Kernel,
    /// True if linear layers and attention use integer products.
    integer: bool,
    words: StoredTensor,
    positions: Vec<f32>,
    first_type: Vec<f32>,
    norm: Norm,
    layers: Vec<EncoderLayer>,
}

impl Encoder {
    /// Checks the shape and reads all tensors. `integer` selects integer products.
    pub(crate) fn open(
        source: &mut dyn TensorSource,
        shape: EncoderShape,
        kernel: Kernel,
        integer: bool,
    ) -> Result<Self, ModelError> {
        shape.check()?;
        let words = source.matrix("emb.word", shape.vocabulary, shape.hidden)?;
        let positions = source.vector("emb.pos", shape.positions * shape.hidden)?;
        let mut first_type = source.vector("emb.type", shape.types * shape.hidden)?;
        first_type.truncate(shape.hidden);
        let norm = Norm::open(source, "emb.ln", shape.hidden)?;
        let layers = (0..shape.layers)
            .map(|index| EncoderLayer::open(source, index, &shape, integer))
            .collect::<Result<_, _>>()?;
        Ok(Self { shape, kernel, integer, words, positions, first_type, norm, layers })
    }

    /// Length of a token vector.
    pub(crate) fn hidden(&self) -> usize {
        self.shape.hidden
    }

    /// Number of word vectors.
    pub(crate) fn vocabulary(&self) -> usize {
        self.shape.vocabulary
    }

    /// Maximum length of a sequence in tokens, including special tokens.
    pub(crate) fn max_tokens(&self) -> usize {
        self.shape.positions - self.shape.first_position
    }

    /// Returns the last hidden state: a row for each token, sequence after sequence.
    ///
    /// The length of each sequence must be at most [`Self::max_tokens`], and each id below [`Self::vocabulary`].
    pub(crate) fn run<'s>(&self, sequences: &[&[u32]], scratch: &'s mut Scratch) -> ArrayView2<'s, f32> {
        let (kernel, epsilon) = (self.kernel, self.shape.epsilon);
        self.embed(sequences, &mut scratch.hidden);
        self.norm.apply(kernel, &mut scratch.hidden, &[], epsilon);
        for layer in &self.layers {
            let Scratch { hidden, projected, context, residual_update, wide, quantised, attention } = &mut *scratch;
            let projected = layer.query_key_value.apply(kernel, hidden, quantised, projected);
            attention.run(kernel, self.integer, sequences, self.shape.heads, projected, context);
            layer.attention_output.apply(kernel, context, quantised, residual_update);
            layer.attention_norm.apply(kernel, hidden, residual_update, epsilon);
            layer.feed_forward_in.apply(kernel, hidden, quantised, wide);
            layer.feed_forward_out.apply_to_gelu(kernel, wide, quantised, residual_update);
            layer.output_norm.apply(kernel, hidden, residual_update, epsilon);
        }
        matrix::rows(&scratch.hidden, self.shape.hidden)
    }

    /// Writes the sums of word, position and type vectors.
    fn embed(&self, sequences: &[&[u32]], hidden: &mut Vec<f32>) {
        let width = self.shape.hidden;
        let tokens: usize = sequences.iter().map(|sequence| sequence.len()).sum();
        hidden.resize(tokens * width, 0.0);
        let positioned_ids = sequences.iter().flat_map(|sequence| sequence.iter().enumerate());
        for ((index, &id), row) in positioned_ids.zip(hidden.chunks_exact_mut(width)) {
            self.words.read_row(id as usize, row);
            let position = &self.positions[(self.shape.first_position + index) * width..][..width];
            for ((value, &position), &kind) in row.iter_mut().zip(position).zip(&self.first_type) {
                *value += position + kind;
            }
        }
    }
}
