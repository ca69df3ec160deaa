//! Groups of names of the same entity.

use std::collections::{BTreeMap, BTreeSet};

/// Names and what else each is called, put together into groups.
///
/// A name that exactly one other calls its own belongs to that one: "Red" to "Anna Reed", when only Anna Reed is
/// called Red. A name that several claim belongs to none of them, unless those are one already.
#[derive(Debug)]
pub(crate) struct Groups<N> {
    parents: BTreeMap<N, N>,
    claims: BTreeMap<N, BTreeSet<N>>,
}

impl<N: Ord + Clone> Groups<N> {
    /// The groups of these pairs of a name and what else it is called.
    pub(crate) fn of(pairs: impl IntoIterator<Item = (N, N)>) -> Self {
        let mut claims: BTreeMap<N, BTreeSet<N>> = BTreeMap::new();
        for (name, alias) in pairs {
            if name != alias {
                claims.entry(alias).or_default().insert(name);
            }
        }
        let mut groups = Self { parents: BTreeMap::new(), claims };
        // A union can settle whom another name belongs to, until nothing changes any more.
        while groups.unite_once() {}
        groups
    }

    fn unite_once(&mut self) -> bool {
        let mut changed = false;
        for (alias, claimants) in &self.claims {
            let roots: BTreeSet<N> = claimants.iter().map(|name| find(&self.parents, name)).collect();
            let own = find(&self.parents, alias);
            if let [root] = Vec::from_iter(roots).as_slice()
                && *root != own
            {
                let (low, high) = if *root < own { (root.clone(), own) } else { (own, root.clone()) };
                self.parents.insert(high, low);
                changed = true;
            }
        }
        changed
    }

    /// The name that stands for the group of this one.
    pub(crate) fn root(&self, name: &N) -> N {
        find(&self.parents, name)
    }

    /// Those who call this name their own.
    pub(crate) fn claimants(&self, alias: &N) -> impl Iterator<Item = &N> {
        self.claims.get(alias).into_iter().flatten()
    }

    /// Returns true if another name of its group claims it as an alias; then it is not the name of the group.
    pub(crate) fn is_claimed(&self, name: &N) -> bool {
        let root = self.root(name);
        self.claimants(name).any(|other| self.root(other) == root)
    }
}

fn find<N: Ord + Clone>(parents: &BTreeMap<N, N>, name: &N) -> N {
    let mut at = name;
    while let Some(parent) = parents.get(at) {
        at = parent;
    }
    at.clone()
}

#[cfg(test)]
mod tests;
