//! Errors of HTTP requests. None contains a key, the query of an address, or text of a request or an answer.

use std::{error::Error as StdError, time::Duration};

use memory_engine_core::{Error, ErrorKind};
use reqwest::{StatusCode, Url};
use serde_json::{Value, error::Category};

use super::retry::retry_after;

/// Maximum number of bytes read of an error's body, which is parsed for its code only.
const ERROR_BODY_MAX_BYTES: usize = 64 << 10;

/// Decides whether the same request may succeed if it is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retry {
    /// It fails again.
    No,
    /// It may succeed, and the service did not process this one.
    Refused,
    /// It may succeed; the service may have processed this one.
    Unknown,
}

/// A request that failed. [`into_error`](Self::into_error) converts it to the engine's error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// The connection failed before the answer was complete.
    #[error("{message}")]
    Connection { message: String, kind: ErrorKind, retry: Retry, source: reqwest::Error },
    /// The answer cannot be used.
    #[error("the answer of {host} {problem}")]
    Answer { host: String, problem: String },
    /// The service answered with an error status.
    #[error("{host} answered {}{}{}", .status.as_u16(), in_brackets(.code), after_colon(.meaning.hint))]
    Refused { host: String, status: StatusCode, code: Option<String>, meaning: Meaning, retry_after: Option<Duration> },
    /// The service reported an error inside a stream.
    #[error("{host} reported an error{}: {}", in_brackets(.code), .meaning.hint)]
    Reported { host: String, code: Option<String>, meaning: Meaning },
}

fn in_brackets(code: &Option<String>) -> String {
    code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default()
}

fn after_colon(hint: &str) -> String {
    if hint.is_empty() { String::new() } else { format!(": {hint}") }
}

impl HttpError {
    /// The request got no answer.
    pub(crate) fn unsent(url: &Url, error: reqwest::Error) -> Self {
        let host = host(url);
        let (kind, message, retry) = if error.is_connect() && is_tls(&error) {
            (ErrorKind::Unavailable, format!("{host} is there, but its certificate is not to be trusted"), Retry::No)
        } else if error.is_connect() {
            // A connection that takes too long counts as one that cannot be made.
            (ErrorKind::Unavailable, format!("{host} cannot be reached"), Retry::Refused)
        } else if error.is_timeout() {
            (ErrorKind::Timeout, format!("{host} did not answer in time"), Retry::No)
        } else if error.is_builder() {
            (ErrorKind::InvalidInput, "the request cannot be sent".to_owned(), Retry::No)
        } else {
            (ErrorKind::Unavailable, format!("{host} closed the connection without an answer"), Retry::Unknown)
        };
        Self::Connection { message, kind, retry, source: error.without_url() }
    }

    /// The answer ended before its end.
    pub(crate) fn broken_off(url: &Url, error: reqwest::Error) -> Self {
        let (kind, problem, retry) = if error.is_timeout() {
            (ErrorKind::Timeout, "did not finish in time", Retry::No)
        } else {
            (ErrorKind::Unavailable, "broke off before its end", Retry::Unknown)
        };
        let message = format!("the answer of {} {problem}", host(url));
        Self::Connection { message, kind, retry, source: error.without_url() }
    }

    /// The answer is larger than allowed.
    pub(super) fn too_large(url: &Url, max_bytes: usize) -> Self {
        Self::Answer { host: host(url), problem: format!("is larger than {max_bytes} bytes") }
    }

    /// The answer is not the JSON that was expected. The error keeps the place and not the text, which is private.
    pub(super) fn malformed(url: &Url, error: &serde_json::Error) -> Self {
        let problem = match error.classify() {
            Category::Data => "is not of the form that was expected",
            Category::Eof => "ends before its JSON does",
            Category::Io | Category::Syntax => "is not JSON",
        };
        let problem = format!("{problem} (line {}, column {})", error.line(), error.column());
        Self::Answer { host: host(url), problem }
    }

    /// The service answered with an error status.
    pub(crate) async fn refused(url: &Url, mut response: reqwest::Response) -> Self {
        let (status, retry_after) = (response.status(), retry_after(response.headers()));
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
        let meaning = by_code(code.as_deref()).unwrap_or_else(|| by_status(status));
        Self::Refused { host, status, code, meaning, retry_after }
    }

    /// The service reported an error inside a stream.
    pub(crate) fn reported(host: &str, body: &Value) -> Self {
        let code = code(body);
        let unknown = Meaning { kind: ErrorKind::Unavailable, hint: "it failed while answering", retry: Retry::No };
        let meaning = by_code(code.as_deref()).unwrap_or(unknown);
        Self::Reported { host: host.to_owned(), code, meaning }
    }

    /// Returns whether the request may be sent again.
    pub(super) fn retry(&self) -> Retry {
        match self {
            Self::Connection { retry, .. } => *retry,
            Self::Refused { meaning, .. } => meaning.retry,
            Self::Answer { .. } | Self::Reported { .. } => Retry::No,
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::Connection { kind, .. } => *kind,
            Self::Answer { .. } => ErrorKind::Corrupt,
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
    std::iter::successors(error.source(), |&error| error.source()).any(holds_tls)
}

/// An I/O error's source is that of the error inside it, which it does not show.
fn holds_tls(error: &(dyn StdError + 'static)) -> bool {
    let inside = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    error.is::<rustls::Error>() || inside.is_some_and(|inside| holds_tls(inside))
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or("the service");
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The code of an error, wherever services put it. Its message is left alone: services repeat input and keys in it.
fn code(body: &Value) -> Option<String> {
    let error = &body["error"];
    let places = [&error["code"], &error["type"], &body["code"], &body["error_type"], &body["type"]];
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let plain = |code: &String| {
        (1..=48).contains(&code.len())
            && code.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    places.into_iter().filter_map(text).find(plain)
}

/// The meaning of a status or of an error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meaning {
    kind: ErrorKind,
    hint: &'static str,
    retry: Retry,
}

fn by_code(code: Option<&str>) -> Option<Meaning> {
    let (kind, hint, retry) = match code? {
        "insufficient_quota" | "insufficient_balance" => {
            (ErrorKind::Unauthorized, "the account has no credit left", Retry::No)
        }
        "context_length_exceeded" => (ErrorKind::InvalidInput, "the request is too long for the model", Retry::No),
        "model_not_found" => (ErrorKind::NotFound, "there is no such model", Retry::No),
        // Postgres and PostgREST.
        "57014" => (ErrorKind::Timeout, "the database cancelled the query; ask for less", Retry::No),
        "53300" => (ErrorKind::Unavailable, "the database has no connection left", Retry::Refused),
        "42501" => (ErrorKind::Unauthorized, "the key may not do that", Retry::No),
        "23505" => (ErrorKind::Conflict, "it is there already", Retry::No),
        "PGRST003" => (ErrorKind::Unavailable, "no connection to the database in time", Retry::Refused),
        "PGRST202" => (
            ErrorKind::NotFound,
            "there is no function of this name with these arguments; if it is new, reload the schema",
            Retry::No,
        ),
        "PGRST205" | "42P01" => (ErrorKind::NotFound, "there is no such table", Retry::No),
        "PGRST301" | "PGRST302" => (ErrorKind::Unauthorized, "the key was refused", Retry::No),
        _ => return None,
    };
    Some(Meaning { kind, hint, retry })
}

fn by_status(status: StatusCode) -> Meaning {
    let (kind, hint, retry) = match status.as_u16() {
        300..=399 => {
            (ErrorKind::InvalidInput, "it leads elsewhere; give the address it leads to as the base URL", Retry::No)
        }
        401 | 403 => (ErrorKind::Unauthorized, "the key is missing, wrong, or not allowed to do that", Retry::No),
        402 => (ErrorKind::Unauthorized, "the account has no credit left", Retry::No),
        404 => (ErrorKind::NotFound, "check the base URL and the model's name", Retry::No),
        408 => (ErrorKind::Timeout, "", Retry::Unknown),
        409 => (ErrorKind::Conflict, "", Retry::Unknown),
        413 => (ErrorKind::InvalidInput, "the request is too large", Retry::No),
        425 | 429 => (ErrorKind::RateLimited, "it asks to slow down", Retry::Refused),
        501 => (ErrorKind::Unsupported, "", Retry::No),
        503 | 529 => (ErrorKind::Unavailable, "it is overloaded", Retry::Refused),
        504 => (ErrorKind::Timeout, "", Retry::Unknown),
        500..=599 => (ErrorKind::Unavailable, "", Retry::Unknown),
        _ => (ErrorKind::InvalidInput, "it refuses the request", Retry::No),
    };
    Meaning { kind, hint, retry }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn statuses_and_codes_get_the_kind_that_callers_decide_on() {
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
    fn a_code_is_found_wherever_it_is_and_prose_is_no_code() {
        assert_eq!(code(&json!({"error": {"code": "a_b", "message": "secret"}})).as_deref(), Some("a_b"));
        assert_eq!(code(&json!({"error": {"code": null, "type": "t"}})).as_deref(), Some("t"));
        assert_eq!(code(&json!({"code": 20012, "message": "m"})).as_deref(), Some("20012"));
        assert_eq!(code(&json!({"error": "secret prose", "error_type": "Overloaded"})).as_deref(), Some("Overloaded"));
        assert_eq!(code(&json!({"error": {"code": "this is prose with a secret"}})), None);
        assert_eq!(code(&json!(["x"])), None);
    }
}
