//! Selects the headers to forward.

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// Headers of a single connection (RFC 9110, 7.6.1), and those that HTTP clients set themselves.
const CONNECTION_HEADERS: [&str; 11] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-authentication-info",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Request headers that are not forwarded: they belong to the connection with the client, or are set again. `origin`
/// would fail the origin check of some services.
const DROPPED_REQUEST_HEADERS: [&str; 5] = ["accept-encoding", "cookie", "expect", "host", "origin"];
/// Response headers that are not forwarded: they belong to the connection with the service, or describe its host.
const DROPPED_RESPONSE_HEADERS: [&str; 4] =
    ["alt-svc", "set-cookie", "strict-transport-security", "access-control-allow-origin"];

/// Returns the request headers to forward.
pub(super) fn forwarded_request_headers(headers: &HeaderMap) -> HeaderMap {
    let mut forwarded = without(headers, &DROPPED_REQUEST_HEADERS);
    // The gateway reads the response, so it must not be compressed.
    forwarded.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    forwarded
}

/// Returns the response headers to forward.
pub(super) fn forwarded_response_headers(headers: &HeaderMap) -> HeaderMap {
    without(headers, &DROPPED_RESPONSE_HEADERS)
}

fn without(headers: &HeaderMap, dropped: &[&str]) -> HeaderMap {
    let named_by_connection: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let is_forwarded = |name: &HeaderName| {
        let name = name.as_str();
        !CONNECTION_HEADERS.contains(&name)
            && !dropped.contains(&name)
            && !named_by_connection.iter().any(|other| other == name)
    };
    headers.iter().filter(|(name, _)| is_forwarded(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn connection_headers_are_dropped() {
        let request = headers(&[
            ("connection", "close, X-Own"),
            ("x-own", "1"),
            ("host", "a"),
            ("content-length", "3"),
            ("accept-encoding", "br"),
            ("transfer-encoding", "chunked"),
            ("x-title", "my app"),
            ("user-agent", "OpenAI/Python"),
        ]);
        let expected = [("x-title", "my app"), ("user-agent", "OpenAI/Python"), ("accept-encoding", "identity")];
        assert_eq!(forwarded_request_headers(&request), headers(&expected));
    }

    #[test]
    fn rate_limits_are_returned_and_cookies_dropped() {
        let response = headers(&[
            ("retry-after", "3"),
            ("x-ratelimit-remaining-requests", "0"),
            ("x-request-id", "req_1"),
            ("set-cookie", "__cf_bm=1"),
            ("keep-alive", "timeout=5"),
            ("content-type", "text/event-stream"),
        ]);
        let forwarded = forwarded_response_headers(&response);
        assert_eq!(forwarded.len(), 4);
        assert!(!forwarded.contains_key("set-cookie") && !forwarded.contains_key("keep-alive"));
    }
}
