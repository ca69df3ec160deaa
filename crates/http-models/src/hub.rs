//! Models from a hub: files that are resumed where they broke off, and checked before they are used.

mod download;
mod known;
mod sums;

use std::path::{Path, PathBuf};

use memory_engine_core::{Error, ErrorKind, Result};

pub use known::{HubFile, HubModel};

use crate::{Endpoint, HttpOptions, Secret, client};
use download::Download;
use sums::Sums;

const OPERATION: &str = "fetch model";
/// The hub that is asked unless `HF_ENDPOINT` names another.
const DEFAULT: &str = "https://huggingface.co";

/// A hub of models with Hugging Face's addresses: `{endpoint}/{repository}/resolve/{revision}/{file}`.
#[derive(Debug, Clone)]
pub struct Hub {
    http: reqwest::Client,
    endpoint: Endpoint,
    options: HttpOptions,
}

/// By what a file was found to be the right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// By a sum that the caller or this crate knew beforehand.
    Pinned,
    /// By the sum that the hub gave with it: what came is what the hub has.
    Hub,
    /// By a sum noted when it was fetched: it has not changed since.
    Noted,
    /// By its size alone: neither caller nor hub gave a sum.
    Size,
}

/// A file that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Its name within the model.
    pub name: String,
    /// How large it is.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// By what it was found to be the right one.
    pub checked: Checked,
    /// Whether it came over the network now.
    pub downloaded: bool,
}

/// How far a file has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<'a> {
    /// Its name within the model.
    pub name: &'a str,
    /// How much is there, what was there before included.
    pub bytes: u64,
    /// How much there will be, where the hub says.
    pub total: Option<u64>,
}

impl Hub {
    /// The hub at this address; with a token for what is not open to everybody.
    ///
    /// The token goes to the hub alone, never to where it redirects. Of the options, the limit for an attempt as a whole
    /// and that for the size of an answer are not used: models are large.
    ///
    /// # Errors
    /// `InvalidInput` when the address or the token cannot be one; `Unavailable` when TLS cannot be set up.
    pub fn new(base_url: &str, token: Option<&Secret>, options: HttpOptions) -> Result<Self> {
        let endpoint = Endpoint::new(base_url)?;
        let endpoint = token.map_or_else(|| Ok(endpoint.clone()), |token| endpoint.clone().with_key(token))?;
        let http = client::build(&options)?;
        Ok(Self { http, endpoint, options })
    }

    /// The hub of the environment: `HF_ENDPOINT`, or else huggingface.co; `HF_TOKEN` where it is set.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_env(options: HttpOptions) -> Result<Self> {
        let base = std::env::var("HF_ENDPOINT").ok().filter(|base| !base.trim().is_empty());
        Self::new(base.as_deref().unwrap_or(DEFAULT), Secret::from_env("HF_TOKEN").as_ref(), options)
    }

    /// The hub's host, for messages.
    pub fn host(&self) -> String {
        self.endpoint.host()
    }

    /// Puts a model's files into a folder of its own below `models`, and gives that folder and its files.
    ///
    /// What is there and right is left alone, without the network where its sum is known or noted. What broke off is
    /// continued. A file gets its name only when it is whole and checked. The sums are noted in `SHA256SUMS`.
    ///
    /// # Errors
    /// `Unavailable` or `Timeout` when the hub cannot be reached or breaks off (what came is kept); `NotFound` when it
    /// has no such model or file; `Unauthorized`; `Corrupt` when a file is not the one that its sum says (it is
    /// removed).
    ///
    /// # Cancel safety
    /// Dropping the future leaves what came, to be continued.
    pub async fn fetch(
        &self,
        model: &HubModel,
        models: &Path,
        progress: &(dyn Fn(Step<'_>) + Send + Sync),
    ) -> Result<(PathBuf, Vec<Fetched>)> {
        model.check()?;
        let folder = models.join(model.folder());
        tokio::fs::create_dir_all(&folder).await.map_err(|e| at(&folder, e))?;
        let mut sums = Sums::read(&folder).await?;
        let downloads = model.files.iter().map(|file| Download { hub: self, model, file, folder: &folder, progress });
        let mut places = Vec::new();
        for download in downloads {
            let there = download.there(&sums).await?;
            places.push((download, there));
        }
        // Files that a model may lack are asked for before those that it needs: when these are there, so are they.
        let whole = places.iter().all(|(download, there)| download.file.optional || there.is_some());
        let mut files = Vec::new();
        for (download, there) in places {
            let optional = download.file.optional;
            let fetched = match there {
                Some(there) => there,
                None if optional && whole => continue,
                None => match download.run().await {
                    Err(e) if optional && e.kind() == ErrorKind::NotFound => continue,
                    fetched => fetched?,
                },
            };
            sums.note(&fetched).await?;
            files.push(fetched);
        }
        Ok((folder, files))
    }
}

/// An error of the file system, with the place.
fn at(path: &Path, error: std::io::Error) -> Error {
    let denied = error.kind() == std::io::ErrorKind::PermissionDenied;
    let kind = if denied { ErrorKind::Unauthorized } else { ErrorKind::Unavailable };
    Error::new(kind, OPERATION, format!("{}: {error}", path.display()))
}
