//! The E5S1 file format: a quantised BERT encoder and its unigram tokenizer in one file.
//!
//! Little endian throughout:
//!
//! | part | content |
//! | --- | --- |
//! | magic | `"E5S1"`, u32 version 1 |
//! | shape | i32 hidden, layers, heads, feed-forward, vocabulary, positions, types |
//! | | f32 LayerNorm epsilon; i32 Q4 block size 32 |
//! | tokenizer | i32 pieces, `<s>`, `</s>`, `<pad>`, `<unk>`; u64 length of the text of all pieces |
//! | pieces | u32 offset × (pieces + 1); f32 score × pieces; text |
//! | normalisation | i32 rules, u32 bytes; per rule u32 character, u8 count, u32 × count replacement |
//! | directory | i32 tensors |
//! | per tensor | u16 length and name, u8 encoding (0 f32, 1 Q4_0), u32 elements, u64 offset, u64 bytes |
//! | data | the tensors, at their offsets |
//!
//! The file is untrusted input. Every number is checked when it is read, and no length is allocated that exceeds the
//! file.

#[cfg(test)]
pub(crate) mod sample;
mod tensors;
#[cfg(test)]
mod tests;

use std::io::{Read, Seek};

use memory_engine_core::Kernel;

use tensors::Tensors;

use crate::{
    encoder::{Encoder, EncoderShape},
    error::ModelError,
    kernel::rows::BLOCK,
    source::CheckedReader,
    tokenizer::{
        Tokenizer,
        pieces::PieceTable,
        replacements::CharReplacements,
        unigram::{Normalizer, Unigram, UnigramOptions},
    },
};

/// The first four bytes of a file.
pub(crate) const MAGIC: [u8; 4] = *b"E5S1";

const VERSION: u32 = 1;

/// Reads a model.
///
/// # Errors
/// `Corrupt` for an invalid value, `Unsupported` for another version.
pub(crate) fn open(file: impl Read + Seek, kernel: Kernel, integer: bool) -> Result<(Encoder, Tokenizer), ModelError> {
    let mut source = CheckedReader::new(file)?;
    if source.array::<4>()? != MAGIC {
        return Err(ModelError::corrupt("not an E5S1 file: it does not start with the bytes \"E5S1\""));
    }
    let version = source.u32()?;
    if version != VERSION {
        return Err(ModelError::unsupported(format!(
            "the E5S1 version is {version}; only version {VERSION} is supported"
        )));
    }
    let shape = read_shape(&mut source)?;
    let unigram = read_unigram(&mut source)?;
    if unigram.size() > shape.vocabulary {
        let (pieces, rows) = (unigram.size(), shape.vocabulary);
        return Err(ModelError::corrupt(format!(
            "the tokenizer has {pieces} pieces, but the encoder only {rows} word vectors"
        )));
    }
    let mut tensors = Tensors::read(source)?;
    let encoder = Encoder::open(&mut tensors, shape, kernel, integer)?;
    Ok((encoder, Tokenizer::Unigram(unigram)))
}

fn read_shape<R: Read + Seek>(source: &mut CheckedReader<R>) -> Result<EncoderShape, ModelError> {
    let shape = EncoderShape {
        hidden: source.count("hidden size")?,
        layers: source.count("number of layers")?,
        heads: source.count("number of heads")?,
        feed_forward: source.count("feed-forward size")?,
        vocabulary: source.count("vocabulary")?,
        positions: source.count("number of positions")?,
        first_position: 0,
        types: source.count("number of types")?,
        epsilon: source.f32()?,
    };
    shape.check()?;
    let block = source.count("block size")?;
    if block != BLOCK {
        return Err(ModelError::unsupported(format!("the Q4 block size is {block}; only {BLOCK} is supported")));
    }
    Ok(shape)
}

fn read_unigram<R: Read + Seek>(source: &mut CheckedReader<R>) -> Result<Unigram, ModelError> {
    let count = source.count("number of pieces")?;
    let start = source.count("start token")? as u32;
    let end = source.count("end token")? as u32;
    let _padding = source.count("padding token")?;
    let unknown = source.count("unknown token")? as u32;
    let length = source.u64()?;
    let offsets = source.u32s(count + 1, "piece offsets")?;
    let scores = source.f32s(count, "piece scores")?;
    let text = source.bytes(length, "pieces")?;
    let text = String::from_utf8(text).map_err(|_| ModelError::corrupt("the text of the pieces is not UTF-8"))?;
    if offsets.first() != Some(&0) || offsets.last().map(|&end| u64::from(end)) != Some(length) {
        return Err(ModelError::corrupt(
            "the piece offsets must start at 0 and end at the length of the text of the pieces",
        ));
    }
    let pieces = PieceTable::new(text, offsets)?;
    let normalizer = Normalizer::Characters(read_replacements(source)?);
    let options = UnigramOptions { start, end, unknown, merge_spaces: true, split_white_space: false };
    Unigram::new(normalizer, pieces, scores, options)
}

fn read_replacements<R: Read + Seek>(source: &mut CheckedReader<R>) -> Result<CharReplacements, ModelError> {
    let count = source.count("number of normalisation rules")?;
    let bytes = u64::from(source.u32()?);
    let end = source.position() + bytes;
    let mut rules = CharReplacements::default();
    for _ in 0..count {
        let from = source.character()?;
        let length = source.array::<1>()?[0];
        let to = (0..length).map(|_| source.character()).collect::<Result<Vec<_>, _>>()?;
        rules.push(from, to.into_iter())?;
    }
    if source.position() != end {
        return Err(ModelError::corrupt(format!(
            "the normalisation rules do not have the stated length of {bytes} bytes"
        )));
    }
    Ok(rules)
}
