//! The two ways past the chat: written to when it is saved, searched before a reply is generated.

use std::{fmt, sync::Arc, time::Duration};

use memory_engine::{
    Error, ErrorKind, Kind, MemoryList, Record, Result, Role, Scope, SystemClock,
    context::{RewriteRequest, append_to_system, contextual_query, parse_rewrite, recent_conversation, weak_question},
    http_models::{Mem0Client, Mem0Memory, Mem0Owner, Mem0Search},
    llm::{ChatModel, ChatRequest, Message},
};
use serde_json::{Map, Value};
use tokio::{task::JoinHandle, time::timeout};

use crate::settings::{Settings, SettingsPage};

/// How much of the dialogue the model is given that rewrites a question.
const REWRITE_CHARS: usize = 4000;

/// The long-term memory of one user and one character, on a mem0 server.
#[derive(Debug, Clone)]
pub(crate) struct LongTerm {
    pub(crate) mem0: Mem0Client,
    pub(crate) owner: Mem0Owner,
    pub(crate) settings: Arc<SettingsPage>,
    pub(crate) model: Arc<dyn ChatModel>,
}

/// Which text found what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// The last message.
    Original,
    /// The dialogue, and the last message behind it.
    Context,
    /// What a model made of both.
    Rewritten,
}

/// What was searched with, layer by layer, and what the last of them found.
#[derive(Debug, Default)]
pub(crate) struct Retrieved {
    pub(crate) asked: Vec<(Layer, String, usize)>,
    pub(crate) memories: Vec<Mem0Memory>,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Original => "query 1",
            Self::Context => "query 2",
            Self::Rewritten => "query 3",
        })
    }
}

impl LongTerm {
    /// Writes the last rounds of a chat that has just been saved, behind the back of whoever saved it: what fails is logged, without
    /// a word of the chat. The number is that of the memories which the server made or changed.
    pub(crate) fn chat_saved(&self, chat: &[Message], metadata: Map<String, Value>) -> JoinHandle<Option<usize>> {
        let (this, settings) = (self.clone(), self.settings.current());
        let rounds = chat.iter().enumerate().rev().filter(|(_, message)| message.role.as_str() == "user");
        let from = rounds.take(settings.rounds).last().map_or(0, |(place, _)| place);
        let messages = chat[from..].to_vec();
        tokio::spawn(async move {
            let limit = Duration::from_millis(settings.write_limit_ms);
            match within(limit, this.mem0.add(&this.owner, &messages, &metadata, true)).await {
                Ok(events) => Some(events.iter().filter(|event| event.event != "NONE").count()),
                Err(e) => {
                    tracing::warn!(messages = messages.len(), "mem0 did not take what was saved: {:?}", e.kind());
                    None
                }
            }
        })
    }

    /// What the memory has to say to the last message of a chat. It never fails: without a memory there is nothing to inject.
    pub(crate) async fn before_generation(&self, chat: &[Message]) -> Retrieved {
        let mut retrieved = Retrieved::default();
        if let Err(e) = self.ask(chat, &mut retrieved).await {
            tracing::warn!("mem0 cannot be asked, the reply comes without it: {:?}", e.kind());
        }
        retrieved
    }

    /// Asks layer after layer, from the cheap to the dear, until one finds something.
    async fn ask(&self, chat: &[Message], retrieved: &mut Retrieved) -> Result<()> {
        let settings = self.settings.current();
        let Some((question, before)) = chat.split_last() else { return Ok(()) };
        let recent = &before[before.len().saturating_sub(settings.recent)..];
        let recent: Vec<(&str, &str)> = recent.iter().map(|m| (m.role.as_str(), m.content.as_str())).collect();

        let at_once = settings.weak_at_once && !recent.is_empty() && weak_question(&question.content);
        if !at_once && self.finds(Layer::Original, question.content.clone(), chat, &settings, retrieved).await? {
            return Ok(());
        }
        if !recent.is_empty() {
            let query = contextual_query(&recent, &question.content, settings.max_chars);
            if self.finds(Layer::Context, query, chat, &settings, retrieved).await? {
                return Ok(());
            }
        }
        if settings.rewrite {
            match self.rewrite(&question.content, &recent, &settings).await {
                Ok(query) => _ = self.finds(Layer::Rewritten, query, chat, &settings, retrieved).await?,
                Err(e) => tracing::warn!("the question stays as it is: {:?}", e.kind()),
            }
        }
        Ok(())
    }

    /// Whether a query finds something that the model has not before it anyway, and that is not its own words of another day.
    async fn finds(
        &self,
        layer: Layer,
        query: String,
        chat: &[Message],
        settings: &Settings,
        retrieved: &mut Retrieved,
    ) -> Result<bool> {
        let threshold = if layer == Layer::Context { settings.context_threshold } else { settings.threshold };
        // With some to spare: this very chat is in the memory, too.
        let search = Mem0Search::new(&query).with_limit(settings.limit * 4).with_threshold(threshold);
        let limit = Duration::from_millis(settings.search_limit_ms);
        let mut memories = within(limit, self.mem0.search(&self.owner, &search)).await?;
        let said = |memory: &Mem0Memory| chat.iter().any(|message| message.content == memory.memory);
        let own = |memory: &Mem0Memory| memory.role.as_deref() == Some(Role::ASSISTANT.as_str());
        memories.retain(|memory| !said(memory) && !own(memory));
        memories.truncate(settings.limit as usize);
        retrieved.asked.push((layer, query, memories.len()));
        retrieved.memories = memories;
        Ok(!retrieved.memories.is_empty())
    }

    /// The question as one that is understood by itself.
    async fn rewrite(&self, question: &str, recent: &[(&str, &str)], settings: &Settings) -> Result<String> {
        let request = RewriteRequest {
            user_name: self.owner.user_id.clone().unwrap_or_default(),
            char_name: self.owner.agent_id.clone().unwrap_or_default(),
            user_question: question.to_owned(),
            recent_conversation: recent_conversation(recent, REWRITE_CHARS),
        };
        let messages = [Message::system(settings.rewrite_prompt()), Message::user(request.to_json()?)];
        let request = ChatRequest::new(messages).with_temperature(0.0).with_max_tokens(200);
        let limit = Duration::from_millis(settings.rewrite_limit_ms);
        let reply = within(limit, self.model.complete(&request)).await?;
        parse_rewrite(&reply.text)
            .ok_or_else(|| Error::new(ErrorKind::Corrupt, "rewrite", "this is not one plain line"))
    }

    /// The list of the memories, as it goes behind the system prompt; empty when there are none.
    pub(crate) fn list(&self, retrieved: &Retrieved) -> Result<String> {
        let (settings, scope) = (self.settings.current(), Scope::user("anybody")?);
        let record = |memory: &Mem0Memory| Record::new(scope.clone(), Kind::FACT, &memory.memory, &SystemClock);
        let records: Vec<Record> = retrieved.memories.iter().map(record).collect();
        let list = MemoryList::default().with_limit(settings.limit as usize).with_max_chars(settings.inject_chars);
        Ok(list.render(&records).text)
    }

    /// The messages with the list behind the first system message, or in one of its own.
    pub(crate) fn inject(chat: &[Message], list: &str) -> Vec<Message> {
        let mut messages = chat.iter().map(|m| (m.role.as_str().to_owned(), m.content.clone())).collect();
        append_to_system(&mut messages, list);
        messages.into_iter().map(|(role, content)| Message::new(Role::new(role), content)).collect()
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    let late = |_| Error::new(ErrorKind::Timeout, "mem0", format!("no answer after {} ms", limit.as_millis()));
    timeout(limit, work).await.map_err(late)?
}
