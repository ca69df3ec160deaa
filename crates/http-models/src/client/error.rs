//! Errors of HTTP requests. No error contains a key, the query of a URL, or text of a request or response.

use std::{error::Error as StdError, time::Duration};

use memory_engine_core::{Error, ErrorKind};
use reqwest::{StatusCode, Url};
use serde_json::{Value, error::Category};

use super::retry::retry_after;

/// Maximum number of bytes read of the body of an error response. Only its error code is used.
const ERROR_BODY_MAX_BYTES: usize = 64 << 10;

/// The effect of sending the same request again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retry {
    /// The request would fail again.
    No,
    /// A retry may succeed, and the service did not process the request.
    Refused,
    /// A retry may succeed, and the service may have processed the request.
    Unknown,
}

/// A request that failed. [`into_error`](Self::into_error) converts it to the engine's error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// The connection failed before the response was complete.
    #[error("{message}")]
    Connection { message: String, kind: ErrorKind, retry: Retry, source: reqwest::Error },
    /// The response cannot be used.
    #[error("the response of {host} {problem}")]
    Response { host: String, problem: String },
    /// The service answered with an error status.
    #[error("{host} answered {}{}{}", .status.as_u16(), bracketed(.code), with_colon(.meaning.hint))]
    Refused { host: String, status: StatusCode, code: Option<String>, meaning: Meaning, retry_after: Option<Duration> },
    /// The service reported an error inside a stream.
    #[error("{host} reported an error{}: {}", bracketed(.code), .meaning.hint)]
    Reported { host: String, code: Option<String>, meaning: Meaning },
}

fn bracketed(code: &Option<String>) -> String {
    code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default()
}

fn with_colon(hint: &str) -> String {
    if hint.is_empty() { String::new() } else { format!(": {hint}") }
}

impl HttpError {
    /// The request got no response.
    pub(crate) fn no_response(url: &Url, error: reqwest::Error) -> Self {
        let host = host(url);
        let (kind, message, retry) = if error.is_connect() && is_tls(&error) {
            (ErrorKind::Unavailable, format!("the TLS certificate of {host} is not trusted"), Retry::No)
        } else if error.is_connect() {
            // This includes the connect timeout.
            (ErrorKind::Unavailable, format!("{host} cannot be reached"), Retry::Refused)
        } else if error.is_timeout() {
            (ErrorKind::Timeout, format!("{host} did not answer in time"), Retry::No)
        } else if error.is_builder() {
            (ErrorKind::InvalidInput, "the request is not a valid HTTP request".to_owned(), Retry::No)
        } else {
            (ErrorKind::Unavailable, format!("{host} closed the connection without a response"), Retry::Unknown)
        };
        Self::Connection { message, kind, retry, source: error.without_url() }
    }

    /// The response is incomplete.
    pub(crate) fn incomplete_response(url: &Url, error: reqwest::Error) -> Self {
        let (kind, problem, retry) = if error.is_timeout() {
            (ErrorKind::Timeout, "did not finish in time", Retry::No)
        } else {
            (ErrorKind::Unavailable, "broke off before its end", Retry::Unknown)
        };
        let message = format!("the response of {} {problem}", host(url));
        Self::Connection { message, kind, retry, source: error.without_url() }
    }

    /// The response is larger than allowed.
    pub(super) fn too_large(url: &Url, max_bytes: usize) -> Self {
        Self::Response { host: host(url), problem: format!("is larger than {max_bytes} bytes") }
    }

    /// The response is not the expected JSON. The error contains the position and not the text, which is private.
    pub(super) fn malformed(url: &Url, error: &serde_json::Error) -> Self {
        let problem = match error.classify() {
            Category::Data => "is JSON of another form than expected",
            Category::Eof => "ends before the end of its JSON",
            Category::Io | Category::Syntax => "is not JSON",
        };
        let problem = format!("{problem} (line {}, column {})", error.line(), error.column());
        Self::Response { host: host(url), problem }
    }

    /// The service answered with an error status.
    pub(crate) async fn refused(url: &Url, mut response: reqwest::Response) -> Self {
        let status = response.status();
        let retry_after = retry_after(response.headers());
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > ERROR_BODY_MAX_BYTES {
                break;
            }
        }
        let code = serde_json::from_slice(&body).ok().and_then(|body| code(&body));
        Self::with_status(host(url), status, code, retry_after)
    }

    fn with_status(host: String, status: StatusCode, code: Option<String>, retry_after: Option<Duration>) -> Self {
        let meaning = meaning_of_code(code.as_deref()).unwrap_or_else(|| meaning_of_status(status));
        Self::Refused { host, status, code, meaning, retry_after }
    }

    /// The service reported an error inside a stream.
    pub(crate) fn reported(host: &str, body: &Value) -> Self {
        let code = code(body);
        let unknown =
            Meaning { kind: ErrorKind::Unavailable, hint: "the service failed during the response", retry: Retry::No };
        let meaning = meaning_of_code(code.as_deref()).unwrap_or(unknown);
        Self::Reported { host: host.to_owned(), code, meaning }
    }

    /// Returns the effect of a retry.
    pub(super) fn retry(&self) -> Retry {
        match self {
            Self::Connection { retry, .. } => *retry,
            Self::Refused { meaning, .. } => meaning.retry,
            Self::Response { .. } | Self::Reported { .. } => Retry::No,
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::Connection { kind, .. } => *kind,
            Self::Response { .. } => ErrorKind::Corrupt,
            Self::Refused { meaning, .. } | Self::Reported { meaning, .. } => meaning.kind,
        }
    }

    /// Returns the time that the service asks to wait before the next request.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        if let Self::Refused { retry_after, .. } = self { *retry_after } else { None }
    }

    /// Converts to the engine's error, with the same message and the source of a failed connection.
    pub(crate) fn into_error(self, operation: &'static str) -> Error {
        let mut error = Error::new(self.kind(), operation, self.to_string());
        if let Some(wait) = self.retry_after() {
            error = error.with_retry_after(wait);
        }
        if let Self::Connection { source, .. } = self { error.with_source(source) } else { error }
    }
}

/// Returns true if a TLS error is among the causes.
fn is_tls(error: &dyn StdError) -> bool {
    std::iter::successors(error.source(), |&error| error.source()).any(contains_tls)
}

/// `source` of an I/O error skips the wrapped error, so the wrapped error is checked too.
fn contains_tls(error: &(dyn StdError + 'static)) -> bool {
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    error.is::<rustls::Error>() || wrapped.is_some_and(|wrapped| contains_tls(wrapped))
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or("the service");
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Returns the code of an error body. Its message is ignored, because services quote input and keys in it.
fn code(body: &Value) -> Option<String> {
    let error = &body["error"];
    let candidates = [&error["code"], &error["type"], &body["code"], &body["error_type"], &body["type"]];
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let is_code = |code: &String| {
        (1..=48).contains(&code.len())
            && code.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    candidates.into_iter().filter_map(text).find(is_code)
}

/// The meaning of a status or of an error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meaning {
    kind: ErrorKind,
    hint: &'static str,
    retry: Retry,
}

fn meaning_of_code(code: Option<&str>) -> Option<Meaning> {
    let (kind, hint, retry) = match code? {
        "insufficient_quota" | "insufficient_balance" => {
            (ErrorKind::Unauthorized, "the account has no credit left", Retry::No)
        }
        "context_length_exceeded" => (ErrorKind::InvalidInput, "the request is too long for the model", Retry::No),
        "model_not_found" => (ErrorKind::NotFound, "the service does not have this model", Retry::No),
        // Postgres and PostgREST.
        "57014" => {
            (ErrorKind::Timeout, "the database cancelled the query after its time limit; request fewer rows", Retry::No)
        }
        "53300" => (ErrorKind::Unavailable, "all connections of the database are in use", Retry::Refused),
        "42501" => (ErrorKind::Unauthorized, "the key has no permission for this", Retry::No),
        "23505" => (ErrorKind::Conflict, "the row exists already", Retry::No),
        "PGRST003" => (ErrorKind::Unavailable, "the database had no free connection in time", Retry::Refused),
        "PGRST202" => (
            ErrorKind::NotFound,
            "no function has this name and these arguments; after adding one, reload the schema cache",
            Retry::No,
        ),
        "PGRST205" | "42P01" => (ErrorKind::NotFound, "the table does not exist", Retry::No),
        "PGRST301" | "PGRST302" => (ErrorKind::Unauthorized, "the key was rejected", Retry::No),
        _ => return None,
    };
    Some(Meaning { kind, hint, retry })
}

fn meaning_of_status(status: StatusCode) -> Meaning {
    let (kind, hint, retry) = match status.as_u16() {
        300..=399 => (
            ErrorKind::InvalidInput,
            "the service redirects; set the base URL to the target of the redirect",
            Retry::No,
        ),
        401 | 403 => (ErrorKind::Unauthorized, "the key is missing, wrong or lacks the permission", Retry::No),
        402 => (ErrorKind::Unauthorized, "the account has no credit left", Retry::No),
        404 => (ErrorKind::NotFound, "check the base URL and the name of the model", Retry::No),
        408 => (ErrorKind::Timeout, "", Retry::Unknown),
        409 => (ErrorKind::Conflict, "", Retry::Unknown),
        413 => (ErrorKind::InvalidInput, "the request is too large", Retry::No),
        425 | 429 => (ErrorKind::RateLimited, "too many requests", Retry::Refused),
        501 => (ErrorKind::Unsupported, "", Retry::No),
        503 | 529 => (ErrorKind::Unavailable, "the service is overloaded", Retry::Refused),
        504 => (ErrorKind::Timeout, "", Retry::Unknown),
        500..=599 => (ErrorKind::Unavailable, "", Retry::Unknown),
        _ => (ErrorKind::InvalidInput, "the service rejects the request", Retry::No),
    };
    Meaning { kind, hint, retry }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn statuses_and_codes_map_to_error_kinds() {
        let kind = |status: u16, code: Option<&str>| {
            let (status, code) = (StatusCode::from_u16(status).unwrap(), code.map(str::to_owned));
            let error = HttpError::with_status("h".into(), status, code, None);
            (error.kind(), error.retry())
        };
        assert_eq!(kind(401, None), (ErrorKind::Unauthorized, Retry::No));
        assert_eq!(kind(429, Some("rate_limit_exceeded")), (ErrorKind::RateLimited, Retry::Refused));
        assert_eq!(kind(429, Some("insufficient_quota")), (ErrorKind::Unauthorized, Retry::No));
        assert_eq!(kind(500, None), (ErrorKind::Unavailable, Retry::Unknown));
        assert_eq!(kind(500, Some("57014")), (ErrorKind::Timeout, Retry::No));
        assert_eq!(kind(302, None), (ErrorKind::InvalidInput, Retry::No));
        assert_eq!(kind(418, None), (ErrorKind::InvalidInput, Retry::No));
    }

    #[test]
    fn codes_are_found_and_prose_is_ignored() {
        assert_eq!(code(&json!({"error": {"code": "a_b", "message": "secret"}})).as_deref(), Some("a_b"));
        assert_eq!(code(&json!({"error": {"code": null, "type": "t"}})).as_deref(), Some("t"));
        assert_eq!(code(&json!({"code": 20012, "message": "m"})).as_deref(), Some("20012"));
        assert_eq!(code(&json!({"error": "secret prose", "error_type": "Overloaded"})).as_deref(), Some("Overloaded"));
        assert_eq!(code(&json!({"error": {"code": "this is prose with a secret"}})), None);
        assert_eq!(code(&json!(["x"])), None);
    }
}
