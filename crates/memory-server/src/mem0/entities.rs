//! The entities that have memories: users, agents, runs and apps.

use std::collections::BTreeMap;

use memory_engine::{Field, Filter, State, Timestamp, store::RecordGroup};

use super::{error::Mem0Error, metadata, owner::MemoryOwner, row, service::Mem0};
use crate::access::Access;

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
    /// Returns the entities that the key reaches, ordered by kind and name. Reads the counts of the store, no records.
    pub(super) async fn entities(&self, access: &Access) -> Result<Vec<Mem0Entity>, Mem0Error> {
        let mut entities: BTreeMap<(usize, String), Mem0Entity> = BTreeMap::new();
        for scope in access.scopes()? {
            for group in self.engine.admin().record_groups(&scope).await? {
                if !group.kind.is_ledger() {
                    add_group(&mut entities, &group);
                }
            }
        }
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

/// Adds the records of a group to the entities that they name.
fn add_group(entities: &mut BTreeMap<(usize, String), Mem0Entity>, group: &RecordGroup) {
    let created_at = group.oldest;
    let updated_at = group.edited_at.map_or(group.newest, |edited_at| edited_at.max(group.newest));
    let names = [
        ("user", group.scope.user_name()),
        ("agent", group.scope.agent()),
        ("run", group.scope.session()),
        ("app", group.app.as_deref()),
    ];
    let are_memories = row::is_memory_kind(&group.kind) && group.state == State::Active;
    let memories = if are_memories { usize::try_from(group.records).unwrap_or(usize::MAX) } else { 0 };
    for (kind_order, (kind, name)) in names.into_iter().enumerate() {
        let Some(name) = name else { continue };
        let entity = entities.entry((kind_order, name.to_owned())).or_insert_with(|| Mem0Entity {
            kind,
            name: name.to_owned(),
            memories: 0,
            created_at,
            updated_at,
        });
        entity.memories += memories;
        entity.created_at = entity.created_at.min(created_at);
        entity.updated_at = entity.updated_at.max(updated_at);
    }
}
