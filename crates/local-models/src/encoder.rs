//! The forward pass of a BERT encoder (Devlin et al. 2018), as e5, MiniLM and bge use it.
//!
//! Token, position and type embeddings, LayerNorm; then layers of self-attention and a feed-forward
//! network with exact GELU, each followed by a residual sum and LayerNorm. Nothing is padded: the
//! tokens of a batch stand one after the other for the linear layers, and each text attends to
//! itself alone.

use memory_engine_core::Kernel;
use ndarray::ArrayView2;

use crate::{
    attention,
    error::ModelError,
    kernel::{
        packed::QuantisedRows,
        row_functions::{gelu, layer_norm},
    },
    matrix,
    weights::{Linear, StoredTensor},
};

/// The shape of an encoder, checked by [`Shape::check`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shape {
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

impl Shape {
    /// Refuses what no real model has, so that later products of sizes cannot overflow and a
    /// damaged number cannot ask for much memory.
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        let within = |name: &str, value: usize, low: usize, high: usize| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(ModelError::corrupt(format!("{name} is {value}, outside {low} to {high}")))
        };
        within("hidden size", self.hidden, 1, 8192)?;
        within("number of layers", self.layers, 1, 128)?;
        within("number of heads", self.heads, 1, 256)?;
        within("feed-forward size", self.feed_forward, 1, 65536)?;
        within("vocabulary", self.vocabulary, 1, 4_000_000)?;
        within("first position", self.first_position, 0, 16)?;
        // Two special tokens, a long prefix, and something to say.
        within("number of positions", self.positions, self.first_position + 4, 8192)?;
        within("number of types", self.types, 1, 64)?;
        if !self.hidden.is_multiple_of(self.heads) {
            return Err(ModelError::corrupt(format!(
                "hidden size {} cannot be shared by {} heads",
                self.hidden, self.heads
            )));
        }
        if !(self.epsilon >= 0.0 && self.epsilon < 1.0) {
            return Err(ModelError::corrupt(format!("LayerNorm epsilon is {}", self.epsilon)));
        }
        Ok(())
    }
}

/// The source of an encoder's tensors: a file format.
///
/// Names are those of the E5S1 format: `emb.word`, `emb.pos`, `emb.type`, `emb.ln.w`, `l0.q.w`,
/// `l0.q.b`, and so on. Implementations check that the number of elements is as asked, that the
/// file really holds that many, and that all are finite.
pub(crate) trait TensorSource {
    /// A matrix of shape \[rows, columns\].
    fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<StoredTensor, ModelError>;

    /// A list of floats.
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
struct Layer {
    /// Query, key and value in one product.
    attend: Linear,
    merge: Linear,
    merge_norm: Norm,
    widen: Linear,
    narrow: Linear,
    narrow_norm: Norm,
}

impl Layer {
    fn open(source: &mut dyn TensorSource, index: usize, shape: &Shape, integer: bool) -> Result<Self, ModelError> {
        let (hidden, wide) = (shape.hidden, shape.feed_forward);
        let mut stacked = Vec::new();
        let mut bias = Vec::new();
        for part in ["q", "k", "v"] {
            stacked.push(source.matrix(&format!("l{index}.{part}.w"), hidden, hidden)?);
            bias.extend(source.vector(&format!("l{index}.{part}.b"), hidden)?);
        }
        let attend = Linear::new(&StoredTensor::stack(stacked), hidden, bias, integer);
        let mut linear = |part: &str, outer: usize, inner: usize| {
            let weights = source.matrix(&format!("l{index}.{part}.w"), outer, inner)?;
            let bias = source.vector(&format!("l{index}.{part}.b"), outer)?;
            Ok::<_, ModelError>(Linear::new(&weights, inner, bias, integer))
        };
        let merge = linear("ao", hidden, hidden)?;
        let widen = linear("fi", wide, hidden)?;
        let narrow = linear("fo", hidden, wide)?;
        let merge_norm = Norm::open(source, &format!("l{index}.aln"), hidden)?;
        let narrow_norm = Norm::open(source, &format!("l{index}.oln"), hidden)?;
        Ok(Self { attend, merge, merge_norm, widen, narrow, narrow_norm })
    }
}

/// Buffers of a forward pass, kept from batch to batch.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    hidden: Vec<f32>,
    attended: Vec<f32>,
    context: Vec<f32>,
    change: Vec<f32>,
    wide: Vec<f32>,
    quantised: QuantisedRows,
    attention: attention::Scratch,
}

/// A loaded encoder. It has no state: threads share it.
#[derive(Debug)]
pub(crate) struct Encoder {
    shape: Shape,
    kernel: Kernel,
    words: StoredTensor,
    positions: Vec<f32>,
    first_type: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

impl Encoder {
    /// Reads all tensors of a checked shape. `integer` chooses integer products.
    pub(crate) fn open(
        source: &mut dyn TensorSource,
        shape: Shape,
        kernel: Kernel,
        integer: bool,
    ) -> Result<Self, ModelError> {
        shape.check()?;
        let words = source.matrix("emb.word", shape.vocabulary, shape.hidden)?;
        let positions = source.vector("emb.pos", shape.positions * shape.hidden)?;
        let mut first_type = source.vector("emb.type", shape.types * shape.hidden)?;
        first_type.truncate(shape.hidden);
        let norm = Norm::open(source, "emb.ln", shape.hidden)?;
        let layers =
            (0..shape.layers).map(|index| Layer::open(source, index, &shape, integer)).collect::<Result<_, _>>()?;
        Ok(Self { shape, kernel, words, positions, first_type, norm, layers })
    }

    /// Length of a token vector.
    pub(crate) fn hidden(&self) -> usize {
        self.shape.hidden
    }

    /// Number of tokens that have a word vector.
    pub(crate) fn vocabulary(&self) -> usize {
        self.shape.vocabulary
    }

    /// The longest sequence, special tokens included.
    pub(crate) fn max_tokens(&self) -> usize {
        self.shape.positions - self.shape.first_position
    }

    /// Returns the last hidden state: a row for each token, sequence after sequence.
    ///
    /// The caller keeps each sequence within [`Self::max_tokens`] and each id within
    /// [`Self::vocabulary`].
    pub(crate) fn run<'s>(&self, sequences: &[&[u32]], scratch: &'s mut Scratch) -> ArrayView2<'s, f32> {
        let (kernel, epsilon) = (self.kernel, self.shape.epsilon);
        self.embed(sequences, &mut scratch.hidden);
        self.norm.apply(kernel, &mut scratch.hidden, &[], epsilon);
        for layer in &self.layers {
            let Scratch { hidden, attended, context, change, wide, quantised, attention } = &mut *scratch;
            let attended = layer.attend.apply(kernel, hidden, quantised, attended);
            attention.run(kernel, sequences, self.shape.heads, attended, context);
            layer.merge.apply(kernel, context, quantised, change);
            layer.merge_norm.apply(kernel, hidden, change, epsilon);
            layer.widen.apply(kernel, hidden, quantised, wide);
            gelu(kernel, wide);
            layer.narrow.apply(kernel, wide, quantised, change);
            layer.narrow_norm.apply(kernel, hidden, change, epsilon);
        }
        matrix::rows(&scratch.hidden, self.shape.hidden)
    }

    /// Sums of word, position and type vectors.
    fn embed(&self, sequences: &[&[u32]], hidden: &mut Vec<f32>) {
        let width = self.shape.hidden;
        let tokens: usize = sequences.iter().map(|sequence| sequence.len()).sum();
        hidden.resize(tokens * width, 0.0);
        let places = sequences.iter().flat_map(|sequence| sequence.iter().enumerate());
        for ((place, &id), row) in places.zip(hidden.chunks_exact_mut(width)) {
            self.words.read_row(id as usize, row);
            let position = &self.positions[(self.shape.first_position + place) * width..][..width];
            for ((value, &position), &kind) in row.iter_mut().zip(position).zip(&self.first_type) {
                *value += position + kind;
            }
        }
    }
}
