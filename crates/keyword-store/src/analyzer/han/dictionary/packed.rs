//! Reads the bundled dictionary.

/// Made by `scripts/build-chinese-dictionary`, which describes the format.
pub(super) static FILE: &[u8] = include_bytes!("../../../../data/zh/dictionary.bin");
const MAGIC: &[u8] = b"MEDICT02";

/// A dictionary file, checked and ready to be read block by block.
pub(super) struct PackedDictionary<'f> {
    total_frequency: usize,
    /// In the order of their first characters.
    blocks: Vec<Block<'f>>,
}

/// The words with the same first character.
pub(super) struct Block<'f> {
    first: u16,
    words: u16,
    bytes: &'f [u8],
}

impl<'f> PackedDictionary<'f> {
    /// Reads the table of blocks. Returns `None` if the file does not have the format.
    pub(super) fn new(file: &'f [u8]) -> Option<Self> {
        let mut rest = file.strip_prefix(MAGIC)?;
        let words = read_u32(&mut rest)?;
        let total_frequency = read_u32(&mut rest)?;
        let block_count = read_u32(&mut rest)?;
        let (mut table, mut contents) = rest.split_at_checked(block_count.checked_mul(8)?)?;
        let mut blocks = Vec::with_capacity(block_count);
        for _ in 0..block_count {
            let (first, words) = (read_u16(&mut table)?, read_u16(&mut table)?);
            let (bytes, after) = contents.split_at_checked(read_u32(&mut table)?)?;
            contents = after;
            blocks.push(Block { first, words, bytes });
        }
        let is_ordered = blocks.is_sorted_by(|a, b| a.first < b.first);
        let counted: usize = blocks.iter().map(|block| usize::from(block.words)).sum();
        (contents.is_empty() && is_ordered && counted == words).then_some(Self { total_frequency, blocks })
    }

    /// The sum of the frequencies of all words.
    pub(super) fn total_frequency(&self) -> usize {
        self.total_frequency
    }

    pub(super) fn blocks(&self) -> &[Block<'f>] {
        &self.blocks
    }

    /// Returns the index of the block of this first character, or `None` if no word begins with it.
    pub(super) fn block_of(&self, first: char) -> Option<usize> {
        let first = u16::try_from(u32::from(first)).ok()?;
        self.blocks.binary_search_by_key(&first, |block| block.first).ok()
    }

    /// Passes each word of a block with its frequency to `visit`. Returns `None` at the first word that cannot be read.
    pub(super) fn for_each_word(&self, block: usize, mut visit: impl FnMut(&str, usize)) -> Option<()> {
        let Block { words, bytes: mut rest, .. } = *self.blocks.get(block)?;
        let mut word = String::new();
        for _ in 0..words {
            let frequency = read_word(&mut rest, &mut word)?;
            visit(&word, frequency);
        }
        rest.is_empty().then_some(())
    }
}

/// Reads a word into `word`, which holds the previous word of the block, and returns its frequency.
fn read_word(rest: &mut &[u8], word: &mut String) -> Option<usize> {
    let (lengths, after) = rest.split_first()?;
    *rest = after;
    // Upper four bits: number of characters that are shared with the previous word.
    let shared_bytes = word.char_indices().nth(usize::from(lengths >> 4)).map_or(word.len(), |(start, _)| start);
    word.truncate(shared_bytes);
    let frequency = read_leb128(rest)?;
    // Lower four bits: number of further characters minus 1, two bytes each.
    let (further, after) = rest.split_at_checked(2 * (usize::from(lengths & 0x0f) + 1))?;
    *rest = after;
    let (units, _) = further.as_chunks::<2>();
    for unit in units {
        word.push(char::from_u32(u32::from(u16::from_le_bytes(*unit)))?);
    }
    Some(frequency)
}

/// Reads a frequency, which is below 2²⁸.
fn read_leb128(rest: &mut &[u8]) -> Option<usize> {
    let mut number = 0_usize;
    for shift in (0..28).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn read_u16(rest: &mut &[u8]) -> Option<u16> {
    let (number, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(u16::from_le_bytes(*number))
}

fn read_u32(rest: &mut &[u8]) -> Option<usize> {
    let (number, after) = rest.split_first_chunk()?;
    *rest = after;
    usize::try_from(u32::from_le_bytes(*number)).ok()
}
