//! Top-k retrieval over packed segments by the MaxScore algorithm.
//!
//! Source: H. Turtle and J. Flood, "Query evaluation: strategies and optimizations", 1995, section 4.
//!
//! Reasons: `docs/design/decisions/0006-segments-and-maxscore.md`.

use super::{accumulators::Accumulators, posting_list::PostingList, segment::Segment, top_k::TopK};
use crate::bm25::{Bm25, IdfTable};

/// Relative tolerance for comparing scores that were summed in different orders.
const ROUNDING_TOLERANCE: f64 = 1e-12;

impl Segment {
    /// Adds the best documents of this segment that pass `admit` to `top`. The result equals that of scoring every
    /// document.
    ///
    /// The posting lists, one for each clause, are processed in descending order of their upper bounds. A list is
    /// essential if a document that is in none of the lists before it could still reach the threshold. Essential lists
    /// are traversed, and fill the accumulators. Non-essential lists are only looked up, for documents that have an
    /// accumulator.
    pub(super) fn collect_top(
        &self,
        lists: &[PostingList<'_>],
        idf: &IdfTable,
        bm25: &Bm25,
        admit: impl Fn(i64) -> bool,
        accumulators: &mut Accumulators,
        top: &mut TopK,
    ) {
        let upper_bounds: Vec<f64> =
            lists.iter().enumerate().map(|(clause, list)| list.upper_bound(clause, idf, bm25)).collect();
        let mut by_upper_bound: Vec<usize> = (0..lists.len()).collect();
        by_upper_bound.sort_by(|a, b| upper_bounds[*b].total_cmp(&upper_bounds[*a]));

        // Phase 1: traverse the essential lists. Each one may raise the threshold, and thus make later ones
        // non-essential.
        let mut remaining_bound: f64 = upper_bounds.iter().sum();
        for clause in by_upper_bound {
            let is_essential = !top.cannot_enter(remaining_bound);
            if !is_essential {
                break;
            }
            let clause_idf = idf.of(clause);
            lists[clause].for_each(self, |slot, frequency| {
                let document = &self.documents[usize::from(slot)];
                if admit(document.number) {
                    accumulators.add(u32::from(slot), bm25.term_score(clause_idf, frequency, document.length));
                }
            });
            remaining_bound -= upper_bounds[clause];
            if let Some(kth_score) = accumulators.kth_best(top.limit()) {
                top.raise_threshold(kth_score - ROUNDING_TOLERANCE * (1.0 + kth_score.abs()));
            }
        }

        // Phase 2: compute the exact scores of the accumulated documents whose upper bound reaches the threshold.
        let non_essential_bound = remaining_bound.max(0.0);
        for (slot, partial_score) in accumulators.drain() {
            if top.cannot_enter(partial_score + non_essential_bound) {
                continue;
            }
            let score = self.exact_score(slot as u16, lists, idf, bm25);
            top.offer(score, &self.documents[slot as usize], || idf.normalise(score));
        }
    }

    /// Returns the sum of a document's term scores. Adds them in the order of the clauses, so that every backend gets
    /// the same bits.
    fn exact_score(&self, slot: u16, lists: &[PostingList<'_>], idf: &IdfTable, bm25: &Bm25) -> f64 {
        let length = self.documents[usize::from(slot)].length;
        let mut sum = 0.0;
        for (list, idf) in lists.iter().zip(idf.values()) {
            if let Some(frequency) = list.frequency(self, slot) {
                sum += bm25.term_score(*idf, frequency, length);
            }
        }
        sum
    }
}
