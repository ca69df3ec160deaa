//! One file, from the hub to its place.

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
    file::{Checked, Fetched, OPERATION, Step, at},
    model::{HubFile, HubModel, hex},
    sums::RunningChecksums,
};
use crate::client::HttpError;

/// Maximum number of redirects on the way to a file.
const MAX_REDIRECTS: usize = 6;

pub(super) struct Download<'a> {
    pub(super) hub: &'a Hub,
    pub(super) model: &'a HubModel,
    pub(super) file: &'a HubFile,
    pub(super) folder: &'a Path,
    pub(super) progress: &'a (dyn Fn(Step<'_>) + Send + Sync),
}

/// Checksum and size of a file, as the hub reports them.
#[derive(Debug, Default)]
struct HubAnswer {
    sha256: Option<String>,
    size: Option<u64>,
}

impl Download<'_> {
    fn target(&self) -> PathBuf {
        self.folder.join(&self.file.name)
    }

    fn part(&self) -> PathBuf {
        self.folder.join(format!("{}.part", self.file.name))
    }

    /// The file, if it is there and its sum is the one that is pinned or was noted.
    pub(super) async fn verified(&self, sums: &RunningChecksums) -> Result<Option<Fetched>> {
        let (expected, checked) = match (&self.file.sha256, sums.of(&self.file.name)) {
            (Some(pinned), _) => (pinned.as_str(), Checked::Pinned),
            (None, Some(noted)) => (noted, Checked::Noted),
            (None, None) => return Ok(None),
        };
        let path = self.target();
        if !fs::try_exists(&path).await.map_err(|e| at(&path, e))? {
            return Ok(None);
        }
        let (sha256, bytes) = sum(&path).await?;
        Ok((sha256 == expected).then(|| self.fetched(bytes, sha256, checked, false)))
    }

    /// Fetches the file: again where it breaks off, from its beginning where what was there before turns out wrong.
    pub(super) async fn run(&self) -> Result<Fetched> {
        let part = self.part();
        if let Some(there) = self.unchanged_on_hub().await? {
            return Ok(there);
        }
        let mut waits = self.hub.options.waits();
        let mut had = length(&part).await?;
        let mut resumed = had > 0;
        loop {
            let answer = match self.attempt(&part).await {
                Ok(answer) => answer,
                Err(e) => {
                    let have = length(&part).await?;
                    if have > had {
                        // It comes on: only standing still uses up the attempts.
                        (had, waits) = (have, self.hub.options.waits());
                    }
                    let Some(wait) = waits.next().filter(|_| e.is_transient()) else { return Err(e) };
                    let wait = e.retry_after().map_or(wait, |asked| asked.max(wait));
                    if wait > self.hub.options.max_wait {
                        return Err(e);
                    }
                    tokio::time::sleep(wait).await;
                    resumed = have > 0;
                    continue;
                }
            };
            match self.finish(&part, &answer).await {
                // The beginning may have come from another version of the file, or be damaged.
                Err(e) if resumed && e.kind() == ErrorKind::Corrupt => resumed = false,
                found => return found,
            }
        }
    }

    /// Returns a file that was put there by another program, if its checksum is that of the hub.
    async fn unchanged_on_hub(&self) -> Result<Option<Fetched>> {
        let path = self.target();
        if self.file.sha256.is_some() || length(&path).await? == 0 {
            return Ok(None);
        }
        let ((sha256, bytes), (answer, _)) = (sum(&path).await?, self.request(0).await?);
        let same = answer.sha256.as_ref() == Some(&sha256);
        Ok(same.then(|| self.fetched(bytes, sha256, Checked::Hub, false)))
    }

    /// Brings the part to its end.
    async fn attempt(&self, part: &Path) -> Result<HubAnswer> {
        let mut have = length(part).await?;
        let (mut answer, mut response) = self.request(have).await?;
        // Without a checksum, a file made of parts of two versions would go unnoticed.
        let known = self.file.sha256.is_some() || answer.sha256.is_some();
        let fits = match response.status() {
            StatusCode::RANGE_NOT_SATISFIABLE => answer.size == Some(have),
            StatusCode::PARTIAL_CONTENT => begins_at(response.headers()) == Some(have),
            _ => true,
        };
        if have > 0 && !(known && fits) {
            remove(part).await?;
            have = 0;
            (answer, response) = self.request(0).await?;
        }
        if have > 0 && response.status() == StatusCode::RANGE_NOT_SATISFIABLE {
            return Ok(answer);
        }
        if response.status() != StatusCode::PARTIAL_CONTENT {
            have = 0;
        }
        if !response.status().is_success() {
            let url = response.url().clone();
            return Err(HttpError::refused(&url, response).await.into_error(OPERATION));
        }
        answer.size = answer.size.or(response.content_length().map(|rest| have + rest));
        self.receive(part, response, have, answer.size).await?;
        Ok(answer)
    }

    async fn receive(&self, part: &Path, mut response: Response, have: u64, total: Option<u64>) -> Result<()> {
        if let Some(folder) = part.parent() {
            fs::create_dir_all(folder).await.map_err(|e| at(folder, e))?;
        }
        let options = OpenOptions::new().create(true).write(true).truncate(have == 0).append(have > 0).clone();
        let mut file = options.open(part).await.map_err(|e| at(part, e))?;
        let url = response.url().clone();
        let (mut bytes, name) = (have, self.file.name.as_str());
        (self.progress)(Step { name, bytes, total });
        let received = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    file.write_all(&chunk).await.map_err(|e| at(part, e))?;
                    bytes += chunk.len() as u64;
                    (self.progress)(Step { name, bytes, total });
                    if total.is_some_and(|total| bytes > total) {
                        break Err(self
                            .corrupt(format!("is larger than the {} bytes that were announced", total.unwrap_or(0))));
                    }
                }
                Ok(None) => break Ok(()),
                Err(e) => break Err(HttpError::broken_off(&url, e).into_error(OPERATION)),
            }
        };
        // What came is on the disk before anybody hears how it went.
        file.flush().await.map_err(|e| at(part, e))?;
        file.sync_all().await.map_err(|e| at(part, e))?;
        drop(file);
        if matches!(&received, Err(e) if e.kind() == ErrorKind::Corrupt) {
            remove(part).await?;
        }
        received
    }

    /// Checks the part and gives it its name.
    async fn finish(&self, part: &Path, answer: &HubAnswer) -> Result<Fetched> {
        let (sha256, bytes) = sum(part).await?;
        let (expected, checked) = match (&self.file.sha256, &answer.sha256) {
            (Some(pinned), _) => (Some(pinned), Checked::Pinned),
            (None, Some(hub)) => (Some(hub), Checked::Hub),
            (None, None) => (None, Checked::Size),
        };
        let wrong = if answer.size.is_some_and(|size| size != bytes) {
            Some(format!("has {bytes} bytes, not the {} that were announced", answer.size.unwrap_or(0)))
        } else {
            expected.filter(|expected| **expected != sha256).map(|e| format!("has the SHA-256 {sha256}, not {e}"))
        };
        if let Some(wrong) = wrong {
            remove(part).await?;
            return Err(self.corrupt(wrong));
        }
        let target = self.target();
        fs::rename(part, &target).await.map_err(|e| at(&target, e))?;
        Ok(self.fetched(bytes, sha256, checked, true))
    }

    /// Asks for the file from a byte on, and goes where the hub sends us.
    async fn request(&self, from: u64) -> Result<(HubAnswer, Response)> {
        let mut answer = HubAnswer::default();
        let mut path: Vec<&str> = self.model.repository.split('/').collect();
        path.extend(["resolve", &self.model.revision]);
        path.extend(self.file.name.split('/'));
        let own = self.hub.endpoint.at(&path);
        let mut url = own.clone();
        for _ in 0..MAX_REDIRECTS {
            let mut request = self.hub.http.get(url.clone());
            if same_origin(&url, &own) {
                request = request.headers(self.hub.endpoint.headers().clone());
            }
            if from > 0 {
                request = request.header(RANGE, format!("bytes={from}-"));
            }
            let response = request.send().await.map_err(|e| HttpError::unsent(&url, e).into_error(OPERATION))?;
            // Only the hub itself says what a file is: who keeps the bytes does not vouch for them.
            if same_origin(&url, &own) {
                answer.read_headers(response.headers());
            }
            let status = response.status();
            if status.is_redirection() {
                let next = response.headers().get(LOCATION).and_then(|to| url.join(to.to_str().ok()?).ok());
                // A file that was asked for over TLS does not come without.
                let next = next.filter(|next| next.scheme() == "https" || next.scheme() == url.scheme());
                let nowhere = || Error::new(ErrorKind::Unavailable, OPERATION, "the hub leads to no usable address");
                url = next.ok_or_else(nowhere)?;
            } else if status.is_success() || status == StatusCode::RANGE_NOT_SATISFIABLE {
                return Ok((answer, response));
            } else {
                return Err(HttpError::refused(&url, response).await.into_error(OPERATION));
            }
        }
        Err(Error::new(ErrorKind::Unavailable, OPERATION, "the hub leads in circles"))
    }

    fn corrupt(&self, what: String) -> Error {
        Error::new(ErrorKind::Corrupt, OPERATION, format!("{} {what}; it was removed", self.file.name))
    }

    fn fetched(&self, bytes: u64, sha256: String, checked: Checked, downloaded: bool) -> Fetched {
        Fetched { name: self.file.name.clone(), bytes, sha256, checked, downloaded }
    }
}

impl HubAnswer {
    /// Large files have their SHA-256 as (linked) entity tag; small ones have a git id there, which is shorter.
    fn read_headers(&mut self, headers: &HeaderMap) {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let tag = |name: &str| text(name).and_then(|tag| hex(tag.trim_start_matches("W/").trim_matches('"')));
        self.sha256 = tag("x-linked-etag").or_else(|| tag(ETAG.as_str())).or(self.sha256.take());
        self.size = text("x-linked-size").and_then(|size| size.parse().ok()).or(self.size);
    }
}

fn same_origin(a: &Url, b: &Url) -> bool {
    a.origin() == b.origin()
}

/// Returns the start of a partial response: 5 for `bytes 5-9/10`.
fn begins_at(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split('-').next()?.parse().ok()
}

async fn length(path: &Path) -> Result<u64> {
    match fs::metadata(path).await {
        Ok(metadata) => Ok(metadata.len()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(e) => Err(at(path, e)),
    }
}

async fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path).await {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(at(path, e)),
        _ => Ok(()),
    }
}

/// The SHA-256 of a file in hexadecimal, and its length.
async fn sum(path: &Path) -> Result<(String, u64)> {
    let mut file = File::open(path).await.map_err(|e| at(path, e))?;
    let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 20]);
    loop {
        let read = file.read(&mut buffer).await.map_err(|e| at(path, e))?;
        if read == 0 {
            let digits = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            return Ok((digits, bytes));
        }
        hash.update(&buffer[..read]);
        bytes += read as u64;
    }
}
