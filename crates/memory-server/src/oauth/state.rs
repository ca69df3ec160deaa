//! The state of the authorization server, which lasts until the server stops.

use std::sync::Arc;

use axum::http::HeaderValue;
use memory_engine::Clock;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::{
    codes::CodeTable,
    grants::GrantTable,
    issuer::{Issuer, is_mcp_path},
    secret::{SignaturePurpose, SigningSecret},
    token::{ACCESS_TOKEN_SECONDS, REFRESH_TOKEN_SECONDS, TokenClaims, TokenKeys},
};
use crate::{access::Access, guard::TokenVerifier, keys::KeyRing};

/// The path of the description of the protected resource, `/mcp`.
pub(super) const RESOURCE_METADATA_PATH: &str = "/.well-known/oauth-protected-resource/mcp";
/// Maximum number of wrong keys whose answers are delayed at the same time. More are refused at once.
const MAX_DELAYED_ANSWERS: usize = 16;

/// The state of the authorization server.
#[derive(Debug)]
pub(super) struct OAuthState {
    pub(super) issuer: Issuer,
    pub(super) secret: SigningSecret,
    pub(super) keys: TokenKeys,
    pub(super) codes: Mutex<CodeTable>,
    pub(super) grants: Mutex<GrantTable>,
    /// A permit for each answer to a wrong key that may be delayed.
    pub(super) wrong_keys: Semaphore,
    clock: Arc<dyn Clock>,
}

/// The tokens of one answer.
#[derive(Debug)]
pub(super) struct TokenPair {
    pub(super) access: String,
    pub(super) refresh: String,
}

impl OAuthState {
    pub(super) fn new(issuer: Issuer, secret: SigningSecret, ring: KeyRing, clock: Arc<dyn Clock>) -> Self {
        let keys = TokenKeys::new(ring, &secret);
        let wrong_keys = Semaphore::new(MAX_DELAYED_ANSWERS);
        Self { issuer, secret, keys, codes: Mutex::default(), grants: Mutex::default(), wrong_keys, clock }
    }

    /// Returns the time in seconds since the Unix epoch.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.clock.now().as_micros()).unwrap_or_default() / 1_000_000
    }

    /// Returns the tokens of a grant. `None` if the key is not one of this server.
    pub(super) fn issue(&self, key: &str, client: &str, grant: &str, generation: u64) -> Option<TokenPair> {
        let now = self.now();
        let claims = |seconds: u64| TokenClaims {
            key: key.to_owned(),
            client: client.to_owned(),
            audience: self.issuer.resource(),
            expires: now + seconds,
            grant: grant.to_owned(),
            generation,
        };
        let access = self.keys.sign(SignaturePurpose::AccessToken, &claims(ACCESS_TOKEN_SECONDS), &self.secret)?;
        let refresh = self.keys.sign(SignaturePurpose::RefreshToken, &claims(REFRESH_TOKEN_SECONDS), &self.secret)?;
        Some(TokenPair { access, refresh })
    }

    /// Returns the content of a token and its access, unless it is not valid, has expired or is revoked.
    pub(super) fn verify_token(&self, purpose: SignaturePurpose, token: &str) -> Option<(TokenClaims, Access)> {
        let verified = self.keys.verify(purpose, token, &self.issuer.resource(), self.now(), &self.secret)?;
        (!self.grants.lock().is_revoked(&verified.0.grant)).then_some(verified)
    }
}

impl TokenVerifier for OAuthState {
    fn is_for_path(&self, path: &str) -> bool {
        is_mcp_path(path)
    }

    fn verify(&self, token: &str) -> Option<Access> {
        self.verify_token(SignaturePurpose::AccessToken, token).map(|(_, access)| access)
    }

    fn challenge(&self, is_token_invalid: bool) -> HeaderValue {
        let metadata = self.issuer.url(RESOURCE_METADATA_PATH);
        let error = if is_token_invalid { ", error=\"invalid_token\"" } else { "" };
        // An issuer is the origin of a parsed address, which is visible ASCII.
        HeaderValue::from_str(&format!("Bearer resource_metadata=\"{metadata}\"{error}"))
            .unwrap_or(HeaderValue::from_static("Bearer"))
    }
}
