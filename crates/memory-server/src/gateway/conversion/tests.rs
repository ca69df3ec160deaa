#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

#[test]
fn the_key_of_anthropic_becomes_a_bearer_token() {
    for (authorization, expected) in [
        (None, "Bearer key-a"),
        (Some("Bearer"), "Bearer key-a"),
        (Some("Bearer "), "Bearer key-a"),
        (Some("Bearer key-b"), "Bearer key-b"),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert("x-api-key", " key-a ".parse().unwrap());
        headers.insert("anthropic-version", "2023-06-01".parse().unwrap());
        if let Some(value) = authorization {
            headers.insert(AUTHORIZATION, value.parse().unwrap());
        }
        let converted = chat_headers(headers);
        assert_eq!(converted.len(), 1);
        assert_eq!(converted[AUTHORIZATION], expected, "{authorization:?}");
    }
}
