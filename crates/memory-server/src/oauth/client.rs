//! Clients. A registration is not stored: the id of a client is its signed description.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    error::OAuthError,
    redirect::RedirectUri,
    secret::{SignaturePurpose, SigningSecret},
};

/// Maximum number of redirect URIs of a client.
const MAX_REDIRECT_URIS: usize = 10;
/// Maximum length of all redirect URIs of a client. The id of the client contains them, and is sent in addresses.
const MAX_REDIRECT_URIS_BYTES: usize = 1500;
/// Maximum length of a client's name; the rest is cut off.
const MAX_NAME_CHARS: usize = 60;

/// Characters without a shape of their own, some of which change the direction of the text.
const HIDDEN_CHARS: [RangeInclusive<char>; 9] = [
    '\u{ad}'..='\u{ad}',
    '\u{61c}'..='\u{61c}',
    '\u{180e}'..='\u{180e}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{feff}'..='\u{feff}',
    '\u{fff9}'..='\u{fffb}',
    '\u{e0000}'..='\u{e007f}',
];

/// A registered client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Client {
    /// The name that the client gave itself. It is not verified.
    #[serde(rename = "n", skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(rename = "r")]
    redirect_uris: Vec<String>,
    /// Time of the registration, in seconds since the Unix epoch.
    #[serde(rename = "t")]
    pub(super) registered: u64,
}

/// The description that a client registers (RFC 7591). Other fields are ignored.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct RegistrationRequest {
    /// Addresses to which the browser may return: `https`, or `http` to the loopback. Others are left out.
    #[serde(default)]
    redirect_uris: Vec<String>,
    /// The name that is shown to the person.
    client_name: Option<String>,
    /// If present, it must contain `authorization_code`.
    grant_types: Option<Vec<String>>,
}

impl Client {
    /// Checks a registration.
    ///
    /// # Errors
    /// `invalid_redirect_uri` if none or too many are allowed, `invalid_client_metadata` for another grant.
    pub(super) fn register(request: RegistrationRequest, now: u64) -> Result<Self, OAuthError> {
        if request.grant_types.is_some_and(|types| !types.iter().any(|one| one == "authorization_code")) {
            return Err(OAuthError::new("invalid_client_metadata", "grant_types must contain authorization_code"));
        }
        let mut redirect_uris = request.redirect_uris;
        redirect_uris.retain(|uri| RedirectUri::parse(uri).is_some());
        let bytes: usize = redirect_uris.iter().map(String::len).sum();
        if redirect_uris.is_empty() {
            let description = "redirect_uris has no URI that is allowed: https://…, or http:// to localhost, 127.0.0.1 \
                               or [::1], without a fragment";
            return Err(OAuthError::new("invalid_redirect_uri", description));
        }
        if redirect_uris.len() > MAX_REDIRECT_URIS || bytes > MAX_REDIRECT_URIS_BYTES {
            let description = format!(
                "redirect_uris has {} URIs of {bytes} bytes; at most {MAX_REDIRECT_URIS} URIs of \
                 {MAX_REDIRECT_URIS_BYTES} bytes in total are allowed",
                redirect_uris.len()
            );
            return Err(OAuthError::new("invalid_redirect_uri", description));
        }
        let name = request.client_name.map(|name| readable_name(&name)).filter(|name| !name.is_empty());
        Ok(Self { name, redirect_uris, registered: now })
    }

    /// Returns the id of the client.
    pub(super) fn id(&self, secret: &SigningSecret) -> String {
        secret.sign(SignaturePurpose::Client, &[], self)
    }

    /// Returns the client with this id, or `None` if this server did not issue it.
    pub(super) fn from_id(id: &str, secret: &SigningSecret) -> Option<Self> {
        secret.verify(SignaturePurpose::Client, &[], id)
    }

    /// Returns the redirect URI of a request, or `None` if the client did not register it.
    pub(super) fn redirect_uri(&self, text: &str) -> Option<RedirectUri> {
        let requested = RedirectUri::parse(text)?;
        let mut registered = self.redirect_uris.iter().filter_map(|uri| RedirectUri::parse(uri));
        registered.any(|registered| requested.is_covered_by(&registered)).then_some(requested)
    }

    pub(super) fn redirect_uris(&self) -> &[String] {
        &self.redirect_uris
    }
}

/// Returns a name on one line, without characters that hide or reorder others.
fn readable_name(name: &str) -> String {
    let is_hidden = |c: char| c.is_control() || HIDDEN_CHARS.iter().any(|range| range.contains(&c));
    let visible: String = name.chars().filter(|c| !is_hidden(*c)).take(MAX_NAME_CHARS).collect();
    visible.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(uris: &[&str]) -> RegistrationRequest {
        RegistrationRequest {
            redirect_uris: uris.iter().map(|&uri| uri.to_owned()).collect(),
            ..RegistrationRequest::default()
        }
    }

    #[test]
    fn an_id_contains_the_registration() {
        let secret = SigningSecret::new(&"s".repeat(32)).unwrap();
        let mut request = request(&["https://app.example/cb", "app://cb", "http://localhost/cb"]);
        request.client_name = Some(" 应用\u{202e}\n\u{200b}App ".into());
        let client = Client::register(request, 7).unwrap();
        assert_eq!(client.redirect_uris(), ["https://app.example/cb", "http://localhost/cb"]);
        assert_eq!(client.name.as_deref(), Some("应用App"));
        assert_eq!(Client::from_id(&client.id(&secret), &secret), Some(client.clone()));
        let other = SigningSecret::new(&"t".repeat(32)).unwrap();
        assert_eq!(Client::from_id(&client.id(&secret), &other), None);
        assert!(client.redirect_uri("http://localhost:5000/cb").is_some());
        assert!(client.redirect_uri("https://app.example/other").is_none());
        assert!(client.redirect_uri("app://cb").is_none());
    }

    #[test]
    fn a_registration_that_cannot_work_is_refused() {
        let long = format!("https://app.example/{}", "a".repeat(380));
        let many: Vec<String> = (0..11).map(|n| format!("https://app.example/{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for (uris, expected) in [
            (vec![], "localhost"),
            (vec!["http://app.example/cb", "app://cb"], "localhost"),
            (vec![long.as_str(); 4], "1500 bytes"),
            (many, "11 URIs"),
        ] {
            let error = Client::register(request(&uris), 0).unwrap_err();
            assert_eq!(error.code(), "invalid_redirect_uri");
            assert!(error.description().contains(expected), "{error:?}");
        }
        let mut machine = request(&["https://app.example/cb"]);
        machine.grant_types = Some(vec!["client_credentials".into()]);
        assert_eq!(Client::register(machine, 0).unwrap_err().code(), "invalid_client_metadata");
    }
}
