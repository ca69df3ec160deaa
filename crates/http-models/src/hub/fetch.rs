//! Fetching a model: all of its files, each checked.

use std::path::{Path, PathBuf};

use memory_engine_core::{ErrorKind, Result};

use super::{
    address::Hub,
    download::Download,
    file::{Fetched, Step, at},
    model::HubModel,
    sums::RunningChecksums,
};

impl Hub {
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
        let mut sums = RunningChecksums::read(&folder).await?;
        let downloads = model.files.iter().map(|file| Download { hub: self, model, file, folder: &folder, progress });
        let mut places = Vec::new();
        for download in downloads {
            let there = download.verified(&sums).await?;
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
