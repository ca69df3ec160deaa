//! Reading requests: the owner that they name, the parameters of their URL, and their JSON bodies.

#[cfg(any(feature = "debug", feature = "deletions"))]
use axum::{
    Json,
    extract::{FromRequest, Request},
};
use axum::{
    extract::{FromRequestParts, Query},
    http::{Uri, request::Parts},
};
use memory_engine::{RecordId, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
#[cfg(any(feature = "debug", feature = "deletions"))]
use serde_json::{Map, Value};

use crate::{
    access::{Access, Owner},
    fault::Fault,
};

/// Maximum number of ids of a request.
pub(crate) const MAX_IDS: usize = 500;

/// The parameters of a request that names an owner. [`owner_params`] defines them.
pub(crate) trait OwnerParams: DeserializeOwned {
    /// Returns the named owner. An empty name counts as missing, except for that of a user in a body.
    fn owner(&self) -> Owner;
}

/// A field with a name of an owner.
pub(crate) trait OwnerName {
    /// Returns the trimmed name, or `None` if it is missing or empty.
    fn named(&self) -> Option<String>;

    /// Returns the trimmed name, even if it is blank; `None` if it is missing. [`Access::scope`] refuses a blank one.
    fn sent(&self) -> Option<String> {
        self.named()
    }
}

impl OwnerName for String {
    fn named(&self) -> Option<String> {
        non_empty(self).map(str::to_owned)
    }
}

impl OwnerName for Option<String> {
    fn named(&self) -> Option<String> {
        self.as_ref()?.named()
    }

    fn sent(&self) -> Option<String> {
        self.as_ref().map(|name| name.trim().to_owned())
    }
}

/// Defines the parameters of a request: the four names of the owner, and the fields of the struct. The type after the
/// name of the struct is that of a name: `String` in a URL, `Option<String>` where JSON may say null.
///
/// The names are fields, and not a flattened struct, because serde then reports unknown fields without the known ones,
/// and reads no numbers from a URL.
macro_rules! owner_params {
    ($(#[$attribute:meta])* $visibility:vis struct $params:ident: $name:ty { $($fields:tt)* }) => {
        $crate::request::owner_params! {
            "The user. Default: the only user of the key, or all users of its tenant.";
            $(#[$attribute])* $visibility struct $params: $name { $($fields)* }
        }
    };
    ($user:tt; $(#[$attribute:meta])* $visibility:vis struct $params:ident: $name:ty { $($fields:tt)* }) => {
        $(#[$attribute])*
        $visibility struct $params {
            #[doc = $user]
            #[serde(default)]
            #[schemars(regex(pattern = r"\S"))]
            user_id: $name,
            /// The agent.
            #[serde(default)]
            agent_id: $name,
            /// The conversation.
            #[serde(default)]
            session_id: $name,
            /// The branch of the conversation.
            #[serde(default)]
            branch: $name,
            $($fields)*
        }

        impl $crate::request::OwnerParams for $params {
            fn owner(&self) -> $crate::access::Owner {
                let names = [&self.agent_id, &self.session_id, &self.branch];
                let [agent, session, branch] = names.map($crate::request::OwnerName::named);
                let user = $crate::request::OwnerName::sent(&self.user_id);
                $crate::access::Owner { user, agent, session, branch }
            }
        }
    };
}
pub(crate) use owner_params;

#[cfg(feature = "review")]
owner_params! {
    /// The owner of memories, and no other parameters.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub(crate) struct OwnerNames: String {}
}

/// No parameters besides the owner.
#[cfg(feature = "debug")]
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParams {}

/// The parameters in the URL of a request.
pub(crate) struct UrlQuery<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for UrlQuery<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Fault> {
        parse_query(&parts.uri).map(Self)
    }
}

/// The parameters in the URL of a request, and the scope of the owner that they name. The key has access to it.
pub(crate) struct OwnerQuery<T> {
    pub(crate) scope: Scope,
    pub(crate) params: T,
}

impl<S: Send + Sync, T: OwnerParams> FromRequestParts<S> for OwnerQuery<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let access = <Access as FromRequestParts<S>>::from_request_parts(parts, state).await?;
        let params: T = parse_query(&parts.uri)?;
        Ok(Self { scope: access.scope(&params.owner())?, params })
    }
}

/// A JSON object in the body of a request. The errors are messages.
#[cfg(any(feature = "debug", feature = "deletions"))]
pub(crate) struct Body<T>(pub(crate) T);

#[cfg(any(feature = "debug", feature = "deletions"))]
impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Self, Fault> {
        let body = Json::<Map<String, Value>>::from_request(request, state).await;
        let Json(body) = body.map_err(|error| Fault::new(error.status(), error.body_text()))?;
        serde_json::from_value(Value::Object(body)).map(Self).map_err(|error| Fault::bad_request(error.to_string()))
    }
}

/// Reads a JSON body. Returns it with the scope of the owner that it names, to which the key has access. The error of
/// an invalid body says what to send.
pub(crate) fn parse_owner_body<T: OwnerParams>(
    access: &Access,
    body: &[u8],
    expected: &str,
) -> Result<(Scope, T), Fault> {
    let params: T = parse_body(body, expected)?;
    Ok((access.scope(&params.owner())?, params))
}

/// Reads a JSON body. The error of an invalid one says what to send.
pub(crate) fn parse_body<T: DeserializeOwned>(body: &[u8], expected: &str) -> Result<T, Fault> {
    serde_json::from_slice(body).map_err(|error| Fault::bad_request(format!("{error}; send {expected}")))
}

/// Reads the parameters in a URL.
pub(crate) fn parse_query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Fault> {
    let query = Query::try_from_uri(uri);
    query.map(|Query(query)| query).map_err(|error| Fault::bad_request(error.body_text()))
}

/// Reads the parameters in a URL: those with the names of the owner, and all others. Both types must have
/// `#[serde(deny_unknown_fields)]`: a mistyped `user_id` must not reach the memories of all users.
#[cfg(feature = "debug")]
pub(crate) fn parse_owner_query<N: DeserializeOwned, P: DeserializeOwned>(
    uri: &Uri,
    names: &[&str],
) -> Result<(N, P), Fault> {
    let is_name = |pair: &&str| names.contains(&pair.split('=').next().unwrap_or_default());
    let (named, others): (Vec<&str>, Vec<&str>) = uri.query().unwrap_or_default().split('&').partition(is_name);
    let params = parse_pairs(&others).map_err(|fault| match fault.message() {
        message if message.contains("unknown field") => {
            Fault::bad_request(format!("{message}; the owner is named by {}", names.join(", ")))
        }
        _ => fault,
    })?;
    Ok((parse_pairs(&named)?, params))
}

#[cfg(feature = "debug")]
fn parse_pairs<T: DeserializeOwned>(pairs: &[&str]) -> Result<T, Fault> {
    let uri = format!("/?{}", pairs.join("&")).parse();
    parse_query(&uri.map_err(|_| Fault::bad_request("the query of the URL is not valid"))?)
}

/// Refuses an empty list of ids and one that is too long.
pub(crate) fn check_ids(ids: &[RecordId]) -> Result<(), Fault> {
    if ids.is_empty() || ids.len() > MAX_IDS {
        let count = ids.len();
        return Err(Fault::bad_request(format!("ids has {count} entries; name from 1 to {MAX_IDS} records")));
    }
    Ok(())
}

/// Returns the maximum number of entries in an answer, which must be from 1 to `max`.
pub(crate) fn check_limit(limit: usize, max: usize) -> Result<usize, Fault> {
    if !(1..=max).contains(&limit) {
        return Err(Fault::bad_request(format!("limit is {limit}; it must be from 1 to {max}")));
    }
    Ok(limit)
}

/// Returns the trimmed text, or `None` if it is empty.
pub(crate) fn non_empty(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}
