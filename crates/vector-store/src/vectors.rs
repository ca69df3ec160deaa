//! Vectors in contiguous rows, and the nearest of them.

use crate::{
    codes::{Codes, Estimate},
    kernel::{self, Kernel, Rows},
    signs::Signs,
};

/// Up to how many rows all are compared number by number.
const FEW: usize = 256;
/// From how many rows on signs say first which are worth looking at. Below it nothing is ever missed.
const MANY: usize = 20_000;
/// One of so many rows is worth looking at.
const PART: usize = 40;
/// So many are looked at, at the least, and so many for each that is wanted.
const LEAST: usize = 1500;
const FOR_EACH: usize = 20;

/// Rows of numbers, in three forms: as they are, in [codes](Codes) of one byte, and, when there are [`MANY`], as
/// [signs](Signs). A search goes through the smaller forms first, and gives the products of the numbers as they are.
#[derive(Debug, Clone)]
pub(crate) struct Vectors {
    width: usize,
    /// Whether all have length one, so that directions are all there is.
    unit: bool,
    values: Vec<f32>,
    codes: Codes,
    signs: Option<Signs>,
    rows: usize,
}

impl Vectors {
    pub(crate) fn new(width: usize, unit: bool) -> Self {
        Self { width, unit, values: Vec::new(), codes: Codes::default(), signs: None, rows: 0 }
    }

    pub(crate) fn push(&mut self, values: &[f32]) {
        self.values.extend_from_slice(values);
        self.codes.push(values);
        self.rows += 1;
        match &mut self.signs {
            Some(signs) if !signs.is_outgrown() => signs.push(values),
            Some(_) => self.signs = Some(Signs::of(&self.values, self.width)),
            None if self.unit && self.rows > MANY => self.signs = Some(Signs::of(&self.values, self.width)),
            None => {}
        }
    }

    /// Removes a row; the last one takes its place.
    pub(crate) fn swap_remove(&mut self, row: usize) {
        let last = self.rows - 1;
        self.values.copy_within(last * self.width..(last + 1) * self.width, row * self.width);
        self.values.truncate(last * self.width);
        self.codes.swap_remove(row, self.width);
        if let Some(signs) = &mut self.signs {
            signs.swap_remove(row);
        }
        self.rows = last;
    }

    /// The rows among these whose product with the query may be among the `limit` greatest, with it: at least those that are.
    ///
    /// All are considered as far as there are not [`MANY`], and when they are a list. Of more, those whose signs are nearest.
    pub(crate) fn nearest(&self, query: &[f32], among: Rows<'_>, limit: usize) -> Vec<(u32, f32)> {
        let pool = (self.rows / PART).max(LEAST).max(limit.saturating_mul(FOR_EACH));
        match (among, &self.signs) {
            (Rows::First(count), Some(signs)) if count > MANY && pool < count => {
                self.contenders(query, Rows::Of(&signs.nearest(query, pool)), limit)
            }
            _ => self.contenders(query, among, limit),
        }
    }

    /// The same, looking at all of them in codes first. A row that cannot be among the best however wrong its estimate is need
    /// not be looked at again.
    fn contenders(&self, query: &[f32], among: Rows<'_>, limit: usize) -> Vec<(u32, f32)> {
        let count = among.len();
        let rows: Vec<u32> = if count <= FEW.max(limit) {
            (0..count).map(|place| among.at(place) as u32).collect()
        } else {
            let estimates = self.codes.estimates(query, among);
            let least = |estimate: &Estimate| estimate.product - estimate.slack;
            let mut sure: Vec<f32> = estimates.iter().map(least).collect();
            let bound = *sure.select_nth_unstable_by(limit.saturating_sub(1), |a, b| b.total_cmp(a)).1;
            let worth = |(place, estimate): (usize, &Estimate)| {
                let most = estimate.product + estimate.slack;
                // Numbers too large for an estimate are looked at.
                (most >= bound || (most - bound).is_nan()).then(|| among.at(place) as u32)
            };
            estimates.iter().enumerate().filter_map(worth).collect()
        };
        let mut products = Vec::with_capacity(rows.len());
        kernel::products(Kernel::detect(), query, &self.values, Rows::Of(&rows), &mut products);
        rows.into_iter().zip(products).collect()
    }
}

#[cfg(test)]
mod tests;
