//! Remembers scopes in which the usual first statement of a search was not enough, so that later searches begin with
//! another statement.

use std::sync::{Arc, Mutex, PoisonError};

use memory_engine_core::Scope;
use rustc_hash::FxHashMap;
use uuid::Uuid;

use crate::rows::scopes;

/// Number of searches after which a scope is tested again.
const TEST_INTERVAL_SEARCHES: u32 = 100;

/// Maximum number of scopes that are remembered.
const MAX_SCOPES: usize = 10_000;

/// Scopes with a property that was found by a search, shared by all clones.
#[derive(Debug, Clone, Default)]
pub(crate) struct RememberedScopes {
    /// Number of further searches before the scope is tested again, by namespace and address.
    remaining_searches: Arc<Mutex<FxHashMap<(Uuid, Uuid), u32>>>,
}

impl RememberedScopes {
    /// Counts a search in a scope. Returns true if one of the [`TEST_INTERVAL_SEARCHES`] searches before found that the
    /// scope has the property; then it is tested again.
    pub(crate) fn count_search(&self, scope: &Scope) -> bool {
        let mut scopes = self.remaining_searches.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(scope);
        let Some(remaining) = scopes.get_mut(&key) else { return false };
        *remaining -= 1;
        if *remaining == 0 {
            scopes.remove(&key);
        }
        true
    }

    /// Remembers that a scope has the property. If there are too many scopes, all are tested again.
    pub(crate) fn insert(&self, scope: &Scope) {
        let mut scopes = self.remaining_searches.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(scope);
        if scopes.len() >= MAX_SCOPES && !scopes.contains_key(&key) {
            scopes.clear();
        }
        scopes.insert(key, TEST_INTERVAL_SEARCHES);
    }
}

fn key(scope: &Scope) -> (Uuid, Uuid) {
    (scopes::namespace(scope), scopes::address(scope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remembered_scope_is_tested_again_after_some_searches() {
        let lin = Scope::user("lin").unwrap();
        let scopes = RememberedScopes::default();
        assert!(!scopes.count_search(&lin));
        scopes.insert(&lin);
        assert!((0..TEST_INTERVAL_SEARCHES).all(|_| scopes.count_search(&lin)));
        assert!(!scopes.count_search(&lin));
    }
}
