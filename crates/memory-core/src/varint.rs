//! Unsigned integers of variable length (LEB128): seven bits in each byte, the lowest first.

/// Appends a number in the fewest possible bytes: 1 to 10.
#[inline]
pub fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Removes a number from the front of `bytes`. Returns `None` if there is no complete number.
///
/// ```
/// use memory_engine_core::varint;
///
/// let mut bytes = Vec::new();
/// varint::push(&mut bytes, 300);
/// assert_eq!(bytes, [0xac, 0x02]);
/// let mut rest = &bytes[..];
/// assert_eq!(varint::pull(&mut rest), Some(300));
/// assert_eq!(varint::pull(&mut rest), None);
/// ```
#[inline]
pub fn pull(bytes: &mut &[u8]) -> Option<u64> {
    // Nearly all numbers in postings and counts take one byte.
    match bytes {
        [first, rest @ ..] if *first < 0x80 => {
            *bytes = rest;
            Some(u64::from(*first))
        }
        _ => pull_long(bytes),
    }
}

fn pull_long(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests;
