//! What makes facts and summaries of turns, by the name that the command line gives it.

use std::str::FromStr;

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::{Digest, http_models::Preset};

use crate::remote::{self, Remote};

/// What is made of turns beside indexing them.
#[derive(Debug, Clone, Args)]
pub(crate) struct DigestArgs {
    /// What makes topics, facts and summaries of turns: none, rules, or the chat model of a service (siliconflow, openai,
    /// deepseek, ollama, openrouter, vllm) with :MODEL if need be; its key is in the environment or in .env, as
    /// OPENAI_API_KEY. Where the model fails, the rules do it
    #[arg(long = "digest", env = "MEMORY_DIGEST", default_value = "none", value_name = "NAME")]
    pub(crate) digester: Digester,
    /// Keep a profile of each user beside that, made anew after so many messages
    #[arg(long, env = "MEMORY_PROFILE_EVERY", value_name = "MESSAGES", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) profile_every: Option<u32>,
}

/// A digest by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Digester {
    /// Nothing is made of turns.
    None,
    /// Rules and dictionaries.
    Rules,
    /// The chat model of a service.
    Remote(Remote<Preset>),
}

impl FromStr for Digester {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let services = || Preset::ALL.map(Preset::as_str).join(", ");
        match text {
            "none" => Ok(Self::None),
            "rules" => Ok(Self::Rules),
            _ => Remote::read(text, |name| name.parse().ok()).map(Self::Remote).ok_or_else(|| {
                format!("it is one of none, rules, or a service ({}), with :MODEL if need be", services())
            }),
        }
    }
}

impl DigestArgs {
    /// The digest. A service is not asked for anything yet.
    ///
    /// # Errors
    /// When a key or the model's name is missing.
    pub(crate) fn digest(&self) -> Result<Digest> {
        let digest = match &self.digester {
            Digester::None => return Ok(Digest::default()),
            Digester::Rules => Digest::by_rules()?,
            Digester::Remote(service) => Digest::by_model(&remote::chat(service, "--digest")?)?,
        };
        Ok(match self.profile_every {
            Some(messages) => digest.with_profile(messages as usize),
            None => digest,
        })
    }

    /// The digest, for a command that can do nothing without one.
    ///
    /// # Errors
    /// When there is none, with what would name one; as [`digest`](Self::digest).
    pub(crate) fn need(&self) -> Result<Digest> {
        if self.digester == Digester::None {
            bail!(
                "what is to do it? --digest rules needs nothing, --digest openai and the like ask a service's chat model"
            );
        }
        self.digest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_nothing_the_rules_or_a_service() {
        let read = |text: &str| text.parse::<Digester>();
        assert_eq!((read("none"), read("rules")), (Ok(Digester::None), Ok(Digester::Rules)));
        let Ok(Digester::Remote(remote)) = read("ollama:qwen2.5:7b") else { panic!("a service with a model") };
        assert_eq!((remote.service, remote.model.as_deref()), (Preset::Ollama, Some("qwen2.5:7b")));
        let error = read("gpt").unwrap_err();
        assert!(error.contains("rules") && error.contains("deepseek"), "{error}");
    }
}
