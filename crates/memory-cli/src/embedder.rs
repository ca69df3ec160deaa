//! The option `--embedder`.
//!
//! Reasons: `docs/design/decisions/0032-stores-keep-their-embedder.md`.

use std::{
    env,
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::{Context, Result};
use clap::Args;
use memory_engine::{
    Builder,
    embed::{HashEmbedder, LocalModel, WordEmbedder},
    http_models::Preset,
};

use crate::remote::{self, Remote};

/// The folder of the default local model.
const E5: &str = "e5-small-q4";
/// The folder of this model as published on the hub; used if the smaller one is missing.
const E5_FROM_HUB: &str = "multilingual-e5-small";
/// The file that is downloaded last: a folder with it is complete.
const WEIGHTS: &str = "model.safetensors";

/// A hint for people without a local model.
pub(crate) const MODEL_HINT: &str = "\
Without a local model, English and Chinese are compared by tables of words, and other languages by spelling.
`memory models fetch` downloads a model that compares the meaning in about 100 languages.";

/// The choice of the embedder.
#[derive(Debug, Clone, Args)]
pub(crate) struct EmbedderArgs {
    /// Embedder: words, local:PATH, …
    ///
    /// auto is the local model if it is installed, otherwise words. words compares English and Chinese by word vectors
    /// and other languages by spelling, hash compares by spelling only. local:e5-small is the model of `memory models
    /// fetch`, local:PATH another one. A service is siliconflow, openai, ollama, openrouter or vllm, optionally with
    /// :MODEL or :MODEL@DIMENSIONS. Its key and its base URL are read from the environment or .env, for example from
    /// OPENAI_API_KEY and OPENAI_BASE_URL.
    #[arg(long, env = "MEMORY_EMBEDDER", hide_env_values = true, default_value = "auto", value_name = "NAME")]
    pub(crate) embedder: EmbedderChoice,
    #[command(flatten)]
    pub(crate) models: ModelFolderArgs,
}

/// The folder of local models.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ModelFolderArgs {
    /// Folder of local models
    ///
    /// Each model is in its own subfolder.
    #[arg(long, env = "MEMORY_MODELS_DIR", hide_env_values = true, value_name = "DIR")]
    pub(crate) models_dir: Option<PathBuf>,
}

/// An embedder by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EmbedderChoice {
    /// The local model if it is installed, otherwise `Words`.
    Auto,
    /// The built-in tables of English and Chinese words: offline and deterministic. Other languages are compared by
    /// spelling.
    Words,
    /// The hash embedder: offline and deterministic. It compares words and letters, not meaning.
    Hash,
    /// multilingual-e5-small.
    E5,
    /// The model at this path.
    At(PathBuf),
    /// A model of a service.
    Remote(Remote<Preset>),
}

impl FromStr for EmbedderChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("local:") {
            Some("e5-small" | E5 | E5_FROM_HUB) => Ok(Self::E5),
            Some("") => Err("no model given; write local:e5-small or local:PATH".into()),
            Some(path) => Ok(Self::At(path.into())),
            None if text == "auto" => Ok(Self::Auto),
            None if text == "words" => Ok(Self::Words),
            None if text == "hash" => Ok(Self::Hash),
            None => Remote::read(text, |name| name.parse().ok()).map(Self::Remote).ok_or_else(|| {
                format!(
                    "expected auto, words, hash, local:e5-small, local:PATH or a service ({}), optionally with :MODEL",
                    remote::embedding_services()
                )
            }),
        }
    }
}

impl From<EmbedderChoice> for EmbedderArgs {
    fn from(embedder: EmbedderChoice) -> Self {
        Self { embedder, models: ModelFolderArgs::default() }
    }
}

impl EmbedderArgs {
    /// Chooses the embedder that needs no model.
    pub(crate) fn words() -> Self {
        EmbedderChoice::Words.into()
    }

    /// Chooses a local model if there is one.
    pub(crate) fn auto() -> Self {
        EmbedderChoice::Auto.into()
    }

    /// The embedders that need no model. A store that was made with one of them keeps it if none is named.
    pub(crate) fn built_in() -> [Self; 2] {
        [EmbedderChoice::Words, EmbedderChoice::Hash].map(Self::from)
    }

    /// Returns true if the embedder is chosen automatically.
    pub(crate) fn is_auto(&self) -> bool {
        self.embedder == EmbedderChoice::Auto
    }

    /// Sets the embedder of the engine.
    pub(crate) async fn configure(&self, builder: Builder) -> Result<Builder> {
        let path = match &self.embedder {
            EmbedderChoice::Remote(service) => return Ok(builder.embedder(remote::embedder(service).await?)),
            EmbedderChoice::Words => return Ok(builder.embedder(WordEmbedder::new())),
            EmbedderChoice::Hash => return Ok(builder.embedder(HashEmbedder::default())),
            EmbedderChoice::Auto => match self.models.find() {
                Some(path) => path,
                None => return Ok(builder.embedder(WordEmbedder::new())),
            },
            EmbedderChoice::E5 => self.models.require_model()?,
            EmbedderChoice::At(path) => path.clone(),
        };
        Ok(builder.local_model(&LocalModel::open(path).await?))
    }
}

impl ModelFolderArgs {
    /// Returns the path of the local model if it exists.
    pub(crate) fn find(&self) -> Option<PathBuf> {
        self.folders().iter().find_map(|folder| find_model(folder))
    }

    /// Returns the path of the local model.
    ///
    /// # Errors
    /// If it does not exist; the message says how to download it.
    pub(crate) fn require_model(&self) -> Result<PathBuf> {
        let missing = || {
            format!(
                "the model {E5} is not in {}; download it with `memory models fetch` or `scripts/get-models DIR`, \
                 or set its folder with --models-dir DIR",
                self.folder_names()
            )
        };
        self.find().with_context(missing)
    }

    /// Returns the folder for models that are downloaded.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        self.folders().into_iter().next().context("no folder for models; set one with --models-dir DIR")
    }

    /// Returns the folders that may contain models: the named one, or else the user's cache.
    fn folders(&self) -> Vec<PathBuf> {
        if let Some(named) = &self.models_dir {
            return vec![named.clone()];
        }
        let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
        cache.into_iter().map(|cache| cache.join("memory-engine/models")).collect()
    }

    /// Returns the folders, separated by commas.
    pub(crate) fn folder_names(&self) -> String {
        self.folders().iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the local model in a folder of models, if it is complete.
fn find_model(models_dir: &Path) -> Option<PathBuf> {
    let small = models_dir.join(E5);
    if small.is_dir() {
        return Some(small);
    }
    let from_hub = models_dir.join(E5_FROM_HUB);
    from_hub.join(WEIGHTS).is_file().then_some(from_hub)
}
