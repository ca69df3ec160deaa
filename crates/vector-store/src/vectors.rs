//! Vectors in contiguous rows, and the nearest of them.

use std::{
    io::{self, Read, Write},
    ops::Range,
};

use memory_engine_core::{
    Kernel,
    snapshot::{SnapshotReader, SnapshotWriter},
};

use crate::{
    codes::{Codes, Estimate},
    kernel::{self, rows::Rows},
    signs::Signs,
};

/// Maximum number of rows that are compared exactly, without a look at their codes first.
const EXACT_MAX_ROWS: usize = 256;
/// Maximum number of rows that are searched without signs, whether they are all rows or a list. Such a search is exact.
const UNSIGNED_MAX_ROWS: usize = 8_000;
/// Signs help with a list of at least this share of all rows. The signs of all rows are compared, and the estimates of
/// a shorter list cost less than that.
const SIGNS_MIN_LIST_SHARE: f64 = 1.0 / 16.0;
/// Maximum number of rows of which a lean index keeps the full vectors.
const LEAN_MAX_FULL_ROWS: usize = 20_000;
/// One in this many rows is a candidate after the comparison of signs.
const ROWS_PER_CANDIDATE: usize = 64;
/// Minimum number of candidates after the comparison of signs.
const MIN_CANDIDATES: usize = 1500;
/// A list has this many times as many candidates: the list may leave out everything near the query, and signs order
/// rows that are far away less well.
const LIST_CANDIDATES_FACTOR: usize = 2;
/// Minimum number of candidates for each wanted hit.
const CANDIDATES_PER_HIT: usize = 20;
/// Maximum number of full vectors that a search looks up in a lean index. The products of further hits come from their
/// codes, with a typical error of 0.0004 (384 dimensions, length one). A long list is only fused with another one, and
/// each lookup reads a page of a file.
const MAX_LOOKUPS: usize = 20;

/// Rows of numbers, in three forms: as they are, in [codes](Codes) of one byte, and, when there are
/// [`UNSIGNED_MAX_ROWS`], as [signs](Signs). A search goes through the smaller forms first, and gives the products of
/// the numbers as they are.
///
/// Those that are lean keep no numbers as they are when there are more than [`LEAN_MAX_FULL_ROWS`]: a search names the
/// rows to look up.
#[derive(Debug, Clone)]
pub(crate) struct Vectors {
    width: usize,
    /// True if all vectors have length one, so that only directions are compared.
    unit: bool,
    lean: bool,
    values: Option<Vec<f32>>,
    codes: Codes,
    signs: Option<Signs>,
    rows: usize,
}

/// The result of a search: at least the rows whose inner products with the query are the greatest.
#[derive(Debug, PartialEq)]
pub(crate) enum Nearest {
    /// Rows with exact products.
    Exact(Vec<(u32, f32)>),
    /// The caller looks up the full vectors of `rows`; `others` rank behind them, with approximate products.
    Lookup { rows: Vec<u32>, others: Vec<(u32, f32)> },
}

impl Vectors {
    pub(crate) fn new(width: usize, unit: bool, lean: bool) -> Self {
        Self { width, unit, lean, values: Some(Vec::new()), codes: Codes::default(), signs: None, rows: 0 }
    }

    pub(crate) fn push(&mut self, values: &[f32]) {
        self.codes.push(values);
        self.rows += 1;
        match &mut self.values {
            Some(_) if self.lean && self.rows > LEAN_MAX_FULL_ROWS => self.values = None,
            Some(all) => all.extend_from_slice(values),
            None => {}
        }
        match &mut self.signs {
            Some(signs) if !signs.is_outgrown() => signs.push(values),
            Some(_) => self.build_signs(),
            None if self.unit && self.rows > UNSIGNED_MAX_ROWS => self.build_signs(),
            None => {}
        }
    }

    /// Writes the codes of these rows.
    pub(crate) fn save<W: Write>(&self, out: &mut SnapshotWriter<W>, rows: Range<usize>) -> io::Result<()> {
        self.codes.save(out, rows, self.width)
    }

    /// Reads rows that [`save`](Self::save) has written of vectors of this width; how many they are. None is kept as
    /// it is from then on.
    pub(crate) fn extend<R: Read>(&mut self, input: &mut SnapshotReader<R>) -> io::Result<usize> {
        let rows = self.codes.extend(input, self.width)?;
        self.values = None;
        self.signs = None;
        self.rows += rows;
        Ok(rows)
    }

    /// Reserves memory for this many more rows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.codes.reserve(rows, self.width);
    }

    /// Builds the signs if searches need them and they do not exist.
    pub(crate) fn ensure_signs(&mut self) {
        if self.unit && self.signs.is_none() && self.rows > UNSIGNED_MAX_ROWS {
            self.build_signs();
        }
    }

    fn build_signs(&mut self) {
        self.signs = Some(Signs::of(&self.codes, self.rows, self.width));
    }

    /// Removes a row; the last one takes its place.
    pub(crate) fn swap_remove(&mut self, row: usize) {
        let last = self.rows - 1;
        if let Some(values) = &mut self.values {
            values.copy_within(last * self.width..(last + 1) * self.width, row * self.width);
            values.truncate(last * self.width);
        }
        self.codes.swap_remove(row, self.width);
        if let Some(signs) = &mut self.signs {
            signs.swap_remove(row);
        }
        self.rows = last;
    }

    /// Returns the rows whose products with the query may be among the `limit` greatest.
    ///
    /// At most [`UNSIGNED_MAX_ROWS`] rows, and lists of a small share of all rows, are all considered; of more rows,
    /// those with the nearest signs.
    pub(crate) fn nearest(&self, query: &[f32], among: Rows<'_>, limit: usize) -> Nearest {
        let candidates = self.max_candidates(among, limit);
        let rows = match &self.signs {
            Some(signs) if self.signs_help(among) && candidates < among.len() => {
                self.possible_rows(query, Rows::Of(&signs.nearest(query, among, candidates)), limit)
            }
            _ => self.possible_rows(query, among, limit),
        };
        let Some(values) = &self.values else { return self.plan_lookups(query, rows, limit) };
        let mut products = Vec::with_capacity(rows.len());
        kernel::products(Kernel::detect(), query, values, Rows::Of(&rows), &mut products);
        Nearest::Exact(rows.into_iter().zip(products).collect())
    }

    /// Returns how many rows are compared by their codes after the comparison of signs.
    fn max_candidates(&self, among: Rows<'_>, limit: usize) -> usize {
        let candidates =
            (self.rows / ROWS_PER_CANDIDATE).max(MIN_CANDIDATES).max(limit.saturating_mul(CANDIDATES_PER_HIT));
        match among {
            Rows::First(_) => candidates,
            Rows::Of(_) => candidates.saturating_mul(LIST_CANDIDATES_FACTOR),
        }
    }

    /// Returns true if comparing signs first costs less than comparing the codes of all these rows.
    fn signs_help(&self, among: Rows<'_>) -> bool {
        let count = among.len();
        count > UNSIGNED_MAX_ROWS && count as f64 >= self.rows as f64 * SIGNS_MIN_LIST_SHARE
    }

    /// Returns the rows that may be among the best, given the error bounds of their estimates.
    fn possible_rows(&self, query: &[f32], among: Rows<'_>, limit: usize) -> Vec<u32> {
        let count = among.len();
        // Exact products of few vectors in memory cost less than estimates.
        let few = if self.values.is_some() { EXACT_MAX_ROWS.max(limit) } else { limit.min(MAX_LOOKUPS) };
        if count <= few {
            return (0..count).map(|place| among.at(place) as u32).collect();
        }
        let estimates = self.codes.estimates(query, among);
        let first = (0..count).map(|place| among.at(place) as u32);
        possible_best(&first.zip(estimates).collect::<Vec<_>>(), limit).collect()
    }

    /// Chooses the rows to look up, by better estimates.
    fn plan_lookups(&self, query: &[f32], rows: Vec<u32>, limit: usize) -> Nearest {
        if rows.len() <= limit.min(MAX_LOOKUPS) {
            return Nearest::Lookup { rows, others: Vec::new() };
        }
        let length = query.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt() as f32 * (1.0 + 1e-6);
        let closer = rows.into_iter().map(|row| (row, self.codes.closer(query, length, row)));
        let mut closer: Vec<(u32, Estimate)> = closer.collect();
        let first: Vec<u32> = possible_best(&closer, limit.min(MAX_LOOKUPS)).collect();
        closer.retain(|(row, _)| limit > MAX_LOOKUPS && !first.contains(row));
        let others = closer.into_iter().map(|(row, estimate)| (row, estimate.product)).collect();
        Nearest::Lookup { rows: first, others }
    }
}

/// Returns the rows that may be among the `limit` best, given the error bounds of their estimates.
fn possible_best(estimates: &[(u32, Estimate)], limit: usize) -> impl Iterator<Item = u32> {
    let mut sure: Vec<f32> = estimates.iter().map(|(_, estimate)| estimate.product - estimate.slack).collect();
    let bound = match sure.len() > limit {
        true => *sure.select_nth_unstable_by(limit.saturating_sub(1), |a, b| b.total_cmp(a)).1,
        false => f32::NEG_INFINITY,
    };
    estimates.iter().filter_map(move |(row, estimate)| {
        let most = estimate.product + estimate.slack;
        // Numbers too large for an estimate count as possible.
        (most >= bound || (most - bound).is_nan()).then_some(*row)
    })
}

#[cfg(test)]
mod tests;
