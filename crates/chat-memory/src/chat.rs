//! The memory of one chat on a mem0 server.

use std::{sync::Arc, time::Duration};

use memory_engine::recall::{Degraded, QueryForm, Rewrite};
use memory_engine_context::{MemoryList, append_to_system, contextual_query, weak_question};
use memory_engine_core::{Error, ErrorKind, Kind, Record, Result, Role, Scope, SystemClock};
use memory_engine_http_models::{Mem0Client, Mem0Event, Mem0Memory, Mem0Owner, Mem0Search};
use memory_engine_llm::{ChatModel, Message};
use parking_lot::RwLock;
use serde_json::{Map, Value};
use tokio::{task::JoinHandle, time::timeout};

use crate::settings::Mem0Settings;

/// Factor of memories requested from the server, because messages of this chat are on the server, too, and are dropped.
const OVERFETCH_FACTOR: u32 = 4;

/// The long-term memory of one user and one character: written to when a chat is saved, searched before a reply is
/// generated.
///
/// Neither way fails, and neither takes longer than the [settings](Mem0Settings) allow, which can be changed at any
/// time. A log names the kind of what went wrong, and no word of a chat. Clones share their settings.
#[derive(Debug, Clone)]
#[must_use]
pub struct Mem0Chat {
    client: Mem0Client,
    owner: Mem0Owner,
    model: Option<Arc<dyn ChatModel>>,
    settings: Arc<RwLock<Mem0Settings>>,
}

/// The searches of one reply and the memories they found.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Retrieved {
    /// The searches, one after another.
    pub asked: Vec<MemorySearch>,
    /// The memories that the last search found, best first.
    pub memories: Vec<Mem0Memory>,
    /// The memories as a list for the system prompt; empty when there are none.
    pub text: String,
    /// Stages that failed, with the reason.
    pub degraded: Vec<Degraded>,
}

/// One search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemorySearch {
    /// The form of the query that made its text.
    pub form: QueryForm,
    /// Its text.
    pub query: String,
    /// The number of memories found.
    pub found: usize,
}

impl Retrieved {
    /// The form of the query that found the memories; none, when there are none.
    pub fn form(&self) -> Option<QueryForm> {
        self.asked.last().filter(|asked| asked.found > 0).map(|asked| asked.form)
    }

    /// The messages with the list behind the first system message, or in one of its own. Nothing else is changed.
    pub fn inject(&self, chat: &[Message]) -> Vec<Message> {
        let mut messages = chat.iter().map(|m| (m.role.as_str().to_owned(), m.content.clone())).collect();
        append_to_system(&mut messages, &self.text);
        messages.into_iter().map(|(role, content)| Message::new(Role::new(role), content)).collect()
    }

    fn add_degraded(&mut self, stage: &'static str, error: &Error, so: &str) {
        tracing::warn!(stage, kind = ?error.kind(), "{so}");
        self.degraded.push(Degraded { stage, reason: error.to_string() });
    }
}

impl Mem0Chat {
    /// The memories of this owner on this server, by the settings of the default. No model rewrites a question.
    pub fn new(client: Mem0Client, owner: Mem0Owner) -> Self {
        Self { client, owner, model: None, settings: Arc::default() }
    }

    /// Questions are rewritten by this model, where the settings switch it on.
    pub fn with_model(mut self, model: impl ChatModel) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// Returns the owner of the memories.
    pub fn owner(&self) -> &Mem0Owner {
        &self.owner
    }

    /// Returns the current settings.
    pub fn settings(&self) -> Mem0Settings {
        self.settings.read().clone()
    }

    /// Replaces the settings, from the next call on.
    ///
    /// # Errors
    /// `InvalidInput` with the name of the invalid setting; then nothing changes.
    pub fn set(&self, settings: Mem0Settings) -> Result<()> {
        settings.check()?;
        *self.settings.write() = settings;
        Ok(())
    }

    /// Writes the last rounds of a chat that has just been saved, in a task of its own: nobody has to wait for it, and
    /// what fails is logged. Who waits gets what the server made of it.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn chat_saved(&self, chat: &[Message], metadata: Map<String, Value>) -> JoinHandle<Option<Vec<Mem0Event>>> {
        let settings = self.settings();
        let rounds = chat.iter().enumerate().rev().filter(|(_, message)| message.role == Role::USER);
        let from = rounds.take(settings.rounds).last().map_or(chat.len(), |(place, _)| place);
        let (this, messages) = (self.clone(), chat[from..].to_vec());
        let time = Duration::from_millis(settings.write_limit_ms);
        tokio::spawn(async move {
            if messages.is_empty() {
                return Some(Vec::new());
            }
            let written = within(time, this.client.add(&this.owner, &messages, &metadata, true)).await;
            let untaken = |e: &Error| {
                tracing::warn!(messages = messages.len(), kind = ?e.kind(), "mem0 did not take what was saved");
            };
            written.inspect_err(untaken).ok()
        })
    }

    /// What the memory has to say to the last message of a chat: asked for with that message, then with the dialogue
    /// before it, then as a model rewrites it, until something is found. A server that fails ends it.
    ///
    /// What the chat holds already is no memory, nor what the character said on another day.
    pub async fn before_generation(&self, chat: &[Message]) -> Retrieved {
        let (settings, mut retrieved) = (self.settings(), Retrieved::default());
        if let Err(e) = self.search_in_forms(chat, &settings, &mut retrieved).await {
            retrieved.add_degraded("search", &e, "mem0 cannot be asked, the reply comes without it");
        }
        retrieved.text = list(&retrieved.memories, &settings);
        retrieved
    }

    async fn search_in_forms(
        &self,
        chat: &[Message],
        settings: &Mem0Settings,
        retrieved: &mut Retrieved,
    ) -> Result<()> {
        let Some((question, before)) = chat.split_last() else { return Ok(()) };
        let said: Vec<(&str, &str)> = before
            .iter()
            .filter(|message| message.role != Role::SYSTEM)
            .map(|message| (message.role.as_str(), message.content.as_str()))
            .collect();
        let recent = &said[said.len().saturating_sub(settings.recent)..];

        let at_once = settings.weak_at_once && !recent.is_empty() && weak_question(&question.content);
        if !at_once && self.search(QueryForm::Question, question.content.clone(), chat, settings, retrieved).await? {
            return Ok(());
        }
        if !recent.is_empty() {
            let query = contextual_query(recent, &question.content, settings.max_chars);
            if self.search(QueryForm::Context, query, chat, settings, retrieved).await? {
                return Ok(());
            }
        }
        let Some(model) = self.model.as_ref().filter(|_| settings.rewrite) else { return Ok(()) };
        let mut rewrite = Rewrite::by(Arc::clone(model)).with_time(Duration::from_millis(settings.rewrite_limit_ms));
        if !settings.rewrite_prompt.trim().is_empty() {
            rewrite = rewrite.with_prompt(&settings.rewrite_prompt);
        }
        let name = |id: &Option<String>, other: String| id.clone().unwrap_or(other);
        rewrite.user_name = name(&self.owner.user_id, rewrite.user_name);
        rewrite.char_name = name(&self.owner.agent_id, rewrite.char_name);
        match rewrite.ask(&question.content, recent, Duration::MAX).await {
            Ok(query) => _ = self.search(QueryForm::Rewritten, query, chat, settings, retrieved).await?,
            Err(e) => retrieved.add_degraded("rewrite", &e, "the question stays as it is"),
        }
        Ok(())
    }

    async fn search(
        &self,
        form: QueryForm,
        query: String,
        chat: &[Message],
        settings: &Mem0Settings,
        retrieved: &mut Retrieved,
    ) -> Result<bool> {
        let threshold = if form == QueryForm::Context { settings.context_threshold } else { settings.threshold };
        let search = Mem0Search::new(&query).with_limit(settings.limit * OVERFETCH_FACTOR).with_threshold(threshold);
        let time = Duration::from_millis(settings.search_limit_ms);
        let mut memories = within(time, self.client.search(&self.owner, &search)).await?;
        let held = |memory: &Mem0Memory| chat.iter().any(|message| message.content == memory.memory);
        let own = |memory: &Mem0Memory| memory.role.as_deref() == Some(Role::ASSISTANT.as_str());
        memories.retain(|memory| !held(memory) && !own(memory));
        memories.truncate(settings.limit as usize);
        retrieved.asked.push(MemorySearch { form, query, found: memories.len() });
        retrieved.memories = memories;
        Ok(!retrieved.memories.is_empty())
    }
}

/// The list as it goes behind the system prompt.
fn list(memories: &[Mem0Memory], settings: &Mem0Settings) -> String {
    // Whose they are is not told, so that any scope will do.
    let Ok(scope) = Scope::tenant_wide(Scope::DEFAULT_TENANT) else { return String::new() };
    let record = |memory: &Mem0Memory| Record::new(scope.clone(), Kind::FACT, &memory.memory, &SystemClock);
    let records: Vec<Record> = memories.iter().map(record).collect();
    let list = MemoryList::default().with_limit(settings.limit as usize).with_max_chars(settings.inject_chars);
    list.render(&records).text
}

async fn within<T>(time: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    let late = |_| Error::new(ErrorKind::Timeout, "mem0", format!("no answer after {} ms", time.as_millis()));
    timeout(time, work).await.map_err(late)?
}
