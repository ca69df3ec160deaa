//! Access tokens and refresh tokens: signed texts that need no storage.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::secret::{SignaturePurpose, SigningSecret, unverified};
use crate::{access::Access, keys::KeyRing};

/// Lifetime of an access token, in seconds.
pub(super) const ACCESS_TOKEN_SECONDS: u64 = 60 * 60;
/// Lifetime of a refresh token, in seconds.
pub(super) const REFRESH_TOKEN_SECONDS: u64 = 30 * 24 * 60 * 60;

/// The content of a token. A client can read it, so it contains neither a key nor its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TokenClaims {
    /// The id of the key whose rights the token has.
    #[serde(rename = "k")]
    pub(super) key: String,
    /// The id of the client, in short.
    #[serde(rename = "c")]
    pub(super) client: String,
    /// The address at which the token is valid.
    #[serde(rename = "a")]
    pub(super) audience: String,
    /// Seconds since the Unix epoch.
    #[serde(rename = "x")]
    pub(super) expires: u64,
    /// Identifies all tokens of one authorization.
    #[serde(rename = "g")]
    pub(super) grant: String,
    /// Number of refreshes before.
    #[serde(rename = "n")]
    pub(super) generation: u64,
}

/// Signs and verifies the tokens of the server's keys. The signature depends on the hash of the key: the tokens of a
/// key that was removed or replaced are not valid.
#[derive(Debug)]
pub(super) struct TokenKeys {
    ring: KeyRing,
    /// The keys by their ids.
    by_id: BTreeMap<String, (blake3::Hash, Access)>,
}

impl TokenKeys {
    pub(super) fn new(ring: KeyRing, secret: &SigningSecret) -> Self {
        let by_id = ring.entries().map(|(hash, access)| (key_id(hash, secret), (*hash, access.clone()))).collect();
        Self { ring, by_id }
    }

    /// Returns the id and the access of a key that a person typed.
    pub(super) fn find(&self, key: &str, secret: &SigningSecret) -> Option<(String, Access)> {
        self.ring.find_entry(key).map(|(hash, access)| (key_id(hash, secret), access.clone()))
    }

    /// Returns a token, or `None` if its key is not one of this server.
    pub(super) fn sign(
        &self,
        purpose: SignaturePurpose,
        claims: &TokenClaims,
        secret: &SigningSecret,
    ) -> Option<String> {
        let (hash, _) = self.by_id.get(&claims.key)?;
        Some(secret.sign(purpose, hash.as_bytes(), claims))
    }

    /// Returns the content of a token and the access of its key. `None` if the signature is not valid, the token has
    /// expired, or it is for another address.
    pub(super) fn verify(
        &self,
        purpose: SignaturePurpose,
        token: &str,
        audience: &str,
        now: u64,
        secret: &SigningSecret,
    ) -> Option<(TokenClaims, Access)> {
        let named: TokenClaims = unverified(token)?;
        let (hash, access) = self.by_id.get(&named.key)?;
        let claims: TokenClaims = secret.verify(purpose, hash.as_bytes(), token)?;
        (claims.expires > now && claims.audience == audience).then(|| (claims, access.clone()))
    }
}

fn key_id(hash: &blake3::Hash, secret: &SigningSecret) -> String {
    secret.id_of(SignaturePurpose::KeyId, hash.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::ApiKey;

    const RESOURCE: &str = "https://memory.example/mcp";

    fn secret() -> SigningSecret {
        SigningSecret::new(&"s".repeat(32)).unwrap()
    }

    fn ring(keys: &[&ApiKey]) -> KeyRing {
        keys.iter().enumerate().fold(KeyRing::default(), |ring, (number, key)| {
            ring.with_key(key, Access::tenant(format!("key {number}"), "acme").unwrap())
        })
    }

    fn claims(key: String) -> TokenClaims {
        let (client, grant) = ("client".into(), "grant".into());
        TokenClaims { key, client, audience: RESOURCE.into(), expires: 200, grant, generation: 3 }
    }

    #[test]
    fn a_token_has_the_access_of_its_key_until_it_expires() {
        let (one, two) = (ApiKey::generate(), ApiKey::generate());
        let keys = TokenKeys::new(ring(&[&one, &two]), &secret());
        let (id, access) = keys.find(two.reveal(), &secret()).unwrap();
        let token = keys.sign(SignaturePurpose::AccessToken, &claims(id.clone()), &secret()).unwrap();
        let verify = |purpose, audience, now| keys.verify(purpose, &token, audience, now, &secret());
        assert_eq!(verify(SignaturePurpose::AccessToken, RESOURCE, 199), Some((claims(id), access)));
        assert_eq!(verify(SignaturePurpose::AccessToken, RESOURCE, 200), None);
        assert_eq!(verify(SignaturePurpose::RefreshToken, RESOURCE, 199), None);
        assert_eq!(verify(SignaturePurpose::AccessToken, "https://other.example/mcp", 199), None);
    }

    #[test]
    fn a_token_ends_with_its_key_and_with_the_secret() {
        let (one, two) = (ApiKey::generate(), ApiKey::generate());
        let keys = TokenKeys::new(ring(&[&one, &two]), &secret());
        let (id, _) = keys.find(one.reveal(), &secret()).unwrap();
        let token = keys.sign(SignaturePurpose::AccessToken, &claims(id), &secret()).unwrap();
        let verify =
            |keys: &TokenKeys, secret| keys.verify(SignaturePurpose::AccessToken, &token, RESOURCE, 100, &secret);
        assert!(verify(&TokenKeys::new(ring(&[&one]), &secret()), secret()).is_some(), "as after a restart");
        assert!(verify(&TokenKeys::new(ring(&[&two]), &secret()), secret()).is_none());
        let other = SigningSecret::new(&"t".repeat(32)).unwrap();
        assert!(verify(&TokenKeys::new(ring(&[&one]), &other), other.clone()).is_none());
    }

    #[test]
    fn a_token_contains_neither_the_key_nor_its_hash() {
        let key = ApiKey::generate();
        let keys = TokenKeys::new(ring(&[&key]), &secret());
        let (id, _) = keys.find(key.reveal(), &secret()).unwrap();
        let token = keys.sign(SignaturePurpose::AccessToken, &claims(id.clone()), &secret()).unwrap();
        let payload: serde_json::Value = unverified(&token).unwrap();
        assert_eq!(payload["k"], id);
        let text = format!("{token} {payload}");
        assert!(!text.contains(key.reveal()) && !text.contains(&key.hash()) && !text.contains(&key.hash()[..16]));
        assert!(keys.sign(SignaturePurpose::AccessToken, &claims("other".into()), &secret()).is_none());
    }
}
