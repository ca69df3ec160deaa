//! Selects the headers that are passed on.

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// Headers of a single connection (RFC 9110, 7.6.1), and those that HTTP clients set themselves.
const OF_A_CONNECTION: [&str; 11] = [
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
/// Headers between the client and this server, or set again. Services that check the origin of a page must not see
/// ours.
const OF_THE_CLIENT: [&str; 5] = ["accept-encoding", "cookie", "expect", "host", "origin"];
/// Between us and the service, or said about its host.
const OF_THE_SERVICE: [&str; 4] = ["alt-svc", "set-cookie", "strict-transport-security", "access-control-allow-origin"];

/// Those of a request.
pub(super) fn of_request(headers: &HeaderMap) -> HeaderMap {
    let mut passed = without(headers, &OF_THE_CLIENT);
    // What is compressed could not be read along.
    passed.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    passed
}

/// Those of an answer.
pub(super) fn of_reply(headers: &HeaderMap) -> HeaderMap {
    without(headers, &OF_THE_SERVICE)
}

fn without(headers: &HeaderMap, others: &[&str]) -> HeaderMap {
    let named: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let stays = |name: &HeaderName| {
        let name = name.as_str();
        !OF_A_CONNECTION.contains(&name) && !others.contains(&name) && !named.iter().any(|other| other == name)
    };
    headers.iter().filter(|(name, _)| stays(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn what_belongs_to_a_connection_stays_there_and_the_rest_goes_on() {
        let sent = headers(&[
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
        assert_eq!(of_request(&sent), headers(&expected));
    }

    #[test]
    fn limits_and_request_ids_come_back_and_cookies_do_not() {
        let answered = headers(&[
            ("retry-after", "3"),
            ("x-ratelimit-remaining-requests", "0"),
            ("x-request-id", "req_1"),
            ("set-cookie", "__cf_bm=1"),
            ("keep-alive", "timeout=5"),
            ("content-type", "text/event-stream"),
        ]);
        let passed = of_reply(&answered);
        assert_eq!(passed.len(), 4);
        assert!(!passed.contains_key("set-cookie") && !passed.contains_key("keep-alive"));
    }
}
