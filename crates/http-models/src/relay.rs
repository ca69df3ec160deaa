//! Forwards requests of clients to a service unchanged.

mod headers;
mod options;

use std::{
    pin::{Pin, pin},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures::future::{Either, select};
use http::{HeaderMap, Method, StatusCode};
use memory_engine_core::{
    Error, ErrorKind, Result,
    observe::{Operation, observe},
};
use reqwest::Url;
use tokio::time::{Instant, Sleep, sleep, timeout};

pub use options::RelayOptions;

use crate::{
    client::{HttpClients, HttpError, span::request_span},
    endpoint::Endpoint,
};

const OPERATION: &str = "relay";

/// Forwards requests to a service and its responses back, unchanged. A response with an error status is not an error of
/// the relay. Clones share connections.
///
/// The headers of the [`Endpoint`] replace those of the request. Headers of a single connection (RFC 9110, 7.6.1),
/// host, length and accepted encodings are set again. They and cookies are not forwarded in either direction. A request
/// whose connection fails before the response starts is retried once.
#[derive(Debug, Clone)]
pub struct Relay {
    http: HttpClients,
    endpoint: Endpoint,
    options: RelayOptions,
}

/// A request to forward. `Debug` does not show its headers and body.
#[derive(Clone)]
#[must_use]
pub struct RelayRequest {
    method: Method,
    path: Vec<String>,
    query: Option<String>,
    headers: HeaderMap,
    body: Bytes,
}

impl std::fmt::Debug for RelayRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RelayRequest").field("method", &self.method).field("path", &self.path).finish_non_exhaustive()
    }
}

impl RelayRequest {
    /// A request to this path below the endpoint. Segments are escaped.
    pub fn new(method: Method, path: &[&str]) -> Self {
        let path = path.iter().map(|&segment| segment.to_owned()).collect();
        Self { method, path, query: None, headers: HeaderMap::new(), body: Bytes::new() }
    }

    memory_engine_core::setters! {
        /// Sets the query string, without the question mark.
        with_query(query: Option<&str>) => query = query.map(str::to_owned);
        /// Sets the headers.
        with_headers(headers: HeaderMap);
        /// Sets the body.
        with_body(body: impl Into<Bytes>) => body = body.into();
    }
}

/// A response whose head was received. Dropping it closes the connection, so that the service stops.
pub struct RelayReply {
    url: Url,
    response: reqwest::Response,
    idle: Duration,
    /// May expire before `idle` has passed since a wait for bytes began; [`next`](Self::next) then sets it to the rest.
    /// It is not set for every chunk, because each setting takes CPU time.
    idle_timer: Pin<Box<Sleep>>,
}

impl std::fmt::Debug for RelayReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RelayReply").field("status", &self.response.status()).finish_non_exhaustive()
    }
}

impl Relay {
    /// Creates a relay to this endpoint.
    ///
    /// # Errors
    /// `Unavailable` if TLS cannot be set up.
    pub fn new(endpoint: Endpoint, options: RelayOptions) -> Result<Self> {
        Ok(Self { http: HttpClients::build(&options.http())?, endpoint, options })
    }

    /// Returns true if the endpoint has its own key.
    pub fn has_key(&self) -> bool {
        self.endpoint.headers().contains_key(http::header::AUTHORIZATION)
    }

    /// The host and port of the service, for messages.
    pub fn host(&self) -> String {
        self.endpoint.host()
    }

    /// Sends a request and returns the response once its head is received.
    ///
    /// # Errors
    /// `Unavailable` if the service cannot be reached or closes the connection without a response; `Timeout` if the
    /// head is not received within `head_timeout`.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    pub async fn send(&self, request: &RelayRequest, head_timeout: Duration) -> Result<RelayReply> {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        let mut url = self.endpoint.url_of(&path);
        url.set_query(request.query.as_deref());
        let span = request_span(OPERATION, &request.method, &url);
        let reply = observe(&span, Operation::Model(OPERATION), self.send_to(request, url, head_timeout)).await?;
        span.record("http.response.status_code", reply.status().as_u16());
        Ok(reply)
    }

    async fn send_to(&self, request: &RelayRequest, url: Url, head_timeout: Duration) -> Result<RelayReply> {
        let send = async {
            match self.attempt(request, &url).await {
                Err(e) if e.is_timeout() && !e.is_connect() || e.is_builder() => Err(e),
                Err(_) => self.attempt(request, &url).await,
                sent => sent,
            }
        };
        let timed_out = || Error::new(ErrorKind::Timeout, OPERATION, format!("{} did not answer in time", self.host()));
        let sent = timeout(head_timeout, send).await.map_err(|_| timed_out())?;
        let response = sent.map_err(|e| HttpError::no_response(&url, e).into_error(OPERATION))?;
        let idle = self.options.idle_timeout;
        Ok(RelayReply { url, response, idle, idle_timer: Box::pin(sleep(idle)) })
    }

    async fn attempt(&self, request: &RelayRequest, url: &Url) -> Result<reqwest::Response, reqwest::Error> {
        let mut headers = headers::forwarded_request_headers(&request.headers);
        for (name, value) in self.endpoint.headers() {
            headers.insert(name.clone(), value.clone());
        }
        let mut builder = self.http.of(url).request(request.method.clone(), url.clone()).headers(headers);
        if !request.body.is_empty() {
            builder = builder.body(request.body.clone());
        }
        builder.send().await
    }
}

impl RelayReply {
    /// Returns the status.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Returns the headers to forward to the client.
    pub fn headers(&self) -> HeaderMap {
        headers::forwarded_response_headers(self.response.headers())
    }

    /// Returns the next bytes of the body, or `None` at its end.
    ///
    /// # Errors
    /// `Unavailable` if the connection is lost; `Timeout` after [`RelayOptions::idle_timeout`] without data.
    ///
    /// # Cancel safety
    /// No data is lost if the future is dropped.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        let waiting_since = Instant::now();
        let mut chunk = pin!(self.response.chunk());
        loop {
            match select(chunk.as_mut(), self.idle_timer.as_mut()).await {
                Either::Left((Ok(bytes), _)) => return Ok(bytes),
                Either::Left((Err(e), _)) => {
                    return Err(HttpError::incomplete_response(&self.url, e).into_error(OPERATION));
                }
                Either::Right(_) => {
                    let remaining = self.idle.saturating_sub(waiting_since.elapsed());
                    if remaining.is_zero() {
                        let message = format!("the response stopped for {} seconds", self.idle.as_secs());
                        return Err(Error::new(ErrorKind::Timeout, OPERATION, message));
                    }
                    self.idle_timer.set(sleep(remaining));
                }
            }
        }
    }

    /// Returns the rest of the body.
    ///
    /// # Errors
    /// The errors of [`next`](Self::next); `Corrupt` if it has more than `max_bytes` bytes.
    pub async fn rest(&mut self, max_bytes: usize) -> Result<Bytes> {
        let mut body = BytesMut::new();
        while let Some(bytes) = self.next().await? {
            if body.len() + bytes.len() > max_bytes {
                let message = format!("the response is larger than {max_bytes} bytes");
                return Err(Error::new(ErrorKind::Corrupt, OPERATION, message));
            }
            body.extend_from_slice(&bytes);
        }
        Ok(body.freeze())
    }
}
