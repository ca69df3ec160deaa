//! A cache of the thesaurus of each user.

use std::{sync::Arc, time::Duration};

use memory_engine_core::sync::RwLock;
use memory_engine_core::{Clock, Result, Scope, Timestamp};
use memory_engine_keyword_store::Analyzer;
use rustc_hash::FxHashMap;

use crate::{accept::SynonymStoreExt, store::SynonymStore, thesaurus::Thesaurus};

/// Caches the [`Thesaurus`] of each recent user, loaded from a store.
///
/// A change by another process or by SQL takes effect after at most [`max_age`](Self::with_max_age), a change by this
/// process after [`refresh`](Self::refresh).
#[derive(Debug)]
pub struct SharedThesaurus {
    store: Arc<dyn SynonymStore>,
    analyzer: Arc<dyn Analyzer>,
    clock: Arc<dyn Clock>,
    max_age: Duration,
    max_users: usize,
    synonym_weight: f64,
    loaded: RwLock<FxHashMap<Scope, LoadedThesaurus>>,
}

#[derive(Debug, Clone)]
struct LoadedThesaurus {
    thesaurus: Arc<Thesaurus>,
    loaded_at: Timestamp,
}

impl SharedThesaurus {
    /// Creates a cache of the groups in `store`, for an index of `analyzer`.
    pub fn new(store: Arc<dyn SynonymStore>, analyzer: Arc<dyn Analyzer>, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            analyzer,
            clock,
            max_age: Duration::from_secs(60),
            max_users: 1000,
            synonym_weight: Thesaurus::SYNONYM_WEIGHT,
            loaded: RwLock::default(),
        }
    }

    /// Sets the maximum age of a thesaurus, after which it is loaded again. Default: 1 minute.
    #[must_use]
    pub fn with_max_age(mut self, max_age: Duration) -> Self {
        self.max_age = max_age;
        self
    }

    /// Sets the maximum number of users in the cache. Default: 1000.
    #[must_use]
    pub fn with_max_users(mut self, max_users: usize) -> Self {
        self.max_users = max_users;
        self
    }

    /// Sets the weight of an occurrence of a synonym; see [`Thesaurus::with_synonym_weight`].
    #[must_use]
    pub fn with_synonym_weight(mut self, weight: f64) -> Self {
        self.synonym_weight = weight;
        self
    }

    /// Returns the store.
    pub fn store(&self) -> &Arc<dyn SynonymStore> {
        &self.store
    }

    /// Returns the thesaurus of a scope, and loads it if it is missing or too old. If loading fails, an old one is
    /// returned.
    ///
    /// # Errors
    /// The errors of [`SynonymStore::list`], if none is in the cache.
    pub async fn of(&self, scope: &Scope) -> Result<Arc<Thesaurus>> {
        let known = self.loaded.read().get(&scope.namespace()).cloned();
        match known {
            Some(known) if self.clock.now() < known.loaded_at.after(self.max_age) => Ok(known.thesaurus),
            Some(known) => Ok(self.refresh(scope).await.unwrap_or(known.thesaurus)),
            None => self.refresh(scope).await,
        }
    }

    /// Reloads the thesaurus of a scope. After a change to the groups of a tenant, those of all its users are
    /// reloaded at their next use. If it fails, the previous one stays.
    ///
    /// # Errors
    /// The errors of [`SynonymStore::list`].
    pub async fn refresh(&self, scope: &Scope) -> Result<Arc<Thesaurus>> {
        let loaded_at = self.clock.now();
        let groups = self.store.applicable(scope).await?;
        let thesaurus = Thesaurus::new(self.analyzer.as_ref(), groups).with_synonym_weight(self.synonym_weight);
        let thesaurus = Arc::new(thesaurus);
        let namespace = scope.namespace();
        let mut loaded = self.loaded.write();
        if namespace.user_name().is_none() {
            loaded.retain(|owner, _| !namespace.covers(owner));
        }
        if loaded.len() >= self.max_users && !loaded.contains_key(&namespace) {
            let oldest =
                loaded.iter().min_by_key(|(owner, known)| (known.loaded_at, *owner)).map(|(owner, _)| owner.clone());
            oldest.and_then(|owner| loaded.remove(&owner));
        }
        match loaded.get(&namespace) {
            // A load that started later has finished earlier, and its result is at least as recent.
            Some(newer) if newer.loaded_at > loaded_at => Ok(Arc::clone(&newer.thesaurus)),
            _ => {
                loaded.insert(namespace, LoadedThesaurus { thesaurus: Arc::clone(&thesaurus), loaded_at });
                Ok(thesaurus)
            }
        }
    }

    /// Removes the thesauri of all users within a scope from the cache.
    pub fn forget(&self, scope: &Scope) {
        let scope = scope.namespace();
        self.loaded.write().retain(|owner, _| !scope.covers(owner));
    }
}
