//! The keys of certificates: Ed25519, as PKCS#8 in PEM or base64.

use std::fmt;

use base64::{Engine, prelude::BASE64_STANDARD};
use memory_engine_core::{Error, ErrorKind, Result};
use ring::{
    rand::{SecureRandom, SystemRandom},
    signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey},
};

/// The beginning of a private key of Ed25519 in PKCS#8 (RFC 8410); the seed of 32 bytes follows.
const PRIVATE_PREFIX: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
/// The beginning of a public key of Ed25519 in SubjectPublicKeyInfo (RFC 8410); the key of 32 bytes follows.
const PUBLIC_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];
const KEY_BYTES: usize = 32;
/// The points of Ed25519 whose order divides 8, as encoded without the sign bit: the y coordinates of the eight points,
/// and p and p + 1, which stand for 0 and 1. Found by computing the order of each.
const SMALL_ORDER_POINTS: [&str; 7] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];
/// Number of base64 characters of a line of PEM.
const PEM_LINE_CHARS: usize = 64;

/// A private key that signs certificates.
pub struct CertificateKey {
    pair: Ed25519KeyPair,
    document: Vec<u8>,
}

impl fmt::Debug for CertificateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateKey").field("public", &self.public_key()).finish_non_exhaustive()
    }
}

impl CertificateKey {
    /// Creates a random key.
    ///
    /// # Errors
    /// `Unavailable` if the system has no source of random numbers.
    pub fn generate() -> Result<Self> {
        let document = [PRIVATE_PREFIX.as_slice(), &random_bytes()?].concat();
        Self::from_pkcs8(document)
    }

    /// Reads a key: PKCS#8, as PEM or in base64. `openssl genpkey -algorithm ed25519` writes one, too.
    ///
    /// # Errors
    /// `InvalidInput` for another text. The message contains nothing of it.
    pub fn from_text(text: &str) -> Result<Self> {
        let document = decode(text, "PRIVATE KEY").ok_or_else(invalid_private_key)?;
        Self::from_pkcs8(document)
    }

    fn from_pkcs8(document: Vec<u8>) -> Result<Self> {
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&document).map_err(|_| invalid_private_key())?;
        Ok(Self { pair, document })
    }

    /// Returns the key as PEM. It is a secret: with it, anyone can sign certificates.
    pub fn to_pem(&self) -> String {
        pem(&self.document, "PRIVATE KEY")
    }

    /// Returns the key that verifies the signatures of this one.
    pub fn public_key(&self) -> PublicKey {
        let mut bytes = [0; KEY_BYTES];
        bytes.copy_from_slice(self.pair.public_key().as_ref());
        PublicKey(bytes)
    }

    /// Signs a message. Returns the signature in base64.
    pub(super) fn sign(&self, message: &[u8]) -> String {
        BASE64_STANDARD.encode(self.pair.sign(message).as_ref())
    }
}

/// A public key that verifies certificates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey([u8; KEY_BYTES]);

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

/// Writes the 32 bytes of the key in base64, as a certificate does.
impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64_STANDARD.encode(self.0))
    }
}

impl PublicKey {
    /// Reads a key: PEM, or base64 of the 32 bytes or of the SubjectPublicKeyInfo.
    ///
    /// # Errors
    /// `InvalidInput` for another text, and for a point of small order, with which a signature fits any message.
    pub fn from_text(text: &str) -> Result<Self> {
        let bytes = decode(text, "PUBLIC KEY");
        let key = bytes.as_deref().map(|bytes| bytes.strip_prefix(&PUBLIC_PREFIX).unwrap_or(bytes));
        let key: Option<[u8; KEY_BYTES]> = key.and_then(|key| key.try_into().ok());
        key.filter(|key| !is_of_small_order(key)).map(Self).ok_or_else(|| {
            let message = "this is not a public key of Ed25519; expected PEM (BEGIN PUBLIC KEY), as \
                 `memory certificate-key` writes, or 32 bytes in base64";
            Error::invalid("public key", message)
        })
    }

    /// Returns the key as PEM, for example for `openssl pkeyutl -verify -pubin`.
    pub fn to_pem(&self) -> String {
        pem(&[PUBLIC_PREFIX.as_slice(), &self.0].concat(), "PUBLIC KEY")
    }

    /// Returns true if the key has made this signature, which is in base64. A signature that begins with a point of
    /// small order is refused.
    pub(super) fn verifies(&self, message: &[u8], signature: &str) -> bool {
        let Ok(signature) = BASE64_STANDARD.decode(signature) else { return false };
        if signature.first_chunk().is_none_or(is_of_small_order) {
            return false;
        }
        UnparsedPublicKey::new(&ED25519, self.0).verify(message, &signature).is_ok()
    }
}

/// Returns 32 random bytes.
pub(super) fn random_bytes() -> Result<[u8; KEY_BYTES]> {
    let mut bytes = [0; KEY_BYTES];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| Error::new(ErrorKind::Unavailable, "certificate", "the system has no source of random numbers"))?;
    Ok(bytes)
}

/// Returns true for a point with which an equation of a signature holds for any message.
fn is_of_small_order(point: &[u8; KEY_BYTES]) -> bool {
    let mut unsigned = *point;
    unsigned[KEY_BYTES - 1] &= 0x7f;
    let digits: String = unsigned.iter().map(|byte| format!("{byte:02x}")).collect();
    SMALL_ORDER_POINTS.contains(&digits.as_str())
}

fn invalid_private_key() -> Error {
    let message = "this is not a private key of Ed25519; expected PKCS#8 as PEM (BEGIN PRIVATE KEY) or in base64, as \
         `memory certificate-key` writes";
    Error::invalid("certificate key", message)
}

/// Decodes base64, with or without the lines of PEM around it.
fn decode(text: &str, label: &str) -> Option<Vec<u8>> {
    // In an environment variable, the line breaks may be written as `\n`.
    let text = text.replace("\\n", "\n");
    let text = text.trim();
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    let encoded = match text.strip_prefix(&begin) {
        Some(rest) => rest.strip_suffix(&end)?,
        None => text,
    };
    let encoded: String = encoded.chars().filter(|c| !c.is_whitespace()).collect();
    BASE64_STANDARD.decode(encoded).ok()
}

fn pem(document: &[u8], label: &str) -> String {
    let encoded = BASE64_STANDARD.encode(document);
    let mut pem = format!("-----BEGIN {label}-----\n");
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(PEM_LINE_CHARS));
        pem.push_str(line);
        pem.push('\n');
        rest = after;
    }
    pem + &format!("-----END {label}-----\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first test vector of RFC 8032, section 7.1.
    #[test]
    fn keys_and_signatures_are_those_of_rfc_8032() {
        let hex = |text: &str| -> Vec<u8> {
            (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
        };
        let seed = hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
        let public = hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
        let signature =
            hex("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b\
             d25bf5f0595bbe24655141438e7a100b");
        let text = BASE64_STANDARD.encode([PRIVATE_PREFIX.as_slice(), &seed].concat());
        let key = CertificateKey::from_text(&text).unwrap();
        assert_eq!(key.public_key().0.as_slice(), public);
        assert_eq!(BASE64_STANDARD.decode(key.sign(b"")).unwrap(), signature);
    }

    #[test]
    fn keys_come_back_from_their_texts() {
        let key = CertificateKey::generate().unwrap();
        for text in [key.to_pem(), key.to_pem().replace('\n', "\\n"), BASE64_STANDARD.encode(&key.document)] {
            assert_eq!(CertificateKey::from_text(&text).unwrap().public_key(), key.public_key(), "{text}");
        }
        let public = key.public_key();
        for text in [public.to_pem(), public.to_string()] {
            assert_eq!(PublicKey::from_text(&text).unwrap(), public);
        }
        assert!(!format!("{key:?}").contains(&BASE64_STANDARD.encode(&key.document[16..])));
    }

    #[test]
    fn other_texts_are_refused_without_being_shown() {
        let key = CertificateKey::generate().unwrap();
        for text in ["", "secret", "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n", &key.public_key().to_pem()] {
            let error = CertificateKey::from_text(text).unwrap_err().to_string();
            assert!(error.contains("PKCS#8") && !error.contains("secret") && !error.contains("c2Vj"), "{error}");
        }
        assert!(PublicKey::from_text(&key.to_pem()).unwrap_err().to_string().contains("BEGIN PUBLIC KEY"));
    }

    #[test]
    fn points_of_small_order_are_refused() {
        let mut identity = [0; KEY_BYTES];
        identity[0] = 1;
        let signature = [identity, [0; 32]].concat();
        let ring = UnparsedPublicKey::new(&ED25519, identity).verify(b"any message", &signature);
        assert!(ring.is_ok(), "the signature fits by its equation");
        assert!(!PublicKey(identity).verifies(b"any message", &BASE64_STANDARD.encode(&signature)));
        for sign in [0, 0x80] {
            identity[KEY_BYTES - 1] = sign;
            assert!(PublicKey::from_text(&BASE64_STANDARD.encode(identity)).is_err(), "{identity:?}");
        }
        assert!(!is_of_small_order(&CertificateKey::generate().unwrap().public_key().0));
    }

    #[test]
    fn a_signature_belongs_to_a_key_and_a_message() {
        let (key, other) = (CertificateKey::generate().unwrap(), CertificateKey::generate().unwrap());
        let signature = key.sign(b"message");
        assert!(key.public_key().verifies(b"message", &signature));
        assert!(!key.public_key().verifies(b"messagf", &signature));
        assert!(!other.public_key().verifies(b"message", &signature));
        assert!(!key.public_key().verifies(b"message", "no base64!"));
    }
}
