#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn admits(hosts: &Hosts, host: &str, origin: Option<&str>) -> bool {
    let mut headers = HeaderMap::new();
    headers.insert(HOST, host.parse().unwrap());
    origin.map(|origin| headers.insert(ORIGIN, origin.parse().unwrap()));
    hosts.admits(&headers).is_ok()
}

#[test]
fn a_name_that_leads_here_and_is_not_ours_is_refused() {
    let hosts = Hosts::new(&["memory.lan".into()], &[]);
    for host in ["localhost", "LOCALHOST:8765", "127.0.0.1:8765", "[::1]:8765", "[::1]", "memory.lan:80"] {
        assert!(admits(&hosts, host, None), "{host}");
    }
    for host in ["evil.example", "evil.example:8765", "localhost.evil.example", "[::2]:1", ""] {
        assert!(!admits(&hosts, host, None), "{host}");
    }
    let any = Hosts::new(&["*".into()], &[]);
    assert!(admits(&any, "anything", None) && !admits(&any, "anything", Some("https://evil.example")));
}

#[test]
fn a_page_of_another_origin_may_not_call_unless_it_is_named() {
    let hosts = Hosts::new(&[], &["https://chat.example".into()]);
    for origin in ["http://localhost:3000", "http://127.0.0.1", "https://chat.example"] {
        assert!(admits(&hosts, "localhost", Some(origin)), "{origin}");
    }
    for origin in ["https://evil.example", "null", "https://chat.example.evil", "http://localhost.evil"] {
        assert!(!admits(&hosts, "localhost", Some(origin)), "{origin}");
    }
}
