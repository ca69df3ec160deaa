//! The companion: a pack, a model and a memory.

use std::{fmt, sync::Arc};

use jiff::tz::{self, TimeZone};
use memory_engine::MemoryEngine;
use memory_engine_context::{EstimatedTokens, InjectionRules, TokenCounter};
use memory_engine_llm::ChatModel;
use memory_engine_summarizer::{ProfileSummarizer, RuleProfiles};

use crate::{moment::MomentRule, pack::Pack, state::CompanionState};

/// A companion: a pack, a model and a memory. Cloning it is cheap.
///
/// Everything it keeps is in the engine's memory, as records at the address that each call names; it has no store of
/// its own and keeps nothing between two calls, so that any number of processes can serve one user.
///
/// - The conversation: kind `turn`. Key moments: kind `key_moment`, made from their messages and gone with them.
///   Profiles: kind `profile`, the latest one active.
/// - The state and the log of affection: the ledgers `ledger/companion` and `ledger/affection`, which no recall finds.
///   That messages are deleted changes neither.
///
/// What belongs together is written in one transaction. Of two turns of one user that end at once, one is written again
/// on top of the other.
#[derive(Clone)]
#[must_use]
pub struct Companion {
    pub(super) engine: MemoryEngine,
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) pack: Arc<Pack>,
    pub(super) counter: Arc<dyn TokenCounter>,
    pub(super) profiles: Arc<dyn ProfileSummarizer>,
    pub(super) rules: Arc<InjectionRules>,
    pub(super) zone: TimeZone,
}

impl fmt::Debug for Companion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Companion").field("name", &self.pack.name).field("model", &self.model).finish_non_exhaustive()
    }
}

impl Companion {
    /// A companion with profiles by rules and an estimate of tokens. Days and dates are in UTC+8, whatever the zone of the
    /// engine is: the document of this companion asks for it. [`with_zone`](Self::with_zone) changes that.
    pub fn new(engine: MemoryEngine, model: impl ChatModel, pack: Pack) -> Self {
        Self {
            engine,
            model: Arc::new(model),
            pack: Arc::new(pack),
            counter: Arc::new(EstimatedTokens),
            profiles: Arc::new(RuleProfiles),
            rules: Arc::new(InjectionRules::default()),
            zone: TimeZone::fixed(tz::offset(8)),
        }
    }

    /// Sets the time zone of days and dates: the user's. Default: UTC+8.
    pub fn with_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    /// Counts the tokens of contexts with this.
    pub fn with_counter(mut self, counter: impl TokenCounter) -> Self {
        self.counter = Arc::new(counter);
        self
    }

    /// Has profiles written by this, such as [`ChatProfiles`](memory_engine_summarizer::ChatProfiles).
    pub fn with_profiles(mut self, profiles: impl ProfileSummarizer) -> Self {
        self.profiles = Arc::new(profiles);
        self
    }

    /// Sets the rules that decide whether a message asks for related history. Default: the built-in ones, in Chinese and
    /// English.
    pub fn with_rules(mut self, rules: InjectionRules) -> Self {
        self.rules = Arc::new(rules);
        self
    }

    /// Who the companion is.
    pub fn pack(&self) -> &Pack {
        &self.pack
    }

    pub(super) fn possible_moment(&self, state: &CompanionState, message: &str) -> Option<&MomentRule> {
        let there = state.moments.keys().cloned().collect();
        MomentRule::candidate(&self.pack.moments, state.bond.affection, &there, message)
    }
}
