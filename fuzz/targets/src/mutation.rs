//! Deterministic mutations of inputs, for a machine without a coverage-guided fuzzer.

/// A generator of pseudo-random numbers (xorshift64*).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Creates the generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self((seed ^ 0x9e37_79b9_7f4a_7c15).max(1))
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() >> 33) as usize % bound.max(1)
    }
}

/// Maximum size of a mutated input, in bytes.
const MAX_BYTES: usize = 16 << 10;
/// Bytes that parsers treat specially.
const SPECIAL_BYTES: &[u8] = b"\0\n\r\t \"'\\{}[](),:;<>=&%#@!?*+-_/|~`0129azAZ\x7f\x80\xbf\xc0\xe2\xf0\xff";
/// Texts whose handling often is wrong.
const SPECIAL_TEXTS: [&str; 16] = [
    "。",
    "，",
    "我",
    "的",
    "不",
    "é",
    "e\u{301}",
    "👨‍👩‍👧",
    "\u{feff}",
    "\u{200b}",
    "\u{2028}",
    "İ",
    "ß",
    "１２",
    "null",
    "-1e999",
];

/// Returns a mutation of one of these inputs: one to six small changes.
pub fn mutate(inputs: &[Vec<u8>], tokens: &[&str], random: &mut Random) -> Vec<u8> {
    let mut bytes = inputs[random.below(inputs.len())].clone();
    for _ in 0..=random.below(6) {
        change(&mut bytes, inputs, tokens, random);
    }
    bytes.truncate(MAX_BYTES);
    bytes
}

fn change(bytes: &mut Vec<u8>, inputs: &[Vec<u8>], tokens: &[&str], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let end = (at + random.below(32)).min(bytes.len());
    match random.below(10) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 if at < bytes.len() => bytes[at] = SPECIAL_BYTES[random.below(SPECIAL_BYTES.len())],
        2 => drop(bytes.drain(at..end)),
        3 => bytes.truncate(at),
        4 => {
            let copied = bytes[at..end].to_vec();
            insert(bytes, at, &copied);
        }
        5 => {
            // A long repetition: an algorithm that is quadratic takes too long.
            let repeated = bytes[at..end].repeat(1 + random.below(200));
            insert(bytes, at, &repeated);
        }
        6 => {
            let other = &inputs[random.below(inputs.len())];
            let from = random.below(other.len() + 1);
            let to = (from + random.below(200)).min(other.len());
            insert(bytes, at, &other[from..to]);
        }
        7 => {
            let number = random.number() >> random.below(64);
            insert(bytes, at, number.to_string().as_bytes());
        }
        8 if !tokens.is_empty() => insert(bytes, at, tokens[random.below(tokens.len())].as_bytes()),
        _ => insert(bytes, at, SPECIAL_TEXTS[random.below(SPECIAL_TEXTS.len())].as_bytes()),
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, inserted: &[u8]) {
    if bytes.len() + inserted.len() <= MAX_BYTES {
        bytes.splice(at..at, inserted.iter().copied());
    }
}
