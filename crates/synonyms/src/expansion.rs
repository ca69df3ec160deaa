//! Expands queries with synonyms.

use memory_engine_core::phrases::fold;
use memory_engine_keyword_store::{Clause, WeightedTerm, words};
use rustc_hash::FxHashMap;

use crate::thesaurus::{Entry, Group, Thesaurus};

/// The groups that become one clause, and their words in the query.
#[derive(Debug, Default)]
struct ExpandedClause {
    groups: Vec<usize>,
    query_words: Vec<Entry>,
}

/// A clause of the expanded query, in the order of the result.
enum ClauseSlot {
    /// A clause that stays as it is.
    Original(Clause),
    /// The expanded clause with this index. Only its first slot counts.
    Expanded(usize),
}

impl Thesaurus {
    /// Expands the clauses of a query: each group of synonyms in the query becomes one clause.
    ///
    /// `clauses` are the analysis of `query`. The clauses of a word in a group are replaced by one clause, in which an
    /// occurrence of the word itself counts 1 and that of a synonym [less](Self::with_synonym_weight). A word of
    /// several terms counts by the share of its terms that occur. The weight of the clause is that of the heaviest word
    /// that it replaces, so a group counts once, regardless of the number of its words in a record or in the query.
    ///
    /// A query without words of a group is returned unchanged.
    pub fn expand(&self, query: &str, clauses: Vec<Clause>) -> Vec<Clause> {
        let expanded = self.expanded_clauses(query, &clauses);
        if expanded.is_empty() {
            return clauses;
        }
        // The expanded clause of each term of a word in the query.
        let mut clause_of_term: FxHashMap<&str, usize> = FxHashMap::default();
        for (index, clause) in expanded.iter().enumerate() {
            for entry in &clause.query_words {
                for (term, _) in &self.groups[entry.group].terms[entry.word] {
                    clause_of_term.entry(term).or_insert(index);
                }
            }
        }
        let mut replaced_weights: Vec<FxHashMap<String, f64>> = vec![FxHashMap::default(); expanded.len()];
        let mut slots: Vec<ClauseSlot> = Vec::with_capacity(clauses.len());
        for clause in clauses {
            // A clause of several terms was already expanded by another component.
            if let [single] = clause.terms.as_slice()
                && let Some(index) = clause_of_term.get(single.term.as_str()).copied()
            {
                replaced_weights[index].insert(single.term.clone(), clause.weight);
                slots.push(ClauseSlot::Expanded(index));
            } else {
                slots.push(ClauseSlot::Original(clause));
            }
        }
        // A word may have been found in another form than its clauses; then its clause comes last.
        slots.extend((0..expanded.len()).map(ClauseSlot::Expanded));

        let mut new_clauses: Vec<Option<Clause>> = Vec::with_capacity(expanded.len());
        for (clause, weights) in expanded.iter().zip(&replaced_weights) {
            new_clauses.push(Some(Clause { terms: self.terms(clause), weight: self.weight(clause, weights) }));
        }
        let in_order = slots.into_iter().filter_map(|slot| match slot {
            ClauseSlot::Original(clause) => Some(clause),
            ClauseSlot::Expanded(index) => new_clauses[index].take(),
        });
        in_order.filter(|clause| !clause.terms.is_empty()).collect()
    }

    /// Returns the groups with a word in the query. Groups that share a word become one clause.
    fn expanded_clauses(&self, query: &str, clauses: &[Clause]) -> Vec<ExpandedClause> {
        let folded = fold(query);
        let mut matches: Vec<Vec<Entry>> =
            self.find(&folded, &words(&folded)).into_iter().map(|found| found.entries).collect();
        for term in clauses.iter().flat_map(|clause| &clause.terms) {
            let entries = self.entries_of_term(&term.term);
            if !entries.is_empty() {
                matches.push(entries.to_vec());
            }
        }
        let mut expanded: Vec<ExpandedClause> = Vec::new();
        for entries in matches {
            let groups = entries.iter().map(|entry| entry.group).collect();
            let mut merged = ExpandedClause { groups, query_words: entries };
            for clause in std::mem::take(&mut expanded) {
                if clause.groups.iter().any(|group| merged.groups.contains(group)) {
                    merged = clause.merge(merged);
                } else {
                    expanded.push(clause);
                }
            }
            expanded.push(merged);
        }
        expanded
    }

    /// Returns all terms of the clause. Terms of words in the query have their full weight, those of synonyms less.
    fn terms(&self, clause: &ExpandedClause) -> Vec<WeightedTerm> {
        let mut terms: Vec<WeightedTerm> = Vec::new();
        let mut add = |group: &Group, word: usize, factor: f64| {
            for (term, part) in &group.terms[word] {
                let weight = part * factor;
                match terms.iter_mut().find(|known| known.term == *term) {
                    Some(known) => known.weight = known.weight.max(weight),
                    None if weight > 0.0 => terms.push(WeightedTerm { term: term.clone(), weight }),
                    None => {}
                }
            }
        };
        for entry in &clause.query_words {
            add(&self.groups[entry.group], entry.word, 1.0);
        }
        for group in &clause.groups {
            let group = &self.groups[*group];
            (0..group.words.len()).for_each(|word| add(group, word, self.synonym_weight));
        }
        terms
    }

    /// Returns the weight of the clause: that of the heaviest word of the query in it.
    fn weight(&self, clause: &ExpandedClause, replaced_weights: &FxHashMap<String, f64>) -> f64 {
        let word_weight = |entry: &Entry| -> f64 {
            let terms = &self.groups[entry.group].terms[entry.word];
            terms.iter().filter_map(|(term, _)| replaced_weights.get(term)).sum()
        };
        let heaviest = clause.query_words.iter().map(word_weight).fold(0.0, f64::max);
        if heaviest > 0.0 { heaviest } else { 1.0 }
    }
}

impl ExpandedClause {
    fn merge(mut self, other: Self) -> Self {
        self.groups.extend(other.groups);
        self.groups.sort_unstable();
        self.groups.dedup();
        for entry in other.query_words {
            if !self.query_words.contains(&entry) {
                self.query_words.push(entry);
            }
        }
        self
    }
}
