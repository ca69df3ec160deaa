//! The location of a store: a file or a server.

mod notation;

use std::{
    convert::Infallible,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use memory_engine_core::{ContentHash, Error, Result};

#[cfg(feature = "sqlite")]
pub(crate) use memory_engine_sqlite::DatabaseFile;
#[cfg(feature = "sqlite")]
use memory_engine_sqlite::EncryptionKey;

use self::notation::{Notation, notation};

/// A file without a key: nothing opens it.
#[cfg(not(feature = "sqlite"))]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct DatabaseFile(PathBuf);

#[cfg(not(feature = "sqlite"))]
impl DatabaseFile {
    fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

/// The location of a store: a SQLite file or a Postgres database. A text that begins with `postgres://` or
/// `postgresql://` is the address of a Postgres database. A text with another scheme, such as `mysql://`, is an address
/// that cannot be opened. Any other text is the path of a file.
///
/// ```
/// use memory_engine::Database;
///
/// let database: Database = "postgres://lin:hunter2@db.example/memory".parse()?;
/// assert_eq!(database.to_string(), "postgres://db.example/memory");
/// assert_eq!("memory.db".parse::<Database>()?, Database::file("memory.db"));
/// # Ok::<(), std::convert::Infallible>(())
/// ```
///
/// [`Display`](fmt::Display) and [`Debug`] show host, port and database of an address, never user, password or
/// settings.
#[derive(Clone, PartialEq, Eq)]
pub struct Database(pub(crate) DatabaseLocation);

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum DatabaseLocation {
    File(DatabaseFile),
    Server(DatabaseUrl),
    /// An address that is not one of a Postgres database. The rest of the address may contain a password and is not
    /// stored.
    Unknown(UnknownAddress),
}

/// Number of hexadecimal digits of [`Database::location_hash`].
const LOCATION_HASH_DIGITS: usize = 16;

/// A location that this build can open.
pub(crate) enum Location {
    #[cfg(feature = "sqlite")]
    File(DatabaseFile),
    /// The URL of a server.
    #[cfg(feature = "postgres")]
    Server(String),
}

#[cfg(not(all(feature = "sqlite", feature = "postgres")))]
fn feature_off(feature: &str) -> Error {
    let message = format!("the feature `{feature}` is off; switch it on");
    Error::new(memory_engine_core::ErrorKind::Unsupported, "open", message)
}

/// The scheme of an address that cannot be opened, if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownAddress(Option<String>);

/// The URL of a server. It may contain a password and is never shown as a whole.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct DatabaseUrl(pub(crate) String);

impl Database {
    /// Creates the location of a SQLite file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(DatabaseLocation::File(DatabaseFile::new(path.into())))
    }

    /// Sets the key of an encrypted SQLite file. A new file is encrypted with it. The location of another database
    /// stays as it is. Opening the file needs the feature `encryption`.
    ///
    /// ```
    /// use memory_engine::{Database, sqlite::EncryptionKey};
    ///
    /// let key: EncryptionKey = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff".parse()?;
    /// let database = Database::file("memory.db").with_key(key);
    /// assert_eq!(format!("{database:?}"), "memory.db");
    /// # Ok::<(), memory_engine::Error>(())
    /// ```
    #[cfg(feature = "sqlite")]
    #[must_use]
    pub fn with_key(mut self, key: EncryptionKey) -> Self {
        if let DatabaseLocation::File(file) = self.0 {
            self.0 = DatabaseLocation::File(file.with_key(key));
        }
        self
    }

    /// Returns the key of an encrypted SQLite file.
    #[cfg(feature = "sqlite")]
    pub fn key(&self) -> Option<&EncryptionKey> {
        match &self.0 {
            DatabaseLocation::File(file) => file.key(),
            DatabaseLocation::Server(_) | DatabaseLocation::Unknown(_) => None,
        }
    }

    /// Creates the location of a Postgres database: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…`.
    pub fn postgres(url: impl Into<String>) -> Self {
        Self(DatabaseLocation::Server(DatabaseUrl(url.into())))
    }

    /// Returns true if a text is the address of a Postgres database. The scheme may have capitals.
    pub fn is_address(text: &str) -> bool {
        notation(text) == Notation::Postgres
    }

    /// Returns the location if this build can open it.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown address; `Unsupported` if the feature of the backend is off.
    pub(crate) fn openable(&self) -> Result<Location> {
        match &self.0 {
            #[cfg(feature = "sqlite")]
            DatabaseLocation::File(file) => Ok(Location::File(file.clone())),
            #[cfg(not(feature = "sqlite"))]
            DatabaseLocation::File(_) => Err(feature_off("sqlite")),
            #[cfg(feature = "postgres")]
            DatabaseLocation::Server(DatabaseUrl(url)) => Ok(Location::Server(url.clone())),
            #[cfg(not(feature = "postgres"))]
            DatabaseLocation::Server(_) => Err(feature_off("postgres")),
            DatabaseLocation::Unknown(address) => Err(address.error()),
        }
    }

    /// Returns the path if the database is a file.
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            DatabaseLocation::File(file) => Some(file.path()),
            DatabaseLocation::Server(_) | DatabaseLocation::Unknown(_) => None,
        }
    }
}

impl FromStr for Database {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.into())
    }
}

impl From<&str> for Database {
    /// Reads the address of a Postgres database, or the path of a file. An address with another scheme is an error when
    /// the database is opened.
    fn from(text: &str) -> Self {
        match notation(text) {
            Notation::Path => Self::file(text),
            Notation::Postgres => Self::postgres(text),
            Notation::Unknown(scheme) => Self(DatabaseLocation::Unknown(UnknownAddress(scheme))),
        }
    }
}

impl From<String> for Database {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<PathBuf> for Database {
    fn from(path: PathBuf) -> Self {
        Self::file(path)
    }
}

impl From<&Path> for Database {
    fn from(path: &Path) -> Self {
        Self::file(path)
    }
}

impl Database {
    /// Returns a short hash of the location, without a key or a password. Two processes of one machine get the same
    /// hash for the same file, and for addresses with the same host, port and database.
    pub fn location_hash(&self) -> String {
        let location = match self.path() {
            Some(path) => absolute(path).to_string_lossy().into_owned(),
            None => self.to_string(),
        };
        ContentHash::of(&location).to_string()[..LOCATION_HASH_DIGITS].to_owned()
    }
}

/// Returns the absolute path of a file, which need not exist, without links in the path of its folder.
fn absolute(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let resolved = path.canonicalize().ok();
    resolved.or_else(|| Some(folder?.join(path.file_name()?))).unwrap_or(path)
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            DatabaseLocation::File(file) => file.path().display().fmt(f),
            DatabaseLocation::Server(address) => address.fmt(f),
            DatabaseLocation::Unknown(address) => address.fmt(f),
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl UnknownAddress {
    /// Returns the error of opening it.
    pub(crate) fn error(&self) -> Error {
        let message = "this is not the address of a Postgres database; write postgres://USER@HOST/DATABASE, or the \
                       path of a file, with ./ before a name that contains a colon";
        Error::invalid("open", message)
    }
}

impl fmt::Display for UnknownAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(scheme) => write!(f, "{scheme}://…"),
            None => f.write_str("the address"),
        }
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.public_part() {
            Some(public_part) => write!(f, "postgres://{public_part}"),
            None => f.write_str("the Postgres database"),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(an address)")
    }
}

impl DatabaseUrl {
    /// Returns host, port and database if they certainly contain no part of a password. In a URL with a password whose
    /// special characters are not escaped, a part of it can be in the place of the host or the database.
    fn public_part(&self) -> Option<&str> {
        let (_, rest) = self.0.split_once("://")?;
        let end = rest.find('?').unwrap_or(rest.len());
        let (location, settings) = rest.split_at(end);
        let location = location.split_once('@').map_or(location, |(_, location)| location);
        let (host, database) = location.split_once('/').unwrap_or((location, ""));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
        let is_safe = !name.is_empty()
            && name.chars().all(is_plain)
            && port.chars().all(|c| c.is_ascii_digit())
            && database.chars().all(is_plain)
            && !settings.contains('@');
        is_safe.then_some(location)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_an_address_or_a_file() {
        let parse = |text: &str| text.parse::<Database>().unwrap();
        assert_eq!(parse("postgresql://db/memory"), Database::postgres("postgresql://db/memory"));
        for file in ["memory.db", "postgres", "./postgres://x", "C:\\memory.db"] {
            assert_eq!(parse(file).path(), Some(Path::new(file)));
        }
    }

    #[test]
    fn no_form_of_a_url_shows_a_part_of_its_password() {
        for url in [
            "postgres://lin:hunter2@db.example:5433/memory?sslmode=require",
            "postgres://lin:hun@ter2@db/memory",
            "postgres://lin:hun/ter2@db/memory",
            "postgres://lin:hun?ter2@db/memory",
            "postgres://lin:2?hunter2@db/memory",
            "postgres://lin:hun#ter2@db/memory",
            "postgres://lin:7/hunter2@db/memory",
            "postgres:///memory?host=db&password=hunter2",
            "postgres://db/memory?user=a@b&password=hunter2",
            "postgres://db/memory?password=hunter2",
        ] {
            let shown = format!("{0} {0:?} {1:?}", Database::postgres(url), DatabaseUrl(url.to_owned()));
            assert!(!shown.contains("hun") && !shown.contains("ter2"), "{shown}");
        }
        let plain = Database::postgres("postgres://lin:hunter2@db.example:5433/memory?sslmode=require");
        assert_eq!(plain.to_string(), "postgres://db.example:5433/memory");
    }

    #[test]
    fn no_notation_shows_a_password() {
        let text = |form: &str| form.replace('*', "lin:hunter2@db.example/memory");
        for form in [
            "postgresql+psycopg://*",
            "postgre://*",
            "Postgres://*",
            "POSTGRESQL://*",
            "mysql://*",
            "sqlite://*",
            "jdbc:postgresql://*",
            " postgres://*",
            "\tpostgres://*",
            "\"postgres://*\"",
            "'postgres://*'",
            "postgres:*",
            "postgres:/*",
            "*",
            "DATABASE_URL=postgres://*",
        ] {
            let database = Database::from(text(form));
            let shown = format!("{database} {database:?}");
            assert!(!shown.contains("hunter") && !shown.contains("lin"), "{form}: {shown}");
            assert_eq!(database.path(), None, "{form}");
        }
        assert_eq!(Database::from("mysql://lin:hunter2@db/m").to_string(), "mysql://…");
    }
}
