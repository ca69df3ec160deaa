//! Searching a flat index.

use std::{cmp::Ordering, convert::Infallible, hash::Hash};

use memory_engine_core::{Embedding, Kernel, Score};

use super::{FlatIndex, SearchSubset};
use crate::{
    kernel::{self, rows::RowSelection},
    vectors::Nearest,
};

impl<K: Copy + Ord + Hash, G: Copy + Eq + Hash> FlatIndex<K, G> {
    /// Returns the `limit` vectors nearest to the query: best first, equal scores by key. A query with another number
    /// of dimensions finds nothing. Search a [lean](Self::lean) index by [`search_with`](Self::search_with).
    pub fn search(&self, query: &Embedding, subset: SearchSubset<'_, K, G>, limit: usize) -> Vec<(K, Score)> {
        let no_lookup = |_: &K| Ok::<_, Infallible>(None);
        self.search_with(query, subset, limit, no_lookup).unwrap_or_else(|never| match never {})
    }

    /// Searches as [`search`](Self::search) does. `look_up` returns the full vectors that the index does not keep, for
    /// the best twenty hits and all vectors that may be as near as the last of them. The scores of the others come from
    /// their codes. A vector that `look_up` does not find is left out, so that there may be fewer hits.
    ///
    /// # Errors
    /// Returns the first error of `look_up`.
    pub fn search_with<E>(
        &self,
        query: &Embedding,
        subset: SearchSubset<'_, K, G>,
        limit: usize,
        look_up: impl FnMut(&K) -> Result<Option<Embedding>, E>,
    ) -> Result<Vec<(K, Score)>, E> {
        if query.values().len() != self.dimensions || limit == 0 {
            return Ok(Vec::new());
        }
        let list: Vec<u32>;
        let rows = match subset {
            SearchSubset::All => RowSelection::First(self.len()),
            SearchSubset::Groups(groups) if self.is_covered_by(groups) => RowSelection::First(self.len()),
            SearchSubset::Groups(groups) => {
                list = self.members(groups).copied().collect();
                RowSelection::List(&list)
            }
            SearchSubset::Keys(keys) => {
                list = keys.iter().filter_map(|key| self.rows.find(key, &self.keys)).collect();
                RowSelection::List(&list)
            }
            SearchSubset::Matching(is_match) => {
                let rows = (0_u32..).zip(&self.keys).filter(|(_, key)| is_match(key));
                list = rows.map(|(row, _)| row).collect();
                RowSelection::List(&list)
            }
        };
        let query = self.normalized(query.clone());
        let products = match self.vectors.nearest(query.values(), rows, limit) {
            Nearest::Exact(products) => products,
            Nearest::Lookup { rows, others } => self.exact_products(&query, &rows, others, look_up)?,
        };
        let mut hits: Vec<RankedHit<K>> = products
            .into_iter()
            .map(|(row, product)| RankedHit { score: Score::new(f64::from(product)), key: self.keys[row as usize] })
            .collect();
        if hits.len() > limit {
            hits.select_nth_unstable(limit - 1);
            hits.truncate(limit);
        }
        hits.sort_unstable();
        Ok(hits.into_iter().map(|hit| (hit.key, hit.score)).collect())
    }

    /// Looks up the full vectors of `rows`, and appends their inner products with the query to `products`.
    fn exact_products<E>(
        &self,
        query: &Embedding,
        rows: &[u32],
        mut products: Vec<(u32, f32)>,
        mut look_up: impl FnMut(&K) -> Result<Option<Embedding>, E>,
    ) -> Result<Vec<(u32, f32)>, E> {
        products.reserve(rows.len());
        let mut product = Vec::with_capacity(1);
        for row in rows {
            let Some(embedding) = look_up(&self.keys[*row as usize])? else { continue };
            let embedding = self.normalized(embedding);
            if embedding.values().len() != self.dimensions {
                continue;
            }
            product.clear();
            kernel::products(
                Kernel::detect(),
                query.values(),
                embedding.values(),
                RowSelection::First(1),
                &mut product,
            );
            products.extend(product.first().map(|product| (*row, *product)));
        }
        Ok(products)
    }
}

/// A hit. The better of two hits compares as less; equal scores compare by key.
#[derive(PartialEq, Eq)]
struct RankedHit<K> {
    score: Score,
    key: K,
}

impl<K: Ord> Ord for RankedHit<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.cmp(&self.score).then_with(|| self.key.cmp(&other.key))
    }
}

impl<K: Ord> PartialOrd for RankedHit<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
