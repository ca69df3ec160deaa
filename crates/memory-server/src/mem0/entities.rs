//! The entities that have memories: users, agents and runs.

use std::collections::BTreeMap;

use memory_engine::{Field, Filter, Record, Timestamp};

use super::{error::Mem0Error, metadata, owner::Mem0Owner, row, service::Mem0};
use crate::access::Access;

/// A user, agent or run with memories.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entity {
    /// `user`, `agent`, `run` or `app`.
    pub(super) kind: &'static str,
    pub(super) name: String,
    /// Number of memories. Turns that only name the entity are not counted.
    pub(super) memories: usize,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

impl Mem0 {
    /// Everybody within reach, by kind and name. All records are gone through.
    pub(super) async fn entities(&self, access: &Access) -> Result<Vec<Entity>, Mem0Error> {
        let mut found: BTreeMap<(usize, String), Entity> = BTreeMap::new();
        let filter = Mem0::all_but_the_book();
        self.each(&access.scopes()?, &filter, |record| {
            for (place, (kind, name)) in names(&record).into_iter().enumerate() {
                let Some(name) = name else { continue };
                let (made, changed) = (record.occurred_at, row::updated_at(&record));
                let entity = found.entry((place, name.to_owned())).or_insert_with(|| Entity {
                    kind,
                    name: name.to_owned(),
                    memories: 0,
                    created_at: made,
                    updated_at: changed,
                });
                entity.memories += usize::from(row::is_memory(&record));
                entity.created_at = entity.created_at.min(made);
                entity.updated_at = entity.updated_at.max(changed);
            }
        })
        .await?;
        Ok(found.into_values().collect())
    }

    /// Deletes all memories of an entity within reach; 404 if there are none.
    pub(super) async fn delete_entity(&self, access: &Access, kind: &str, name: &str) -> Result<(), Mem0Error> {
        let named = Some(name.to_owned());
        let (mut owner, mut filter) = (Mem0Owner::default(), Mem0::all_but_the_book());
        match kind {
            "user" => owner.user = named,
            "agent" => owner.agent = named,
            "run" => owner.run = named,
            "app" => {
                let app = Filter::eq(Field::Metadata(metadata::APP.into()), name);
                filter = filter.and(app);
            }
            _ => return Err(Mem0Error::bad_request("an entity is a user, an agent, a run or an app")),
        }
        let scopes = owner.scopes(access)?;
        let mut there = false;
        for scope in &scopes {
            let one = memory_engine::ScanQuery::newest(1).with_filter(filter.clone());
            there |= !self.engine.scan(scope, &one).await?.records.is_empty();
        }
        if !there {
            return Err(Mem0Error::not_found("Entity not found"));
        }
        self.forget_matching(&scopes, &filter).await.map(drop)
    }
}

fn names(record: &Record) -> [(&'static str, Option<&str>); 4] {
    [
        ("user", record.scope.user_name()),
        ("agent", record.scope.agent()),
        ("run", record.scope.session()),
        ("app", metadata::text(record, metadata::APP)),
    ]
}
