//! What went wrong, as the engine's error: never with a key, an address' query or anybody's text in it.

use std::error::Error as StdError;

use memory_engine_core::{Error, ErrorKind};
use reqwest::{StatusCode, Url};
use serde_json::Value;

use super::retry::retry_after;

/// How much of an error's body is read: its code is all that is wanted.
const MOST_BODY: usize = 64 << 10;

/// Whether the same request may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// No.
    No,
    /// Yes, and the service has surely not taken this one.
    Refused,
    /// Perhaps; what the service did with this one is unknown.
    Unknown,
}

/// An attempt that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(super) again: Again,
}

impl Failure {
    /// The request did not get an answer.
    pub(crate) fn unsent(operation: &'static str, url: &Url, error: reqwest::Error) -> Self {
        let host = host(url);
        let (kind, message, again) = if error.is_connect() && is_tls(&error) {
            (ErrorKind::Unavailable, format!("{host} is there, but its certificate is not to be trusted"), Again::No)
        } else if error.is_connect() {
            // A connection that takes too long is one that cannot be made.
            (ErrorKind::Unavailable, format!("{host} cannot be reached"), Again::Refused)
        } else if error.is_timeout() {
            (ErrorKind::Timeout, format!("{host} did not answer in time"), Again::No)
        } else if error.is_builder() {
            (ErrorKind::InvalidInput, "the request cannot be sent".to_owned(), Again::No)
        } else {
            (ErrorKind::Unavailable, format!("{host} closed the connection without an answer"), Again::Unknown)
        };
        Self { error: Error::new(kind, operation, message).with_source(error.without_url()), again }
    }

    /// The answer ended before its end.
    pub(crate) fn broken_off(operation: &'static str, url: &Url, error: reqwest::Error) -> Self {
        let (kind, what, again) = if error.is_timeout() {
            (ErrorKind::Timeout, "did not finish in time", Again::No)
        } else {
            (ErrorKind::Unavailable, "broke off before its end", Again::Unknown)
        };
        let message = format!("the answer of {} {what}", host(url));
        Self { error: Error::new(kind, operation, message).with_source(error.without_url()), again }
    }

    /// The answer is larger than allowed.
    pub(super) fn too_large(operation: &'static str, url: &Url, most: usize) -> Self {
        let message = format!("the answer of {} is larger than {most} bytes", host(url));
        Self { error: Error::new(ErrorKind::Corrupt, operation, message), again: Again::No }
    }

    /// The service answered with an error.
    pub(crate) async fn refused(operation: &'static str, url: &Url, mut response: reqwest::Response) -> Self {
        let (status, wait) = (response.status(), retry_after(response.headers()));
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > MOST_BODY {
                break;
            }
        }
        let code = serde_json::from_slice(&body).ok().and_then(|body| code(&body));
        let mut failure = Self::of(operation, &host(url), status, code.as_deref());
        if let Some(wait) = wait {
            failure.error = failure.error.with_retry_after(wait);
        }
        failure
    }

    /// What a status and a code mean.
    fn of(operation: &'static str, host: &str, status: StatusCode, code: Option<&str>) -> Self {
        let (kind, hint, again) = by_code(code).unwrap_or_else(|| by_status(status));
        let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
        let hint = if hint.is_empty() { String::new() } else { format!(": {hint}") };
        let message = format!("{host} answered {}{code}{hint}", status.as_u16());
        Self { error: Error::new(kind, operation, message), again }
    }
}

/// An error that a service reports inside a stream.
pub(crate) fn reported(operation: &'static str, host: &str, body: &Value) -> Error {
    let code = code(body);
    let (kind, hint, _) =
        by_code(code.as_deref()).unwrap_or((ErrorKind::Unavailable, "it failed while answering", Again::No));
    let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
    Error::new(kind, operation, format!("{host} reported an error{code}: {hint}"))
}

/// An answer that is not the JSON that was promised. Where, but not what: it may hold anybody's text.
pub(super) fn malformed(operation: &'static str, url: &Url, error: &serde_json::Error) -> Error {
    let what = match error.classify() {
        serde_json::error::Category::Data => "is not of the form that was expected",
        serde_json::error::Category::Eof => "ends before its JSON does",
        serde_json::error::Category::Io | serde_json::error::Category::Syntax => "is not JSON",
    };
    let (line, column) = (error.line(), error.column());
    let message = format!("the answer of {} {what} (line {line}, column {column})", host(url));
    Error::new(ErrorKind::Corrupt, operation, message)
}

/// Whether it was TLS that failed, somewhere below.
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

type Meaning = (ErrorKind, &'static str, Again);

fn by_code(code: Option<&str>) -> Option<Meaning> {
    let meaning = match code? {
        "insufficient_quota" | "insufficient_balance" => {
            (ErrorKind::Unauthorized, "the account has no credit left", Again::No)
        }
        "context_length_exceeded" => (ErrorKind::InvalidInput, "the request is too long for the model", Again::No),
        "model_not_found" => (ErrorKind::NotFound, "there is no such model", Again::No),
        // Postgres and PostgREST.
        "57014" => (ErrorKind::Timeout, "the database cancelled the query; ask for less", Again::No),
        "53300" => (ErrorKind::Unavailable, "the database has no connection left", Again::Refused),
        "42501" => (ErrorKind::Unauthorized, "the key may not do that", Again::No),
        "23505" => (ErrorKind::Conflict, "it is there already", Again::No),
        "PGRST003" => (ErrorKind::Unavailable, "no connection to the database in time", Again::Refused),
        "PGRST202" => (
            ErrorKind::NotFound,
            "there is no function of this name with these arguments; if it is new, reload the schema",
            Again::No,
        ),
        "PGRST205" | "42P01" => (ErrorKind::NotFound, "there is no such table", Again::No),
        "PGRST301" | "PGRST302" => (ErrorKind::Unauthorized, "the key was refused", Again::No),
        _ => return None,
    };
    Some(meaning)
}

fn by_status(status: StatusCode) -> Meaning {
    match status.as_u16() {
        300..=399 => {
            (ErrorKind::InvalidInput, "it leads elsewhere; give the address it leads to as the base URL", Again::No)
        }
        401 | 403 => (ErrorKind::Unauthorized, "the key is missing, wrong, or not allowed to do that", Again::No),
        402 => (ErrorKind::Unauthorized, "the account has no credit left", Again::No),
        404 => (ErrorKind::NotFound, "check the base URL and the model's name", Again::No),
        408 => (ErrorKind::Timeout, "", Again::Unknown),
        409 => (ErrorKind::Conflict, "", Again::Unknown),
        413 => (ErrorKind::InvalidInput, "the request is too large", Again::No),
        425 | 429 => (ErrorKind::RateLimited, "it asks to slow down", Again::Refused),
        501 => (ErrorKind::Unsupported, "", Again::No),
        503 | 529 => (ErrorKind::Unavailable, "it is overloaded", Again::Refused),
        504 => (ErrorKind::Timeout, "", Again::Unknown),
        500..=599 => (ErrorKind::Unavailable, "", Again::Unknown),
        _ => (ErrorKind::InvalidInput, "it refuses the request", Again::No),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn statuses_and_codes_get_the_kind_that_callers_decide_on() {
        let kind = |status: u16, code: Option<&str>| {
            let failure = Failure::of("x", "h", StatusCode::from_u16(status).unwrap(), code);
            (failure.error.kind(), failure.again)
        };
        assert_eq!(kind(401, None), (ErrorKind::Unauthorized, Again::No));
        assert_eq!(kind(429, Some("rate_limit_exceeded")), (ErrorKind::RateLimited, Again::Refused));
        assert_eq!(kind(429, Some("insufficient_quota")), (ErrorKind::Unauthorized, Again::No));
        assert_eq!(kind(500, None), (ErrorKind::Unavailable, Again::Unknown));
        assert_eq!(kind(500, Some("57014")), (ErrorKind::Timeout, Again::No));
        assert_eq!(kind(302, None), (ErrorKind::InvalidInput, Again::No));
        assert_eq!(kind(418, None), (ErrorKind::InvalidInput, Again::No));
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
