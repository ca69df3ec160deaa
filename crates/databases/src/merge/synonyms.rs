//! Merges groups of synonyms and decisions about suggested ones.

use std::collections::BTreeMap;

use memory_engine_core::phrases::fold;
use memory_engine_synonyms::{PairVerdict, SynonymGroup};

/// Returns the groups to write: those that the target lacks, and the union of two that differ. The order of the stores
/// makes no difference.
pub(super) fn groups(source: Vec<SynonymGroup>, target: Vec<SynonymGroup>) -> Vec<SynonymGroup> {
    let stored: BTreeMap<String, SynonymGroup> = target.into_iter().map(|group| (group.key(), group)).collect();
    let merged = source.into_iter().map(|group| match stored.get(&group.key()) {
        None => group,
        Some(stored) if *stored == group => group,
        Some(stored) => union(&group, stored),
    });
    merged.filter(|group| stored.get(&group.key()) != Some(group)).collect()
}

fn union(one: &SynonymGroup, other: &SynonymGroup) -> SynonymGroup {
    let term = one.term.as_str().min(&other.term).to_owned();
    // Of spellings that are equal after folding, the smallest one stays.
    let mut members: BTreeMap<String, &str> = BTreeMap::new();
    for word in one.members.iter().chain(&other.members).map(String::as_str) {
        let member = members.entry(fold(word)).or_insert(word);
        *member = word.min(member);
    }
    members.remove(&fold(&term));
    let members = members.into_values().take(SynonymGroup::MAX_MEMBERS);
    let own = [one, other].into_iter().map(|group| group.category.as_str());
    let category = own.filter(|category| *category != SynonymGroup::GENERAL).min().unwrap_or(SynonymGroup::GENERAL);
    SynonymGroup::new(term, members).with_category(category)
}

/// Returns the decisions to write: those that the target lacks, and rejections of what the target has accepted.
pub(super) fn verdicts(source: Vec<PairVerdict>, target: Vec<PairVerdict>) -> Vec<PairVerdict> {
    let stored: BTreeMap<_, _> = target.into_iter().map(|verdict| (verdict.pair, verdict.accepted)).collect();
    let is_new = |verdict: &PairVerdict| match stored.get(&verdict.pair) {
        None => true,
        Some(accepted) => *accepted && !verdict.accepted,
    };
    source.into_iter().filter(is_new).collect()
}

#[cfg(test)]
mod tests {
    use memory_engine_synonyms::WordPair;

    use super::*;

    #[test]
    fn groups_become_their_union_in_either_direction() {
        let ours = vec![SynonymGroup::new("KSK", ["Kommando"]), SynonymGroup::new("猫", ["猫咪"])];
        let theirs = vec![SynonymGroup::new("ksk", ["commando", "KOMMANDO"]).with_category("org")];
        let merged = groups(ours.clone(), theirs.clone());
        let union = SynonymGroup::new("KSK", ["commando", "KOMMANDO"]).with_category("org");
        assert_eq!(merged, [union.clone(), SynonymGroup::new("猫", ["猫咪"])]);
        assert_eq!(groups(theirs.clone(), ours), std::slice::from_ref(&union));
        assert!(groups(theirs, vec![union]).is_empty());
    }

    #[test]
    fn a_rejection_wins() {
        let verdict = |accepted| PairVerdict { pair: WordPair::new("a", "b").unwrap(), accepted };
        assert_eq!(verdicts(vec![verdict(false)], vec![verdict(true)]), [verdict(false)]);
        assert!(verdicts(vec![verdict(true)], vec![verdict(false)]).is_empty());
    }
}
