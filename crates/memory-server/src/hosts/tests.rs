#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn is_allowed(hosts: &AllowedHosts, host: &str, origin: Option<&str>) -> bool {
    let mut headers = HeaderMap::new();
    headers.insert(HOST, host.parse().unwrap());
    origin.map(|origin| headers.insert(ORIGIN, origin.parse().unwrap()));
    hosts.check_headers(&Method::GET, &headers).is_ok()
}

#[test]
fn an_unknown_host_name_is_refused() {
    let hosts = AllowedHosts::new(&["memory.lan".into()], &[]);
    for host in ["localhost", "LOCALHOST:8765", "127.0.0.1:8765", "[::1]:8765", "[::1]", "memory.lan:80"] {
        assert!(is_allowed(&hosts, host, None), "{host}");
    }
    let evil = ["evil.example", "evil.example:8765", "localhost.evil.example", "[::2]:1", "", "[::1]evil.example"];
    let with_user = ["127.0.0.1:80@evil.example", "localhost:x", "localhost:+80", "localhost:80:90", "[::1]:80@evil"];
    for host in evil.into_iter().chain(with_user).chain(["::1", "[::1", "[localhost]x"]) {
        assert!(!is_allowed(&hosts, host, None), "{host}");
    }
    let any = AllowedHosts::new(&["*".into()], &[]);
    assert!(is_allowed(&any, "anything", None) && !is_allowed(&any, "anything", Some("https://evil.example")));
}

#[test]
fn an_unlisted_origin_is_refused() {
    let hosts = AllowedHosts::new(&[], &["https://chat.example".into()]);
    for origin in ["http://localhost:3000", "http://127.0.0.1", "https://chat.example"] {
        assert!(is_allowed(&hosts, "localhost", Some(origin)), "{origin}");
    }
    let evil = ["https://evil.example", "null", "https://chat.example.evil", "http://localhost.evil"];
    for origin in evil.into_iter().chain(["http://[::1].evil.example", "http://127.0.0.1:80@evil.example"]) {
        assert!(!is_allowed(&hosts, "localhost", Some(origin)), "{origin}");
    }
}

#[test]
fn a_repeated_host_is_refused() {
    let hosts = AllowedHosts::new(&["*".into()], &[]);
    for name in [HOST, ORIGIN] {
        let mut headers = HeaderMap::new();
        headers.append(name.clone(), "localhost".parse().unwrap());
        headers.append(name, "localhost".parse().unwrap());
        let fault = hosts.check_headers(&Method::GET, &headers).unwrap_err();
        assert_eq!(fault.into_response().status(), StatusCode::BAD_REQUEST);
    }
}

#[test]
fn a_page_on_another_port_is_refused() {
    let hosts = AllowedHosts::new(&[], &["http://localhost:3000".into()]);
    let is_allowed = |method: Method, pairs: &[(&'static str, &'static str)]| {
        let own = [("host", "localhost:8765")];
        let headers = own.iter().chain(pairs).map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        hosts.check_headers(&method, &headers.collect()).is_ok()
    };
    for site in ["same-site", "cross-site"] {
        assert!(!is_allowed(Method::POST, &[("sec-fetch-site", site), ("origin", "http://localhost:4000")]), "{site}");
        assert!(!is_allowed(Method::GET, &[("sec-fetch-site", site), ("sec-fetch-mode", "no-cors")]), "{site}");
        assert!(is_allowed(Method::POST, &[("sec-fetch-site", site), ("origin", "http://localhost:3000")]), "{site}");
        let link = [("sec-fetch-site", site), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
        assert!(is_allowed(Method::GET, &link) && !is_allowed(Method::POST, &link), "{site}");
        let frame = [("sec-fetch-site", site), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
        assert!(!is_allowed(Method::GET, &frame), "{site}");
    }
    for site in ["same-origin", "none"] {
        assert!(is_allowed(Method::POST, &[("sec-fetch-site", site)]), "{site}");
    }
}
