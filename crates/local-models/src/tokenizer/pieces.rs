//! The vocabulary: an open-addressed table from piece to id.
//!
//! The hash is FNV-1a, which is incremental: finding all pieces at a position costs one step per byte
//! and one probe per character, without allocation. It is not keyed. The pieces are fixed by the
//! file, so a text cannot make probe chains longer.

use crate::error::ModelError;

const OFFSET_BASIS: u64 = 0xCBF2_9CE4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01B3;

/// All pieces of a vocabulary. The id of a piece is its index.
#[derive(Debug)]
pub(crate) struct PieceTable {
    text: String,
    /// The start of each piece, and the end of the last.
    offsets: Vec<u32>,
    /// Ids plus one; 0 is an empty slot. A power of two, at most half full.
    slots: Vec<u32>,
    /// Length of the longest piece in bytes.
    max_length: usize,
}

impl PieceTable {
    /// Creates a table from the concatenated pieces and their offsets. Of equal pieces, the first is used.
    ///
    /// # Errors
    /// `Corrupt` if offsets decrease or are not at character boundaries.
    pub(crate) fn new(text: String, offsets: Vec<u32>) -> Result<Self, ModelError> {
        let count = offsets.len().saturating_sub(1);
        let slots = vec![0; (count * 2).next_power_of_two().max(2)];
        let mut table = Self { text, offsets, slots, max_length: 0 };
        for id in 0..count {
            let (start, end) = (table.offsets[id] as usize, table.offsets[id + 1] as usize);
            let Some(piece) = table.text.get(start..end) else {
                return Err(ModelError::corrupt(format!(
                    "piece {id} has the invalid bounds {start}..{end} in the text of the pieces"
                )));
            };
            let slot = table.slot(hash(OFFSET_BASIS, piece.as_bytes()), piece.as_bytes());
            table.max_length = table.max_length.max(piece.len());
            if table.slots[slot] == 0 {
                table.slots[slot] = id as u32 + 1;
            }
        }
        Ok(table)
    }

    /// Number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns the id of a piece.
    #[cfg(feature = "hf")]
    pub(crate) fn find(&self, piece: &[u8]) -> Option<u32> {
        self.slots[self.slot(hash(OFFSET_BASIS, piece), piece)].checked_sub(1)
    }

    /// Calls `visit` with the length and id of every piece that `text` begins with, shortest first.
    pub(crate) fn for_each_prefix(&self, text: &str, mut visit: impl FnMut(usize, u32)) {
        let bytes = text.as_bytes();
        let mut state = OFFSET_BASIS;
        let mut end = 0;
        for character in text.chars() {
            let next = end + character.len_utf8();
            if next > self.max_length {
                return;
            }
            state = hash(state, &bytes[end..next]);
            end = next;
            if let Some(id) = self.slots[self.slot(state, &bytes[..end])].checked_sub(1) {
                visit(end, id);
            }
        }
    }

    fn piece(&self, id: usize) -> &[u8] {
        let (start, end) = (self.offsets[id] as usize, self.offsets[id + 1] as usize);
        &self.text.as_bytes()[start..end]
    }

    /// Returns the slot of the piece, or the empty slot for it.
    fn slot(&self, hash: u64, piece: &[u8]) -> usize {
        let mask = self.slots.len() - 1;
        // The low bits of FNV depend only on the low bits of the bytes, so the high bits are folded in.
        let mut slot = (hash ^ hash >> 32) as usize & mask;
        while self.slots[slot] != 0 && self.piece(self.slots[slot] as usize - 1) != piece {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

fn hash(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |state, &byte| (state ^ u64::from(byte)).wrapping_mul(PRIME))
}
