//! What can go wrong with a model: one type, four kinds.

use std::fmt;

/// Why a model could not be opened or asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The file or directory is not there, or cannot be read.
    NotFound,
    /// The file is damaged: a length, an offset or a value in it cannot be right.
    Corrupt,
    /// The file is sound as far as looked at, but holds something this crate does not run, or the
    /// machine lacks what was asked for.
    Unsupported,
    /// The caller's argument makes no sense for this model.
    InvalidInput,
}

/// A failed call, with a message for people.
///
/// ```
/// use memory_engine_local_models::{Model, ModelErrorKind};
///
/// let error = Model::open("no/such/file.bin").err().map(|error| error.kind());
/// assert_eq!(error, Some(ModelErrorKind::NotFound));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    kind: ModelErrorKind,
    message: String,
}

impl ModelError {
    /// Makes an error of the given kind.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The kind, for deciding what to do.
    pub fn kind(&self) -> ModelErrorKind {
        self.kind
    }

    /// The message, for people.
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

    /// Puts the file's name in front of the message.
    pub(crate) fn within(mut self, place: impl fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// An error of the operating system: the end of a file that should go on is damage, the rest
    /// means that the file cannot be had.
    pub(crate) fn from_io(error: &std::io::Error) -> Self {
        let cut = error.kind() == std::io::ErrorKind::UnexpectedEof;
        let kind = if cut { ModelErrorKind::Corrupt } else { ModelErrorKind::NotFound };
        Self::new(kind, error.to_string())
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ModelError {}
