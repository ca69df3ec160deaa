//! Vectors in contiguous rows, and the search for the nearest ones.

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
    kernel::{self, rows::RowSelection},
    signs::Signs,
};

/// Maximum number of rows that are compared exactly at once, without comparing their codes first.
const EXACT_MAX_ROWS: usize = 256;
/// Maximum number of rows, of an index or of a list, that are searched without signs.
const UNSIGNED_MAX_ROWS: usize = 8_000;
/// Signs are used for a list only if it has at least this share of all rows: the signs of all rows are compared, and
/// estimating the rows of a shorter list costs less.
const SIGNS_MIN_LIST_SHARE: f64 = 1.0 / 16.0;
/// Maximum number of full vectors in a lean index: as many as are searched without signs.
const LEAN_MAX_FULL_ROWS: usize = UNSIGNED_MAX_ROWS;
/// Number of candidates after the comparison of signs, as a multiple of the square root of the number of rows. The
/// nearest of many rows are closer to the query than the nearest of few, so that a smaller share has to be compared.
const CANDIDATES_PER_ROOT_OF_ROWS: f64 = 5.0;
/// Minimum number of candidates after the comparison of signs.
const MIN_CANDIDATES: usize = 1500;
/// Factor on the number of candidates of a search in a list: the list may exclude all rows near the query, and signs
/// order distant rows less well.
const LIST_CANDIDATES_FACTOR: usize = 2;
/// Minimum number of candidates for each requested hit.
const CANDIDATES_PER_HIT: usize = 20;
/// Number of hits whose full vectors a search in a lean index looks up, with those of all rows that may be as near. The
/// products of further hits come from their codes, with a typical error of 0.0004 (384 dimensions, length one). Each
/// lookup reads a page of a file, and the order of later hits matters less: a long list of hits is only fused with
/// another one.
const EXACT_HITS: usize = 20;

/// Vectors in rows, in three forms: in full, as [codes](Codes) of one byte for each number, and, with more than
/// [`UNSIGNED_MAX_ROWS`] rows, as [signs](Signs). A search selects candidates by the smaller forms, and then computes
/// exact inner products with the full vectors.
///
/// With more than [`LEAN_MAX_FULL_ROWS`] rows, a lean index drops the full vectors. A search then returns the rows that
/// the caller must look up.
#[derive(Debug, Clone)]
pub(crate) struct Vectors {
    width: usize,
    /// True if all vectors have length one. Only then their signs can be compared.
    unit_length: bool,
    lean: bool,
    /// The full vectors; `None` if they were dropped.
    values: Option<Vec<f32>>,
    codes: Codes,
    signs: Option<Signs>,
    rows: usize,
}

/// The rows that may be among the hits of a search: at least as many as were requested, or all rows if there are fewer.
#[derive(Debug, PartialEq)]
pub(crate) enum Nearest {
    /// Rows with exact products.
    Exact(Vec<(u32, f32)>),
    /// The caller looks up the full vectors of `rows`. `others` are further candidates, with approximate products.
    Lookup { rows: Vec<u32>, others: Vec<(u32, f32)> },
}

impl Vectors {
    pub(crate) fn new(width: usize, unit_length: bool, lean: bool) -> Self {
        Self { width, unit_length, lean, values: Some(Vec::new()), codes: Codes::default(), signs: None, rows: 0 }
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
            Some(signs) if !signs.is_mean_outdated() => signs.push(values),
            Some(_) => self.build_signs(),
            None if self.unit_length && self.rows > UNSIGNED_MAX_ROWS => self.build_signs(),
            None => {}
        }
    }

    /// Writes the codes of these rows.
    pub(crate) fn save<W: Write>(&self, out: &mut SnapshotWriter<W>, rows: Range<usize>) -> io::Result<()> {
        self.codes.save(out, rows, self.width)
    }

    /// Reads rows of this width that [`save`](Self::save) has written, and appends them. Returns their number. Drops
    /// the full vectors, because those of the new rows are not known.
    pub(crate) fn extend<R: Read>(&mut self, input: &mut SnapshotReader<R>) -> io::Result<usize> {
        let rows = self.codes.extend(input, self.width)?;
        self.values = None;
        self.signs = None;
        self.rows += rows;
        Ok(rows)
    }

    /// Returns true if a row has the same codes as a row of `other`, apart from rounding.
    pub(crate) fn row_equals(&self, row: usize, other: &Self, other_row: usize) -> bool {
        self.codes.row_equals(row, &other.codes, other_row, self.width)
    }

    /// Reserves memory for this many more rows; for full vectors only if they are kept at the new size.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.codes.reserve(rows, self.width);
        if let Some(values) = &mut self.values
            && (!self.lean || self.rows + rows <= LEAN_MAX_FULL_ROWS)
        {
            values.reserve(rows * self.width);
        }
    }

    /// Builds the signs if searches need them and they do not exist.
    pub(crate) fn ensure_signs(&mut self) {
        if self.unit_length && self.signs.is_none() && self.rows > UNSIGNED_MAX_ROWS {
            self.build_signs();
        }
    }

    fn build_signs(&mut self) {
        self.signs = Some(Signs::of_codes(&self.codes, self.width));
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
    /// If there are no signs, or at most [`UNSIGNED_MAX_ROWS`] rows, or `rows` is a list of a small share of all rows,
    /// all rows are considered, otherwise only those with the nearest signs.
    pub(crate) fn nearest(&self, query: &[f32], rows: RowSelection<'_>, limit: usize) -> Nearest {
        let max_candidates = self.max_candidates(rows, limit);
        let possible = match &self.signs {
            Some(signs) if self.signs_help(rows) && max_candidates < rows.len() => {
                let candidates = signs.nearest(query, rows, max_candidates);
                self.possible_rows(query, RowSelection::List(&candidates), limit)
            }
            _ => self.possible_rows(query, rows, limit),
        };
        let Some(values) = &self.values else { return self.plan_lookups(query, possible, limit) };
        let mut products = Vec::with_capacity(possible.len());
        kernel::products(Kernel::detect(), query, values, RowSelection::List(&possible), &mut products);
        Nearest::Exact(possible.into_iter().zip(products).collect())
    }

    /// Returns the number of rows that are compared by their codes after the comparison of signs.
    fn max_candidates(&self, rows: RowSelection<'_>, limit: usize) -> usize {
        let by_rows = (CANDIDATES_PER_ROOT_OF_ROWS * (self.rows as f64).sqrt()) as usize;
        let candidates = by_rows.max(MIN_CANDIDATES).max(limit.saturating_mul(CANDIDATES_PER_HIT));
        match rows {
            RowSelection::First(_) => candidates,
            RowSelection::List(_) => candidates.saturating_mul(LIST_CANDIDATES_FACTOR),
        }
    }

    /// Returns true if comparing signs first costs less than comparing the codes of all these rows.
    fn signs_help(&self, rows: RowSelection<'_>) -> bool {
        let count = rows.len();
        count > UNSIGNED_MAX_ROWS && count as f64 >= self.rows as f64 * SIGNS_MIN_LIST_SHARE
    }

    /// Returns the rows that may be among the best, given the error bounds of their estimates.
    fn possible_rows(&self, query: &[f32], rows: RowSelection<'_>, limit: usize) -> Vec<u32> {
        // Exact products of few vectors in memory cost less than estimates.
        let exact_max_rows = if self.values.is_some() { EXACT_MAX_ROWS.max(limit) } else { limit.min(EXACT_HITS) };
        let numbers = (0..rows.len()).map(|index| rows.row(index) as u32);
        if rows.len() <= exact_max_rows {
            return numbers.collect();
        }
        let estimates: Vec<(u32, Estimate)> = numbers.zip(self.codes.estimates(query, rows)).collect();
        possible_best(&estimates, limit).collect()
    }

    /// Chooses the rows to look up, by refined estimates.
    fn plan_lookups(&self, query: &[f32], rows: Vec<u32>, limit: usize) -> Nearest {
        if rows.len() <= limit.min(EXACT_HITS) {
            return Nearest::Lookup { rows, others: Vec::new() };
        }
        let length = query.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt() as f32 * (1.0 + 1e-6);
        let refine = |row| (row, self.codes.refined_estimate(query, length, row));
        let mut estimates: Vec<(u32, Estimate)> = rows.into_iter().map(refine).collect();
        let lookups: Vec<u32> = possible_best(&estimates, limit.min(EXACT_HITS)).collect();
        estimates.retain(|(row, _)| limit > EXACT_HITS && !lookups.contains(row));
        let others = estimates.into_iter().map(|(row, estimate)| (row, estimate.product)).collect();
        Nearest::Lookup { rows: lookups, others }
    }
}

/// Returns the rows that may be among the `limit` best, given the error bounds of their estimates.
fn possible_best(estimates: &[(u32, Estimate)], limit: usize) -> impl Iterator<Item = u32> {
    let mut lower_bounds: Vec<f32> =
        estimates.iter().map(|(_, estimate)| estimate.product - estimate.max_error).collect();
    let threshold = if lower_bounds.len() > limit {
        *lower_bounds.select_nth_unstable_by(limit.saturating_sub(1), |a, b| b.total_cmp(a)).1
    } else {
        f32::NEG_INFINITY
    };
    estimates.iter().filter_map(move |(row, estimate)| {
        let upper_bound = estimate.product + estimate.max_error;
        // Numbers too large for an estimate count as possible.
        (upper_bound >= threshold || (upper_bound - threshold).is_nan()).then_some(*row)
    })
}

#[cfg(test)]
mod tests;
