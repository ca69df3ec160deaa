//! The memory of one chat on a mem0 server.

use std::{sync::Arc, time::Duration};

use memory_engine::{
    Error, ErrorKind, Kind, Record, Result, Role, Scope, SystemClock,
    context::{MemoryList, append_to_system, contextual_query, weak_question},
    http_models::{Mem0Client, Mem0Event, Mem0Memory, Mem0Owner, Mem0Search},
    llm::{ChatModel, Message},
    recall::{Degraded, QueryForm, Rewrite},
};
use parking_lot::RwLock;
use serde_json::{Map, Value};
use tokio::{task::JoinHandle, time::timeout};

use crate::settings::Mem0Settings;

/// Factor of memories requested from the server. Some are messages of this chat, which are dropped.
const OVERFETCH_FACTOR: u32 = 4;

/// The long-term memory of one user and one character on a mem0 server. It is written when a chat is saved, and
/// searched before a reply is generated.
///
/// No call fails, and none takes longer than the [settings](Mem0Settings) allow. Settings can be changed at any time.
/// Logs name the kind of an error, and never quote a chat. Clones share their settings.
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
pub struct ChatMemories {
    /// The searches, one after another.
    pub searches: Vec<MemorySearch>,
    /// The memories that the last search found, best first.
    pub memories: Vec<Mem0Memory>,
    /// The memories as a list for the system prompt. Empty if nothing was found.
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

impl ChatMemories {
    /// Returns the form of the query that found the memories. `None` if nothing was found.
    pub fn form(&self) -> Option<QueryForm> {
        self.searches.last().filter(|search| search.found > 0).map(|search| search.form)
    }

    /// Returns the messages with the list appended to the first system message, or in a new system message. Nothing
    /// else is changed.
    pub fn inject(&self, chat: &[Message]) -> Vec<Message> {
        let mut messages = chat.iter().map(|m| (m.role.as_str().to_owned(), m.content.clone())).collect();
        append_to_system(&mut messages, &self.text);
        messages.into_iter().map(|(role, content)| Message::new(Role::new(role), content)).collect()
    }

    fn add_degraded(&mut self, stage: &'static str, error: &Error, consequence: &str) {
        tracing::warn!(stage, kind = ?error.kind(), "{consequence}");
        self.degraded.push(Degraded { stage, reason: error.to_string() });
    }
}

impl Mem0Chat {
    /// Creates the memory of this owner on this server, with default settings and without a model that rewrites
    /// questions.
    pub fn new(client: Mem0Client, owner: Mem0Owner) -> Self {
        Self { client, owner, model: None, settings: Arc::default() }
    }

    /// Sets the model that rewrites questions if [`Mem0Settings::rewrite`] is true.
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

    /// Writes the last rounds of a chat that was just saved, in a separate task. The caller need not wait for it;
    /// failures are logged. Awaiting the task returns the events of the server, or `None` after a failure.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn chat_saved(&self, chat: &[Message], metadata: Map<String, Value>) -> JoinHandle<Option<Vec<Mem0Event>>> {
        let settings = self.settings();
        let rounds = chat.iter().enumerate().rev().filter(|(_, message)| message.role == Role::USER);
        let from = rounds.take(settings.rounds).last().map_or(chat.len(), |(index, _)| index);
        let memory = self.clone();
        let messages = chat[from..].to_vec();
        let time = Duration::from_millis(settings.write_limit_ms);
        tokio::spawn(async move {
            if messages.is_empty() {
                return Some(Vec::new());
            }
            let written = with_time_limit(time, memory.client.add(&memory.owner, &messages, &metadata, true)).await;
            if let Err(e) = &written {
                tracing::warn!(messages = messages.len(), kind = ?e.kind(), "the chat was not written to mem0");
            }
            written.ok()
        })
    }

    /// Returns the memories relevant to the last message of a chat. It searches with that message, then with the
    /// dialogue before it, then with a rewrite by a model, until something is found. If the server fails, it stops.
    ///
    /// Messages of the chat itself and messages of the character are excluded.
    pub async fn before_generation(&self, chat: &[Message]) -> ChatMemories {
        let settings = self.settings();
        let mut retrieved = ChatMemories::default();
        if let Err(e) = self.search_in_forms(chat, &settings, &mut retrieved).await {
            retrieved.add_degraded("search", &e, "the search in mem0 failed; the reply is generated without memories");
        }
        retrieved.text = list(&retrieved.memories, &settings);
        retrieved
    }

    async fn search_in_forms(
        &self,
        chat: &[Message],
        settings: &Mem0Settings,
        retrieved: &mut ChatMemories,
    ) -> Result<()> {
        let Some((question, before)) = chat.split_last() else { return Ok(()) };
        let dialogue: Vec<(&str, &str)> = before
            .iter()
            .filter(|message| message.role != Role::SYSTEM)
            .map(|message| (message.role.as_str(), message.content.as_str()))
            .collect();
        let recent = &dialogue[dialogue.len().saturating_sub(settings.recent)..];

        let skips_question = settings.weak_at_once && !recent.is_empty() && weak_question(&question.content);
        if !skips_question
            && self.search(QueryForm::Question, question.content.clone(), chat, settings, retrieved).await?
        {
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
        rewrite.user_name = self.owner.user_id.clone().unwrap_or(rewrite.user_name);
        rewrite.char_name = self.owner.agent_id.clone().unwrap_or(rewrite.char_name);
        match rewrite.ask(&question.content, recent, Duration::MAX).await {
            Ok(query) => _ = self.search(QueryForm::Rewritten, query, chat, settings, retrieved).await?,
            Err(e) => retrieved.add_degraded("rewrite", &e, "the rewrite failed; the question is not rewritten"),
        }
        Ok(())
    }

    async fn search(
        &self,
        form: QueryForm,
        query: String,
        chat: &[Message],
        settings: &Mem0Settings,
        retrieved: &mut ChatMemories,
    ) -> Result<bool> {
        let threshold = if form == QueryForm::Context { settings.context_threshold } else { settings.threshold };
        let search = Mem0Search::new(&query).with_limit(settings.limit * OVERFETCH_FACTOR).with_threshold(threshold);
        let time = Duration::from_millis(settings.search_limit_ms);
        let mut memories = with_time_limit(time, self.client.search(&self.owner, &search)).await?;
        memories.retain(|memory| {
            let is_in_chat = chat.iter().any(|message| message.content == memory.memory);
            let is_from_character = memory.role.as_deref() == Some(Role::ASSISTANT.as_str());
            !is_in_chat && !is_from_character
        });
        memories.truncate(settings.limit as usize);
        retrieved.searches.push(MemorySearch { form, query, found: memories.len() });
        retrieved.memories = memories;
        Ok(!retrieved.memories.is_empty())
    }
}

/// Returns the memories as a list for the system prompt.
fn list(memories: &[Mem0Memory], settings: &Mem0Settings) -> String {
    // The list does not show the scope, so any scope can be used.
    let Ok(scope) = Scope::tenant_wide(Scope::DEFAULT_TENANT) else { return String::new() };
    let record = |memory: &Mem0Memory| Record::new(scope.clone(), Kind::FACT, &memory.memory, &SystemClock);
    let records: Vec<Record> = memories.iter().map(record).collect();
    let list = MemoryList::default().with_limit(settings.limit as usize).with_max_chars(settings.inject_chars);
    list.render(&records).text
}

async fn with_time_limit<T>(time: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    let no_answer = |_| Error::new(ErrorKind::Timeout, "mem0", format!("no answer after {} ms", time.as_millis()));
    timeout(time, work).await.map_err(no_answer)?
}
