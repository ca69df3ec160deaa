//! The option `--screening`.

use anyhow::{Context, Result};
use clap::Args;
use memory_engine::screening::ScreeningPolicy;

use crate::settings::Settings;

const VARIABLE: &str = "MEMORY_SCREENING";

/// The action for secrets and personal data.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ScreeningArgs {
    /// Action for secrets and personal data [env: MEMORY_SCREENING]
    ///
    /// `off`, or CATEGORY=ACTION with commas in between, for texts before they are stored. Categories: key, password,
    /// private_key, connection_string, card, bank_account, identity, email, phone. Actions: store, mask, refuse.
    /// Default: the first four are masked.
    #[arg(long, value_name = "POLICY")]
    pub(crate) screening: Option<ScreeningPolicy>,
}

impl ScreeningArgs {
    /// Returns the policy of the option, or else that of the environment and `.env`, or else the default.
    pub(crate) fn policy(&self) -> Result<ScreeningPolicy> {
        match &self.screening {
            Some(policy) => Ok(policy.clone()),
            None => match Settings::load()?.get(VARIABLE) {
                Some(text) => text.parse().context(VARIABLE),
                None => Ok(ScreeningPolicy::default()),
            },
        }
    }
}
