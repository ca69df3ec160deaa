//! The files of a model.

use memory_engine_core::{Error, Result};

use super::file::OPERATION;

/// A file of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubFile {
    /// Its name within the repository.
    pub name: String,
    /// Its expected SHA-256 in hexadecimal, if known.
    pub sha256: Option<String>,
    /// True if the model works without it.
    pub optional: bool,
}

/// A model on a hub.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HubModel {
    /// Its repository: `owner/name`.
    pub repository: String,
    /// A branch, tag or commit. Default: `main`.
    pub revision: String,
    /// The files to download.
    pub files: Vec<HubFile>,
}

/// Files that an encoder requires.
const REQUIRED_FILES: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];
/// The pooling settings of sentence-transformers. Without them, mean pooling is used.
const OPTIONAL_FILES: [&str; 3] = ["modules.json", "sentence_bert_config.json", "1_Pooling/config.json"];

/// A short name, the repository, and the SHA-256 of its files.
type KnownModel = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// The models with a short name. Checksums are those that were compared with an independent copy.
const KNOWN_MODELS: &[KnownModel] = &[
    ("e5-small", "intfloat/multilingual-e5-small", &[]),
    (
        "minilm",
        "sentence-transformers/all-MiniLM-L6-v2",
        &[
            ("config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
            ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
            ("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
        ],
    ),
];

impl HubModel {
    /// The encoder in a repository: configuration, tokenizer, weights and, if present, pooling settings.
    pub fn encoder(repository: impl Into<String>) -> Self {
        let file = |optional| move |name: &str| HubFile { name: name.to_owned(), sha256: None, optional };
        // The weights are last, so a folder with weights is complete.
        let files = OPTIONAL_FILES.into_iter().map(file(true)).chain(REQUIRED_FILES.into_iter().map(file(false)));
        Self { repository: repository.into(), revision: "main".into(), files: files.collect() }
    }

    /// The model with a short name (`e5-small`, `minilm`), or the encoder in the repository `owner/name`.
    ///
    /// # Errors
    /// `InvalidInput` if it is neither.
    pub fn named(name: &str) -> Result<Self> {
        let Some((_, repository, checksums)) = KNOWN_MODELS.iter().find(|(short, ..)| *short == name) else {
            let model = Self::encoder(name);
            let names = || KNOWN_MODELS.iter().map(|(short, ..)| *short).collect::<Vec<_>>().join(", ");
            let unknown = |_| {
                Error::invalid(
                    OPERATION,
                    format!("unknown model; use one of {}, or a repository as OWNER/NAME", names()),
                )
            };
            return model.check().map_err(unknown).map(|()| model);
        };
        checksums.iter().try_fold(Self::encoder(*repository), |model, (file, sum)| model.with_sum(file, sum))
    }

    /// Sets the branch, tag or commit.
    #[must_use]
    pub fn with_revision(mut self, revision: impl Into<String>) -> Self {
        self.revision = revision.into();
        self
    }

    /// Sets the expected SHA-256 of a file.
    ///
    /// # Errors
    /// `InvalidInput` if the model has no such file, or the checksum is not 64 hexadecimal digits.
    pub fn with_sum(mut self, file: &str, sha256: &str) -> Result<Self> {
        let sum = parse_sha256(sha256)
            .ok_or_else(|| Error::invalid(OPERATION, "the checksum is not a SHA-256 of 64 hexadecimal digits"))?;
        let unknown = || Error::invalid(OPERATION, format!("{} has no file {file}", self.repository));
        let entry = self.files.iter_mut().find(|known| known.name == file);
        entry.ok_or_else(unknown)?.sha256 = Some(sum);
        Ok(self)
    }

    /// Returns the name of the folder of the model: the last part of its repository.
    pub fn folder(&self) -> &str {
        self.repository.rsplit('/').next().unwrap_or(&self.repository)
    }

    /// Rejects names that could lead out of the folder.
    pub(super) fn check(&self) -> Result<()> {
        let is_plain = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        };
        let is_plain_path = |path: &str| path.split('/').all(is_plain);
        let has_owner = self.repository.split('/').count() == 2 && is_plain_path(&self.repository);
        if has_owner && is_plain_path(&self.revision) && self.files.iter().all(|file| is_plain_path(&file.name)) {
            return Ok(());
        }
        Err(Error::invalid(
            OPERATION,
            "the repository must be OWNER/NAME; names have letters, digits, '-', '_' and '.' only",
        ))
    }
}

/// Returns a SHA-256 in lower case, or `None` if the text is not one.
pub(super) fn parse_sha256(text: &str) -> Option<String> {
    let text = text.trim().to_ascii_lowercase();
    (text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_names_or_repositories() {
        let e5 = HubModel::named("e5-small").unwrap();
        assert_eq!((e5.repository.as_str(), e5.folder()), ("intfloat/multilingual-e5-small", "multilingual-e5-small"));
        assert!(HubModel::named("minilm").unwrap().files.iter().all(|f| f.optional == f.sha256.is_none()));
        assert_eq!(HubModel::named("BAAI/bge-small-zh-v1.5").unwrap().folder(), "bge-small-zh-v1.5");
        for bad in ["", "e5", "a/b/c", "../x", "a/..", "a/b?c", "/x"] {
            assert!(HubModel::named(bad).unwrap_err().message().contains("e5-small"), "{bad}");
        }
    }

    #[test]
    fn a_checksum_needs_an_existing_file() {
        let sum = "A".repeat(64);
        let model = HubModel::encoder("a/b").with_sum("config.json", &sum).unwrap();
        assert!(model.files.iter().any(|file| file.sha256 == Some("a".repeat(64))));
        assert!(model.clone().with_sum("other", &sum).is_err() && model.with_sum("config.json", "abc").is_err());
    }
}
