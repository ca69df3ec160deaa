//! The owners of memories that a key may access, for the lists in which a person chooses one.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use memory_engine::{Scope, Timestamp, store::RecordGroup};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    query::Scoped,
    state::InspectorState,
    titles::{read_titles, session_of},
};
use crate::{access::Access, fault::Fault};

/// Maximum number of users or conversations in an answer. The newest are kept.
const MAX_OWNERS: usize = 1000;

/// The users that the key may access.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Users {
    /// The name of the key.
    key: String,
    /// True if the key may access all users of its tenant.
    all_users: bool,
    /// The version of the server.
    version: &'static str,
    /// The file of a SQLite database. Missing for other databases, and for keys of some users.
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<String>,
    /// Users with memories, newest first, at most 1000.
    users: Vec<UserSummary>,
    /// Number of users, with those that are left out.
    total: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UserSummary {
    user_id: String,
    /// Number of records in all states.
    records: u64,
    /// Time of the newest record.
    newest: String,
}

/// The addresses of a user's memories.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Addresses {
    /// Agents, conversations and branches with memories, newest first, at most 1000.
    addresses: Vec<AddressSummary>,
    /// Number of addresses, with those that are left out.
    total: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct AddressSummary {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// The first line of the user's first own message in the session, at most 60 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Number of records in all states.
    records: u64,
    /// Time of the oldest record.
    oldest: String,
    /// Time of the newest record.
    newest: String,
}

/// The number of records, the time of the newest, and false if all of them are entries of ledgers: then the owner is
/// not listed.
type Summary = (u64, Timestamp, bool);

pub(super) async fn list_users(State(state): State<InspectorState>, access: Access) -> Result<Json<Users>, Fault> {
    let mut found: BTreeMap<String, Summary> = BTreeMap::new();
    for scope in access.scopes()? {
        for group in state.engine.admin().record_groups(&scope).await? {
            if let Some(user) = group.scope.user_name() {
                add(&mut found, user.to_owned(), &group);
            }
        }
    }
    let (users, total) = newest_first(found);
    let users = users.into_iter().map(|(user_id, (records, newest, _))| UserSummary {
        user_id,
        records,
        newest: newest.to_string(),
    });
    let file = state.database_file.filter(|_| access.is_for_all_users());
    Ok(Json(Users {
        key: access.name().to_owned(),
        all_users: access.is_for_all_users(),
        version: env!("CARGO_PKG_VERSION"),
        database: file.map(|path| path.display().to_string()),
        users: users.collect(),
        total,
    }))
}

pub(super) async fn list_addresses(
    State(state): State<InspectorState>,
    scoped: Scoped,
) -> Result<Json<Addresses>, Fault> {
    state.engine.audit().log_export(&scoped.scope, "inspector.addresses").await?;
    let mut found = BTreeMap::new();
    let mut oldest: BTreeMap<Scope, Timestamp> = BTreeMap::new();
    for group in state.engine.admin().record_groups(&scoped.scope).await? {
        add(&mut found, group.scope.clone(), &group);
        let time = oldest.entry(group.scope).or_insert(group.oldest);
        *time = group.oldest.min(*time);
    }
    let (addresses, total) = newest_first(found);
    let titles = read_titles(&state.engine, addresses.iter().map(|(address, _)| address)).await?;
    let summary = |(address, (records, newest, _)): (Scope, Summary)| {
        let [agent_id, session_id, branch] =
            [address.agent(), address.session(), address.branch()].map(|name| name.map(str::to_owned));
        let title = session_of(&address).and_then(|session| titles.get(&session).cloned());
        let oldest = oldest.get(&address).unwrap_or(&newest).to_string();
        AddressSummary { agent_id, session_id, branch, title, records, oldest, newest: newest.to_string() }
    };
    Ok(Json(Addresses { addresses: addresses.into_iter().map(summary).collect(), total }))
}

fn add<K: Ord>(found: &mut BTreeMap<K, Summary>, key: K, group: &RecordGroup) {
    let summary = found.entry(key).or_insert((0, group.newest, false));
    summary.0 += group.records;
    summary.1 = summary.1.max(group.newest);
    summary.2 |= !group.kind.is_ledger();
}

/// Returns the newest entries, and the number of all.
fn newest_first<K>(found: BTreeMap<K, Summary>) -> (Vec<(K, Summary)>, usize) {
    let mut entries: Vec<_> = found.into_iter().filter(|(_, (_, _, is_listed))| *is_listed).collect();
    let total = entries.len();
    entries.sort_by_key(|(_, (_, newest, _))| std::cmp::Reverse(*newest));
    entries.truncate(MAX_OWNERS);
    (entries, total)
}
