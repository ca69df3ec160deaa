//! Arrays of numbers in a cache file, in their memory representation.
//!
//! Numbers are little-endian. A snapshot ends with a checksum (XXH3, 64 bits) of everything before it, so that damaged
//! and incomplete snapshots are detected.

use std::io::{self, Error, ErrorKind, Read, Write};

use bytemuck::{Pod, Zeroable};
use xxhash_rust::xxh3::Xxh3;

use crate::varint;

/// Writes arrays one after the other.
pub struct SnapshotWriter<W> {
    out: W,
    checksum: Xxh3,
}

/// Reads the arrays that a [`SnapshotWriter`] wrote, in the same order and of the same types.
pub struct SnapshotReader<R> {
    input: R,
    checksum: Xxh3,
    /// Bytes of the input that were not read yet.
    remaining: u64,
}

/// Checks that the machine is little-endian, since arrays are written in their memory representation.
fn check_byte_order() -> io::Result<()> {
    if cfg!(target_endian = "little") { Ok(()) } else { Err(Error::from(ErrorKind::Unsupported)) }
}

impl<W: Write> SnapshotWriter<W> {
    /// Starts a snapshot.
    ///
    /// # Errors
    /// Returns `Unsupported` on a big-endian machine.
    pub fn new(out: W) -> io::Result<Self> {
        check_byte_order()?;
        Ok(Self { out, checksum: Xxh3::new() })
    }

    /// Writes the number of elements and the elements.
    ///
    /// # Errors
    /// Returns the error of the output.
    pub fn array<T: Pod>(&mut self, numbers: &[T]) -> io::Result<()> {
        self.bytes(&(numbers.len() as u64).to_le_bytes())?;
        self.bytes(bytemuck::cast_slice(numbers))
    }

    /// Writes the differences between neighbouring numbers as zigzag varints: few bytes if neighbours differ little.
    ///
    /// # Errors
    /// Returns the error of the output.
    pub fn deltas(&mut self, numbers: impl IntoIterator<Item = i64>) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut previous = 0_i64;
        for number in numbers {
            let delta = number.wrapping_sub(previous);
            varint::push(&mut bytes, (delta << 1 ^ delta >> 63) as u64);
            previous = number;
        }
        self.array(&bytes)
    }

    /// Writes one number.
    ///
    /// # Errors
    /// Returns the error of the output.
    pub fn number(&mut self, number: u64) -> io::Result<()> {
        self.bytes(&number.to_le_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.checksum.update(bytes);
        self.out.write_all(bytes)
    }

    /// Writes the checksum and returns the output.
    ///
    /// # Errors
    /// Returns the error of the output.
    pub fn finish(mut self) -> io::Result<W> {
        let checksum = self.checksum.digest();
        self.out.write_all(&checksum.to_le_bytes())?;
        Ok(self.out)
    }
}

impl<R: Read> SnapshotReader<R> {
    /// Starts reading an input of `length` bytes.
    ///
    /// # Errors
    /// Returns `Unsupported` on a big-endian machine.
    pub fn new(input: R, length: u64) -> io::Result<Self> {
        check_byte_order()?;
        Ok(Self { input, checksum: Xxh3::new(), remaining: length })
    }

    /// Reads an array. It never allocates more memory than the input has bytes.
    ///
    /// # Errors
    /// Returns `InvalidData` if the array cannot be of this type, or the error of the input.
    pub fn array<T: Pod + Zeroable>(&mut self) -> io::Result<Vec<T>> {
        let mut numbers = Vec::new();
        self.append(&mut numbers)?;
        Ok(numbers)
    }

    /// Reads an array and appends it to `numbers`.
    ///
    /// # Errors
    /// See [`array`](Self::array).
    pub fn append<T: Pod + Zeroable>(&mut self, numbers: &mut Vec<T>) -> io::Result<()> {
        let count = self.number()?;
        let size = count.checked_mul(size_of::<T>() as u64).filter(|size| *size <= self.remaining);
        let count = size.and_then(|_| usize::try_from(count).ok()).ok_or(ErrorKind::InvalidData)?;
        let before = numbers.len();
        numbers.resize(before + count, T::zeroed());
        self.bytes(bytemuck::cast_slice_mut(&mut numbers[before..]))
    }

    /// Reads numbers that [`SnapshotWriter::deltas`] wrote.
    ///
    /// # Errors
    /// Returns `InvalidData` for damaged content, or the error of the input.
    pub fn deltas(&mut self) -> io::Result<Vec<i64>> {
        let bytes: Vec<u8> = self.array()?;
        let mut rest = &bytes[..];
        let mut previous = 0_i64;
        let mut numbers = Vec::with_capacity(bytes.len());
        while !rest.is_empty() {
            let delta = varint::pull(&mut rest).ok_or(ErrorKind::InvalidData)?;
            previous = previous.wrapping_add((delta >> 1) as i64 ^ -((delta & 1) as i64));
            numbers.push(previous);
        }
        Ok(numbers)
    }

    /// Reads one number.
    ///
    /// # Errors
    /// Returns the error of the input.
    pub fn number(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn bytes(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.input.read_exact(bytes)?;
        self.remaining = self.remaining.saturating_sub(bytes.len() as u64);
        self.checksum.update(bytes);
        Ok(())
    }

    /// Verifies the checksum. The data read before is valid only if this succeeds.
    ///
    /// # Errors
    /// Returns `InvalidData` if the checksum is wrong or more data follows.
    pub fn finish(mut self) -> io::Result<()> {
        let checksum = self.checksum.digest();
        let mut stored = [0; 8];
        self.input.read_exact(&mut stored)?;
        if u64::from_le_bytes(stored) != checksum || self.remaining != 8 {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok(())
    }
}

impl<W> std::fmt::Debug for SnapshotWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SnapshotWriter").finish_non_exhaustive()
    }
}

impl<R> std::fmt::Debug for SnapshotReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SnapshotReader").field("remaining", &self.remaining).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
