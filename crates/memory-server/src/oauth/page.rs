//! The pages of the authorization endpoint.

use std::sync::LazyLock;

use axum::{
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{
            ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
            X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
        },
    },
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::{
    redirect::RedirectUri,
    template::{escape, render},
};

/// The source to which the form may be sent. Browsers apply it to redirects as well, also to those of the client after
/// its own redirect URI, which this server does not know.
const FORM_ACTION: &str = "'self' https: http:";

const LAYOUT: &str = include_str!("../../data/oauth/layout.html");
const AUTHORIZE: &str = include_str!("../../data/oauth/authorize.html");
const PROBLEM: &str = include_str!("../../data/oauth/problem.html");
const STYLE: &str = include_str!("../../data/oauth/style.css");

static ENGLISH: LazyLock<Texts> = LazyLock::new(|| parse_texts(include_str!("../../data/oauth/en.toml")));
static CHINESE: LazyLock<Texts> = LazyLock::new(|| parse_texts(include_str!("../../data/oauth/zh.toml")));
/// The source that allows the style of the pages in their policy.
static STYLE_SOURCE: LazyLock<String> =
    LazyLock::new(|| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(STYLE.as_bytes()))));

/// The texts of the pages in one language.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Texts {
    lang: String,
    title: String,
    unnamed: String,
    asks: String,
    unchecked: String,
    returns: String,
    caution_remote: String,
    caution_local: String,
    rights: String,
    key_label: String,
    key_hint: String,
    allow: String,
    cancel: String,
    wrong_key: String,
    busy: String,
    problem_title: String,
    unknown_client: String,
    unknown_redirect: String,
    invalid_request: String,
    expired_form: String,
    foreign_form: String,
    back: String,
}

/// A page that asks for a key.
#[derive(Debug)]
pub(super) struct AuthorizePage<'a> {
    pub(super) client: Option<&'a str>,
    pub(super) redirect: &'a RedirectUri,
    /// The signed request, which the form sends back.
    pub(super) request: &'a str,
    pub(super) cancel_url: &'a str,
    pub(super) notice: Option<Notice>,
}

/// The reason why a form is shown again.
#[derive(Debug, Clone, Copy)]
pub(super) enum Notice {
    WrongKey,
    Busy,
}

/// A problem that ends an authorization.
#[derive(Debug, Clone, Copy)]
pub(super) enum Problem {
    UnknownClient,
    UnknownRedirect,
    InvalidRequest,
    ExpiredForm,
    ForeignForm,
}

/// Returns the texts in the preferred language of a browser: Chinese or English.
pub(super) fn texts(headers: &HeaderMap) -> &'static Texts {
    let accepted = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let weight = |language: &str| {
        let weights = accepted.split(',').filter_map(|entry| {
            let (range, parameters) = entry.split_once(';').unwrap_or((entry, "q=1"));
            let primary = range.trim().split('-').next().unwrap_or_default();
            let weight = parameters.trim().strip_prefix("q=")?.trim().parse::<f32>().ok()?;
            primary.eq_ignore_ascii_case(language).then_some(weight)
        });
        weights.fold(0.0, f32::max)
    };
    if weight("zh") > weight("en") { &CHINESE } else { &ENGLISH }
}

impl AuthorizePage<'_> {
    /// Returns the page as a response.
    pub(super) fn response(&self, texts: &Texts) -> Response {
        let caution = if self.redirect.is_local() { &texts.caution_local } else { &texts.caution_remote };
        let (status, notice) = match self.notice {
            None => (StatusCode::OK, ""),
            Some(Notice::WrongKey) => (StatusCode::FORBIDDEN, texts.wrong_key.as_str()),
            Some(Notice::Busy) => (StatusCode::TOO_MANY_REQUESTS, texts.busy.as_str()),
        };
        let notice = if notice.is_empty() { String::new() } else { alert(notice) };
        let content = render(
            AUTHORIZE,
            &[
                ("client", self.client.unwrap_or(&texts.unnamed)),
                ("asks", &texts.asks),
                ("unchecked", &texts.unchecked),
                ("returns", &texts.returns),
                ("host", &self.redirect.host()),
                ("caution", caution),
                ("rights", &texts.rights),
                ("notice", &notice),
                ("request", self.request),
                ("key_label", &texts.key_label),
                ("key_hint", &texts.key_hint),
                ("allow", &texts.allow),
                ("cancel", &texts.cancel),
                ("cancel_url", self.cancel_url),
            ],
        );
        page(status, texts, &texts.title, &content, FORM_ACTION)
    }
}

impl Problem {
    /// Returns the page of the problem, with a technical detail and a link back to the client. The browser does not
    /// follow the link by itself: anyone may register a client, and the server must not redirect to any address.
    pub(super) fn response(self, texts: &Texts, detail: &str, back: Option<(&str, &str)>) -> Response {
        let problem = match self {
            Self::UnknownClient => &texts.unknown_client,
            Self::UnknownRedirect => &texts.unknown_redirect,
            Self::InvalidRequest => &texts.invalid_request,
            Self::ExpiredForm => &texts.expired_form,
            Self::ForeignForm => &texts.foreign_form,
        };
        let detail = if detail.is_empty() { String::new() } else { format!("<p><code>{}</code></p>", escape(detail)) };
        let back = back.map_or_else(String::new, |(url, host)| {
            let (url, text) = (escape(url), escape(&format!("{} {host}", texts.back)));
            format!("<p><a href=\"{url}\" rel=\"noreferrer\">{text}</a></p>")
        });
        let content = render(PROBLEM, &[("problem", problem), ("detail", &detail), ("back", &back)]);
        page(StatusCode::BAD_REQUEST, texts, &texts.problem_title, &content, "'none'")
    }
}

fn alert(text: &str) -> String {
    format!("<p class=\"alert\" role=\"alert\">{}</p>", escape(text))
}

fn page(status: StatusCode, texts: &Texts, title: &str, content: &str, form_action: &str) -> Response {
    let values = [("lang", texts.lang.as_str()), ("title", title), ("style", STYLE), ("content", content)];
    let mut response = (status, render(LAYOUT, &values)).into_response();
    let policy = format!(
        "default-src 'none'; style-src {}; form-action {form_action}; base-uri 'none'; frame-ancestors 'none'",
        *STYLE_SOURCE
    );
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    // The parts of the policy are those of a parsed address, which are visible ASCII.
    let policy = HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    set_private(headers);
    response
}

/// Keeps a response out of caches, and its address out of the `Referer` header of the next request.
pub(super) fn set_private(headers: &mut HeaderMap) {
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
}

/// Parses texts of this crate. A test checks that they are complete.
fn parse_texts(toml: &str) -> Texts {
    toml::from_str(toml).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepting(languages: &str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT_LANGUAGE, languages.parse().unwrap())])
    }

    #[test]
    fn all_texts_exist_in_both_languages() {
        assert!(ENGLISH.rights.contains("delete") && CHINESE.rights.contains("删除"));
        assert_eq!((ENGLISH.lang.as_str(), CHINESE.lang.as_str()), ("en", "zh-CN"));
    }

    #[test]
    fn the_language_is_the_one_that_the_browser_prefers() {
        for (accepted, language) in [
            ("zh-CN,zh;q=0.9,en;q=0.8", "zh-CN"),
            ("zh", "zh-CN"),
            ("ZH-Hant-TW", "zh-CN"),
            ("fr, zh;q=0.5", "zh-CN"),
            ("en-GB,zh;q=0.9", "en"),
            ("en;q=0.5, zh;q=0.6", "zh-CN"),
            ("fr", "en"),
            ("zhx", "en"),
            ("zh;q=0", "en"),
            ("", "en"),
        ] {
            assert_eq!(texts(&accepting(accepted)).lang, language, "{accepted}");
        }
        assert_eq!(texts(&HeaderMap::new()).lang, "en");
    }

    #[test]
    fn pages_cannot_be_framed_cached_or_scripted() {
        let redirect = RedirectUri::parse("http://127.0.0.1:5000/cb").unwrap();
        let page = AuthorizePage {
            client: None,
            redirect: &redirect,
            request: "r",
            cancel_url: "c",
            notice: Some(Notice::Busy),
        };
        let response = page.response(&ENGLISH);
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        let policy = response.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(policy.contains("form-action 'self' https: http:; base-uri 'none'"), "{policy}");
        assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
        for (name, value) in
            [("cache-control", "no-store"), ("referrer-policy", "no-referrer"), ("x-frame-options", "DENY")]
        {
            assert_eq!(response.headers()[name], value);
        }
    }
}
