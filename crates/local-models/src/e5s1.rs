//! The E5S1 file format: a quantised BERT encoder and its unigram tokenizer in one file.
//!
//! Little endian throughout:
//!
//! | part | content |
//! | --- | --- |
//! | head | `"E5S1"`, u32 version 1; i32 hidden, layers, heads, feed-forward, vocabulary, positions, types; f32 LayerNorm epsilon; i32 Q4 block size 32 |
//! | tokenizer | i32 pieces, `<s>`, `</s>`, `<pad>`, `<unk>`; u64 length of the pieces' text; u32 offset × (pieces + 1); f32 score × pieces; text |
//! | normalisation | i32 rules, u32 bytes; per rule u32 character, u8 count, u32 × count replacement |
//! | directory | i32 tensors; per tensor u16 length and name, u8 encoding (0 f32, 1 Q4_0), u32 elements, u64 offset, u64 bytes |
//! | data | the tensors, at their offsets |
//!
//! The file is input from outside. Nothing is allocated for a length before the file is known to
//! be that long, and every number is checked where it is read.

#[cfg(test)]
pub(crate) mod sample;
mod tensors;
#[cfg(test)]
mod tests;

use std::io::{Read, Seek};

use memory_engine_core::Kernel;

use tensors::Tensors;

use crate::{
    encoder::{Encoder, Shape},
    error::ModelError,
    kernel::rows::BLOCK,
    source::Source,
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

/// Reads a whole model.
///
/// # Errors
/// `Corrupt` for anything that cannot be right, `Unsupported` for another version.
pub(crate) fn open(file: impl Read + Seek, kernel: Kernel, integer: bool) -> Result<(Encoder, Tokenizer), ModelError> {
    let mut source = Source::new(file)?;
    if source.array::<4>()? != MAGIC {
        return Err(ModelError::corrupt("not an E5S1 file: it begins with other bytes"));
    }
    let version = source.u32()?;
    if version != VERSION {
        return Err(ModelError::unsupported(format!("E5S1 version {version}, not {VERSION}")));
    }
    let shape = read_shape(&mut source)?;
    let unigram = read_unigram(&mut source)?;
    if unigram.size() > shape.vocabulary {
        let (pieces, rows) = (unigram.size(), shape.vocabulary);
        return Err(ModelError::corrupt(format!("{pieces} pieces, but {rows} word vectors")));
    }
    let mut tensors = Tensors::read(source)?;
    let encoder = Encoder::open(&mut tensors, shape, kernel, integer)?;
    Ok((encoder, Tokenizer::Unigram(unigram)))
}

fn read_shape<R: Read + Seek>(source: &mut Source<R>) -> Result<Shape, ModelError> {
    let shape = Shape {
        hidden: source.size("hidden size")?,
        layers: source.size("number of layers")?,
        heads: source.size("number of heads")?,
        feed_forward: source.size("feed-forward size")?,
        vocabulary: source.size("vocabulary")?,
        positions: source.size("number of positions")?,
        first_position: 0,
        types: source.size("number of types")?,
        epsilon: source.f32()?,
    };
    shape.check()?;
    let block = source.size("block size")?;
    if block != BLOCK {
        return Err(ModelError::unsupported(format!("Q4 blocks of {block} values, not {BLOCK}")));
    }
    Ok(shape)
}

fn read_unigram<R: Read + Seek>(source: &mut Source<R>) -> Result<Unigram, ModelError> {
    let count = source.size("number of pieces")?;
    let start = source.size("start token")? as u32;
    let end = source.size("end token")? as u32;
    let _padding = source.size("padding token")?;
    let unknown = source.size("unknown token")? as u32;
    let length = source.u64()?;
    let offsets = source.u32s(count + 1, "piece offsets")?;
    let scores = source.f32s(count, "piece scores")?;
    let text = source.bytes(length, "pieces")?;
    let text = String::from_utf8(text).map_err(|_| ModelError::corrupt("the pieces' text is not UTF-8"))?;
    if offsets.first() != Some(&0) || offsets.last().map(|&end| u64::from(end)) != Some(length) {
        return Err(ModelError::corrupt("the piece offsets do not span the pieces' text"));
    }
    let pieces = PieceTable::new(text, offsets)?;
    let normalizer = Normalizer::Characters(read_replacements(source)?);
    let options = UnigramOptions { start, end, unknown, merge_spaces: true, split_white_space: false };
    Unigram::new(normalizer, pieces, scores, options)
}

fn read_replacements<R: Read + Seek>(source: &mut Source<R>) -> Result<CharReplacements, ModelError> {
    let count = source.size("number of normalisation rules")?;
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
        return Err(ModelError::corrupt(format!("the normalisation rules do not fill {bytes} bytes")));
    }
    Ok(rules)
}
