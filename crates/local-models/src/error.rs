//! The error of this crate.

use std::{fmt, io};

use memory_engine_core::{Error, ErrorKind};

/// The reason why a model could not be opened or used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The file or directory does not exist, or cannot be read.
    NotFound,
    /// The file is damaged: a length, an offset or a value in it is impossible.
    Corrupt,
    /// The model has a feature that this crate does not support, or the machine lacks a required instruction set.
    Unsupported,
    /// The caller's argument is not valid for this model.
    InvalidInput,
}

/// The error of a local model.
///
/// ```
/// use memory_engine_local_models::{Model, ModelErrorKind};
///
/// let error = Model::open("no/such/file.bin").err().map(|error| error.kind());
/// assert_eq!(error, Some(ModelErrorKind::NotFound));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    kind: ModelErrorKind,
    message: String,
}

impl ModelError {
    /// Creates an error.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// Returns the kind.
    pub fn kind(&self) -> ModelErrorKind {
        self.kind
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ModelErrorKind::Corrupt, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(ModelErrorKind::NotFound, message)
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ModelErrorKind::Unsupported, message)
    }

    /// Prefixes the message with the name of the file or a position in it.
    pub(crate) fn in_context(mut self, context: impl fmt::Display) -> Self {
        self.message = format!("{context}: {}", self.message);
        self
    }
}

/// An unexpected end of the file is damage. Any other error means that the file cannot be read.
impl From<io::Error> for ModelError {
    fn from(error: io::Error) -> Self {
        let is_cut = error.kind() == io::ErrorKind::UnexpectedEof;
        let kind = if is_cut { ModelErrorKind::Corrupt } else { ModelErrorKind::NotFound };
        Self::new(kind, error.to_string())
    }
}

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        let kind = match error.kind {
            ModelErrorKind::NotFound => ErrorKind::NotFound,
            ModelErrorKind::Corrupt => ErrorKind::Corrupt,
            ModelErrorKind::Unsupported => ErrorKind::Unsupported,
            ModelErrorKind::InvalidInput => ErrorKind::InvalidInput,
        };
        Self::new(kind, "local model", error.message)
    }
}
