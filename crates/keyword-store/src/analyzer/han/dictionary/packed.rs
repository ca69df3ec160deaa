//! Reads the bundled dictionary.

use jieba_rs::Jieba;

/// Made by `scripts/build-chinese-dictionary`, which describes the format.
pub(super) static FILE: &[u8] = include_bytes!("../../../../data/zh/dictionary.bin");
const MAGIC: &[u8] = b"MEDICT01";

/// Returns a segmenter with the words of a file, or `None` if the file does not have the format.
pub(super) fn read(file: &[u8]) -> Option<Jieba> {
    let (count, mut rest) = file.strip_prefix(MAGIC)?.split_at_checked(4)?;
    let count = u32::from_le_bytes(count.try_into().ok()?);
    let mut jieba = Jieba::empty();
    let mut word = String::new();
    for _ in 0..count {
        let frequency = read_word(&mut rest, &mut word)?;
        jieba.add_word(&word, Some(frequency), None);
    }
    rest.is_empty().then_some(jieba)
}

/// Reads a word and returns its frequency. `word` is the word before, and becomes the one that was read.
fn read_word(rest: &mut &[u8], word: &mut String) -> Option<usize> {
    let (lengths, after) = rest.split_first()?;
    *rest = after;
    let shared_bytes = word.char_indices().nth(usize::from(lengths >> 4)).map_or(word.len(), |(start, _)| start);
    word.truncate(shared_bytes);
    let frequency = read_leb128(rest)?;
    let (further, after) = rest.split_at_checked(2 * (usize::from(lengths & 0x0f) + 1))?;
    *rest = after;
    let (units, _) = further.as_chunks::<2>();
    for unit in units {
        word.push(char::from_u32(u32::from(u16::from_le_bytes(*unit)))?);
    }
    Some(frequency)
}

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
