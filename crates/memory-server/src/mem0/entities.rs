//! The entities that have memories: users, agents, runs and apps.

use std::collections::BTreeMap;

use memory_engine::{Field, Filter, Record, Timestamp};

use super::{error::Mem0Error, metadata, owner::MemoryOwner, row, service::Mem0};
use crate::access::Access;

/// Number of records that are read at once. A page of all users costs time for every record, not only for its own.
const PAGE_ROWS: usize = 10_000;

/// A user, agent, run or app with memories.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mem0Entity {
    /// `user`, `agent`, `run` or `app`.
    pub(super) kind: &'static str,
    pub(super) name: String,
    /// Number of memories. Turns that only name the entity are not counted.
    pub(super) memories: usize,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

impl Mem0 {
    /// Returns the entities that the key reaches, ordered by kind and name. Reads all records.
    pub(super) async fn entities(&self, access: &Access) -> Result<Vec<Mem0Entity>, Mem0Error> {
        let mut entities: BTreeMap<(usize, String), Mem0Entity> = BTreeMap::new();
        let filter = Mem0::without_deletion_log();
        self.for_each_record(&access.scopes()?, &filter, PAGE_ROWS, |record| {
            let created_at = record.occurred_at;
            let updated_at = row::updated_at(&record);
            for (kind_order, (kind, name)) in entity_names(&record).into_iter().enumerate() {
                let Some(name) = name else { continue };
                let entity = entities.entry((kind_order, name.to_owned())).or_insert_with(|| Mem0Entity {
                    kind,
                    name: name.to_owned(),
                    memories: 0,
                    created_at,
                    updated_at,
                });
                if row::is_memory(&record) {
                    entity.memories += 1;
                }
                entity.created_at = entity.created_at.min(created_at);
                entity.updated_at = entity.updated_at.max(updated_at);
            }
        })
        .await?;
        Ok(entities.into_values().collect())
    }

    /// Deletes all records of an entity that the key reaches. An entity without records is no error: clients delete the
    /// entities of a list one by one, and the deletion of one may have removed the last records of another.
    ///
    /// # Errors
    /// 400 for an unknown kind.
    pub(super) async fn delete_entity(&self, access: &Access, kind: &str, name: &str) -> Result<(), Mem0Error> {
        let mut owner = MemoryOwner::default();
        let mut filter = Mem0::without_deletion_log();
        match kind {
            "user" => owner.user = Some(name.to_owned()),
            "agent" => owner.agent = Some(name.to_owned()),
            "run" => owner.run = Some(name.to_owned()),
            "app" => {
                let app = Filter::eq(Field::Metadata(metadata::APP.into()), name);
                filter = filter.and(app);
            }
            _ => return Err(Mem0Error::bad_request("unknown kind of entity; it must be user, agent, run or app")),
        }
        let scopes = owner.scopes(access)?;
        self.forget_matching(&scopes, &filter).await.map(drop)
    }
}

/// Returns each kind of entity with the record's name for it.
fn entity_names(record: &Record) -> [(&'static str, Option<&str>); 4] {
    [
        ("user", record.scope.user_name()),
        ("agent", record.scope.agent()),
        ("run", record.scope.session()),
        ("app", metadata::text(record, metadata::APP)),
    ]
}
