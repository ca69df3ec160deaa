//! Remembers the scopes in which the usual first statement of a search fails.

use std::sync::{Arc, Mutex, PoisonError};

use memory_engine_core::Scope;
use rustc_hash::FxHashMap;
use uuid::Uuid;

use crate::records::scopes;

/// Number of searches after which a large scope is tested again.
const TEST_INTERVAL_SEARCHES: u32 = 100;

/// Maximum number of scopes that are remembered.
const MAX_SCOPES: usize = 10_000;

/// Scopes that were found to be large, shared by all clones.
#[derive(Debug, Clone, Default)]
pub(crate) struct LargeScopes {
    /// Number of further searches before the scope is tested again, by namespace and address.
    remaining_searches: Arc<Mutex<FxHashMap<(Uuid, Uuid), u32>>>,
}

impl LargeScopes {
    /// Returns true if a scope was found to be large. After [`TEST_INTERVAL_SEARCHES`] calls it has to be tested again.
    pub(crate) fn contains(&self, scope: &Scope) -> bool {
        let mut scopes = self.remaining_searches.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(scope);
        let Some(remaining) = scopes.get_mut(&key) else { return false };
        *remaining -= 1;
        if *remaining == 0 {
            scopes.remove(&key);
        }
        true
    }

    /// Stores that a scope is large.
    pub(crate) fn insert(&self, scope: &Scope) {
        let mut scopes = self.remaining_searches.lock().unwrap_or_else(PoisonError::into_inner);
        if scopes.len() >= MAX_SCOPES {
            scopes.clear();
        }
        scopes.insert(key(scope), TEST_INTERVAL_SEARCHES);
    }
}

fn key(scope: &Scope) -> (Uuid, Uuid) {
    (scopes::namespace(scope), scopes::address(scope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_scope_is_tested_again_after_some_searches() {
        let lin = Scope::user("lin").unwrap();
        let scopes = LargeScopes::default();
        assert!(!scopes.contains(&lin));
        scopes.insert(&lin);
        assert!((0..TEST_INTERVAL_SEARCHES).all(|_| scopes.contains(&lin)));
        assert!(!scopes.contains(&lin));
    }
}
