//! Passes requests of clients on to a service unchanged.

mod headers;
mod options;

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, StatusCode};
use memory_engine_core::{
    Error, ErrorKind, Result,
    observe::{Operation, observe},
};
use reqwest::Url;
use tokio::time::timeout;

pub use options::RelayOptions;

use crate::{
    client::{HttpError, build, span::of_request},
    endpoint::Endpoint,
};

const OPERATION: &str = "relay";

/// Passes requests on to a service and its responses back, byte by byte. A response of any status is a response and
/// not an error. Clones share connections.
///
/// The headers of the [`Endpoint`] replace those of the request. Headers of a single connection (RFC 9110, 7.6.1),
/// host, length and accepted encodings are set again; they and cookies are not passed on in either direction. A
/// request without a response because of its connection is sent once more, but never after the first byte of a
/// response.
#[derive(Debug, Clone)]
pub struct Relay {
    http: reqwest::Client,
    endpoint: Endpoint,
    options: RelayOptions,
}

/// A request to be passed on. `Debug` shows nothing of its headers and its body.
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
    /// A request to this path below the endpoint; its segments are escaped.
    pub fn new(method: Method, path: &[&str]) -> Self {
        let path = path.iter().map(|&segment| segment.to_owned()).collect();
        Self { method, path, query: None, headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// With this query, as it stands behind the question mark.
    pub fn with_query(mut self, query: Option<&str>) -> Self {
        self.query = query.map(str::to_owned);
        self
    }

    /// With these headers.
    pub fn with_headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
    }

    /// With this body.
    pub fn with_body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }
}

/// An answer of which the head is there. Dropping it closes the connection, which tells the service to stop.
pub struct RelayReply {
    url: Url,
    response: reqwest::Response,
    idle: Duration,
}

impl std::fmt::Debug for RelayReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RelayReply").field("status", &self.response.status()).finish_non_exhaustive()
    }
}

impl Relay {
    /// A relay to this endpoint.
    ///
    /// # Errors
    /// `Unavailable` when TLS cannot be set up.
    pub fn new(endpoint: Endpoint, options: RelayOptions) -> Result<Self> {
        Ok(Self { http: build(&options.http())?, endpoint, options })
    }

    /// Returns true if the endpoint has its own key.
    pub fn has_key(&self) -> bool {
        self.endpoint.headers().contains_key(http::header::AUTHORIZATION)
    }

    /// The host and port of the service, for messages.
    pub fn host(&self) -> String {
        self.endpoint.host()
    }

    /// Sends a request, and gives the answer as soon as its head is there.
    ///
    /// # Errors
    /// `Unavailable` when the service cannot be reached or hangs up without an answer, `Timeout` when none comes within
    /// `patience`.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    pub async fn send(&self, request: &RelayRequest, patience: Duration) -> Result<RelayReply> {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        let mut url = self.endpoint.at(&path);
        url.set_query(request.query.as_deref());
        let span = of_request(OPERATION, &request.method, &url);
        let reply = observe(&span, Operation::Model(OPERATION), self.send_to(request, url, patience)).await?;
        span.record("http.response.status_code", reply.status().as_u16());
        Ok(reply)
    }

    async fn send_to(&self, request: &RelayRequest, url: Url, patience: Duration) -> Result<RelayReply> {
        let sent = async {
            match self.attempt(request, &url).await {
                Err(e) if e.is_timeout() && !e.is_connect() || e.is_builder() => Err(e),
                Err(_) => self.attempt(request, &url).await,
                answered => answered,
            }
        };
        let late = || Error::new(ErrorKind::Timeout, OPERATION, format!("{} did not answer in time", self.host()));
        let answered = timeout(patience, sent).await.map_err(|_| late())?;
        let response = answered.map_err(|e| HttpError::unsent(&url, e).into_error(OPERATION))?;
        Ok(RelayReply { url, response, idle: self.options.idle_timeout })
    }

    async fn attempt(&self, request: &RelayRequest, url: &Url) -> Result<reqwest::Response, reqwest::Error> {
        let mut headers = headers::of_request(&request.headers);
        for (name, value) in self.endpoint.headers() {
            headers.insert(name.clone(), value.clone());
        }
        let sent = self.http.request(request.method.clone(), url.clone()).headers(headers);
        let sent = if request.body.is_empty() { sent } else { sent.body(request.body.clone()) };
        sent.send().await
    }
}

impl RelayReply {
    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Those of its headers that are passed back.
    pub fn headers(&self) -> HeaderMap {
        headers::of_reply(self.response.headers())
    }

    /// The next bytes of the body, as they come; `None` at its end.
    ///
    /// # Errors
    /// `Unavailable` when the connection breaks off, `Timeout` when nothing comes for too long.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        match timeout(self.idle, self.response.chunk()).await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(e)) => Err(HttpError::broken_off(&self.url, e).into_error(OPERATION)),
            Err(_) => {
                let message = format!("the answer stopped for {} seconds", self.idle.as_secs());
                Err(Error::new(ErrorKind::Timeout, OPERATION, message))
            }
        }
    }

    /// The rest of the body.
    ///
    /// # Errors
    /// As [`next`](Self::next); `Corrupt` when it has more than `most` bytes.
    pub async fn rest(&mut self, most: usize) -> Result<Bytes> {
        let mut body = BytesMut::new();
        while let Some(bytes) = self.next().await? {
            if body.len() + bytes.len() > most {
                let message = format!("the answer is larger than {most} bytes");
                return Err(Error::new(ErrorKind::Corrupt, OPERATION, message));
            }
            body.extend_from_slice(&bytes);
        }
        Ok(body.freeze())
    }
}
