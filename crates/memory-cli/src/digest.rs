//! The options `--digest` and `--profile-every`.

use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::{EnrichmentOptions, llm::ChatModel};

use crate::{method::ExtractionMethod, remote};

/// The enrichment of turns.
#[derive(Debug, Clone, Args)]
pub(crate) struct DigestArgs {
    /// Facts: none, rules or a service
    ///
    /// The extraction of topics, facts and summaries. A service is siliconflow, openai, deepseek, ollama, openrouter or
    /// vllm, optionally with :MODEL: its chat model
    /// extracts them from turns. Its key is read from the environment or .env, for example from OPENAI_API_KEY. If the
    /// model fails, the rules are used.
    #[arg(long = "digest", env = "MEMORY_DIGEST", hide_env_values = true, default_value = "none", value_name = "NAME")]
    pub(crate) digest: ExtractionMethod,
    /// Messages between refreshes of a profile
    ///
    /// Default: no profiles.
    #[arg(long, env = "MEMORY_PROFILE_EVERY", hide_env_values = true, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) profile_every: Option<u32>,
}

impl DigestArgs {
    /// Returns the enrichment options. No service is called yet.
    ///
    /// # Errors
    /// If a key or the name of a model is missing.
    pub(crate) fn options(&self) -> Result<EnrichmentOptions> {
        let options = match &self.digest {
            ExtractionMethod::None => return Ok(EnrichmentOptions::default()),
            ExtractionMethod::Rules => EnrichmentOptions::rules()?,
            ExtractionMethod::Remote(service) => return self.by_model(remote::chat(service, "--digest")?),
        };
        Ok(self.with_profile(options))
    }

    /// Returns the enrichment options for extraction by this model.
    ///
    /// # Errors
    /// If the built-in rules, its fallback, cannot be read.
    pub(crate) fn by_model(&self, model: Arc<dyn ChatModel>) -> Result<EnrichmentOptions> {
        Ok(self.with_profile(EnrichmentOptions::model(model)?))
    }

    fn with_profile(&self, options: EnrichmentOptions) -> EnrichmentOptions {
        match self.profile_every {
            Some(messages) => options.with_profile(messages as usize),
            None => options,
        }
    }

    /// Returns the enrichment options for a command that needs a method.
    ///
    /// # Errors
    /// If no method is given; otherwise as [`options`](Self::options).
    pub(crate) fn required_options(&self) -> Result<EnrichmentOptions> {
        if self.digest == ExtractionMethod::None {
            bail!(
                "no extraction method given; add --digest rules, or --digest SERVICE for the chat model of a service"
            );
        }
        self.options()
    }
}
