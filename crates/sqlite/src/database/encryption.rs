//! The key of an encrypted database file.
//!
//! SQLite3 Multiple Ciphers encrypts and authenticates every page of the file, of its log and of its journal with
//! ChaCha20-Poly1305. The bundled SQLite of `rusqlite` cannot; the feature `encryption` replaces it.
//!
//! Reasons: `docs/design/decisions/0056-encryption-by-sqlite3mc.md`.

use std::{fmt, path::Path, str::FromStr};

use memory_engine_core::{Error, ErrorKind, Result};
use rusqlite::{Connection, OptionalExtension, ffi::ErrorCode};

use crate::database::{
    error::SqliteError,
    shared_file::{open_for_ever, read_start},
};

/// Length of a key, in bytes.
const KEY_BYTES: usize = 32;
/// First bytes of a database that is not encrypted.
const PLAIN_MAGIC: &[u8] = b"SQLite format 3\0";
/// Bytes 20 to 23 of an encrypted database. SQLite3 Multiple Ciphers leaves bytes 16 to 23 as they are. These are the
/// number of reserved bytes of each page (16 for the nonce, 16 for the tag), and three constants.
const ENCRYPTED_HEADER: [u8; 4] = [32, 64, 32, 32];
/// Number of bytes that tell a plain file from an encrypted one.
const HEADER_BYTES: usize = 24;

/// The key of an encrypted database: 32 random bytes, as text 64 hexadecimal digits. `openssl rand -hex 32` prints one.
/// No password can be used as a key.
///
/// ```
/// use memory_engine_sqlite::EncryptionKey;
///
/// let digits = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
/// let key: EncryptionKey = digits.parse()?;
/// assert!(!format!("{key:?}").contains("0011"));
/// assert!("a password".parse::<EncryptionKey>().is_err());
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct EncryptionKey([u8; KEY_BYTES]);

impl EncryptionKey {
    /// Creates a key from 32 bytes of a random number generator for cryptography.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the key as SQLite3 Multiple Ciphers reads it: used as it is, without a derivation.
    fn pragma_value(&self) -> String {
        let digits: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("raw:{digits}")
    }
}

impl FromStr for EncryptionKey {
    type Err = Error;

    /// Reads 64 hexadecimal digits. White space around them is ignored. The error contains nothing of the text.
    fn from_str(text: &str) -> Result<Self> {
        let digits: Option<Vec<u32>> = text.trim().chars().map(|c| c.to_digit(16)).collect();
        let bytes: Option<Vec<u8>> = digits
            .filter(|digits| digits.len() == 2 * KEY_BYTES)
            .map(|digits| digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect());
        bytes.and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or_else(|| {
            let message = "the key of a database is 64 hexadecimal digits; `openssl rand -hex 32` prints one";
            Error::invalid("open", message)
        })
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(a key)")
    }
}

/// Refuses a plain file with a key, and an encrypted file without one. Another file is left to SQLite.
///
/// The file stays open for ever, so call it only after SQLite has refused the file.
pub(crate) fn check_file(path: &Path, key: Option<&EncryptionKey>) -> Result<()> {
    let mut header = [0; HEADER_BYTES];
    let is_read = open_for_ever(path).and_then(|file| read_start(file, &mut header)).is_ok();
    let is_plain = is_read && header.starts_with(PLAIN_MAGIC);
    let is_encrypted = is_read && !is_plain && header.ends_with(&ENCRYPTED_HEADER);
    let path = path.display();
    match key {
        Some(_) if is_plain => Err(Error::invalid(
            "open",
            format!("{path} is not encrypted, but a key is given; leave the key out, or encrypt the file first"),
        )),
        None if is_encrypted => {
            Err(Error::new(ErrorKind::Unauthorized, "open", format!("{path} is encrypted; give its key")))
        }
        Some(_) | None => Ok(()),
    }
}

/// Sets the key of a new connection, and reads the first page with it.
///
/// # Errors
/// `Unauthorized` for a wrong key; `Unsupported` if this SQLite cannot encrypt.
pub(crate) fn unlock(connection: &Connection, key: &EncryptionKey) -> Result<(), SqliteError> {
    run_key_pragma(connection, "key", Some(key))?;
    let read = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
    match read {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            let message = "this is not the key of the file, or the file is not a database; check both";
            Err(Error::new(ErrorKind::Unauthorized, "open", message).into())
        }
        other => Ok(other.map(drop)?),
    }
}

/// Encrypts the open database with another key, or decrypts it. The connection must be the only one, and must not use
/// write-ahead logging.
///
/// # Errors
/// `Unsupported` if this SQLite cannot encrypt; otherwise those of SQLite.
pub(crate) fn change_key(connection: &Connection, key: Option<&EncryptionKey>) -> Result<(), SqliteError> {
    run_key_pragma(connection, "rekey", key)
}

/// Runs `PRAGMA key` or `PRAGMA rekey`. Its error contains no SQL, because the SQL contains the key.
fn run_key_pragma(connection: &Connection, pragma: &str, key: Option<&EncryptionKey>) -> Result<(), SqliteError> {
    // The bundled SQLite does not have this pragma, and ignores the one that sets a key.
    let cipher: Option<String> = connection.query_row("PRAGMA cipher = 'chacha20'", [], |row| row.get(0)).optional()?;
    if cipher.is_none() {
        let message = "this program was built without encryption; build it with the feature `encryption`, or leave \
                       the key out";
        return Err(Error::new(ErrorKind::Unsupported, "open", message).into());
    }
    let value = key.map(EncryptionKey::pragma_value).unwrap_or_default();
    let run = connection.query_row(&format!("PRAGMA {pragma} = '{value}'"), [], |_| Ok(())).optional();
    run.map(drop).map_err(|error| match error.sqlite_error() {
        Some(failure) => rusqlite::Error::SqliteFailure(*failure, None).into(),
        None => Error::new(ErrorKind::Internal, "open", "SQLite refused the key; please report this").into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_64_hexadecimal_digits() {
        let digits = "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF";
        let key: EncryptionKey = format!(" {digits}\n").parse().unwrap();
        assert_eq!(key.pragma_value(), format!("raw:{}", digits.to_lowercase()));
        assert_eq!(key, EncryptionKey::new(key.0));
        for text in ["", "hunter2", &digits[2..], &format!("{digits}00"), &digits.replace('A', "g"), &"é".repeat(64)] {
            let error = text.parse::<EncryptionKey>().unwrap_err();
            assert!(error.message().contains("64 hexadecimal digits"), "{error}");
            assert!(text.is_empty() || !error.message().contains(text), "{error}");
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        let key: EncryptionKey = "ab".repeat(32).parse().unwrap();
        assert_eq!(format!("{key:?}"), "(a key)");
    }
}
