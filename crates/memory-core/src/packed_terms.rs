//! Encodes the terms of a record as two columns, for adapters over a database.
//!
//! The first column holds the terms, sorted and separated by one blank. The second column holds their counts as LEB128
//! varints, in one of two encodings:
//! - [`pack`] writes the count of each term.
//! - [`pack_short`] writes a 0, and then for each term with a count above 1 the number of preceding terms with the
//!   count 1, followed by the count. It writes nothing if all counts are 1.
//!
//! All readers accept both encodings: a count is never 0, so the first byte tells them apart.

use std::iter;

use crate::{
    error::{Error, ErrorKind, Result},
    terms::Terms,
    varint,
};

/// Returns the two columns with the count of each term. No term may contain a blank.
pub fn pack(terms: &Terms) -> (String, Vec<u8>) {
    let mut packed = String::new();
    let mut counts = Vec::new();
    for (term, count) in terms.iter() {
        if !packed.is_empty() {
            packed.push(' ');
        }
        packed.push_str(term);
        push(&mut counts, count);
    }
    (packed, counts)
}

/// Returns the two columns with the shorter encoding of the counts: the count 1, that of most terms, takes no space.
pub fn pack_short(terms: &Terms) -> (String, Vec<u8>) {
    let (packed, _) = pack(terms);
    let mut counts = Vec::new();
    let mut preceding_ones = 0;
    for (_, count) in terms.iter() {
        if count == 1 {
            preceding_ones += 1;
            continue;
        }
        if counts.is_empty() {
            counts.push(0);
        }
        push(&mut counts, preceding_ones);
        push(&mut counts, count);
        preceding_ones = 0;
    }
    (packed, counts)
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
        // Without counts every count is 1, and there is nothing to check.
        if !counts.is_empty() {
            pairs(&words, &counts).try_for_each(|pair| pair.map(drop))?;
        }
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

/// Returns the packed terms, in order.
pub fn terms(packed: &str) -> impl Iterator<Item = &str> {
    let mut rest = packed;
    iter::from_fn(move || {
        // `str::split` searches with memchr, which takes longer for terms of a few bytes.
        let start = rest.bytes().position(|byte| byte != b' ')?;
        let from_term = &rest[start..];
        let end = from_term.bytes().position(|byte| byte == b' ').unwrap_or(from_term.len());
        let (term, after) = from_term.split_at(end);
        rest = after;
        Some(term)
    })
}

/// Returns the packed terms with their counts, in order.
///
/// # Errors
/// `Corrupt` when there are fewer counts than terms.
pub fn pairs<'p>(packed: &'p str, counts: &'p [u8]) -> impl Iterator<Item = Result<(&'p str, u32)>> {
    let mut counts = CountReader::new(counts);
    terms(packed).map(move |term| Ok((term, counts.next().ok_or_else(mismatch)?)))
}

/// Decodes the counts in order.
#[derive(Debug)]
enum CountReader<'p> {
    /// The count of each term.
    Full(&'p [u8]),
    /// The short encoding.
    Short {
        /// Number of counts of 1 before the next byte. `None` if all remaining counts are 1.
        preceding_ones: Option<u32>,
        bytes: &'p [u8],
    },
}

impl<'p> CountReader<'p> {
    fn new(bytes: &'p [u8]) -> Self {
        match bytes.split_first() {
            None => Self::short(bytes),
            Some((0, rest)) => Self::short(rest),
            Some(_) => Self::Full(bytes),
        }
    }

    fn short(mut bytes: &'p [u8]) -> Self {
        if bytes.is_empty() {
            return Self::Short { preceding_ones: None, bytes };
        }
        match pull(&mut bytes) {
            Some(ones) => Self::Short { preceding_ones: Some(ones), bytes },
            None => Self::Full(&[]),
        }
    }

    fn next(&mut self) -> Option<u32> {
        match self {
            Self::Full(bytes) => pull(bytes),
            Self::Short { preceding_ones: None, .. } => Some(1),
            Self::Short { preceding_ones: Some(0), bytes } => {
                let count = pull(bytes)?;
                *self = Self::short(bytes);
                Some(count)
            }
            Self::Short { preceding_ones: Some(ones), .. } => {
                *ones -= 1;
                Some(1)
            }
        }
    }
}

/// Writes the count of each query term in a document to `query_counts`. Returns true if the document contains any of
/// them.
///
/// `query_terms` must be sorted, and `query_counts` must have the same length. Terms are compared as bytes, so that the
/// other terms of the document are not validated as UTF-8.
///
/// # Errors
/// `Corrupt` when there are fewer counts than terms.
pub fn count(packed: &[u8], counts: &[u8], query_terms: &[&str], query_counts: &mut [u32]) -> Result<bool> {
    query_counts.fill(0);
    let mut counts = CountReader::new(counts);
    let mut contains_any = false;
    let mut remaining = query_terms.iter().map(|term| term.as_bytes()).zip(query_counts).peekable();
    for term in packed.split(|byte| *byte == b' ').filter(|term| !term.is_empty()) {
        let Some((next, _)) = remaining.peek() else { break };
        let count = counts.next().ok_or_else(mismatch)?;
        // Comparing the first byte skips most terms.
        if term.first() < next.first() {
            continue;
        }
        while remaining.next_if(|(next, _)| *next < term).is_some() {}
        if let Some((_, query_count)) = remaining.next_if(|(next, _)| *next == term) {
            *query_count = count;
            contains_any = true;
        }
    }
    Ok(contains_any)
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
