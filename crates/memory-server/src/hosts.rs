//! Under which names a server is asked, and by which pages.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{
        HeaderMap, StatusCode,
        header::{HOST, ORIGIN},
    },
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};

use crate::fault::Fault;

/// Allows every host or origin.
const ANY: &str = "*";
/// The names of this machine for itself.
pub(crate) const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Allowed `Host` and `Origin` headers of a server without keys. A web page could otherwise point its own host name
/// to this machine, and read memories through the user's browser (DNS rebinding).
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    names: Arc<[String]>,
    origins: Arc<[String]>,
}

impl Hosts {
    /// These names and origins, beside those of the loopback.
    pub(crate) fn new(names: &[String], origins: &[String]) -> Self {
        let loopback = LOOPBACK.iter().map(|name| (*name).to_owned());
        Self { names: loopback.chain(names.iter().cloned()).collect(), origins: origins.into() }
    }

    /// Stands before all routes of a router.
    pub(crate) fn watch(&self, router: Router) -> Router {
        router.layer(from_fn_with_state(self.clone(), check))
    }

    fn admits(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let refused = |message: &str| Err(Fault::new(StatusCode::FORBIDDEN, message));
        let sent = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        // Who sends none is no browser.
        if sent(HOST).is_some_and(|host| !self.knows(host)) {
            return refused("the server is not known by this name; allowed_hosts in the configuration lists its names");
        }
        // Any name is not any page.
        let ours =
            |host: &str| self.names.iter().any(|known| known != ANY && known.eq_ignore_ascii_case(name_of(host)));
        let from_here = |origin: &str| origin.split_once("://").is_some_and(|(_, host)| ours(host));
        let allowed = |origin: &str| self.origins.iter().any(|known| known == origin) || from_here(origin);
        match sent(ORIGIN) {
            Some(origin) if !allowed(origin) => {
                refused("pages of this origin may not call; cors_origins in the configuration lists those that may")
            }
            Some(_) | None => Ok(()),
        }
    }

    fn knows(&self, host: &str) -> bool {
        self.names.iter().any(|known| known == ANY || known.eq_ignore_ascii_case(name_of(host)))
    }
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((v6, _)) => v6,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    }
}

async fn check(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    match hosts.admits(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(fault) => fault.into_response(),
    }
}

#[cfg(test)]
mod tests;
