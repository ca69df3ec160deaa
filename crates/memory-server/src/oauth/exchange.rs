//! The token endpoint and the revocation endpoint.

use std::sync::Arc;

use axum::{
    Json,
    body::Bytes,
    extract::State,
    http::{HeaderMap, header::CACHE_CONTROL},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{
    client::Client,
    codes::{CODE_SECONDS, CodeUse},
    error::OAuthError,
    parameters::Parameters,
    secret::SignaturePurpose,
    state::{OAuthState, TokenPair},
    token::ACCESS_TOKEN_SECONDS,
};

/// The answer of the token endpoint.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TokenAnswer {
    /// The token for `Authorization: Bearer`, valid at `/mcp` only.
    access_token: String,
    /// Always `Bearer`.
    token_type: &'static str,
    /// Lifetime of the access token, in seconds.
    expires_in: u64,
    /// The token for the next pair of tokens. It can be used once.
    refresh_token: String,
}

/// Exchanges a code or a refresh token for a pair of tokens.
pub(super) async fn exchange(
    State(oauth): State<Arc<OAuthState>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, OAuthError> {
    let parameters = Parameters::from_form(&headers, &body).map_err(OAuthError::invalid_request)?;
    if parameters.get("resource").is_some_and(|resource| !oauth.issuer.is_resource(resource)) {
        return Err(OAuthError::invalid_target(&oauth.issuer.resource()));
    }
    let grant_type = parameters.require("grant_type").map_err(OAuthError::invalid_request)?;
    let client = oauth.known_client(&parameters)?;
    let TokenPair { access, refresh } = match grant_type {
        "authorization_code" => oauth.exchange_code(&parameters, &client)?,
        "refresh_token" => oauth.refresh(&parameters, &client)?,
        _ => {
            let description = "grant_type must be authorization_code or refresh_token";
            return Err(OAuthError::new("unsupported_grant_type", description));
        }
    };
    let answer = TokenAnswer {
        access_token: access,
        token_type: "Bearer",
        expires_in: ACCESS_TOKEN_SECONDS,
        refresh_token: refresh,
    };
    Ok(([(CACHE_CONTROL, "no-store")], Json(answer)).into_response())
}

/// Ends all tokens of the authorization that a token results from. Succeeds for a token that is not valid, too
/// (RFC 7009).
pub(super) async fn revoke(
    State(oauth): State<Arc<OAuthState>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(), OAuthError> {
    let parameters = Parameters::from_form(&headers, &body).map_err(OAuthError::invalid_request)?;
    let token = parameters.require("token").map_err(OAuthError::invalid_request)?;
    let client = parameters.get("client_id").map(|_| oauth.known_client(&parameters)).transpose()?;
    let verified = [SignaturePurpose::RefreshToken, SignaturePurpose::AccessToken]
        .into_iter()
        .find_map(|purpose| oauth.verify_token(purpose, token));
    if let Some((claims, _)) = verified {
        if client.is_some_and(|client| client != claims.client) {
            return Err(OAuthError::invalid_grant("the token is of another client"));
        }
        oauth.grants.lock().revoke(&claims.grant, oauth.now());
    }
    Ok(())
}

impl OAuthState {
    /// Returns the id of a client, in short.
    pub(super) fn client_id(&self, id: &str) -> String {
        self.secret.id_of(SignaturePurpose::Client, id.as_bytes())
    }

    /// Returns the id of the client that a request names, in short.
    fn known_client(&self, parameters: &Parameters) -> Result<String, OAuthError> {
        let id = parameters.require("client_id").map_err(OAuthError::invalid_request)?;
        if Client::from_id(id, &self.secret).is_none() {
            return Err(OAuthError::invalid_client());
        }
        Ok(self.client_id(id))
    }

    fn exchange_code(&self, parameters: &Parameters, client: &str) -> Result<TokenPair, OAuthError> {
        let code = parameters.require("code").map_err(OAuthError::invalid_request)?;
        let verifier = parameters.require("code_verifier").map_err(OAuthError::invalid_request)?;
        let code_use = self.codes.lock().redeem(code, self.now());
        let authorization = match code_use {
            CodeUse::First(authorization) => authorization,
            CodeUse::Repeated { grant } => {
                // Either the first or the second user of the code is a thief.
                self.grants.lock().revoke(&grant, self.now());
                return Err(OAuthError::invalid_grant("the code was used before; its tokens are revoked"));
            }
            CodeUse::Unknown => {
                let description = format!("the code is not valid or older than {CODE_SECONDS} seconds");
                return Err(OAuthError::invalid_grant(description));
            }
        };
        if authorization.client != client {
            return Err(OAuthError::invalid_grant("the code is of another client"));
        }
        if parameters.get("redirect_uri").is_some_and(|uri| uri != authorization.redirect_uri) {
            return Err(OAuthError::invalid_grant("redirect_uri differs from the one of the authorization request"));
        }
        if challenge_of(verifier) != authorization.challenge {
            return Err(OAuthError::invalid_grant("code_verifier does not belong to the code_challenge"));
        }
        self.issue_tokens(&authorization.key, client, &authorization.grant, 0)
    }

    fn refresh(&self, parameters: &Parameters, client: &str) -> Result<TokenPair, OAuthError> {
        let token = parameters.require("refresh_token").map_err(OAuthError::invalid_request)?;
        let invalid = || OAuthError::invalid_grant("the refresh token is not valid, has expired, or is revoked");
        let (claims, _) = self.verify_token(SignaturePurpose::RefreshToken, token).ok_or_else(invalid)?;
        if claims.client != client {
            return Err(OAuthError::invalid_grant("the refresh token is of another client"));
        }
        let next = self.grants.lock().rotate(&claims.grant, claims.generation, self.now());
        let Some(generation) = next else {
            tracing::warn!(part = "oauth", "a used refresh token was presented again");
            return Err(OAuthError::invalid_grant("the refresh token was used before"));
        };
        self.issue_tokens(&claims.key, client, &claims.grant, generation)
    }

    fn issue_tokens(&self, key: &str, client: &str, grant: &str, generation: u64) -> Result<TokenPair, OAuthError> {
        let pair = self.issue(key, client, grant, generation);
        pair.ok_or_else(|| OAuthError::invalid_grant("the key was removed from this server"))
    }
}

/// Returns the PKCE challenge (S256) of a verifier.
fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_rfc_7636() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge_of(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
