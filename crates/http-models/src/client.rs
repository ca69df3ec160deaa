//! One HTTP client for all services: time-outs, retries, limits.

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
use retry::Budget;

use crate::endpoint::Endpoint;

/// Sends requests. Clones share connections and the retry budget.
#[derive(Debug, Clone)]
pub struct HttpClient(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    http: reqwest::Client,
    options: HttpOptions,
    budget: Budget,
}

/// Decides whether a request may be sent again if its outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It changes nothing: again whenever that may help.
    Safe,
    /// It may change something: again only when the service has surely not taken it.
    #[cfg(any(feature = "mem0", feature = "postgrest"))]
    WhenRefused,
}

/// A request that can be sent repeatedly. It has no `Debug`, since its body may contain user text.
pub(crate) struct Call {
    operation: &'static str,
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
    repeat: Repeat,
}

impl Call {
    pub(crate) fn new(operation: &'static str, method: Method, endpoint: &Endpoint, path: &[&str]) -> Self {
        let (url, headers) = (endpoint.at(path), endpoint.headers().clone());
        Self { operation, method, url, headers, body: None, repeat: Repeat::Safe }
    }

    pub(crate) fn with_json(mut self, body: &impl Serialize) -> Result<Self> {
        let failed = |_| Error::invalid(self.operation, "the request cannot be written as JSON");
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
    pub(crate) fn with_repeat(mut self, repeat: Repeat) -> Self {
        self.repeat = repeat;
        self
    }
}

/// The part of a response to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    Whole,
    Head,
}

enum ServiceResponse {
    Whole(Vec<u8>),
    Head(reqwest::Response),
}

impl HttpClient {
    /// A client with these options.
    ///
    /// TLS is rustls with ring. When the process has no rustls crypto provider yet, ring becomes it.
    ///
    /// # Errors
    /// `Unavailable` when TLS cannot be set up, for one because the system has no root certificates.
    pub fn new(options: HttpOptions) -> Result<Self> {
        let http = build(&options)?;
        Ok(Self(Arc::new(Inner { http, options, budget: Budget::default() })))
    }

    /// The answer as JSON.
    pub(crate) async fn json<T: DeserializeOwned>(&self, call: Call) -> Result<T> {
        let body = self.bytes(&call).await?;
        // The source would repeat what it stumbled over.
        serde_json::from_slice(&body).map_err(|e| HttpError::malformed(&call.url, &e).into_error(call.operation))
    }

    /// The whole answer.
    pub(crate) async fn bytes(&self, call: &Call) -> Result<Vec<u8>> {
        match self.run(call, Want::Whole).await? {
            ServiceResponse::Whole(body) => Ok(body),
            ServiceResponse::Head(_) => Err(Error::new(ErrorKind::Internal, call.operation, "the answer was not read")),
        }
    }

    /// The answer once its head is there; the body comes as it comes.
    pub(crate) async fn open(&self, call: &Call) -> Result<reqwest::Response> {
        match self.run(call, Want::Head).await? {
            ServiceResponse::Head(response) => Ok(response),
            ServiceResponse::Whole(_) => Err(Error::new(ErrorKind::Internal, call.operation, "the answer was read")),
        }
    }

    pub(crate) fn max_response_bytes(&self) -> usize {
        self.0.options.max_response_bytes
    }

    async fn run(&self, call: &Call, want: Want) -> Result<ServiceResponse> {
        let span = span::of_request(call.operation, &call.method, &call.url);
        observe(&span, Operation::Model(call.operation), self.run_with_retries(call, want, &span)).await
    }

    async fn run_with_retries(&self, call: &Call, want: Want, span: &Span) -> Result<ServiceResponse> {
        let mut waits = self.0.options.waits();
        let mut retries = 0_u32;
        loop {
            let error = match self.attempt(call, want, span).await {
                Ok(answer) => {
                    self.0.budget.earn();
                    return Ok(answer);
                }
                Err(error) => error,
            };
            let may = match error.retry() {
                Retry::No => false,
                Retry::Refused => true,
                Retry::Unknown => call.repeat == Repeat::Safe,
            };
            let wait = waits.next().map(|wait| error.retry_after().map_or(wait, |asked| asked.max(wait)));
            match wait.filter(|wait| may && *wait <= self.0.options.max_wait) {
                Some(wait) if self.0.budget.spend() => {
                    retries += 1;
                    span.record("http.request.resend_count", retries);
                    count_retry(call.operation);
                    tokio::time::sleep(wait).await;
                }
                _ => return Err(error.into_error(call.operation)),
            }
        }
    }

    async fn attempt(&self, call: &Call, want: Want, span: &Span) -> Result<ServiceResponse, HttpError> {
        let mut request = self.0.http.request(call.method.clone(), call.url.clone()).headers(call.headers.clone());
        if let Some(body) = &call.body {
            request = request.header("content-type", "application/json").body(body.clone());
        }
        if want == Want::Whole {
            request = request.timeout(self.0.options.timeout);
        }
        let response = request.send().await.map_err(|e| HttpError::unsent(&call.url, e))?;
        let status = response.status();
        span.record("http.response.status_code", status.as_u16());
        if !status.is_success() {
            return Err(HttpError::refused(&call.url, response).await);
        }
        match want {
            Want::Head => Ok(ServiceResponse::Head(response)),
            Want::Whole => self.read(call, response).await.map(ServiceResponse::Whole),
        }
    }

    async fn read(&self, call: &Call, mut response: reqwest::Response) -> Result<Vec<u8>, HttpError> {
        let most = self.0.options.max_response_bytes;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| HttpError::broken_off(&call.url, e))? {
            if body.len() + chunk.len() > most {
                return Err(HttpError::too_large(&call.url, most));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// Builds the HTTP client with the settings shared in this crate. It does not follow redirects, which would leak
/// keys.
pub(crate) fn build(options: &HttpOptions) -> Result<reqwest::Client> {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // If another provider is installed already, that one is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("memory-engine/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .connect_timeout(options.connect_timeout)
        .read_timeout(options.read_timeout)
        .pool_idle_timeout(options.idle_timeout);
    if !options.system_proxy {
        builder = builder.no_proxy();
    }
    let failed = |e| Error::new(ErrorKind::Unavailable, "http", "the HTTP client cannot be set up").with_source(e);
    builder.build().map_err(|e: reqwest::Error| failed(e))
}
