//! The authorization endpoint: a page that asks the person for a key of this server.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Bytes,
    extract::{RawQuery, State},
    http::{HeaderMap, HeaderValue, StatusCode, header::LOCATION},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};

use super::{
    client::Client,
    codes::{Authorization, random_text},
    error::OAuthError,
    page::{AuthorizePage, Notice, Problem, Texts, set_private, texts},
    parameters::Parameters,
    redirect::RedirectUri,
    secret::SignaturePurpose,
    state::OAuthState,
};

/// Time in which the form can be sent, in seconds.
const FORM_LIFETIME_SECONDS: u64 = 600;
/// Time after which a wrong key is answered.
const WRONG_KEY_DELAY: Duration = Duration::from_secs(1);
/// Length of a PKCE challenge: a SHA-256 hash in Base64 without padding.
const CHALLENGE_BYTES: usize = 43;
/// Maximum length of the client's `state`, so that the form can be sent.
const MAX_STATE_BYTES: usize = 2048;

/// The request of a client. The form contains it, signed, so that nothing in it can be changed.
#[derive(Debug, Serialize, Deserialize)]
struct AuthorizationRequest {
    /// The name of the client.
    #[serde(rename = "n")]
    name: Option<String>,
    /// The id of the client, in short.
    #[serde(rename = "c")]
    client: String,
    #[serde(rename = "r")]
    redirect_uri: String,
    #[serde(rename = "p")]
    challenge: String,
    #[serde(rename = "s")]
    state: Option<String>,
    /// Seconds since the Unix epoch.
    #[serde(rename = "x")]
    expires: u64,
}

/// Shows the page of a request. A request that is not valid is shown as a page as well and never redirected.
pub(super) async fn show(
    State(oauth): State<Arc<OAuthState>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let texts = texts(&headers);
    let parameters = match Parameters::parse(query.unwrap_or_default().as_bytes()) {
        Ok(parameters) => parameters,
        Err(problem) => return Problem::InvalidRequest.response(texts, &problem, None),
    };
    let id = parameters.get("client_id").unwrap_or_default();
    let Some(client) = Client::from_id(id, &oauth.secret) else {
        return Problem::UnknownClient.response(texts, "", None);
    };
    let Some(redirect) = parameters.get("redirect_uri").and_then(|uri| client.redirect_uri(uri)) else {
        return Problem::UnknownRedirect.response(texts, "", None);
    };
    // From here on, errors may name the way back: the client has registered the address.
    let state = parameters.get("state");
    match check_request(&oauth, &parameters) {
        Ok(challenge) => {
            let request = AuthorizationRequest {
                name: client.name,
                client: oauth.client_id(id),
                redirect_uri: redirect.as_str().to_owned(),
                challenge: challenge.to_owned(),
                state: state.map(str::to_owned),
                expires: oauth.now() + FORM_LIFETIME_SECONDS,
            };
            oauth.show_form(&request, &redirect, texts, None)
        }
        Err(error) => {
            let back = oauth.answer_url(
                &redirect,
                state,
                &[("error", error.code()), ("error_description", error.description())],
            );
            let detail = format!("{}: {}", error.code(), error.description());
            Problem::InvalidRequest.response(texts, &detail, Some((&back, &redirect.host())))
        }
    }
}

/// Checks the key in the form, and returns to the client with a code.
pub(super) async fn submit(State(oauth): State<Arc<OAuthState>>, headers: HeaderMap, body: Bytes) -> Response {
    let texts = texts(&headers);
    if is_from_other_site(&headers) {
        return Problem::ForeignForm.response(texts, "", None);
    }
    let parameters = match Parameters::from_form(&headers, &body) {
        Ok(parameters) => parameters,
        Err(problem) => return Problem::InvalidRequest.response(texts, &problem, None),
    };
    let signed = parameters.get("request").unwrap_or_default();
    let request: Option<AuthorizationRequest> = oauth.secret.verify(SignaturePurpose::Form, &[], signed);
    let request = request.filter(|request| request.expires > oauth.now());
    let redirect = request.as_ref().and_then(|request| RedirectUri::parse(&request.redirect_uri));
    let (Some(request), Some(redirect)) = (request, redirect) else {
        return Problem::ExpiredForm.response(texts, "", None);
    };
    let key = parameters.get("key").unwrap_or_default().trim();
    let Some((key, access)) = oauth.keys.find(key, &oauth.secret) else {
        // A valid key is accepted however many wrong ones arrive.
        let Ok(_permit) = oauth.wrong_keys.try_acquire() else {
            return oauth.show_form(&request, &redirect, texts, Some(Notice::Busy));
        };
        tracing::warn!(part = "oauth", redirect = redirect.host(), "a wrong key was entered");
        tokio::time::sleep(WRONG_KEY_DELAY).await;
        return oauth.show_form(&request, &redirect, texts, Some(Notice::WrongKey));
    };
    let client = request.name.as_deref().unwrap_or_default();
    tracing::info!(part = "oauth", key = access.name(), ?client, redirect = redirect.host(), "a client was authorized");
    let authorization = Authorization {
        key,
        client: request.client,
        redirect_uri: request.redirect_uri,
        challenge: request.challenge,
        grant: random_text(),
    };
    let code = oauth.codes.lock().create(authorization, oauth.now());
    redirect_to(&oauth.answer_url(&redirect, request.state.as_deref(), &[("code", &code)]))
}

impl OAuthState {
    fn show_form(
        &self,
        request: &AuthorizationRequest,
        redirect: &RedirectUri,
        texts: &Texts,
        notice: Option<Notice>,
    ) -> Response {
        let signed = self.secret.sign(SignaturePurpose::Form, &[], request);
        let cancel_url = self.answer_url(redirect, request.state.as_deref(), &[("error", "access_denied")]);
        let (client, cancel_url) = (request.name.as_deref(), cancel_url.as_str());
        AuthorizePage { client, redirect, request: &signed, cancel_url, notice }.response(texts)
    }

    /// Returns the address of an answer to a client, with its state and the issuer (RFC 9207).
    fn answer_url(&self, redirect: &RedirectUri, state: Option<&str>, answer: &[(&str, &str)]) -> String {
        let state = state.map(|state| ("state", state));
        let issuer = ("iss", self.issuer.as_str());
        let parameters: Vec<_> = answer.iter().copied().chain(state).chain([issuer]).collect();
        redirect.with_parameters(&parameters)
    }
}

/// Checks a request whose client and redirect URI are known. Returns the PKCE challenge.
fn check_request<'p>(oauth: &OAuthState, parameters: &'p Parameters) -> Result<&'p str, OAuthError> {
    if parameters.require("response_type").map_err(OAuthError::invalid_request)? != "code" {
        return Err(OAuthError::new("unsupported_response_type", "response_type must be code"));
    }
    let mode = parameters.get("response_mode").unwrap_or("query");
    if mode != "query" {
        return Err(OAuthError::invalid_request("response_mode must be query"));
    }
    if parameters.get("resource").is_some_and(|resource| !oauth.issuer.is_resource(resource)) {
        return Err(OAuthError::invalid_target(&oauth.issuer.resource()));
    }
    let challenge = parameters.require("code_challenge").map_err(OAuthError::invalid_request)?;
    if parameters.get("code_challenge_method") != Some("S256") {
        return Err(OAuthError::invalid_request("code_challenge_method must be S256"));
    }
    if challenge.len() != CHALLENGE_BYTES {
        let description = format!("code_challenge must have {CHALLENGE_BYTES} characters");
        return Err(OAuthError::invalid_request(description));
    }
    if parameters.get("state").is_some_and(|state| state.len() > MAX_STATE_BYTES) {
        return Err(OAuthError::invalid_request(format!("state may have at most {MAX_STATE_BYTES} bytes")));
    }
    Ok(challenge)
}

/// Returns true if `Sec-Fetch-Site` names another origin. Clients without this header are accepted.
fn is_from_other_site(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin")
}

fn redirect_to(url: &str) -> Response {
    // `Url` serializes to visible ASCII.
    let Ok(location) = HeaderValue::from_str(url) else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let mut response = StatusCode::SEE_OTHER.into_response();
    response.headers_mut().insert(LOCATION, location);
    set_private(response.headers_mut());
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_of_another_site_is_recognised() {
        let from = |site: &str| HeaderMap::from_iter([("sec-fetch-site".parse().unwrap(), site.parse().unwrap())]);
        assert!(is_from_other_site(&from("cross-site")) && is_from_other_site(&from("same-site")));
        assert!(is_from_other_site(&from("none")), "a form is never sent without a page");
        assert!(!is_from_other_site(&from("same-origin")) && !is_from_other_site(&HeaderMap::new()));
    }
}
