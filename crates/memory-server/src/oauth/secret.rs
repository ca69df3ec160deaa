//! Signatures of this server, with one secret.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use memory_engine::{Error, ErrorKind, Result};
use serde::{Serialize, de::DeserializeOwned};

/// Minimum length of the secret.
const MIN_SECRET_CHARS: usize = 32;
/// Separates the keys of this module from other uses of the same secret (BLAKE3's key derivation).
const DERIVATION_CONTEXT: &str = "memory-engine 2026-09 OAuth signatures v1";

/// The purpose of a signature. A text that is signed for one purpose is not valid for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignaturePurpose {
    Client,
    Form,
    KeyId,
    AccessToken,
    RefreshToken,
}

/// Signs texts and verifies them, with keyed BLAKE3. `Debug` does not show the secret.
#[derive(Clone)]
pub(super) struct SigningSecret([u8; 32]);

impl SignaturePurpose {
    fn label(self) -> &'static [u8] {
        match self {
            Self::Client => b"client",
            Self::Form => b"form",
            Self::KeyId => b"key id",
            Self::AccessToken => b"access token",
            Self::RefreshToken => b"refresh token",
        }
    }
}

impl SigningSecret {
    /// Derives the secret from a text of the operator.
    ///
    /// # Errors
    /// `InvalidInput` if it has less than 32 characters: every client could guess a short one from its signatures.
    pub(super) fn new(text: &str) -> Result<Self> {
        if text.chars().count() < MIN_SECRET_CHARS {
            let message = format!(
                "the secret of OAuth (MEMORY_OAUTH_SECRET) is too short; use at least {MIN_SECRET_CHARS} random \
                 characters, for example the output of: openssl rand -hex 32"
            );
            return Err(Error::new(ErrorKind::InvalidInput, "oauth", message));
        }
        Ok(Self(blake3::derive_key(DERIVATION_CONTEXT, text.as_bytes())))
    }

    /// Returns a text of payload and signature. `binding` is what the signature also depends on, such as a key's hash.
    pub(super) fn sign(&self, purpose: SignaturePurpose, binding: &[u8], payload: &impl Serialize) -> String {
        let payload = URL_SAFE_NO_PAD.encode(serde_json::to_vec(payload).unwrap_or_default());
        let signature = self.signature(purpose, binding, payload.as_bytes());
        format!("{payload}.{}", URL_SAFE_NO_PAD.encode(signature.as_bytes()))
    }

    /// Returns the payload of a signed text, or `None` if the signature is not valid.
    pub(super) fn verify<T: DeserializeOwned>(
        &self,
        purpose: SignaturePurpose,
        binding: &[u8],
        signed: &str,
    ) -> Option<T> {
        let (payload, signature) = signed.split_once('.')?;
        let signature: [u8; 32] = URL_SAFE_NO_PAD.decode(signature).ok()?.try_into().ok()?;
        // `blake3::Hash` compares in constant time.
        let is_valid = self.signature(purpose, binding, payload.as_bytes()) == blake3::Hash::from_bytes(signature);
        if is_valid { unverified(signed) } else { None }
    }

    /// Returns an id of some bytes, from which they cannot be computed.
    pub(super) fn id_of(&self, purpose: SignaturePurpose, bytes: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(&self.signature(purpose, bytes, &[]).as_bytes()[..12])
    }

    fn signature(&self, purpose: SignaturePurpose, binding: &[u8], payload: &[u8]) -> blake3::Hash {
        // One key per purpose and binding, so that their lengths need no separators.
        let purpose_key = blake3::keyed_hash(&self.0, purpose.label());
        let key = blake3::keyed_hash(purpose_key.as_bytes(), binding);
        blake3::keyed_hash(key.as_bytes(), payload)
    }
}

/// Returns the payload of a signed text without a check, to find the key that verifies it.
pub(super) fn unverified<T: DeserializeOwned>(signed: &str) -> Option<T> {
    let (payload, _) = signed.split_once('.')?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> SigningSecret {
        SigningSecret::new(&text.repeat(32)).unwrap()
    }

    #[test]
    fn a_signature_is_valid_for_its_secret_purpose_and_binding_only() {
        let signed = secret("a").sign(SignaturePurpose::AccessToken, b"key", &7);
        assert_eq!(secret("a").verify::<u32>(SignaturePurpose::AccessToken, b"key", &signed), Some(7));
        assert_eq!(secret("b").verify::<u32>(SignaturePurpose::AccessToken, b"key", &signed), None);
        assert_eq!(secret("a").verify::<u32>(SignaturePurpose::RefreshToken, b"key", &signed), None);
        assert_eq!(secret("a").verify::<u32>(SignaturePurpose::AccessToken, b"other", &signed), None);
    }

    #[test]
    fn a_changed_text_is_not_valid() {
        let signed = secret("a").sign(SignaturePurpose::Client, b"", &"name");
        let (payload, signature) = signed.split_once('.').unwrap();
        let other = URL_SAFE_NO_PAD.encode("\"nane\"");
        for changed in [format!("{other}.{signature}"), payload.to_owned(), format!("{payload}."), String::new()] {
            assert_eq!(secret("a").verify::<String>(SignaturePurpose::Client, b"", &changed), None, "{changed}");
        }
    }

    #[test]
    fn a_short_secret_is_refused_and_none_is_shown() {
        let error = SigningSecret::new("hunter2").unwrap_err().to_string();
        assert!(error.contains("at least 32") && !error.contains("hunter2"), "{error}");
        assert_eq!(format!("{:?}", secret("a")), "SigningSecret(…)");
    }
}
