//! Checks the host and the origin of requests to a server without keys.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{
        HeaderMap, Method, StatusCode,
        header::{HOST, ORIGIN},
    },
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};

use crate::fault::Fault;

/// Allows every host or origin.
const ANY: &str = "*";
/// The relation of a page to the origin of its request. Browsers send it to this machine, and over HTTPS.
const FETCH_SITE: &str = "sec-fetch-site";
const FETCH_MODE: &str = "sec-fetch-mode";
const FETCH_DESTINATION: &str = "sec-fetch-dest";
/// The names of the loopback.
pub(crate) const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Allowed `Host` and `Origin` headers of a server without keys. A web page could otherwise point its own host name
/// to this machine, and read memories through the user's browser (DNS rebinding).
#[derive(Debug, Clone)]
pub(crate) struct AllowedHosts {
    names: Arc<[String]>,
    origins: Arc<[String]>,
}

impl AllowedHosts {
    /// Allows these names and origins, and those of the loopback.
    pub(crate) fn new(names: &[String], origins: &[String]) -> Self {
        let loopback = LOOPBACK.iter().map(|name| (*name).to_owned());
        Self { names: loopback.chain(names.iter().cloned()).collect(), origins: origins.into() }
    }

    /// Checks all requests to a router.
    pub(crate) fn protect(&self, router: Router) -> Router {
        router.layer(from_fn_with_state(self.clone(), check))
    }

    fn check_headers(&self, method: &Method, headers: &HeaderMap) -> Result<(), Fault> {
        let value = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        if headers.get_all(HOST).iter().nth(1).is_some() || headers.get_all(ORIGIN).iter().nth(1).is_some() {
            return Err(Fault::new(
                StatusCode::BAD_REQUEST,
                "Host and Origin must not be repeated; send each one once",
            ));
        }
        // Browsers always send a host, so a request without one does not come from a web page.
        if value(HOST).is_some_and(|host| !self.allows_host(host)) {
            return Err(refusal("this host name is not allowed; add it to allowed_hosts in the configuration"));
        }
        let is_listed = value(ORIGIN).is_some_and(|origin| self.origins.iter().any(|allowed| allowed == origin));
        let is_foreign = value(ORIGIN).is_some_and(|origin| !self.allows_origin(origin));
        if is_foreign || (is_by_other_page(method, headers) && !is_listed) {
            return Err(refusal(
                "web pages of this origin are not allowed; add it to cors_origins in the configuration",
            ));
        }
        Ok(())
    }

    fn allows_host(&self, host: &str) -> bool {
        self.names.iter().any(|name| name == ANY) || self.is_named(host)
    }

    /// Returns true for an allowed origin, and for the origins of named hosts. `*` allows all hosts, but no origin.
    fn allows_origin(&self, origin: &str) -> bool {
        let is_own = origin.split_once("://").is_some_and(|(_, host)| self.is_named(host));
        is_own || self.origins.iter().any(|allowed| allowed == origin)
    }

    fn is_named(&self, host: &str) -> bool {
        let named = without_port(host);
        named.is_some_and(|host| self.names.iter().any(|name| name != ANY && name.eq_ignore_ascii_case(host)))
    }
}

/// Returns true if a browser states that a page of another origin makes the request. A page on another port of this
/// machine has an allowed host, and could send a form. A link to a page of this server is no such request.
fn is_by_other_page(method: &Method, headers: &HeaderMap) -> bool {
    let is = |name: &str, expected: &str| headers.get(name).is_some_and(|value| value == expected);
    let is_other = is(FETCH_SITE, "cross-site") || is(FETCH_SITE, "same-site");
    let is_link = *method == Method::GET && is(FETCH_MODE, "navigate") && is(FETCH_DESTINATION, "document");
    is_other && !is_link
}

fn refusal(message: &str) -> Fault {
    Fault::new(StatusCode::FORBIDDEN, message)
}

/// Returns a host without its port, and an IPv6 address without its brackets. `None` unless only a port follows.
fn without_port(host: &str) -> Option<&str> {
    let (name, rest) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let port = rest.strip_prefix(':');
    let is_port = port.is_some_and(|port| port.parse::<u16>().is_ok() && !port.starts_with('+'));
    (rest.is_empty() || is_port).then_some(name)
}

async fn check(State(hosts): State<AllowedHosts>, request: Request, next: Next) -> Response {
    match hosts.check_headers(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(fault) => fault.into_response(),
    }
}

#[cfg(test)]
mod tests;
