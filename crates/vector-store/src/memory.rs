//! The store that keeps its vectors in memory.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::sync::RwLock;
use memory_engine_core::{EmbeddingSpace, Filter, Hit, MultiVector, Record, RecordId, Result, Scope};
use rustc_hash::FxHashMap;

use crate::{
    index::{FlatIndex, SearchSubset},
    store::{VectorEntry, VectorQuery, VectorStore},
};

/// A [`VectorStore`] in memory, without persistence.
#[derive(Debug)]
pub struct MemoryVectorStore {
    space: EmbeddingSpace,
    tables: RwLock<VectorTables>,
}

#[derive(Debug)]
struct VectorTables {
    index: FlatIndex<(RecordId, u32), u32>,
    records: FxHashMap<(RecordId, u32), StoredEntry>,
    /// All addresses of records, also of deleted ones. The number of an address is its index.
    addresses: Vec<Scope>,
    address_numbers: FxHashMap<Scope, u32>,
}

/// A record with a vector.
#[derive(Debug)]
struct StoredEntry {
    record: Arc<Record>,
    tokens: Option<MultiVector>,
}

impl MemoryVectorStore {
    /// Creates an empty store for a space.
    pub fn new(space: EmbeddingSpace) -> Self {
        let tables = VectorTables {
            index: FlatIndex::new(&space),
            records: FxHashMap::default(),
            addresses: Vec::new(),
            address_numbers: FxHashMap::default(),
        };
        Self { space, tables: RwLock::new(tables) }
    }
}

impl VectorTables {
    /// Returns the number of an address. Adds the address if it is new.
    fn address_number(&mut self, address: &Scope) -> u32 {
        if let Some(number) = self.address_numbers.get(address) {
            return *number;
        }
        let number = self.addresses.len() as u32;
        self.addresses.push(address.clone());
        self.address_numbers.insert(address.clone(), number);
        number
    }

    /// Returns the numbers of the addresses that a scope covers.
    fn covered(&self, scope: &Scope) -> Vec<u32> {
        let all = self.addresses.iter().zip(0_u32..);
        all.filter(|(address, _)| scope.covers(address)).map(|(_, number)| number).collect()
    }
}

#[async_trait]
impl VectorStore for MemoryVectorStore {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    async fn upsert(&self, scope: &Scope, entries: &[VectorEntry]) -> Result<()> {
        for entry in entries {
            scope.authorize("vector upsert", &entry.record.scope)?;
            self.space.check("vector upsert", &entry.embedding)?;
        }
        let mut tables = self.tables.write();
        for VectorEntry { record, embedding, tokens } in entries {
            let address = tables.address_number(&record.scope);
            tables.index.insert((record.id, address), address, embedding.clone());
            let stored = StoredEntry { record: Arc::clone(record), tokens: tokens.clone() };
            tables.records.insert((record.id, address), stored);
        }
        Ok(())
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let mut tables = self.tables.write();
        let covered = tables.covered(scope);
        let mut deleted = 0;
        for id in ids {
            for address in &covered {
                let key = (*id, *address);
                tables.index.remove(&key);
                deleted += u64::from(tables.records.remove(&key).is_some());
            }
        }
        Ok(deleted)
    }

    async fn search(&self, scope: &Scope, query: &VectorQuery) -> Result<Vec<Hit>> {
        self.space.check("vector search", &query.embedding)?;
        query.filter.as_ref().map_or(Ok(()), Filter::validate)?;
        let tables = self.tables.read();
        let covered = tables.covered(scope);
        let found = match &query.filter {
            None => tables.index.search(&query.embedding, SearchSubset::Groups(&covered), query.limit),
            Some(filter) => {
                let is_match =
                    |key: &&(RecordId, u32)| tables.records.get(key).is_some_and(|entry| filter.matches(&entry.record));
                let keys: Vec<(RecordId, u32)> = tables.index.keys(&covered).filter(is_match).copied().collect();
                tables.index.search(&query.embedding, SearchSubset::Keys(&keys), query.limit)
            }
        };
        Ok(found.into_iter().map(|((id, _), score)| Hit { id, score }).collect())
    }

    async fn token_vectors(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<MultiVector>>> {
        let tables = self.tables.read();
        let covered = tables.covered(scope);
        let tokens = |id: &RecordId| {
            let entries = covered.iter().filter_map(|address| tables.records.get(&(*id, *address)));
            // If several users of the tenant have a record of this id, the first user by name is taken.
            let entry = entries.min_by(|a, b| a.record.scope.user_name().cmp(&b.record.scope.user_name()));
            entry.and_then(|entry| entry.tokens.clone())
        };
        Ok(ids.iter().map(tokens).collect())
    }
}
