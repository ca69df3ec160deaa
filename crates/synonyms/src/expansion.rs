//! Questions with their synonyms.

use memory_engine_core::phrases::fold;
use memory_engine_keyword_store::{Clause, WeightedTerm, words};
use rustc_hash::FxHashMap;

use crate::thesaurus::{Entry, Group, Thesaurus};

/// A clause in the making: groups that the question names, with the words it names them by.
#[derive(Debug, Default)]
struct Expanded {
    groups: Vec<usize>,
    named: Vec<Entry>,
}

impl Thesaurus {
    /// The clauses of a question, each group of synonyms that it names gathered into one clause.
    ///
    /// `clauses` are the analysis of `question`. What belongs to a word of a group is taken out of them, and one clause
    /// takes its place: an occurrence of the word itself counts 1 in it and that of a synonym
    /// [less](Self::with_synonym_weight), where a word of several terms counts by how many of them occur. The clause
    /// weighs as much as what it replaces, so that a group counts once, however many of its words a record holds or the
    /// question names. Without a group in the question the clauses come back as they are.
    pub fn expand(&self, question: &str, clauses: Vec<Clause>) -> Vec<Clause> {
        let expanded = self.named_groups(question, &clauses);
        if expanded.is_empty() {
            return clauses;
        }
        // The clause that each term of a named word goes to.
        let mut homes: FxHashMap<&str, usize> = FxHashMap::default();
        for (n, clause) in expanded.iter().enumerate() {
            for entry in &clause.named {
                for (term, _) in &self.groups[entry.group].terms[entry.word] {
                    homes.entry(term).or_insert(n);
                }
            }
        }
        let mut grown: Vec<Option<Clause>> =
            expanded.iter().map(|clause| Some(Clause { terms: self.terms(clause), weight: 0.0 })).collect();
        let mut weights: Vec<FxHashMap<String, f64>> = vec![FxHashMap::default(); expanded.len()];
        let mut order: Vec<Result<Clause, usize>> = Vec::with_capacity(clauses.len());
        for clause in clauses {
            let home = match clause.terms.as_slice() {
                [one] => homes.get(one.term.as_str()).copied(),
                _ => None, // grouped already, by somebody else
            };
            match (home, clause.terms.first()) {
                (Some(n), Some(first)) => {
                    weights[n].insert(first.term.clone(), clause.weight);
                    order.push(Err(n));
                }
                _ => order.push(Ok(clause)),
            }
        }
        order.extend((0..expanded.len()).map(Err));
        for (n, clause) in grown.iter_mut().enumerate() {
            if let Some(clause) = clause {
                clause.weight = self.weight(&expanded[n], &weights[n]);
            }
        }
        let place = |item: Result<Clause, usize>| match item {
            Ok(clause) => Some(clause),
            Err(n) => grown[n].take(),
        };
        order.into_iter().filter_map(place).filter(|clause| !clause.terms.is_empty()).collect()
    }

    /// The groups that a question names, those with a word in common together.
    fn named_groups(&self, question: &str, clauses: &[Clause]) -> Vec<Expanded> {
        let folded = fold(question);
        let mut named: Vec<Vec<Entry>> =
            self.find(&folded, &words(&folded)).into_iter().map(|found| found.entries).collect();
        for term in clauses.iter().flat_map(|clause| &clause.terms) {
            let entries = self.listed_by_term(&term.term);
            if !entries.is_empty() {
                named.push(entries.to_vec());
            }
        }
        let mut expanded: Vec<Expanded> = Vec::new();
        for entries in named {
            let mut gathered = Expanded { groups: entries.iter().map(|entry| entry.group).collect(), named: entries };
            // Words that share a group with it become one clause.
            for known in std::mem::take(&mut expanded) {
                if known.groups.iter().any(|group| gathered.groups.contains(group)) {
                    gathered = known.with(gathered);
                } else {
                    expanded.push(known);
                }
            }
            expanded.push(gathered);
        }
        expanded
    }

    /// All terms of the clause: those of the words that the question names fully, those of the others less.
    fn terms(&self, clause: &Expanded) -> Vec<WeightedTerm> {
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
        for entry in &clause.named {
            add(&self.groups[entry.group], entry.word, 1.0);
        }
        for group in &clause.groups {
            let group = &self.groups[*group];
            (0..group.words.len()).for_each(|word| add(group, word, self.synonym_weight));
        }
        terms
    }

    /// Returns the weight of the clause: that of the heaviest word of the query in it.
    fn weight(&self, clause: &Expanded, replaced: &FxHashMap<String, f64>) -> f64 {
        let weight = |entry: &Entry| -> f64 {
            let terms = &self.groups[entry.group].terms[entry.word];
            terms.iter().filter_map(|(term, _)| replaced.get(term)).sum()
        };
        let heaviest = clause.named.iter().map(weight).fold(0.0, f64::max);
        if heaviest > 0.0 { heaviest } else { 1.0 }
    }
}

impl Expanded {
    fn with(mut self, other: Self) -> Self {
        self.groups.extend(other.groups);
        self.groups.sort_unstable();
        self.groups.dedup();
        for entry in other.named {
            if !self.named.contains(&entry) {
                self.named.push(entry);
            }
        }
        self
    }
}
