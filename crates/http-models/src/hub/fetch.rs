//! Downloads and verifies all files of a model.

use std::path::{Path, PathBuf};

use memory_engine_core::{ErrorKind, Result};

use super::{
    address::Hub,
    checksums::ChecksumFile,
    download::Download,
    file::{DownloadProgress, FetchedFile, file_error},
    model::HubModel,
};

impl Hub {
    /// Downloads the files of a model to its own folder in `models`. Returns the folder and the files.
    ///
    /// An existing file with the right checksum is not downloaded; if the checksum is pinned or recorded, the hub is
    /// not contacted. Interrupted downloads are resumed. A file gets its final name after it is complete and verified.
    /// The checksums are recorded in `SHA256SUMS`.
    ///
    /// # Errors
    /// `Unavailable` or `Timeout` if the hub cannot be reached or the connection is lost (received bytes are kept);
    /// `NotFound` if the hub does not have the model or a required file; `Unauthorized` if the hub rejects the token or
    /// a file cannot be written; `Corrupt` if a file has a wrong checksum or size (it is removed).
    ///
    /// # Cancel safety
    /// If the future is dropped, received bytes are kept and the next call resumes.
    pub async fn fetch(
        &self,
        model: &HubModel,
        models: &Path,
        progress: &(dyn Fn(DownloadProgress<'_>) + Send + Sync),
    ) -> Result<(PathBuf, Vec<FetchedFile>)> {
        model.check()?;
        let folder = models.join(model.folder());
        tokio::fs::create_dir_all(&folder).await.map_err(|e| file_error(&folder, e))?;
        let mut checksums = ChecksumFile::read(&folder).await?;
        let downloads = model.files.iter().map(|file| Download { hub: self, model, file, folder: &folder, progress });
        let mut candidates = Vec::new();
        for download in downloads {
            let existing = download.verified_file(&checksums).await?;
            candidates.push((download, existing));
        }
        // Optional files are downloaded before required ones. If all required files exist, a missing optional file does
        // not exist on the hub.
        let is_complete = candidates.iter().all(|(download, existing)| download.file.optional || existing.is_some());
        let mut files = Vec::new();
        for (download, existing) in candidates {
            let optional = download.file.optional;
            let fetched = match existing {
                Some(existing) => existing,
                None if optional && is_complete => continue,
                None => match download.run().await {
                    Err(e) if optional && e.kind() == ErrorKind::NotFound => continue,
                    fetched => fetched?,
                },
            };
            checksums.record(&fetched).await?;
            files.push(fetched);
        }
        Ok((folder, files))
    }
}
