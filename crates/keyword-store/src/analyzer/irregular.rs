//! English words whose forms differ by more than an ending.

use std::sync::LazyLock;

use memory_engine_rule_data::data;
use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use crate::store::{Clause, WeightedTerm};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IrregularForms {
    /// The forms of each word.
    english: Vec<Vec<String>>,
}

data!(IRREGULAR: IrregularForms = "en/irregular_forms.toml");

/// For each irregular term, the terms of the other forms of its word.
static OTHER_FORMS: LazyLock<FxHashMap<String, Vec<String>>> = LazyLock::new(|| {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut other_forms = FxHashMap::default();
    for forms in &IRREGULAR.english {
        let terms: FxHashSet<String> = forms.iter().map(|form| stemmer.stem(form).into_owned()).collect();
        for term in &terms {
            let mut others: Vec<String> = terms.iter().filter(|other| *other != term).cloned().collect();
            others.sort_unstable();
            other_forms.insert(term.clone(), others);
        }
    }
    other_forms
});

/// Returns the clause of a term and of the other forms of its word.
pub(super) fn clause(term: String, weight: f64) -> Clause {
    let others = OTHER_FORMS.get(&term).map(Vec::as_slice).unwrap_or_default();
    let mut clause = Clause::weighted(term, weight);
    clause.terms.extend(others.iter().map(|other| WeightedTerm { term: other.clone(), weight: OTHER_FORM_WEIGHT }));
    clause
}

/// Weight of an occurrence of another form of a word.
const OTHER_FORM_WEIGHT: f64 = 1.0;
