//! The tensor directory and the tensors.

use std::{
    collections::BTreeMap,
    io::{Read, Seek},
};

use crate::{
    encoder::TensorSource,
    error::ModelError,
    kernel::rows::BLOCK,
    source::CheckedReader,
    weights::{Q4_BLOCK, StoredTensor},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TensorEncoding {
    F32,
    Q4,
}

#[derive(Debug, Clone, Copy)]
struct TensorEntry {
    encoding: TensorEncoding,
    elements: u64,
    offset: u64,
    bytes: u64,
}

/// The tensors of a file. Each is read on demand.
pub(super) struct Tensors<R> {
    source: CheckedReader<R>,
    entries: BTreeMap<String, TensorEntry>,
}

impl<R: Read + Seek> Tensors<R> {
    /// Reads the directory at the current position of `source` and checks every entry.
    pub(super) fn read(mut source: CheckedReader<R>) -> Result<Self, ModelError> {
        let count = source.count("number of tensors")?;
        let mut entries = BTreeMap::new();
        // An entry has at least 23 bytes, so a wrong count fails at the end of the file.
        for _ in 0..count {
            let (name, entry) = read_entry(&mut source)?;
            entry.check(source.length()).map_err(|error| error.in_context(&name))?;
            if entries.insert(name.clone(), entry).is_some() {
                return Err(ModelError::corrupt(format!("the directory lists tensor {name} twice")));
            }
        }
        Ok(Self { source, entries })
    }

    fn find(&self, name: &str, elements: usize) -> Result<TensorEntry, ModelError> {
        let entry = *self.entries.get(name).ok_or_else(|| ModelError::corrupt(format!("tensor {name} is missing")))?;
        if entry.elements != elements as u64 {
            let actual = entry.elements;
            return Err(ModelError::corrupt(format!("tensor {name} has {actual} elements; expected {elements}")));
        }
        Ok(entry)
    }
}

fn read_entry<R: Read + Seek>(source: &mut CheckedReader<R>) -> Result<(String, TensorEntry), ModelError> {
    let length = source.u16()?;
    let name = source.bytes(u64::from(length), "the name of a tensor")?;
    let name = String::from_utf8(name).map_err(|_| ModelError::corrupt("the name of a tensor is not UTF-8"))?;
    let encoding = match source.array::<1>()?[0] {
        0 => TensorEncoding::F32,
        1 => TensorEncoding::Q4,
        other => {
            return Err(ModelError::corrupt(format!(
                "tensor {name} has the unknown encoding {other}; expected 0 (f32) or 1 (Q4_0)"
            )));
        }
    };
    let elements = u64::from(source.u32()?);
    let offset = source.u64()?;
    let bytes = source.u64()?;
    Ok((name, TensorEntry { encoding, elements, offset, bytes }))
}

impl TensorEntry {
    fn check(&self, file_length: u64) -> Result<(), ModelError> {
        let expected_bytes = match self.encoding {
            TensorEncoding::F32 => self.elements * 4,
            TensorEncoding::Q4 => self.elements / BLOCK as u64 * Q4_BLOCK as u64,
        };
        let has_whole_blocks = self.encoding == TensorEncoding::F32 || self.elements.is_multiple_of(BLOCK as u64);
        if !has_whole_blocks || self.bytes != expected_bytes {
            let Self { elements, bytes, .. } = self;
            return Err(ModelError::corrupt(format!(
                "{elements} elements have {bytes} bytes; expected {expected_bytes} bytes of whole blocks"
            )));
        }
        if self.offset.checked_add(self.bytes).is_none_or(|end| end > file_length) {
            return Err(ModelError::corrupt("the data exceeds the end of the file"));
        }
        Ok(())
    }
}

impl<R: Read + Seek> TensorSource for Tensors<R> {
    fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<StoredTensor, ModelError> {
        let entry = self.find(name, rows * columns)?;
        self.source.seek(entry.offset)?;
        let stored = match entry.encoding {
            TensorEncoding::F32 => StoredTensor::Full(self.source.f32s(rows * columns, name)?),
            TensorEncoding::Q4 if columns.is_multiple_of(BLOCK) => {
                StoredTensor::Q4(self.source.bytes(entry.bytes, name)?)
            }
            TensorEncoding::Q4 => {
                return Err(ModelError::unsupported(format!(
                    "tensor {name} has rows of {columns} values, which is not a multiple of the block size {BLOCK}"
                )));
            }
        };
        if !stored.is_finite() {
            return Err(ModelError::corrupt(format!("tensor {name} has values that are not finite")));
        }
        Ok(stored)
    }

    fn vector(&mut self, name: &str, length: usize) -> Result<Vec<f32>, ModelError> {
        Ok(self.matrix(name, 1, length)?.to_floats().into_owned())
    }
}
