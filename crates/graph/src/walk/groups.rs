//! Groups of names of the same entity.

use std::collections::{BTreeMap, BTreeSet};

/// Groups of names of the same entity, as a union-find structure.
///
/// An alias belongs to the group of the name that claims it: "Red" belongs to "Anna Reed" if only Anna Reed is called
/// Red. An alias that names of several groups claim belongs to none of them.
#[derive(Debug)]
pub(crate) struct Groups<N> {
    /// The parent of each name that is no root.
    parents: BTreeMap<N, N>,
    /// The names that claim each alias.
    claims: BTreeMap<N, BTreeSet<N>>,
}

impl<N: Ord + Clone> Groups<N> {
    /// Creates the groups of these pairs of a name and an alias.
    pub(crate) fn of(pairs: impl IntoIterator<Item = (N, N)>) -> Self {
        let mut claims: BTreeMap<N, BTreeSet<N>> = BTreeMap::new();
        for (name, alias) in pairs {
            if name != alias {
                claims.entry(alias).or_default().insert(name);
            }
        }
        let mut groups = Self { parents: BTreeMap::new(), claims };
        // A union can leave only one group that claims another alias. Repeat until nothing changes.
        while groups.unite_once() {}
        groups
    }

    /// Unites each alias with the only group that claims it. Returns true if that changed a group.
    fn unite_once(&mut self) -> bool {
        let mut changed = false;
        for (alias, claimants) in &self.claims {
            let roots: BTreeSet<N> = claimants.iter().map(|name| find(&self.parents, name)).collect();
            let own = find(&self.parents, alias);
            if let [root] = Vec::from_iter(roots).as_slice()
                && *root != own
            {
                // The lesser name is the root, so that the order of the pairs does not matter.
                if *root < own {
                    self.parents.insert(own, root.clone());
                } else {
                    self.parents.insert(root.clone(), own);
                }
                changed = true;
            }
        }
        changed
    }

    /// Returns the root of the group of a name, which identifies the group.
    pub(crate) fn root(&self, name: &N) -> N {
        find(&self.parents, name)
    }

    /// Returns the names that claim this alias.
    pub(crate) fn claimants(&self, alias: &N) -> impl Iterator<Item = &N> {
        self.claims.get(alias).into_iter().flatten()
    }

    /// Returns true if another name of its group claims it as an alias; then it is not the name of the group.
    pub(crate) fn is_claimed(&self, name: &N) -> bool {
        let root = self.root(name);
        self.claimants(name).any(|other| self.root(other) == root)
    }
}

/// Returns the root of a name.
fn find<N: Ord + Clone>(parents: &BTreeMap<N, N>, name: &N) -> N {
    let mut at = name;
    while let Some(parent) = parents.get(at) {
        at = parent;
    }
    at.clone()
}

#[cfg(test)]
mod tests;
