//! The guard: no request gets in without an [`Access`].

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    middleware::{Next, from_fn_with_state},
    response::Response,
};

use crate::{
    access::Access,
    fault::{ErrorFormat, Fault},
    keys::KeyRing,
};

/// Decides who has access.
#[derive(Debug, Clone)]
#[must_use]
pub struct Guard(Arc<AccessRule>);

#[derive(Debug)]
enum AccessRule {
    /// Everybody, with this access.
    Open(Access),
    /// Callers with one of these keys.
    Keys(KeyRing),
}

impl Guard {
    /// Everybody who reaches the port comes in, with this access: for a server that listens on the loopback only.
    pub fn open(access: Access) -> Self {
        Self(Arc::new(AccessRule::Open(access)))
    }

    /// Requires one of these keys, as `X-Memory-Key: KEY`, `X-API-Key: KEY`, `Authorization: Bearer KEY` or
    /// `Authorization: Token KEY`. The first of these headers that is present counts.
    pub fn keys(keys: KeyRing) -> Self {
        Self(Arc::new(AccessRule::Keys(keys)))
    }

    /// Returns true if no key is required.
    pub fn is_open(&self) -> bool {
        matches!(*self.0, AccessRule::Open(_))
    }

    /// Checks the key of every request to a router, and writes refusals in the router's error format.
    pub(crate) fn protect(&self, router: Router, errors: ErrorFormat) -> Router {
        router.layer(from_fn_with_state((self.clone(), errors), check_key))
    }

    /// Takes our keys off a request that is let in: who passes it on passes on none of them.
    fn take_key(&self, headers: &mut HeaderMap) {
        KEY_HEADERS.iter().for_each(|name| drop(headers.remove(*name)));
        if let AccessRule::Keys(keys) = &*self.0
            && authorization(headers).is_some_and(|key| keys.find(key).is_some())
        {
            headers.remove(AUTHORIZATION);
        }
    }

    fn admits(&self, headers: &HeaderMap) -> Result<Access, Fault> {
        match &*self.0 {
            AccessRule::Open(access) => Ok(access.clone()),
            AccessRule::Keys(keys) => {
                let refused = |message: &str| Fault::new(StatusCode::UNAUTHORIZED, message);
                let missing =
                    || refused("Authentication required: send a key as X-API-Key or as Authorization: Bearer");
                let key = shown(headers).ok_or_else(missing)?;
                keys.find(key).ok_or_else(|| refused("this key is not known here"))
            }
        }
    }
}

/// The key that a request shows.
fn shown(headers: &HeaderMap) -> Option<&str> {
    let own = KEY_HEADERS.iter().find_map(|name| named(headers, name).filter(|key| !key.is_empty()));
    own.or_else(|| authorization(headers)).filter(|key| !key.is_empty())
}

fn named<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

fn authorization(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = named(headers, AUTHORIZATION.as_str())?.split_once(' ')?;
    matches!(scheme.to_ascii_lowercase().as_str(), "bearer" | "token").then(|| key.trim())
}

/// The headers that hold a key of ours and nothing else.
const KEY_HEADERS: [&str; 2] = ["x-memory-key", "x-api-key"];

async fn check_key(State((guard, errors)): State<(Guard, ErrorFormat)>, mut request: Request, next: Next) -> Response {
    match guard.admits(request.headers()) {
        Ok(access) => {
            request.extensions_mut().insert(access);
            guard.take_key(request.headers_mut());
            next.run(request).await
        }
        Err(fault) => errors(fault),
    }
}

#[cfg(test)]
mod tests;
