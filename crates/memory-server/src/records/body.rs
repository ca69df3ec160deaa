//! Reading the bodies of requests.

use memory_engine::{RecordId, Scope};
use serde::de::DeserializeOwned;

use crate::{
    access::{Access, Owner},
    fault::Fault,
};

/// Maximum number of ids of a request.
pub(super) const MAX_IDS: usize = 500;

/// Reads a JSON body. The error of an invalid one says what to send.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8], expected: &str) -> Result<T, Fault> {
    serde_json::from_slice(body).map_err(|error| Fault::bad_request(format!("{error}; send {expected}")))
}

/// Refuses an empty list of ids and one that is too long.
pub(super) fn check_ids(ids: &[RecordId]) -> Result<(), Fault> {
    if ids.is_empty() || ids.len() > MAX_IDS {
        let count = ids.len();
        return Err(Fault::bad_request(format!("ids has {count} entries; name from 1 to {MAX_IDS} records")));
    }
    Ok(())
}

/// Returns the scope of the user, agent, conversation and branch that a request names.
pub(super) fn scope(access: &Access, names: [Option<String>; 4]) -> Result<Scope, Fault> {
    let [user, agent, session, branch] = names.map(non_empty);
    Ok(access.scope(&Owner { user, agent, session, branch })?)
}

/// An empty name counts as missing.
fn non_empty(name: Option<String>) -> Option<String> {
    name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}
