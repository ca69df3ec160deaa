//! The thesaurus of each user, for all who ask.

use std::{sync::Arc, time::Duration};

use memory_engine_core::sync::RwLock;
use memory_engine_core::{Clock, Result, Scope, Timestamp};
use memory_engine_keyword_store::Analyzer;
use rustc_hash::FxHashMap;

use crate::{accept::SynonymStoreExt, store::SynonymStore, thesaurus::Thesaurus};

/// Keeps a [`Thesaurus`] for each user in use, loaded from a store. While a new one is loaded, callers get the
/// previous one.
///
/// A change that was made elsewhere (another process, SQL) is seen after [`max_age`](Self::with_max_age) at the latest,
/// one that is made here after [`refresh`](Self::refresh).
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
    at: Timestamp,
}

impl SharedThesaurus {
    /// Loads from `store` for an index made by `analyzer`.
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

    /// For how many users one is kept; a thousand where nothing is said.
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

    /// The store behind it.
    pub fn store(&self) -> &Arc<dyn SynonymStore> {
        &self.store
    }

    /// The thesaurus that applies to a scope, loaded if there is none or it is too old. One that is too old is better
    /// than none: it is given when the store cannot be read.
    ///
    /// # Errors
    /// Those of [`SynonymStore::list`], when none was ever loaded.
    pub async fn of(&self, scope: &Scope) -> Result<Arc<Thesaurus>> {
        let known = self.loaded.read().get(&scope.namespace()).cloned();
        match known {
            Some(known) if self.clock.now() < known.at.after(self.max_age) => Ok(known.thesaurus),
            Some(known) => Ok(self.refresh(scope).await.unwrap_or(known.thesaurus)),
            None => self.refresh(scope).await,
        }
    }

    /// Reloads the thesaurus of a scope. After a change to the groups of a tenant, those of all its users are
    /// reloaded at their next use. If it fails, the previous one stays.
    ///
    /// # Errors
    /// Those of [`SynonymStore::list`].
    pub async fn refresh(&self, scope: &Scope) -> Result<Arc<Thesaurus>> {
        let at = self.clock.now();
        let groups = self.store.applicable(scope).await?;
        let thesaurus = Thesaurus::new(self.analyzer.as_ref(), groups).with_synonym_weight(self.synonym_weight);
        let thesaurus = Arc::new(thesaurus);
        let namespace = scope.namespace();
        let mut loaded = self.loaded.write();
        if namespace.user_name().is_none() {
            loaded.retain(|owner, _| !namespace.covers(owner));
        }
        if loaded.len() >= self.max_users && !loaded.contains_key(&namespace) {
            let oldest = loaded.iter().min_by_key(|(owner, known)| (known.at, *owner)).map(|(owner, _)| owner.clone());
            oldest.and_then(|owner| loaded.remove(&owner));
        }
        match loaded.get(&namespace) {
            // A load that started later has finished earlier, and its result is at least as recent.
            Some(newer) if newer.at > at => Ok(Arc::clone(&newer.thesaurus)),
            _ => {
                loaded.insert(namespace, LoadedThesaurus { thesaurus: Arc::clone(&thesaurus), at });
                Ok(thesaurus)
            }
        }
    }

    /// Forgets what is loaded for everyone within a scope.
    pub fn forget(&self, scope: &Scope) {
        let scope = scope.namespace();
        self.loaded.write().retain(|owner, _| !scope.covers(owner));
    }
}
