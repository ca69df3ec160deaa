//! Forms of English words that differ by more than an ending, such as "eat" and "ate".

use std::{collections::BTreeSet, sync::LazyLock};

use memory_engine_text::data;
use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::store::{Clause, WeightedTerm};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IrregularForms {
    /// A list of forms for each word.
    english: Vec<Vec<String>>,
}

data!(IRREGULAR: IrregularForms = "en/irregular_forms.toml");

/// For the term of each irregular form, the terms of the other forms of its word.
static OTHER_FORMS: LazyLock<FxHashMap<String, Vec<String>>> = LazyLock::new(|| {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut other_forms: FxHashMap<String, Vec<String>> = FxHashMap::default();
    for forms in &IRREGULAR.english {
        let terms: BTreeSet<String> = forms.iter().map(|form| stemmer.stem(form).into_owned()).collect();
        for term in &terms {
            let others = terms.iter().filter(|other| *other != term).cloned();
            other_forms.entry(term.clone()).or_default().extend(others);
        }
    }
    other_forms
});

/// Returns the clause of a term and of the other forms of its word.
pub(super) fn clause(term: String, weight: f64) -> Clause {
    let others = OTHER_FORMS.get(&term).map(Vec::as_slice).unwrap_or_default();
    let others = others.iter().map(|other| WeightedTerm { term: other.clone(), weight: 1.0 });
    let mut clause = Clause::weighted(term, weight);
    clause.terms.extend(others);
    clause
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_for_a_form_contains_the_others() {
        let terms = |clause: Clause| clause.terms.into_iter().map(|term| term.term).collect::<Vec<_>>();
        assert_eq!(terms(clause("ate".into(), 1.0)), ["ate", "eat", "eaten"]);
        assert_eq!(terms(clause("children".into(), 1.0)), ["children", "child"]);
        assert_eq!(terms(clause("berlin".into(), 1.0)), ["berlin"]);
    }

    /// A word in two lists, or one whose forms the stemmer connects, is a mistake in the data.
    #[test]
    fn each_list_adds_something() {
        let stemmer = Stemmer::create(Algorithm::English);
        let mut seen = BTreeSet::new();
        for forms in &IRREGULAR.english {
            let terms: BTreeSet<String> = forms.iter().map(|form| stemmer.stem(form).into_owned()).collect();
            assert!(terms.len() > 1, "{forms:?}");
            assert!(terms.iter().all(|term| seen.insert(term.clone())), "{forms:?}");
        }
    }
}
