//! A cache of the thesaurus of each user.

use std::{sync::Arc, time::Duration};

use memory_engine_core::sync::RwLock;
use memory_engine_core::{Clock, Result, Scope, Timestamp};
use memory_engine_keyword_store::Analyzer;
use rustc_hash::FxHashMap;

use crate::{
    store::{ApplicableGroups, SynonymStore},
    thesaurus::Thesaurus,
};

/// Age of a thesaurus at which it is loaded again.
const MAX_AGE: Duration = Duration::from_secs(60);

/// Caches the [`Thesaurus`] of each recent user, loaded from a store.
///
/// A change by another process or by SQL takes effect after at most one minute, a change by this process after
/// [`refresh`](Self::refresh). If no user of a tenant has groups, all its users share one thesaurus.
#[derive(Debug)]
pub struct SharedThesaurus {
    store: Arc<dyn SynonymStore>,
    analyzer: Arc<dyn Analyzer>,
    clock: Arc<dyn Clock>,
    max_users: usize,
    synonym_weight: f64,
    loaded: RwLock<FxHashMap<Scope, LoadedThesaurus>>,
}

#[derive(Debug, Clone)]
struct LoadedThesaurus {
    thesaurus: Arc<Thesaurus>,
    loaded_at: Timestamp,
    /// True for the thesaurus of a tenant that applies to all its users.
    is_for_all_users: bool,
}

impl SharedThesaurus {
    /// Creates a cache of the groups in `store`, for an index of `analyzer`.
    pub fn new(store: Arc<dyn SynonymStore>, analyzer: Arc<dyn Analyzer>, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            analyzer,
            clock,
            max_users: 1000,
            synonym_weight: Thesaurus::SYNONYM_WEIGHT,
            loaded: RwLock::default(),
        }
    }

    memory_engine_core::setters! {
        #![must_use]
        /// Sets the maximum number of users in the cache. Default: 1000.
        with_max_users(max_users: usize);
        /// Sets the weight of an occurrence of a synonym; see [`Thesaurus::with_synonym_weight`].
        with_synonym_weight(weight: f64) => synonym_weight = weight;
    }

    /// Returns the store.
    pub fn store(&self) -> &Arc<dyn SynonymStore> {
        &self.store
    }

    /// Returns the thesaurus of a scope, and loads it if it is missing or too old. If loading fails, returns an old one
    /// without an error; the next call tries again.
    ///
    /// # Errors
    /// The errors of [`SynonymStore::applicable_groups`], if none is in the cache.
    pub async fn of(&self, scope: &Scope) -> Result<Arc<Thesaurus>> {
        match self.cached(&scope.namespace())? {
            Some(known) if self.clock.now() < known.loaded_at.after(MAX_AGE) => Ok(known.thesaurus),
            Some(known) => Ok(self.refresh(scope).await.unwrap_or(known.thesaurus)),
            None => self.refresh(scope).await,
        }
    }

    /// Returns the most recent thesaurus in the cache that applies to this namespace.
    fn cached(&self, namespace: &Scope) -> Result<Option<LoadedThesaurus>> {
        let tenant = Scope::tenant_wide(namespace.tenant())?;
        let loaded = self.loaded.read();
        let own = loaded.get(namespace);
        let of_tenant = loaded.get(&tenant).filter(|known| known.is_for_all_users);
        Ok(own.into_iter().chain(of_tenant).max_by_key(|known| known.loaded_at).cloned())
    }

    /// Reloads the thesaurus of a scope. After a change to the groups of a tenant, those of all its users are
    /// reloaded at their next use. If it fails, the previous one stays.
    ///
    /// # Errors
    /// The errors of [`SynonymStore::applicable_groups`].
    pub async fn refresh(&self, scope: &Scope) -> Result<Arc<Thesaurus>> {
        let loaded_at = self.clock.now();
        let ApplicableGroups { groups, is_same_for_all_users } = self.store.applicable_groups(scope).await?;
        let thesaurus = Thesaurus::new(self.analyzer.as_ref(), groups).with_synonym_weight(self.synonym_weight);
        let thesaurus = Arc::new(thesaurus);
        let tenant = Scope::tenant_wide(scope.tenant())?;
        let namespace = if is_same_for_all_users { tenant.clone() } else { scope.namespace() };
        let mut loaded = self.loaded.write();
        if scope.user_name().is_none() {
            // The groups of the tenant may have changed, which apply to all its users.
            loaded.retain(|owner, _| !tenant.covers(owner));
        } else if is_same_for_all_users {
            // The thesaurus that was loaded now replaces the older ones of all users.
            loaded.retain(|owner, known| !tenant.covers(owner) || known.loaded_at > loaded_at);
        } else if let Some(of_tenant) = loaded.get_mut(&tenant) {
            // A user of the tenant has groups now, so an older thesaurus of the tenant no longer applies to all.
            of_tenant.is_for_all_users &= of_tenant.loaded_at > loaded_at;
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
                let is_for_all_users = is_same_for_all_users;
                loaded.insert(
                    namespace,
                    LoadedThesaurus { thesaurus: Arc::clone(&thesaurus), loaded_at, is_for_all_users },
                );
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
