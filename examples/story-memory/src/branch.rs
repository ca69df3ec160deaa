//! A branch of a story in the application: its messages, and the calls of the memory before and after each of them.

use std::time::Duration;

use anyhow::Result;
use memory_engine::{
    Scope,
    history::{Fork, Rewind},
};
use memory_engine_story::{MemoryMode, StoryMemory, StoryMessage, StoryTurn, Wait};

use crate::prompt::PromptBuilder;

/// The time that a tick waits until its message is completely indexed.
const INDEX_TIMEOUT: Wait = Wait::Until(Duration::from_secs(10));
/// Number of latest messages that are part of a prompt.
const RECENT_MESSAGES: usize = 2;

/// A branch of the story.
pub(crate) struct Branch {
    scope: Scope,
    pub(crate) timeline: Vec<StoryMessage>,
}

/// The prompt of the next message.
pub(crate) struct Prompt {
    pub(crate) text: String,
    /// The part of the text that comes from the memory.
    pub(crate) memories: String,
}

impl Branch {
    pub(crate) fn new(name: &str) -> Result<Self> {
        let scope = Scope::user("author")?.with_session("story")?.with_branch(name)?;
        Ok(Self { scope, timeline: Vec::new() })
    }

    /// Retrieves the memories for the next message and builds its prompt. If the memory fails, the story continues
    /// without it.
    pub(crate) async fn prompt(&self, memory: &StoryMemory, world: &str, pending: &[String]) -> Prompt {
        let recent = &self.timeline[self.timeline.len().saturating_sub(RECENT_MESSAGES)..];
        let turn = StoryTurn::after(recent.iter().cloned()).with_pending(pending);
        let context = memory.context(&self.scope, &turn).await;
        for degraded in &context.degraded {
            eprintln!("memory {}: {}", degraded.stage, degraded.reason);
        }
        let recent_texts = recent.iter().map(|message| message.text.as_str());
        let prompt = PromptBuilder::new(world).recent(recent_texts).memory(&context.text).pending(pending);
        Prompt { text: prompt.build(), memories: context.text }
    }

    /// Adds a message to the timeline and indexes it, after the interventions that it consumes.
    pub(crate) async fn persist(&mut self, memory: &StoryMemory, pending: &[String], report: StoryMessage) {
        for (n, text) in pending.iter().enumerate() {
            let id = format!("{}.event{n}", report.id);
            self.index(memory, StoryMessage::intervention(id, report.sequence, text)).await;
        }
        self.index(memory, report.clone()).await;
        self.timeline.push(report);
    }

    async fn index(&self, memory: &StoryMemory, message: StoryMessage) {
        for degraded in memory.index(&self.scope, message, INDEX_TIMEOUT).await.degraded {
            eprintln!("memory {}: {}", degraded.stage, degraded.reason);
        }
    }

    /// Creates a branch with the messages up to `at`. It inherits their memories.
    pub(crate) async fn fork(&self, memory: &StoryMemory, name: &str, at: i64) -> Result<Self> {
        let mut branch = Self::new(name)?;
        branch.timeline = self.timeline.iter().filter(|message| message.sequence <= at).cloned().collect();
        if memory.mode() != MemoryMode::Off {
            memory.engine().history().fork(&branch.scope, Fork::at(at).from_branch(self.name())).await?;
        }
        Ok(branch)
    }

    /// `delete-last`: deletes the last message with everything derived from it.
    pub(crate) async fn delete_last(&mut self, memory: &StoryMemory) -> Result<Option<StoryMessage>> {
        let deleted = self.timeline.pop();
        if memory.mode() != MemoryMode::Off && deleted.is_some() {
            memory.engine().history().rewind(&self.scope, Rewind::To(self.last_sequence())).await?;
        }
        Ok(deleted)
    }

    /// Returns the number of the last message, or 0 if there is none.
    pub(crate) fn last_sequence(&self) -> i64 {
        self.timeline.last().map_or(0, |message| message.sequence)
    }

    pub(crate) fn name(&self) -> &str {
        self.scope.branch().unwrap_or_default()
    }
}
