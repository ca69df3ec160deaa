//! The companion: a pack, a model and a memory.

use std::{fmt, sync::Arc};

use jiff::tz::{self, TimeZone};
use memory_engine::MemoryEngine;
use memory_engine_context::{EstimatedTokens, InjectionRules, TokenCounter};
use memory_engine_core::Record;
use memory_engine_llm::ChatModel;
use memory_engine_summarizer::{ProfileSummarizer, RuleProfiles};

use crate::{
    moment::{FILTER_EARLIER_MESSAGES, MomentCandidate, MomentRule},
    pack::Pack,
    state::CompanionState,
};

/// A companion: a pack, a model and a memory. Cloning it is cheap.
///
/// All its data are records of the engine in the scope of each call. It keeps nothing between calls, so that any
/// number of processes can serve one user.
///
/// - The conversation has the kind `turn`. Key moments have the kind `key_moment`, are derived from their messages and
///   deleted with them. Profiles have the kind `profile`; the latest one is active.
/// - The state and the log of affection are the ledgers `ledger/companion` and `ledger/affection`, which no recall
///   finds. Deleting messages does not change them.
///
/// Each step is written in one transaction. If two turns of one user end at the same time, one of them is retried.
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
    /// Creates a companion with profiles by rules and estimated token counts. Days and dates are in UTC+8, independent
    /// of the zone of the engine; [`with_zone`](Self::with_zone) sets another zone.
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

    memory_engine_core::setters! {
        /// Sets the time zone of days and dates: the user's. Default: UTC+8.
        with_zone(zone: TimeZone);
        /// Sets the token counter. Default: [`EstimatedTokens`].
        with_counter(counter: impl TokenCounter) => counter = Arc::new(counter);
        /// Sets the summarizer of profiles, such as [`ChatProfiles`](memory_engine_summarizer::ChatProfiles). Default:
        /// [`RuleProfiles`].
        with_profiles(profiles: impl ProfileSummarizer) => profiles = Arc::new(profiles);

        /// Sets the rules that decide whether a message calls for related history. Default:
        /// [`InjectionRules::default`], as in the chat gateway: every message with content gets the messages that are
        /// relevant to it.
        with_rules(rules: InjectionRules) => rules = Arc::new(rules);
    }

    /// Returns the pack.
    pub fn pack(&self) -> &Pack {
        &self.pack
    }

    /// Returns the key moments that a message may trigger, after these recent messages.
    pub(super) fn possible_moments(
        &self,
        state: &CompanionState,
        message: &str,
        recent: &[Record],
    ) -> Vec<MomentCandidate<'_>> {
        let happened = state.moments.keys().cloned().collect();
        let earlier = &recent[recent.len().saturating_sub(FILTER_EARLIER_MESSAGES)..];
        let earlier: Vec<&str> = earlier.iter().map(|record| record.text.as_str()).collect();
        MomentRule::candidates(&self.pack.moments, state.bond.affection, &happened, message, &earlier)
    }
}
