//! Which session a request is about.

use axum::{
    extract::{FromRequestParts, Path, Query},
    http::request::Parts,
};
use memory_engine::Scope;
use serde::{Deserialize, de::DeserializeOwned};

use crate::{Access, Owner, fault::Fault};

/// The session that a path names, of the user and agent that the URL names, within reach of the key; and what else the URL
/// asks.
#[derive(Debug)]
pub(super) struct Session<T> {
    pub(super) scope: Scope,
    pub(super) id: String,
    pub(super) asked: T,
}

#[derive(Deserialize)]
struct Named {
    session_id: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Whose {
    user_id: String,
    agent_id: String,
    branch: String,
}

/// What a URL may ask beside whose session it is.
pub(super) trait Asked: DeserializeOwned {
    /// The names of what may be asked.
    const NAMES: &'static [&'static str];
}

/// Nothing more.
#[derive(Debug, Deserialize)]
pub(super) struct NothingMore {}

impl Asked for NothingMore {
    const NAMES: &'static [&'static str] = &[];
}

const WHOSE: [&str; 3] = ["user_id", "agent_id", "branch"];

impl<S: Send + Sync, T: Asked> FromRequestParts<S> for Session<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let access = <Access as FromRequestParts<S>>::from_request_parts(parts, state).await?;
        let path = Path::<Named>::from_request_parts(parts, state).await;
        let Path(Named { session_id }) = path.map_err(|e| Fault::bad_request(e.body_text()))?;
        let Query(names) = read::<Vec<(String, String)>>(parts)?;
        // Who mistypes user_id must not be shown everybody's memory.
        let known = |name: &str| WHOSE.iter().chain(T::NAMES).any(|known| *known == name);
        if let Some((name, _)) = names.iter().find(|(name, _)| !known(name)) {
            let known = WHOSE.iter().chain(T::NAMES).copied().collect::<Vec<_>>().join(", ");
            return Err(Fault::bad_request(format!("the URL asks for {name:?}; it may ask for {known}")));
        }
        let (Query(whose), Query(asked)) = (read::<Whose>(parts)?, read::<T>(parts)?);
        let owner = Owner {
            user: given(whose.user_id),
            agent: given(whose.agent_id),
            session: Some(session_id.clone()),
            branch: given(whose.branch),
        };
        Ok(Self { scope: access.scope(&owner)?, id: session_id, asked })
    }
}

fn read<T: DeserializeOwned>(parts: &Parts) -> Result<Query<T>, Fault> {
    Query::try_from_uri(&parts.uri).map_err(|e| Fault::bad_request(e.body_text()))
}

fn given(name: String) -> Option<String> {
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}
