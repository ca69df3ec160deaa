//! A file reader that checks lengths before it allocates.

use std::io::{BufReader, Read, Seek, SeekFrom};

use crate::error::ModelError;

/// Reads a file. Checks every length against the size of the file.
pub(crate) struct CheckedReader<R> {
    reader: BufReader<R>,
    length: u64,
    position: u64,
}

impl<R: Read + Seek> CheckedReader<R> {
    pub(crate) fn new(mut file: R) -> Result<Self, ModelError> {
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(0))?;
        Ok(Self { reader: BufReader::with_capacity(1 << 16, file), length, position: 0 })
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Moves to a position. A position past the end makes the next read fail.
    pub(crate) fn seek(&mut self, position: u64) -> Result<(), ModelError> {
        self.reader.seek(SeekFrom::Start(position))?;
        self.position = position;
        Ok(())
    }

    /// Reads `count` bytes. Checks that the file has them before allocating.
    pub(crate) fn bytes(&mut self, count: u64, what: &str) -> Result<Vec<u8>, ModelError> {
        let remaining = self.length.saturating_sub(self.position);
        let size = usize::try_from(count).ok().filter(|_| count <= remaining).ok_or_else(|| {
            ModelError::corrupt(format!("{what} needs {count} bytes, but only {remaining} remain in the file"))
        })?;
        let mut bytes = vec![0; size];
        self.reader.read_exact(&mut bytes)?;
        self.position += count;
        Ok(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], ModelError> {
        let mut bytes = [0; N];
        self.reader
            .read_exact(&mut bytes)
            .map_err(|error| ModelError::from(error).in_context(format_args!("at byte {}", self.position)))?;
        self.position += N as u64;
        Ok(bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, ModelError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, ModelError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, ModelError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn f32(&mut self) -> Result<f32, ModelError> {
        self.array().map(f32::from_le_bytes)
    }

    /// Reads a non-negative i32.
    pub(crate) fn count(&mut self, what: &str) -> Result<usize, ModelError> {
        let value = self.array().map(i32::from_le_bytes)?;
        usize::try_from(value).map_err(|_| ModelError::corrupt(format!("{what} is {value}, but must not be negative")))
    }

    pub(crate) fn character(&mut self) -> Result<char, ModelError> {
        let code = self.u32()?;
        char::from_u32(code).ok_or_else(|| ModelError::corrupt(format!("{code:#x} is not a character")))
    }

    pub(crate) fn u32s(&mut self, count: usize, what: &str) -> Result<Vec<u32>, ModelError> {
        let bytes = self.bytes(count as u64 * 4, what)?;
        Ok(bytes.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect())
    }

    pub(crate) fn f32s(&mut self, count: usize, what: &str) -> Result<Vec<f32>, ModelError> {
        let bytes = self.bytes(count as u64 * 4, what)?;
        Ok(bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
    }
}
