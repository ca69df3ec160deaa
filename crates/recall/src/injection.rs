//! Automatic injection of memories into a prompt.

mod again;
mod collect;
mod considered;
mod conversation;
pub(crate) mod core;
mod informative;
pub(crate) mod injected;
pub(crate) mod pinned;
mod previous_session;
mod recalled;
mod repeats;
pub(crate) mod trace;
mod updates;

use std::{collections::BTreeSet, time::Duration};

use memory_engine_context::{GatewayBlock, IncomingMessage, InjectionDecision, InjectionRules, Rule};
use memory_engine_core::{Error, ErrorKind, Language, Record, RecordId, Scope};
use tokio::time::timeout;

use self::{
    injected::InjectedMemories,
    recalled::RecalledMemories,
    trace::{InjectionTrace, MemorySource},
};
use crate::{
    hit::Degraded,
    pipeline::{RecallPipeline, SharedPipeline},
    query::Retrievers,
};

/// Number of latest messages of a conversation that decide about the language of the frame.
const LANGUAGE_MESSAGES: usize = 5;

/// Decides by rules whether a message calls for memories, recalls them, and renders them for the system prompt.
///
/// Rules, frame and dates exist in Chinese and in English. The engine's language decides;
/// if it is not set, the language of the message decides about the rules, and that of the latest messages of the
/// conversation about the frame. Times are in the engine's zone.
///
/// The core is part of every injection, also if no other rule applies, except in a silent
/// scene. A statement stands in the text once, whether as a fact, as a message or in a summary, and not if the
/// conversation already contains it.
///
/// An injection does not fail and takes at most as long as a recall: stages that fail are named in
/// [`Injection::degraded`], and the rest is injected.
///
/// ```
/// use memory_engine::{Injector, MemoryEngine, Scope, Turn, context::IncomingMessage};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let lin = Scope::user("lin")?;
/// memory.remember(&lin, Turn::user("我们约好周五去爬山").with_scene("daily")).await?;
///
/// let injector = Injector::new(memory.clone());
/// let asked = IncomingMessage { round: 5, scene: "daily", text: "还记得我们约好去爬山吗" };
/// let injection = injector.inject(&lin, &asked).await;
/// assert!(injection.text.contains("周五去爬山")); // for the end of the system prompt
/// memory.remember(&lin, Turn::user("My dog is called Biscuit.").with_scene("daily")).await?;
/// let asked = IncomingMessage { round: 6, scene: "daily", text: "Do you remember my dog's name?" };
/// assert!(injector.inject(&lin, &asked).await.text.contains("User: My dog is called Biscuit."));
/// let small_talk = IncomingMessage { round: 7, scene: "daily", text: "吃饭了吗" };
/// assert_eq!(injector.inject(&lin, &small_talk).await.text, "");
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Injector {
    pipeline: SharedPipeline,
    rules: InjectionRules,
    block: GatewayBlock,
    limit: usize,
    deadline: Duration,
    retrievers: Retrievers,
    traces: bool,
}

/// The memories to inject for a message.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Injection {
    /// The rule that applied; none if it only asks for relevant memories, and there are none.
    pub decision: InjectionDecision,
    /// The text to append to the system prompt. Empty if there is nothing to inject.
    pub text: String,
    /// The records in the text, in its order, with their stored texts: the text may have a part of their sentences.
    pub records: Vec<Record>,
    /// Those of them that belong to the core: they would be there with any message.
    pub core: Vec<RecordId>,
    /// Their ids, with which [`Injector::inject_again`] makes the text again.
    pub memories: InjectedMemories,
    /// The stages that failed, with the reason.
    pub degraded: Vec<Degraded>,
    /// The memories that were considered, if the injector [keeps a trace](Injector::with_trace).
    pub trace: Option<InjectionTrace>,
}

impl Injector {
    /// Default of the maximum number of recalled memories.
    pub const DEFAULT_LIMIT: usize = 5;

    /// Creates an injector with the default rules, the default block and at most five memories.
    pub fn new(engine: impl AsRef<RecallPipeline> + Send + Sync + 'static) -> Self {
        let pipeline = SharedPipeline::of(engine);
        let deadline = pipeline.parts().options.deadline;
        let block = GatewayBlock::default().with_zone(pipeline.parts().locale.zone.clone());
        let rules = InjectionRules::default();
        let limit = Self::DEFAULT_LIMIT;
        Self { pipeline, rules, block, limit, deadline, retrievers: Retrievers::default(), traces: false }
    }

    /// Sets the form of the text. A block without a zone uses the engine's.
    pub fn with_block(mut self, block: GatewayBlock) -> Self {
        self.block = block;
        self.block.zone.get_or_insert_with(|| self.pipeline.parts().locale.zone.clone());
        self
    }

    memory_engine_core::setters! {
        /// Sets the rules.
        with_rules(rules: InjectionRules);
        /// Sets the maximum number of recalled memories. Default: 5.
        with_limit(limit: usize);
        /// Sets the time limit. Default: that of the engine's recalls.
        with_deadline(deadline: Duration);
        /// Sets the retrievers of the searches. Default: all.
        with_retrievers(retrievers: Retrievers);
    }

    /// Adds a trace to every injection: the memories that were considered, and why each is in the text or not.
    pub fn with_trace(mut self) -> Self {
        self.traces = true;
        self
    }

    /// Returns the memories to inject for a message, from everything within `scope` that is visible from its scene.
    pub async fn inject(&self, scope: &Scope, message: &IncomingMessage<'_>) -> Injection {
        self.inject_into(scope, message, &[]).await
    }

    /// Like [`inject`](Self::inject), without memories that the conversation already contains: turns with the text of
    /// one of its messages, and facts and summaries of which every source is such a turn.
    pub async fn inject_into(&self, scope: &Scope, message: &IncomingMessage<'_>, conversation: &[&str]) -> Injection {
        self.inject_except(scope, message, conversation, &BTreeSet::new()).await
    }

    /// Like [`inject_into`](Self::inject_into), also without these records, and without facts and summaries of which
    /// every source is one of them or in the conversation. For records that are about to be replaced, such as a reply
    /// that the user rejected.
    pub async fn inject_except(
        &self,
        scope: &Scope,
        message: &IncomingMessage<'_>,
        conversation: &[&str],
        excluded: &BTreeSet<RecordId>,
    ) -> Injection {
        let language = self.pipeline.parts().locale.language.unwrap_or_else(|| Language::of(message.text));
        let decision = self.rules.decide_in(message, language);
        let mut recalled = RecalledMemories::new(excluded.clone(), self.traces);
        // Replies of the model answer questions about the past, and belong to a play.
        recalled.includes_replies = decision.rule != Rule::Relevant || message.scene == self.block.play;
        if let Err(error) = self.pipeline.parts().store.check_open("injection") {
            recalled.add_failure(&error);
        } else {
            let work = self.collect_memories(scope, message, &decision, conversation, &mut recalled);
            // Memories that were collected before the deadline are injected.
            if timeout(self.deadline, work).await.is_err() {
                let reason = format!("not ready after {} ms", self.deadline.as_millis());
                recalled.add_failure(&Error::new(ErrorKind::Timeout, "injection", reason));
            }
        }
        self.render(message, conversation, recalled, decision)
    }

    /// Renders the collected memories.
    fn render(
        &self,
        message: &IncomingMessage<'_>,
        conversation: &[&str],
        mut recalled: RecalledMemories,
        decision: InjectionDecision,
    ) -> Injection {
        let block_language =
            self.pipeline.parts().locale.language.or_else(|| conversation_language(message, conversation));
        let block_language = block_language.unwrap_or_else(|| recalled.language());
        let max_chars_each = block_language.pick(&self.block.chinese, &self.block.english).max_chars_each;
        let mut shown = recalled.without_repeats(conversation, max_chars_each);
        let mut rendered = self.block.render_memories(block_language, shown.as_block(&recalled.past));
        // The core must not depend on a message for which there is no room.
        let restored = shown.restore_unstated_core(&rendered.included);
        if !restored.is_empty() {
            recalled.consider(MemorySource::Core, &restored);
            rendered = self.block.render_memories(block_language, shown.as_block(&recalled.past));
        }
        let degraded = std::mem::take(&mut recalled.degraded);
        let trace = self.trace(&mut recalled, &rendered, block_language, &decision);
        let past = std::mem::take(&mut recalled.past);
        let all = recalled.into_records();
        let record = |id| all.iter().find(|record| record.id == id).cloned();
        let records: Vec<Record> = rendered.included.into_iter().filter_map(record).collect();
        let memories = InjectedMemories::of(shown.as_block(&past), &records);
        let has_recalled = records.iter().any(|record| !memories.core.contains(&record.id));
        let core = records.iter().map(|record| record.id).filter(|id| memories.core.contains(id)).collect();
        let decision =
            if decision.rule == Rule::Relevant && !has_recalled { InjectionDecision::nothing() } else { decision };
        Injection { decision, text: rendered.text, records, core, memories, degraded, trace }
    }
}

/// Returns the language of the latest messages of a conversation. A single message may be a quote, a name or "OK".
/// `None` if they contain no letters.
fn conversation_language(message: &IncomingMessage<'_>, conversation: &[&str]) -> Option<Language> {
    let earlier = conversation.iter().copied().filter(|text| *text != message.text);
    let mut texts: Vec<&str> = earlier.rev().take(LANGUAGE_MESSAGES - 1).collect();
    texts.push(message.text);
    let text = texts.join("\n");
    text.chars().any(char::is_alphabetic).then(|| Language::of(&text))
}
