//! The HTTP client for all services: timeouts, retries and size limits.

mod error;
mod options;
mod retry;
pub(crate) mod span;

use std::sync::Arc;

use memory_engine_core::{
    Error, ErrorKind, Result,
    observe::{Operation, count_retry, observe, tracing::Span},
};
use reqwest::{Method, Url, header::HeaderMap, redirect};
use serde::{Serialize, de::DeserializeOwned};

pub(crate) use error::HttpError;
use error::Retry;
pub use options::HttpOptions;
use retry::RetryBudget;

use crate::endpoint::Endpoint;

/// Sends requests. Clones share connections and the retry budget.
#[derive(Debug, Clone)]
pub struct HttpClient(Arc<ClientState>);

#[derive(Debug)]
struct ClientState {
    http: HttpClients,
    options: HttpOptions,
    budget: RetryBudget,
}

/// Decides after which errors a request is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryPolicy {
    /// After any transient error, because the request changes nothing.
    AnyTransient,
    /// Only if the service did not process the request, because it may change something.
    #[cfg(any(feature = "mem0", feature = "postgrest"))]
    NotProcessed,
}

/// A request that can be sent repeatedly. It has no `Debug`, since its body may contain user text.
pub(crate) struct Call {
    operation: &'static str,
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
    retry_policy: RetryPolicy,
}

impl Call {
    pub(crate) fn new(operation: &'static str, method: Method, endpoint: &Endpoint, path: &[&str]) -> Self {
        let url = endpoint.url_of(path);
        let headers = endpoint.headers().clone();
        Self { operation, method, url, headers, body: None, retry_policy: RetryPolicy::AnyTransient }
    }

    pub(crate) fn with_json(mut self, body: &impl Serialize) -> Result<Self> {
        let failed = |_| Error::invalid(self.operation, "the request cannot be serialised as JSON");
        self.body = Some(serde_json::to_vec(body).map_err(failed)?);
        Ok(self)
    }

    #[cfg(feature = "postgrest")]
    pub(crate) fn with_query(mut self, pairs: &[(String, String)]) -> Self {
        if !pairs.is_empty() {
            self.url.query_pairs_mut().extend_pairs(pairs);
        }
        self
    }

    #[cfg(feature = "postgrest")]
    pub(crate) fn with_header(mut self, name: &'static str, value: reqwest::header::HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    #[cfg(any(feature = "mem0", feature = "postgrest"))]
    pub(crate) fn with_retry_policy(mut self, policy: RetryPolicy) -> Self {
        self.retry_policy = policy;
        self
    }
}

/// The part of a response to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResponsePart {
    Whole,
    Head,
}

enum ServiceResponse {
    Whole(Vec<u8>),
    Head(reqwest::Response),
}

impl HttpClient {
    /// Creates a client with these options.
    ///
    /// TLS is rustls. If the process has no rustls crypto provider, ring is installed.
    ///
    /// # Errors
    /// `Unavailable` if TLS cannot be set up, for example because the system has no root certificates.
    pub fn new(options: HttpOptions) -> Result<Self> {
        let http = HttpClients::build(&options)?;
        Ok(Self(Arc::new(ClientState { http, options, budget: RetryBudget::default() })))
    }

    /// Sends the request and parses the response as JSON.
    pub(crate) async fn json<T: DeserializeOwned>(&self, call: Call) -> Result<T> {
        let body = self.bytes(&call).await?;
        // The parser's message is dropped: it could quote the text.
        serde_json::from_slice(&body).map_err(|e| HttpError::malformed(&call.url, &e).into_error(call.operation))
    }

    /// Sends the request and returns the whole body of the response.
    pub(crate) async fn bytes(&self, call: &Call) -> Result<Vec<u8>> {
        match self.run(call, ResponsePart::Whole).await? {
            ServiceResponse::Whole(body) => Ok(body),
            ServiceResponse::Head(_) => {
                Err(Error::new(ErrorKind::Internal, call.operation, "the body of the response was not read"))
            }
        }
    }

    /// Sends the request and returns the response once its head is received. The caller reads the body.
    pub(crate) async fn open(&self, call: &Call) -> Result<reqwest::Response> {
        match self.run(call, ResponsePart::Head).await? {
            ServiceResponse::Head(response) => Ok(response),
            ServiceResponse::Whole(_) => {
                Err(Error::new(ErrorKind::Internal, call.operation, "the body of the response was read already"))
            }
        }
    }

    pub(crate) fn max_response_bytes(&self) -> usize {
        self.0.options.max_response_bytes
    }

    async fn run(&self, call: &Call, part: ResponsePart) -> Result<ServiceResponse> {
        let span = span::request_span(call.operation, &call.method, &call.url);
        observe(&span, Operation::Model(call.operation), self.run_with_retries(call, part, &span)).await
    }

    async fn run_with_retries(&self, call: &Call, part: ResponsePart, span: &Span) -> Result<ServiceResponse> {
        let mut delays = self.0.options.retry_delays();
        let mut retries = 0_u32;
        loop {
            let error = match self.attempt(call, part, span).await {
                Ok(response) => {
                    self.0.budget.earn();
                    return Ok(response);
                }
                Err(error) => error,
            };
            let may_retry = match error.retry() {
                Retry::No => false,
                Retry::Refused => true,
                Retry::Unknown => call.retry_policy == RetryPolicy::AnyTransient,
            };
            let delay = delays.next().map(|delay| error.retry_after().map_or(delay, |requested| requested.max(delay)));
            match delay.filter(|delay| may_retry && *delay <= self.0.options.max_wait) {
                Some(delay) if self.0.budget.spend() => {
                    retries += 1;
                    span.record("http.request.resend_count", retries);
                    count_retry(call.operation);
                    tokio::time::sleep(delay).await;
                }
                _ => return Err(error.into_error(call.operation)),
            }
        }
    }

    async fn attempt(&self, call: &Call, part: ResponsePart, span: &Span) -> Result<ServiceResponse, HttpError> {
        let mut request =
            self.0.http.of(&call.url).request(call.method.clone(), call.url.clone()).headers(call.headers.clone());
        if let Some(body) = &call.body {
            request = request.header("content-type", "application/json").body(body.clone());
        }
        if part == ResponsePart::Whole {
            request = request.timeout(self.0.options.timeout);
        }
        let response = request.send().await.map_err(|e| HttpError::no_response(&call.url, e))?;
        let status = response.status();
        span.record("http.response.status_code", status.as_u16());
        if !status.is_success() {
            return Err(HttpError::refused(&call.url, response).await);
        }
        match part {
            ResponsePart::Head => Ok(ServiceResponse::Head(response)),
            ResponsePart::Whole => self.read(call, response).await.map(ServiceResponse::Whole),
        }
    }

    async fn read(&self, call: &Call, mut response: reqwest::Response) -> Result<Vec<u8>, HttpError> {
        let max_bytes = self.0.options.max_response_bytes;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| HttpError::incomplete_response(&call.url, e))? {
            if body.len() + chunk.len() > max_bytes {
                return Err(HttpError::too_large(&call.url, max_bytes));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// The clients of a service: a proxy of the system has no way to this machine's own addresses.
#[derive(Debug, Clone)]
pub(crate) struct HttpClients {
    remote: reqwest::Client,
    local: reqwest::Client,
}

impl HttpClients {
    /// Builds the clients with the settings that all clients of this crate share.
    pub(crate) fn build(options: &HttpOptions) -> Result<Self> {
        let remote = build(options, options.system_proxy)?;
        let local = if options.system_proxy { build(options, false)? } else { remote.clone() };
        Ok(Self { remote, local })
    }

    /// Returns the client for a URL.
    pub(crate) fn of(&self, url: &Url) -> &reqwest::Client {
        if is_loopback(url) { &self.local } else { &self.remote }
    }
}

/// Returns true if a URL names this machine: `localhost`, a name below it, or a loopback address.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    match address {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host.rsplit('.').next().is_some_and(|label| label.eq_ignore_ascii_case("localhost")),
    }
}

/// Builds an HTTP client. It follows no redirects, because the headers could leak keys.
fn build(options: &HttpOptions, system_proxy: bool) -> Result<reqwest::Client> {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // An error means that another thread has installed a provider, which is then used.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("memory-engine/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .connect_timeout(options.connect_timeout)
        .read_timeout(options.read_timeout)
        .pool_idle_timeout(options.idle_timeout);
    if !system_proxy {
        builder = builder.no_proxy();
    }
    let failed = |e| Error::new(ErrorKind::Unavailable, "http", "the HTTP client cannot be set up").with_source(e);
    builder.build().map_err(|e: reqwest::Error| failed(e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_recognised() {
        for host in [
            "localhost",
            "LOCALHOST",
            "localhost.",
            "api.localhost",
            "127.0.0.1",
            "127.8.9.1",
            "[::1]",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(is_loopback(&Url::parse(&format!("http://{host}:8080/v1")).unwrap()), "{host}");
        }
        for host in ["localhost.example.com", "10.0.0.1", "[2001:db8::1]", "example.com", "mylocalhost"] {
            assert!(!is_loopback(&Url::parse(&format!("http://{host}:8080/v1")).unwrap()), "{host}");
        }
    }
}
