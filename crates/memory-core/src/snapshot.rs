//! Arrays of numbers in a file that is a cache: what an index in memory is made of, written as it lies there.
//!
//! Numbers are little-endian. The end is a digest of all before it (XXH3, 64 bits), which tells a whole file from a torn one.

use std::io::{self, Error, ErrorKind, Read, Write};

use bytemuck::{Pod, Zeroable};
use xxhash_rust::xxh3::Xxh3;

/// Writes arrays one after the other.
pub struct SnapshotWriter<W> {
    out: W,
    digest: Xxh3,
}

/// Reads the arrays that a [`SnapshotWriter`] has written, in the same order and of the same types.
pub struct SnapshotReader<R> {
    input: R,
    digest: Xxh3,
    left: u64,
}

/// Whether this machine keeps numbers as a file has them; on another one there are no snapshots.
fn check_machine() -> io::Result<()> {
    if cfg!(target_endian = "little") { Ok(()) } else { Err(Error::from(ErrorKind::Unsupported)) }
}

impl<W: Write> SnapshotWriter<W> {
    /// # Errors
    /// `Unsupported` on a machine that keeps numbers the other way round.
    pub fn new(out: W) -> io::Result<Self> {
        check_machine()?;
        Ok(Self { out, digest: Xxh3::new() })
    }

    /// Writes how many there are, and the numbers.
    ///
    /// # Errors
    /// Those of the output.
    pub fn array<T: Pod>(&mut self, numbers: &[T]) -> io::Result<()> {
        self.bytes(&(numbers.len() as u64).to_le_bytes())?;
        self.bytes(bytemuck::cast_slice(numbers))
    }

    /// Writes numbers that differ little, each from the one before it, in few bytes: the differences (zigzag, LEB128).
    ///
    /// # Errors
    /// Those of the output.
    pub fn deltas(&mut self, numbers: impl IntoIterator<Item = i64>) -> io::Result<()> {
        let (mut bytes, mut last) = (Vec::new(), 0_i64);
        for number in numbers {
            let delta = number.wrapping_sub(last);
            push_varint(&mut bytes, (delta << 1 ^ delta >> 63) as u64);
            last = number;
        }
        self.array(&bytes)
    }

    /// Writes one number.
    ///
    /// # Errors
    /// Those of the output.
    pub fn number(&mut self, number: u64) -> io::Result<()> {
        self.bytes(&number.to_le_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.digest.update(bytes);
        self.out.write_all(bytes)
    }

    /// Writes the digest; gives the output back.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        let digest = self.digest.digest();
        self.out.write_all(&digest.to_le_bytes())?;
        Ok(self.out)
    }
}

impl<R: Read> SnapshotReader<R> {
    /// Reads an input of so many bytes.
    ///
    /// # Errors
    /// `Unsupported` on a machine that keeps numbers the other way round.
    pub fn new(input: R, length: u64) -> io::Result<Self> {
        check_machine()?;
        Ok(Self { input, digest: Xxh3::new(), left: length })
    }

    /// Reads an array. It makes no more room than the input has bytes.
    ///
    /// # Errors
    /// `InvalidData` when it cannot be of this type; those of the input.
    pub fn array<T: Pod + Zeroable>(&mut self) -> io::Result<Vec<T>> {
        let mut numbers = Vec::new();
        self.append(&mut numbers)?;
        Ok(numbers)
    }

    /// The same, behind what is there.
    ///
    /// # Errors
    /// As [`array`](Self::array).
    pub fn append<T: Pod + Zeroable>(&mut self, numbers: &mut Vec<T>) -> io::Result<()> {
        let count = self.number()?;
        let size = count.checked_mul(size_of::<T>() as u64).filter(|size| *size <= self.left);
        let count = size.and_then(|_| usize::try_from(count).ok()).ok_or(ErrorKind::InvalidData)?;
        let before = numbers.len();
        numbers.resize(before + count, T::zeroed());
        self.bytes(bytemuck::cast_slice_mut(&mut numbers[before..]))
    }

    /// Reads what [`SnapshotWriter::deltas`] has written.
    ///
    /// # Errors
    /// `InvalidData` when it is something else; those of the input.
    pub fn deltas(&mut self) -> io::Result<Vec<i64>> {
        let bytes: Vec<u8> = self.array()?;
        let (mut rest, mut last) = (&bytes[..], 0_i64);
        let mut numbers = Vec::with_capacity(bytes.len());
        while !rest.is_empty() {
            let delta = pull_varint(&mut rest)?;
            last = last.wrapping_add((delta >> 1) as i64 ^ -((delta & 1) as i64));
            numbers.push(last);
        }
        Ok(numbers)
    }

    /// Reads one number.
    ///
    /// # Errors
    /// Those of the input.
    pub fn number(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn bytes(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.input.read_exact(bytes)?;
        self.left = self.left.saturating_sub(bytes.len() as u64);
        self.digest.update(bytes);
        Ok(())
    }

    /// Reads the digest. What was read before is to be believed only when this succeeds.
    ///
    /// # Errors
    /// `InvalidData` when it is not that of what was read, or more follows.
    pub fn finish(mut self) -> io::Result<()> {
        let digest = self.digest.digest();
        let mut stored = [0; 8];
        self.input.read_exact(&mut stored)?;
        if u64::from_le_bytes(stored) != digest || self.left != 8 {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok(())
    }
}

/// Appends a number in as few bytes as it needs, seven bits each (LEB128).
pub fn push_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes such a number off the front.
///
/// # Errors
/// `InvalidData` when there is none.
pub fn pull_varint(bytes: &mut &[u8]) -> io::Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(ErrorKind::InvalidData)?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(ErrorKind::InvalidData.into())
}

impl<W> std::fmt::Debug for SnapshotWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SnapshotWriter").finish_non_exhaustive()
    }
}

impl<R> std::fmt::Debug for SnapshotReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SnapshotReader").field("left", &self.left).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Arrays = (Vec<f32>, u64, Vec<u16>, Vec<[u64; 2]>, Vec<i64>);

    fn write((floats, number, shorts, pairs, alike): &Arrays) -> Vec<u8> {
        let mut writer = SnapshotWriter::new(Vec::new()).unwrap();
        writer.array(floats).unwrap();
        writer.number(*number).unwrap();
        writer.array(shorts).unwrap();
        writer.array(pairs).unwrap();
        writer.deltas(alike.iter().copied()).unwrap();
        writer.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> io::Result<Arrays> {
        let mut reader = SnapshotReader::new(bytes, bytes.len() as u64)?;
        let arrays = (reader.array()?, reader.number()?, reader.array()?, reader.array()?, reader.deltas()?);
        reader.finish()?;
        Ok(arrays)
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_and_what_was_torn_or_changed_is_not(
            floats in proptest::collection::vec(-1.0_f32..1.0, 0..40), number: u64,
            shorts in proptest::collection::vec(any::<u16>(), 0..40),
            pairs in proptest::collection::vec(any::<[u64; 2]>(), 0..9), alike in proptest::collection::vec(prop_oneof![-99..99_i64, any::<i64>()], 0..20),
            place: prop::sample::Index, bit in 0..8_u32,
        ) {
            let arrays = (floats, number, shorts, pairs, alike);
            let bytes = write(&arrays);
            prop_assert_eq!(read(&bytes).unwrap(), arrays);
            prop_assert!(read(&bytes[..place.index(bytes.len())]).is_err());
            let mut changed = bytes.clone();
            changed[place.index(bytes.len())] ^= 1_u8 << bit;
            prop_assert!(read(&changed).is_err());
            prop_assert!(read(&[bytes, vec![0]].concat()).is_err());
        }
    }
}
