//! The tensor directory and the tensors behind it.

use std::{
    collections::BTreeMap,
    io::{Read, Seek},
};

use crate::{
    encoder::TensorSource,
    error::ModelError,
    kernel::rows::BLOCK,
    source::Source,
    weights::{Q4_BLOCK, StoredTensor},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    F32,
    Q4,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    encoding: Encoding,
    elements: u64,
    offset: u64,
    bytes: u64,
}

/// All tensors of a file, read when asked for.
pub(super) struct Tensors<R> {
    source: Source<R>,
    entries: BTreeMap<String, Entry>,
}

impl<R: Read + Seek> Tensors<R> {
    /// Reads the directory, which begins where `source` stands, and checks every entry.
    pub(super) fn read(mut source: Source<R>) -> Result<Self, ModelError> {
        let count = source.size("number of tensors")?;
        let mut entries = BTreeMap::new();
        // An entry takes at least 23 bytes, so a false count ends with the file.
        for _ in 0..count {
            let (name, entry) = read_entry(&mut source)?;
            entry.check(source.length()).map_err(|error| error.within(&name))?;
            if entries.insert(name.clone(), entry).is_some() {
                return Err(ModelError::corrupt(format!("tensor {name} is listed twice")));
            }
        }
        Ok(Self { source, entries })
    }

    fn find(&self, name: &str, elements: usize) -> Result<Entry, ModelError> {
        let entry = *self.entries.get(name).ok_or_else(|| ModelError::corrupt(format!("tensor {name} is missing")))?;
        if entry.elements != elements as u64 {
            let found = entry.elements;
            return Err(ModelError::corrupt(format!("tensor {name} has {found} elements, not {elements}")));
        }
        Ok(entry)
    }
}

fn read_entry<R: Read + Seek>(source: &mut Source<R>) -> Result<(String, Entry), ModelError> {
    let length = source.u16()?;
    let name = source.bytes(u64::from(length), "a tensor's name")?;
    let name = String::from_utf8(name).map_err(|_| ModelError::corrupt("a tensor's name is not UTF-8"))?;
    let encoding = match source.array::<1>()?[0] {
        0 => Encoding::F32,
        1 => Encoding::Q4,
        other => {
            return Err(ModelError::corrupt(format!("tensor {name} has the encoding {other}")));
        }
    };
    let elements = u64::from(source.u32()?);
    let (offset, bytes) = (source.u64()?, source.u64()?);
    Ok((name, Entry { encoding, elements, offset, bytes }))
}

impl Entry {
    fn check(&self, file_length: u64) -> Result<(), ModelError> {
        let wanted = match self.encoding {
            Encoding::F32 => self.elements * 4,
            Encoding::Q4 => self.elements / BLOCK as u64 * Q4_BLOCK as u64,
        };
        let whole = self.encoding == Encoding::F32 || self.elements.is_multiple_of(BLOCK as u64);
        if !whole || self.bytes != wanted {
            let Self { elements, bytes, .. } = self;
            return Err(ModelError::corrupt(format!("{elements} elements in {bytes} bytes")));
        }
        if self.offset.checked_add(self.bytes).is_none_or(|end| end > file_length) {
            return Err(ModelError::corrupt("the data goes past the end of the file"));
        }
        Ok(())
    }
}

impl<R: Read + Seek> TensorSource for Tensors<R> {
    fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<StoredTensor, ModelError> {
        let entry = self.find(name, rows * columns)?;
        self.source.seek(entry.offset)?;
        let stored = match entry.encoding {
            Encoding::F32 => StoredTensor::Full(self.source.f32s(rows * columns, name)?),
            Encoding::Q4 if columns.is_multiple_of(BLOCK) => StoredTensor::Q4(self.source.bytes(entry.bytes, name)?),
            Encoding::Q4 => {
                return Err(ModelError::unsupported(format!(
                    "tensor {name}: rows of {columns} do not divide into blocks"
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
