//! The terms of a record in two columns, for adapters over a database: sorted, with one blank between them, and how
//! often each occurs (LEB128): each in its turn, or, after a 0, those that occur more than once, each with how many
//! before it do not.

use memory_engine_core::{Error, ErrorKind, Result, Terms, varint};

/// The terms, sorted, one blank between them, and their counts; no term holds a blank.
pub fn pack(terms: &Terms) -> (String, Vec<u8>) {
    let (mut words, mut counts) = (String::new(), Vec::new());
    for (term, count) in terms.iter() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(term);
        push(&mut counts, count);
    }
    (words, counts)
}

/// As [`pack`], with a shorter encoding of the counts: the count 1, that of most terms, takes no space.
pub fn pack_short(terms: &Terms) -> (String, Vec<u8>) {
    let (words, _) = pack(terms);
    let (mut counts, mut ones) = (Vec::new(), 0);
    for (_, count) in terms.iter() {
        if count == 1 {
            ones += 1;
            continue;
        }
        if counts.is_empty() {
            counts.push(0);
        }
        push(&mut counts, ones);
        push(&mut counts, count);
        ones = 0;
    }
    (words, counts)
}

/// The terms of one record in packed form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedTerms {
    words: String,
    counts: Vec<u8>,
}

impl PackedTerms {
    /// Takes terms and counts as [`pack`] or [`pack_short`] writes them.
    ///
    /// # Errors
    /// `Corrupt` if there are fewer counts than terms.
    pub fn new(words: String, counts: Vec<u8>) -> Result<Self> {
        pairs(&words, &counts).try_for_each(|pair| pair.map(drop))?;
        Ok(Self { words, counts })
    }

    /// Returns each term with its number of occurrences, sorted by term.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        pairs(&self.words, &self.counts).flatten()
    }
}

impl From<&Terms> for PackedTerms {
    fn from(terms: &Terms) -> Self {
        let (words, counts) = pack(terms);
        Self { words, counts }
    }
}

/// The packed terms one by one.
pub fn words(packed: &str) -> impl Iterator<Item = &str> {
    packed.split(' ').filter(|term| !term.is_empty())
}

/// The packed terms one by one, each with how often it occurs.
///
/// # Errors
/// `Corrupt` when there are fewer counts than terms.
pub fn pairs<'p>(packed: &'p str, counts: &'p [u8]) -> impl Iterator<Item = Result<(&'p str, u32)>> {
    let mut counts = Counts::of(counts);
    words(packed).map(move |term| Ok((term, counts.next().ok_or_else(mismatch)?)))
}

/// The counts in their order.
#[derive(Debug)]
enum Counts<'p> {
    Each(&'p [u8]),
    /// This many terms with the count 1 before the next byte, or all that follow.
    Few(Option<u32>, &'p [u8]),
}

impl<'p> Counts<'p> {
    fn of(bytes: &'p [u8]) -> Self {
        match bytes.split_first() {
            None => Self::few(bytes),
            Some((0, rest)) => Self::few(rest),
            Some(_) => Self::Each(bytes),
        }
    }

    fn few(mut rest: &'p [u8]) -> Self {
        if rest.is_empty() {
            return Self::Few(None, rest);
        }
        match pull(&mut rest) {
            Some(ones) => Self::Few(Some(ones), rest),
            None => Self::Each(&[]),
        }
    }

    fn next(&mut self) -> Option<u32> {
        match self {
            Self::Each(rest) => pull(rest),
            Self::Few(None, _) => Some(1),
            Self::Few(Some(0), rest) => {
                let count = pull(rest)?;
                *self = Self::few(rest);
                Some(count)
            }
            Self::Few(Some(ones), _) => {
                *ones -= 1;
                Some(1)
            }
        }
    }
}

/// Counts the `wanted` terms in a document. Returns true if any occurs. Terms and document are sorted, and `found`
/// has one entry for each wanted term. Terms are compared as bytes, without decoding the others.
///
/// # Errors
/// `Corrupt` when there are fewer counts than terms.
pub fn count(packed: &[u8], counts: &[u8], wanted: &[&str], found: &mut [u32]) -> Result<bool> {
    found.fill(0);
    let (mut counts, mut any) = (Counts::of(counts), false);
    let mut wanted = wanted.iter().map(|wanted| wanted.as_bytes()).zip(found).peekable();
    for term in packed.split(|byte| *byte == b' ').filter(|term| !term.is_empty()) {
        let Some((next, _)) = wanted.peek() else { break };
        let count = counts.next().ok_or_else(mismatch)?;
        // The first byte tells most of them apart.
        if term.first() < next.first() {
            continue;
        }
        while wanted.next_if(|(next, _)| *next < term).is_some() {}
        if let Some((_, found)) = wanted.next_if(|(next, _)| *next == term) {
            (*found, any) = (count, true);
        }
    }
    Ok(any)
}

fn mismatch() -> Error {
    let message = "the stored terms and their counts do not match; rebuild the keyword index";
    Error::new(ErrorKind::Corrupt, "read", message)
}

fn push(bytes: &mut Vec<u8>, number: u32) {
    varint::push(bytes, number.into());
}

fn pull(bytes: &mut &[u8]) -> Option<u32> {
    varint::pull(bytes).and_then(|number| number.try_into().ok())
}

#[cfg(test)]
mod tests;
