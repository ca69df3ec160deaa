//! The download of one file.

use std::path::{Path, PathBuf};

use memory_engine_core::{Error, ErrorKind, Result};
use reqwest::{
    Response, StatusCode, Url,
    header::{CONTENT_RANGE, ETAG, HeaderMap, LOCATION, RANGE},
};
use sha2::{Digest, Sha256};
use tokio::{
    fs::{self, File, OpenOptions},
    io::{AsyncReadExt, AsyncWriteExt},
};

use super::{
    address::Hub,
    checksums::ChecksumFile,
    file::{DownloadProgress, FetchedFile, OPERATION, Verification, file_error},
    model::{HubFile, HubModel, parse_sha256},
};
use crate::client::HttpError;

/// Maximum number of redirects on the way to a file.
const MAX_REDIRECTS: usize = 6;

pub(super) struct Download<'a> {
    pub(super) hub: &'a Hub,
    pub(super) model: &'a HubModel,
    pub(super) file: &'a HubFile,
    pub(super) folder: &'a Path,
    pub(super) progress: &'a (dyn Fn(DownloadProgress<'_>) + Send + Sync),
}

/// Checksum and size of a file, as the hub reports them.
#[derive(Debug, Default)]
struct HubMetadata {
    sha256: Option<String>,
    size: Option<u64>,
}

impl Download<'_> {
    fn target(&self) -> PathBuf {
        self.folder.join(&self.file.name)
    }

    fn partial_path(&self) -> PathBuf {
        self.folder.join(format!("{}.part", self.file.name))
    }

    /// Returns the existing file if its checksum equals the pinned or recorded one.
    pub(super) async fn verified_file(&self, checksums: &ChecksumFile) -> Result<Option<FetchedFile>> {
        let (expected, verification) = match (&self.file.sha256, checksums.of(&self.file.name)) {
            (Some(pinned), _) => (pinned.as_str(), Verification::Pinned),
            (None, Some(recorded)) => (recorded, Verification::Recorded),
            (None, None) => return Ok(None),
        };
        let path = self.target();
        if !fs::try_exists(&path).await.map_err(|e| file_error(&path, e))? {
            return Ok(None);
        }
        let (sha256, bytes) = sha256_of(&path).await?;
        Ok((sha256 == expected).then(|| self.fetched_file(bytes, sha256, verification, false)))
    }

    /// Downloads the file. Resumes after a lost connection, and starts again if the resumed file has a wrong checksum.
    pub(super) async fn run(&self) -> Result<FetchedFile> {
        let part = self.partial_path();
        if let Some(existing) = self.unchanged_on_hub().await? {
            return Ok(existing);
        }
        let mut delays = self.hub.options.retry_delays();
        let mut last_length = length(&part).await?;
        let mut resumed = last_length > 0;
        loop {
            let metadata = match self.attempt(&part).await {
                Ok(metadata) => metadata,
                Err(e) => {
                    let length = length(&part).await?;
                    if length > last_length {
                        // Attempts that received data do not count as retries.
                        last_length = length;
                        delays = self.hub.options.retry_delays();
                    }
                    let Some(delay) = delays.next().filter(|_| e.is_transient()) else { return Err(e) };
                    let delay = e.retry_after().map_or(delay, |requested| requested.max(delay));
                    if delay > self.hub.options.max_wait {
                        return Err(e);
                    }
                    tokio::time::sleep(delay).await;
                    resumed = length > 0;
                    continue;
                }
            };
            match self.finish(&part, &metadata).await {
                // The first part may be damaged, or come from another version of the file.
                Err(e) if resumed && e.kind() == ErrorKind::Corrupt => resumed = false,
                result => return result,
            }
        }
    }

    /// Returns an existing file if its checksum equals the one of the hub, for example after a manual download.
    async fn unchanged_on_hub(&self) -> Result<Option<FetchedFile>> {
        let path = self.target();
        if self.file.sha256.is_some() || length(&path).await? == 0 {
            return Ok(None);
        }
        let (sha256, bytes) = sha256_of(&path).await?;
        let (metadata, _) = self.request(0).await?;
        let is_unchanged = metadata.sha256.as_ref() == Some(&sha256);
        Ok(is_unchanged.then(|| self.fetched_file(bytes, sha256, Verification::Hub, false)))
    }

    /// Downloads the rest of the partial file.
    async fn attempt(&self, part: &Path) -> Result<HubMetadata> {
        let mut offset = length(part).await?;
        let (mut metadata, mut response) = self.request(offset).await?;
        // Without a checksum, a mixture of two versions could not be detected.
        let has_checksum = self.file.sha256.is_some() || metadata.sha256.is_some();
        let can_resume = match response.status() {
            StatusCode::RANGE_NOT_SATISFIABLE => metadata.size == Some(offset),
            StatusCode::PARTIAL_CONTENT => range_start(response.headers()) == Some(offset),
            _ => true,
        };
        if offset > 0 && !(has_checksum && can_resume) {
            remove(part).await?;
            offset = 0;
            (metadata, response) = self.request(0).await?;
        }
        if offset > 0 && response.status() == StatusCode::RANGE_NOT_SATISFIABLE {
            return Ok(metadata);
        }
        if response.status() != StatusCode::PARTIAL_CONTENT {
            offset = 0;
        }
        if !response.status().is_success() {
            let url = response.url().clone();
            return Err(HttpError::refused(&url, response).await.into_error(OPERATION));
        }
        metadata.size = metadata.size.or(response.content_length().map(|rest| offset + rest));
        self.receive(part, response, offset, metadata.size).await?;
        Ok(metadata)
    }

    /// Writes the body of the response to the partial file, from `offset`.
    async fn receive(&self, part: &Path, mut response: Response, offset: u64, total: Option<u64>) -> Result<()> {
        if let Some(folder) = part.parent() {
            fs::create_dir_all(folder).await.map_err(|e| file_error(folder, e))?;
        }
        let options = OpenOptions::new().create(true).write(true).truncate(offset == 0).append(offset > 0).clone();
        let mut file = options.open(part).await.map_err(|e| file_error(part, e))?;
        let url = response.url().clone();
        let name = self.file.name.as_str();
        let mut bytes = offset;
        (self.progress)(DownloadProgress { name, bytes, total });
        let received = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    file.write_all(&chunk).await.map_err(|e| file_error(part, e))?;
                    bytes += chunk.len() as u64;
                    (self.progress)(DownloadProgress { name, bytes, total });
                    if total.is_some_and(|total| bytes > total) {
                        let announced = total.unwrap_or(0);
                        break Err(self.corrupt(format!("is larger than the announced {announced} bytes")));
                    }
                }
                Ok(None) => break Ok(()),
                Err(e) => break Err(HttpError::incomplete_response(&url, e).into_error(OPERATION)),
            }
        };
        // Received bytes are on disk before the result is returned, so that they can be resumed.
        file.flush().await.map_err(|e| file_error(part, e))?;
        file.sync_all().await.map_err(|e| file_error(part, e))?;
        drop(file);
        if matches!(&received, Err(e) if e.kind() == ErrorKind::Corrupt) {
            remove(part).await?;
        }
        received
    }

    /// Verifies the partial file and renames it to its final name.
    async fn finish(&self, part: &Path, metadata: &HubMetadata) -> Result<FetchedFile> {
        let (sha256, bytes) = sha256_of(part).await?;
        let (expected, verification) = match (&self.file.sha256, &metadata.sha256) {
            (Some(pinned), _) => (Some(pinned), Verification::Pinned),
            (None, Some(hub)) => (Some(hub), Verification::Hub),
            (None, None) => (None, Verification::Size),
        };
        let problem = if metadata.size.is_some_and(|size| size != bytes) {
            Some(format!("has {bytes} bytes instead of the announced {}", metadata.size.unwrap_or(0)))
        } else {
            expected.filter(|expected| **expected != sha256).map(|e| format!("has the SHA-256 {sha256} instead of {e}"))
        };
        if let Some(problem) = problem {
            remove(part).await?;
            return Err(self.corrupt(problem));
        }
        let target = self.target();
        fs::rename(part, &target).await.map_err(|e| file_error(&target, e))?;
        Ok(self.fetched_file(bytes, sha256, verification, true))
    }

    /// Requests the file from byte `offset` on, and follows redirects.
    async fn request(&self, offset: u64) -> Result<(HubMetadata, Response)> {
        let mut metadata = HubMetadata::default();
        let mut path: Vec<&str> = self.model.repository.split('/').collect();
        path.extend(["resolve", &self.model.revision]);
        path.extend(self.file.name.split('/'));
        let hub_url = self.hub.endpoint.url_of(&path);
        let mut url = hub_url.clone();
        for _ in 0..MAX_REDIRECTS {
            let mut request = self.hub.http.of(&url).get(url.clone());
            if same_origin(&url, &hub_url) {
                request = request.headers(self.hub.endpoint.headers().clone());
            }
            if offset > 0 {
                request = request.header(RANGE, format!("bytes={offset}-"));
            }
            let response = request.send().await.map_err(|e| HttpError::no_response(&url, e).into_error(OPERATION))?;
            // Only headers of the hub itself are trusted, not those of the storage server it redirects to.
            if same_origin(&url, &hub_url) {
                metadata.read_headers(response.headers());
            }
            let status = response.status();
            if status.is_redirection() {
                let next = response.headers().get(LOCATION).and_then(|to| url.join(to.to_str().ok()?).ok());
                // A redirect must not downgrade from https to http.
                let next = next.filter(|next| next.scheme() == "https" || next.scheme() == url.scheme());
                let invalid_redirect = || {
                    Error::new(ErrorKind::Unavailable, OPERATION, "the hub redirects to an invalid or unencrypted URL")
                };
                url = next.ok_or_else(invalid_redirect)?;
            } else if status.is_success() || status == StatusCode::RANGE_NOT_SATISFIABLE {
                return Ok((metadata, response));
            } else {
                return Err(HttpError::refused(&url, response).await.into_error(OPERATION));
            }
        }
        Err(Error::new(ErrorKind::Unavailable, OPERATION, format!("the hub redirects more than {MAX_REDIRECTS} times")))
    }

    fn corrupt(&self, problem: String) -> Error {
        Error::new(ErrorKind::Corrupt, OPERATION, format!("{} {problem}; the file was removed", self.file.name))
    }

    fn fetched_file(&self, bytes: u64, sha256: String, verification: Verification, downloaded: bool) -> FetchedFile {
        FetchedFile { name: self.file.name.clone(), bytes, sha256, verification, downloaded }
    }
}

impl HubMetadata {
    /// The (linked) entity tag of a large file is its SHA-256. That of a small file is a shorter git id, which is
    /// ignored.
    fn read_headers(&mut self, headers: &HeaderMap) {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let tag = |name: &str| text(name).and_then(|tag| parse_sha256(tag.trim_start_matches("W/").trim_matches('"')));
        self.sha256 = tag("x-linked-etag").or_else(|| tag(ETAG.as_str())).or(self.sha256.take());
        self.size = text("x-linked-size").and_then(|size| size.parse().ok()).or(self.size);
    }
}

fn same_origin(a: &Url, b: &Url) -> bool {
    a.origin() == b.origin()
}

/// Returns the offset of a partial response: 5 for `bytes 5-9/10`.
fn range_start(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split('-').next()?.parse().ok()
}

async fn length(path: &Path) -> Result<u64> {
    match fs::metadata(path).await {
        Ok(metadata) => Ok(metadata.len()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(e) => Err(file_error(path, e)),
    }
}

async fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path).await {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(file_error(path, e)),
        _ => Ok(()),
    }
}

/// Returns the SHA-256 of a file in hexadecimal, and its length in bytes.
async fn sha256_of(path: &Path) -> Result<(String, u64)> {
    let mut file = File::open(path).await.map_err(|e| file_error(path, e))?;
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer).await.map_err(|e| file_error(path, e))?;
        if read == 0 {
            let digits = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            return Ok((digits, bytes));
        }
        hash.update(&buffer[..read]);
        bytes += read as u64;
    }
}
