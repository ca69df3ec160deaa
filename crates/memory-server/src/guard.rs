//! The guard: assigns an [`Access`] to each request, or refuses it.

pub(crate) mod actor;

use std::{fmt::Debug, sync::Arc};

use axum::{
    Router,
    extract::{Request, State},
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{AUTHORIZATION, WWW_AUTHENTICATE},
    },
    middleware::{Next, from_fn_with_state},
    response::Response,
};

use memory_engine::audit::{AuditContext, in_context};
use memory_engine::jiff::tz::TimeZone;
use percent_encoding::percent_decode_str;

use self::actor::identify_actor;
use crate::{
    access::{Access, METRICS_PART},
    fault::{ErrorFormat, Fault},
    headers::header_text,
    keys::KeyRing,
};

/// Decides which requests have access, and to which memories.
#[derive(Debug, Clone)]
#[must_use]
pub struct Guard {
    rule: Arc<AccessRule>,
    tokens: Option<Arc<dyn TokenVerifier>>,
}

/// Verifies tokens that some paths accept in place of a key.
pub(crate) trait TokenVerifier: Debug + Send + Sync {
    /// Returns true if requests to this path may have a token.
    fn is_for_path(&self, path: &str) -> bool;

    /// Returns the access of a token, or `None` if it is not valid.
    fn verify(&self, token: &str) -> Option<Access>;

    /// Returns the `WWW-Authenticate` header of a refusal, for a request with an invalid token or without one.
    fn challenge(&self, is_token_invalid: bool) -> HeaderValue;
}

#[derive(Debug)]
enum AccessRule {
    /// Every caller, with this access.
    Open(Access),
    /// Callers with one of these keys.
    Keys(KeyRing),
}

impl Guard {
    /// Gives every caller this access, without a key. For a server that listens on the loopback only.
    pub fn open(access: Access) -> Self {
        Self { rule: Arc::new(AccessRule::Open(access.opened())), tokens: None }
    }

    /// Requires one of these keys, as `X-Memory-Key: KEY`, `X-API-Key: KEY`, `Authorization: Bearer KEY` or
    /// `Authorization: Token KEY`. The first of these headers that is present counts.
    pub fn keys(keys: KeyRing) -> Self {
        Self { rule: Arc::new(AccessRule::Keys(keys.with_process_figures())), tokens: None }
    }

    /// Accepts tokens in addition to keys.
    #[cfg(feature = "oauth")]
    pub(crate) fn with_tokens(mut self, tokens: Arc<dyn TokenVerifier>) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Returns the keys, or `None` if no key is required.
    #[cfg(feature = "oauth")]
    pub(crate) fn key_ring(&self) -> Option<&KeyRing> {
        match &*self.rule {
            AccessRule::Open(_) => None,
            AccessRule::Keys(keys) => Some(keys),
        }
    }

    /// Returns true if no key is required.
    pub fn is_open(&self) -> bool {
        matches!(*self.rule, AccessRule::Open(_))
    }

    /// Checks the key of every request to the router of a part, and writes refusals in the part's error format.
    pub(crate) fn protect(&self, router: Router, part: &'static str, errors: ErrorFormat) -> Router {
        router.layer(from_fn_with_state((self.clone(), part, errors), check_key))
    }

    /// Removes the keys of this server from a request, so that they are not passed on to an upstream. A key of another
    /// service in `Authorization` or `X-API-Key` is kept.
    fn remove_keys(&self, headers: &mut HeaderMap) {
        headers.remove(MEMORY_KEY);
        let AccessRule::Keys(keys) = &*self.rule else { return };
        let is_own = |key: Option<&str>| key.is_some_and(|key| keys.find(key).is_some());
        if is_own(header(headers, API_KEY)) {
            headers.remove(API_KEY);
        }
        if is_own(authorization(headers)) {
            headers.remove(AUTHORIZATION);
        }
    }

    /// Returns true if a request has access to memories.
    pub(crate) fn admits(&self, request: &Request) -> bool {
        let tokens = self.tokens_for(request.uri().path());
        self.authenticate(request.headers(), tokens).is_ok_and(|access| !access.is_for_metrics())
    }

    /// Returns the verifier of tokens for a path.
    fn tokens_for(&self, path: &str) -> Option<&dyn TokenVerifier> {
        self.tokens.as_deref().filter(|tokens| tokens.is_for_path(path))
    }

    /// Returns the access of a request to a path that accepts these tokens.
    fn authenticate(&self, headers: &HeaderMap, tokens: Option<&dyn TokenVerifier>) -> Result<Access, Fault> {
        match &*self.rule {
            AccessRule::Open(access) => Ok(access.clone()),
            AccessRule::Keys(keys) => {
                let Some(key) = sent_key(headers) else {
                    let message = "Authentication required: send a key as X-API-Key or as Authorization: Bearer";
                    return Err(Fault::new(StatusCode::UNAUTHORIZED, message));
                };
                let of_token = || tokens.and_then(|tokens| tokens.verify(key));
                let invalid = || Fault::new(StatusCode::UNAUTHORIZED, "the key is not valid");
                keys.find(key).or_else(of_token).ok_or_else(invalid)
            }
        }
    }
}

/// Returns the access if it covers the part.
fn authorize(access: Access, part: &str) -> Result<Access, Fault> {
    if access.is_for_metrics() && part != METRICS_PART {
        let message = "this key is for GET /metrics only; send a key for memories (memory keys new, without --metrics)";
        return Err(Fault::new(StatusCode::FORBIDDEN, message));
    }
    Ok(access)
}

/// Returns the key in a request.
fn sent_key(headers: &HeaderMap) -> Option<&str> {
    let dedicated = [MEMORY_KEY, API_KEY].iter().find_map(|name| header(headers, name).filter(|key| !key.is_empty()));
    dedicated.or_else(|| authorization(headers)).filter(|key| !key.is_empty())
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

/// Returns the key in the `Authorization` header.
fn authorization(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = header(headers, AUTHORIZATION.as_str())?.split_once(' ')?;
    matches!(scheme.to_ascii_lowercase().as_str(), "bearer" | "token").then(|| key.trim())
}

/// The header that names the user.
const USER: &str = "x-user-id";
/// The header with a key of this server and nothing else.
const MEMORY_KEY: &str = "x-memory-key";
/// The header with a key of this server, or of an upstream with Anthropic's API.
const API_KEY: &str = "x-api-key";

async fn check_key(
    State((guard, part, errors)): State<(Guard, &'static str, ErrorFormat)>,
    mut request: Request,
    next: Next,
) -> Response {
    let tokens = guard.tokens_for(request.uri().path());
    let authorized = guard.authenticate(request.headers(), tokens).and_then(|access| authorize(access, part));
    let checked = authorized.and_then(|access| {
        check_user(&request)?;
        Ok((access, client_zone(request.headers())?))
    });
    match checked {
        Ok((access, zone)) => {
            let actor = Arc::new(identify_actor(&access, request.headers()));
            request.extensions_mut().insert(Arc::clone(&actor));
            request.extensions_mut().insert(access);
            guard.remove_keys(request.headers_mut());
            in_context(AuditContext::default().with_actor(actor).with_zone(zone), next.run(request)).await
        }
        Err(fault) => {
            let mut response = errors(fault);
            if let Some(tokens) = tokens
                && response.status() == StatusCode::UNAUTHORIZED
            {
                let challenge = tokens.challenge(sent_key(request.headers()).is_some());
                response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            }
            response
        }
    }
}

/// Refuses a request whose header or URL names a blank user. It would reach the memory of another user, or of all.
fn check_user(request: &Request) -> Result<(), Fault> {
    let headers = request.headers();
    if headers.contains_key(USER) && header_text(headers, USER)?.is_none() {
        return Err(Fault::blank_user("the header X-User-Id"));
    }
    let decoded = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    for pair in request.uri().query().unwrap_or_default().split('&') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if matches!(decoded(key).as_str(), "user_id" | "userId") && decoded(value).trim().is_empty() {
            return Err(Fault::blank_user("user_id in the URL"));
        }
    }
    Ok(())
}

/// Returns the user's time zone, if the client names it.
pub(crate) fn client_zone(headers: &HeaderMap) -> Result<Option<TimeZone>, Fault> {
    let zone = header_text(headers, "x-timezone")?.map(|name| crate::zone(&name)).transpose();
    zone.map_err(|error| Fault::bad_request(format!("the header X-Timezone: {}", error.message())))
}

#[cfg(test)]
mod tests;
