//! Vectors in contiguous rows, and the nearest of them.

use std::{
    io::{self, Read, Write},
    ops::Range,
};

use memory_engine_core::snapshot::{SnapshotReader, SnapshotWriter};

use crate::{
    codes::{Codes, Estimate},
    kernel::{self, Kernel, Rows},
    signs::Signs,
};

/// Up to how many rows all are compared number by number.
const FEW: usize = 256;
/// From how many rows on signs say first which are worth looking at. Below it nothing is ever missed.
const MANY: usize = 8_000;
/// Up to how many rows those that are lean keep as they are.
const KEPT: usize = 20_000;
/// One of so many rows is worth looking at.
const PART: usize = 64;
/// So many are looked at, at the least, and so many for each that is wanted.
const LEAST: usize = 1500;
const FOR_EACH: usize = 20;
/// How many of the best are looked up when no numbers are kept. What a search gives beyond them has the products of its codes,
/// off by some 0.0004 as a rule (384 numbers, length one): a long list is there to be fused with another one, and each look is
/// a page of a file.
const LOOKED_UP: usize = 20;

/// Rows of numbers, in three forms: as they are, in [codes](Codes) of one byte, and, when there are [`MANY`], as
/// [signs](Signs). A search goes through the smaller forms first, and gives the products of the numbers as they are.
///
/// Those that are lean keep no numbers as they are when there are more than [`KEPT`]: a search names the rows to look up.
#[derive(Debug, Clone)]
pub(crate) struct Vectors {
    width: usize,
    /// Whether all have length one, so that directions are all there is.
    unit: bool,
    lean: bool,
    values: Option<Vec<f32>>,
    codes: Codes,
    signs: Option<Signs>,
    rows: usize,
}

/// What a search is left with: at least the rows whose product with the query is among the greatest.
#[derive(Debug, PartialEq)]
pub(crate) enum Nearest {
    /// With their products.
    Known(Vec<(u32, f32)>),
    /// To be looked up, and others behind them with what their products are about.
    Rows(Vec<u32>, Vec<(u32, f32)>),
}

impl Vectors {
    pub(crate) fn new(width: usize, unit: bool, lean: bool) -> Self {
        Self { width, unit, lean, values: Some(Vec::new()), codes: Codes::default(), signs: None, rows: 0 }
    }

    pub(crate) fn push(&mut self, values: &[f32]) {
        self.codes.push(values);
        self.rows += 1;
        match &mut self.values {
            Some(_) if self.lean && self.rows > KEPT => self.values = None,
            Some(all) => all.extend_from_slice(values),
            None => {}
        }
        match &mut self.signs {
            Some(signs) if !signs.is_outgrown() => signs.push(values),
            Some(_) => self.take_signs(),
            None if self.unit && self.rows > MANY => self.take_signs(),
            None => {}
        }
    }

    /// Writes the codes of these rows.
    pub(crate) fn save<W: Write>(&self, out: &mut SnapshotWriter<W>, rows: Range<usize>) -> io::Result<()> {
        self.codes.save(out, rows, self.width)
    }

    /// Reads rows that [`save`](Self::save) has written of vectors of this width; how many they are. None is kept as it is from
    /// then on.
    pub(crate) fn extend<R: Read>(&mut self, input: &mut SnapshotReader<R>) -> io::Result<usize> {
        let rows = self.codes.extend(input, self.width)?;
        (self.values, self.signs) = (None, None);
        self.rows += rows;
        Ok(rows)
    }

    /// Makes room for so many rows more.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.codes.reserve(rows, self.width);
    }

    /// Takes the signs, if searches are to go by them and there are none.
    pub(crate) fn settle(&mut self) {
        if self.unit && self.signs.is_none() && self.rows > MANY {
            self.take_signs();
        }
    }

    fn take_signs(&mut self) {
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

    /// The rows among these whose product with the query may be among the `limit` greatest, at least those that are.
    ///
    /// All are considered as far as there are not [`MANY`], and when they are a list. Of more, those whose signs are nearest.
    pub(crate) fn nearest(&self, query: &[f32], among: Rows<'_>, limit: usize) -> Nearest {
        let pool = (self.rows / PART).max(LEAST).max(limit.saturating_mul(FOR_EACH));
        let rows = match (among, &self.signs) {
            (Rows::First(count), Some(signs)) if count > MANY && pool < count => {
                self.contenders(query, Rows::Of(&signs.nearest(query, pool)), limit)
            }
            _ => self.contenders(query, among, limit),
        };
        let Some(values) = &self.values else { return self.to_look_up(query, rows, limit) };
        let mut products = Vec::with_capacity(rows.len());
        kernel::products(Kernel::detect(), query, values, Rows::Of(&rows), &mut products);
        Nearest::Known(rows.into_iter().zip(products).collect())
    }

    /// Those of the rows that are among the best, however wrong their estimates are.
    fn contenders(&self, query: &[f32], among: Rows<'_>, limit: usize) -> Vec<u32> {
        let count = among.len();
        // To look at numbers in memory costs less than to find out which to look at.
        let few = if self.values.is_some() { FEW.max(limit) } else { limit.min(LOOKED_UP) };
        if count <= few {
            return (0..count).map(|place| among.at(place) as u32).collect();
        }
        let estimates = self.codes.estimates(query, among);
        let first = (0..count).map(|place| among.at(place) as u32);
        worth_looking_at(&first.zip(estimates).collect::<Vec<_>>(), limit).collect()
    }

    /// The rows in two parts by a closer look at their codes.
    fn to_look_up(&self, query: &[f32], rows: Vec<u32>, limit: usize) -> Nearest {
        if rows.len() <= limit.min(LOOKED_UP) {
            return Nearest::Rows(rows, Vec::new());
        }
        let length = query.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt() as f32 * (1.0 + 1e-6);
        let closer = rows.into_iter().map(|row| (row, self.codes.closer(query, length, row)));
        let mut closer: Vec<(u32, Estimate)> = closer.collect();
        let first: Vec<u32> = worth_looking_at(&closer, limit.min(LOOKED_UP)).collect();
        closer.retain(|(row, _)| limit > LOOKED_UP && !first.contains(row));
        Nearest::Rows(first, closer.into_iter().map(|(row, estimate)| (row, estimate.product)).collect())
    }
}

/// The rows that may be among the `limit` best: no others have to be looked at.
fn worth_looking_at(estimates: &[(u32, Estimate)], limit: usize) -> impl Iterator<Item = u32> {
    let mut sure: Vec<f32> = estimates.iter().map(|(_, estimate)| estimate.product - estimate.slack).collect();
    let bound = match sure.len() > limit {
        true => *sure.select_nth_unstable_by(limit.saturating_sub(1), |a, b| b.total_cmp(a)).1,
        false => f32::NEG_INFINITY,
    };
    estimates.iter().filter_map(move |(row, estimate)| {
        let most = estimate.product + estimate.slack;
        // Numbers too large for an estimate are looked at.
        (most >= bound || (most - bound).is_nan()).then_some(*row)
    })
}

#[cfg(test)]
mod tests;
