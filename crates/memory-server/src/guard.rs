//! The guard: no request gets in without an [`Access`].

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};

use crate::{Access, KeyRing, fault::Fault};

/// Who may come in.
#[derive(Debug, Clone)]
#[must_use]
pub struct Guard(Arc<Rule>);

#[derive(Debug)]
enum Rule {
    /// Everybody, with this access.
    Open(Access),
    /// Who shows a key.
    Keys(KeyRing),
}

/// In which form a refusal is worded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wording {
    Mem0,
    OpenAi,
}

impl Guard {
    /// Everybody who reaches the port comes in, with this access: for a server that listens on the loopback only.
    pub fn open(access: Access) -> Self {
        Self(Arc::new(Rule::Open(access)))
    }

    /// Who shows one of these keys comes in, as `X-Memory-Key: KEY`, `X-API-Key: KEY`, `Authorization: Bearer KEY` or
    /// `Authorization: Token KEY`; the first of these that is there counts.
    pub fn keys(keys: KeyRing) -> Self {
        Self(Arc::new(Rule::Keys(keys)))
    }

    /// Whether it asks nobody for a key.
    pub fn is_open(&self) -> bool {
        matches!(*self.0, Rule::Open(_))
    }

    /// Stands before all routes of a router, and answers who may not come in as `wording` has it.
    pub(crate) fn protect(&self, router: Router, wording: Wording) -> Router {
        router.layer(from_fn_with_state((self.clone(), wording), admit))
    }

    fn admits(&self, headers: &HeaderMap) -> Result<Access, Fault> {
        match &*self.0 {
            Rule::Open(access) => Ok(access.clone()),
            Rule::Keys(keys) => {
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
    let named = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let scheme = |value: &'_ str| value.split_once(' ').map(|(scheme, _)| scheme.to_ascii_lowercase());
    let bearer = || {
        let value = named(AUTHORIZATION.as_str())?;
        let known = matches!(scheme(value)?.as_str(), "bearer" | "token");
        value.split_once(' ').filter(|_| known).map(|(_, key)| key.trim())
    };
    named("x-memory-key").or_else(|| named("x-api-key")).or_else(bearer).filter(|key| !key.is_empty())
}

async fn admit(State((guard, wording)): State<(Guard, Wording)>, mut request: Request, next: Next) -> Response {
    match guard.admits(request.headers()) {
        Ok(access) => {
            request.extensions_mut().insert(access);
            next.run(request).await
        }
        Err(fault) if wording == Wording::OpenAi => fault.into_openai(),
        Err(fault) => fault.into_response(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use crate::ApiKey;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| ((*name).try_into().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_key_is_taken_from_any_of_the_headers_that_clients_send() {
        let key = ApiKey::generate();
        let guard = Guard::keys(KeyRing::default().with_key(&key, Access::tenant("one", "acme").unwrap()));
        let k = key.reveal();
        let sent = [
            headers(&[("x-memory-key", k)]),
            headers(&[("x-api-key", k)]),
            headers(&[("authorization", &format!("Bearer {k}"))]),
            headers(&[("authorization", &format!("Token {k}"))]),
            headers(&[("authorization", &format!("bearer  {k}"))]),
            headers(&[("x-memory-key", k), ("authorization", "Bearer sk-of-the-upstream")]),
        ];
        for headers in sent {
            assert_eq!(guard.admits(&headers).unwrap().name(), "one");
        }
    }

    #[test]
    fn who_shows_no_key_or_a_wrong_one_stays_outside() {
        let key = ApiKey::generate();
        let guard = Guard::keys(KeyRing::default().with_key(&key, Access::tenant("one", "acme").unwrap()));
        let wrong = [
            headers(&[]),
            headers(&[("authorization", "Bearer ")]),
            headers(&[("authorization", key.reveal())]),
            headers(&[("authorization", &format!("Basic {}", key.reveal()))]),
            headers(&[("x-memory-key", "wrong"), ("x-api-key", key.reveal())]),
        ];
        for headers in wrong {
            assert_eq!(guard.admits(&headers).unwrap_err().status(), StatusCode::UNAUTHORIZED);
        }
    }
}
