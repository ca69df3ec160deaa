//! The conversation in a list of messages.

use blake3::Hasher;
use memory_engine::Scope;
use memory_engine_intake::{IncomingWords, is_client_task, model_words};

/// The speaker of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    System,
    User,
    Assistant,
    Tool,
    Unknown,
}

impl Speaker {
    pub(super) fn of(role: &str) -> Self {
        match role {
            "system" | "developer" => Self::System,
            "user" => Self::User,
            "assistant" | "model" => Self::Assistant,
            "tool" | "function" => Self::Tool,
            _ => Self::Unknown,
        }
    }
}

/// The parts of a message that the gateway uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChatMessage {
    pub(super) speaker: Speaker,
    /// The texts of its parts.
    pub(super) texts: Vec<String>,
    /// True if the message calls tools.
    pub(super) calls_tools: bool,
}

impl ChatMessage {
    /// Creates a message with one text.
    pub(super) fn new(speaker: Speaker, text: &str) -> Self {
        Self { speaker, texts: vec![text.to_owned()], calls_tools: false }
    }

    pub(super) fn unknown() -> Self {
        Self { speaker: Speaker::Unknown, texts: Vec::new(), calls_tools: false }
    }

    pub(super) fn text(&self) -> String {
        self.texts.join("\n")
    }

    /// Returns true for a message of the user that has own words, or no text at all, such as an image.
    pub(super) fn asks(&self) -> bool {
        self.speaker == Speaker::User
            && match IncomingWords::of_parts(self.texts.iter().map(String::as_str)) {
                IncomingWords::Own(_) => true,
                IncomingWords::Foreign => self.texts.is_empty(),
                IncomingWords::ClientTask => false,
            }
    }
}

/// A message of the user and the final answer of the model, without text that accompanied tool calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Exchange {
    pub(super) user: String,
    pub(super) assistant: String,
}

/// The conversation in a request. Its last exchange is still open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Thread {
    exchanges: Vec<Exchange>,
    /// True if the last message is from the user. False after tool results, and if the client requests a longer reply.
    ends_with_user: bool,
}

/// Identifies a turn within its session when a client sends it again. The key covers the user's message and the
/// exchange right before it, so that it is the same even if a client sends only the end of its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TurnKey {
    /// The key of the turn itself.
    pub(super) key: String,
    /// The key of the exchange before it; `None` for the first exchange in the request.
    pub(super) follows: Option<String>,
    /// The key of the turn before it; `None` for the first exchange in the request.
    pub(super) parent: Option<String>,
    /// The turns before it in the request, oldest first. At most the latest [`MAX_HISTORY_TURNS`].
    pub(super) history: Vec<HistoryTurn>,
    /// The stored first message that the request has changed, if it names no session.
    pub(super) edited: Option<EditedFirst>,
}

/// An earlier turn in the history of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HistoryTurn {
    pub(super) key: String,
    /// The key of its exchange.
    pub(super) exchange: String,
}

/// A stored first message that the one of a request replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EditedFirst {
    /// The address of its chat.
    pub(super) chat: Scope,
    /// The key of its turn.
    pub(super) turn: String,
    /// The new text, if the chat goes on. Otherwise the turn is retracted, and its chat ends.
    pub(super) text: Option<String>,
}

/// Maximum number of turns of a history whose keys are computed.
const MAX_HISTORY_TURNS: usize = 200;

impl Thread {
    pub(super) fn of<'m>(messages: impl IntoIterator<Item = &'m ChatMessage>) -> Self {
        let mut thread = Self::default();
        // The reply to a task of the client belongs to no exchange.
        let mut answers_task = false;
        for message in messages {
            match message.speaker {
                Speaker::User => {
                    answers_task = false;
                    match IncomingWords::of_parts(message.texts.iter().map(String::as_str)) {
                        IncomingWords::Own(words) => thread.add_user(words.trim()),
                        // A message without text, such as an image.
                        IncomingWords::Foreign if message.text().trim().is_empty() => thread.add_user(""),
                        IncomingWords::Foreign => thread.ends_with_user = false,
                        IncomingWords::ClientTask => answers_task = true,
                    }
                }
                Speaker::Assistant if answers_task => {}
                Speaker::Assistant => thread.add_assistant(message),
                Speaker::Tool | Speaker::Unknown => thread.ends_with_user = false,
                Speaker::System => {}
            }
        }
        thread
    }

    fn add_user(&mut self, words: &str) {
        if self.exchanges.last().is_none_or(|open| !open.assistant.is_empty()) {
            self.exchanges.push(Exchange::default());
        }
        if let Some(open) = self.exchanges.last_mut() {
            append_lines(&mut open.user, words);
        }
        self.ends_with_user = true;
    }

    fn add_assistant(&mut self, message: &ChatMessage) {
        if self.exchanges.is_empty() {
            self.exchanges.push(Exchange::default());
        }
        if let Some(open) = self.exchanges.last_mut().filter(|_| !message.calls_tools) {
            append_lines(&mut open.assistant, &assistant_text(&message.text()));
        }
        self.ends_with_user = false;
    }

    /// Returns the question of this request; `None` if the last message is not from the user or has no text.
    pub(super) fn question(&self) -> Option<&str> {
        self.exchanges
            .last()
            .filter(|_| self.ends_with_user)
            .map(|open| open.user.as_str())
            .filter(|text| !text.is_empty())
    }

    /// Returns the last message of the user, with the part of its reply that is in the request: a client may ask the
    /// model to continue a reply.
    pub(super) fn open_exchange(&self) -> Exchange {
        self.exchanges.last().cloned().unwrap_or_default()
    }

    /// Returns all exchanges, oldest first. The last one is open.
    pub(super) fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// Returns the exchange before the open one.
    pub(super) fn previous_exchange(&self) -> Option<&Exchange> {
        self.exchanges.len().checked_sub(2).and_then(|i| self.exchanges.get(i))
    }

    /// Returns the number of exchanges that contain a message of the user.
    pub(super) fn rounds(&self) -> u64 {
        self.exchanges.iter().filter(|exchange| !exchange.user.is_empty()).count() as u64
    }

    /// Returns all texts of the conversation, without a part of the reply to the last message of the user.
    pub(super) fn texts(&self) -> Vec<&str> {
        let Some((open, earlier)) = self.exchanges.split_last() else { return Vec::new() };
        let earlier = earlier.iter().flat_map(|exchange| [exchange.user.as_str(), exchange.assistant.as_str()]);
        earlier.chain([open.user.as_str()]).filter(|text| !text.is_empty()).collect()
    }

    /// Returns the messages of the user in the latest exchanges before the open one, oldest first.
    pub(super) fn latest_words(&self, count: usize) -> impl Iterator<Item = &str> {
        let end = self.exchanges.len().saturating_sub(1);
        self.exchanges[end.saturating_sub(count)..end].iter().map(|exchange| exchange.user.as_str())
    }

    /// Returns the key of the open turn; `None` if there is no exchange.
    pub(super) fn key(&self) -> Option<TurnKey> {
        let (open, earlier) = self.exchanges.split_last()?;
        let first = earlier.len().saturating_sub(MAX_HISTORY_TURNS);
        let history: Vec<HistoryTurn> = (first..earlier.len())
            .map(|at| HistoryTurn {
                key: turn_key(earlier[..at].last(), &earlier[at].user),
                exchange: exchange_key(&earlier[at]),
            })
            .collect();
        let latest = history.last();
        Some(TurnKey {
            key: turn_key(earlier.last(), &open.user),
            follows: latest.map(|turn| turn.exchange.clone()),
            parent: latest.map(|turn| turn.key.clone()),
            history,
            edited: None,
        })
    }

    /// Returns a session name for a client that sends none. Histories with the same first message of the user, and the
    /// same greeting before it, get the same name; `find_chat` tells them apart.
    pub(super) fn derived_session(&self) -> String {
        let greetings = self.exchanges.iter().take_while(|exchange| exchange.user.is_empty()).count();
        let mut hasher = Hasher::new_derive_key("memory-engine 2026 session from its first words");
        for exchange in self.exchanges.iter().take(greetings) {
            hash_text(&mut hasher, &exchange.assistant);
        }
        hash_text(&mut hasher, self.exchanges.get(greetings).map_or("", |first| &first.user));
        format!("{DERIVED_PREFIX}{}", short_hex(&hasher))
    }
}

/// The prefix of derived session names.
pub(super) const DERIVED_PREFIX: &str = "auto-";

/// Returns the text of a model's message to store: without thoughts and injected memories.
pub(super) fn assistant_text(text: &str) -> String {
    model_words(text).trim().to_owned()
}

/// Returns true if a request is no message of the user: a task of its client, such as a title, or only what a program
/// added. `system` is the system prompt outside of the messages.
pub(super) fn is_without_words(system: &str, messages: &[ChatMessage]) -> bool {
    let is_of_system = |message: &&ChatMessage| message.speaker == Speaker::System;
    if is_client_task(system, "") || messages.iter().filter(is_of_system).any(|m| is_client_task(&m.text(), "")) {
        return true;
    }
    // Some clients send the task as the last message of the system.
    let is_of_client = |message: &ChatMessage| matches!(message.speaker, Speaker::User | Speaker::System);
    let Some(last) = messages.iter().rposition(is_of_client) else { return false };
    let message = &messages[last];
    match IncomingWords::of_parts(message.texts.iter().map(String::as_str)) {
        IncomingWords::ClientTask => true,
        IncomingWords::Foreign => {
            message.speaker == Speaker::User && last + 1 == messages.len() && !message.text().trim().is_empty()
        }
        IncomingWords::Own(_) => false,
    }
}

/// Returns the hash by which later turns refer to an exchange.
pub(super) fn exchange_key(exchange: &Exchange) -> String {
    let mut hasher = Hasher::new_derive_key("memory-engine 2026 exchange");
    hash_text(&mut hasher, &exchange.user);
    hash_text(&mut hasher, &exchange.assistant);
    short_hex(&hasher)
}

/// Returns the key of a turn, from the exchange before it and its message.
fn turn_key(previous: Option<&Exchange>, user: &str) -> String {
    let mut hasher = Hasher::new_derive_key("memory-engine 2026 turn");
    hash_text(&mut hasher, &previous.map(exchange_key).unwrap_or_default());
    hash_text(&mut hasher, user);
    short_hex(&hasher)
}

/// Hashes a text with its length, so that texts hashed in sequence cannot be confused.
fn hash_text(hasher: &mut Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}

/// Returns the first 16 bytes of the hash, in hexadecimal digits.
fn short_hex(hasher: &Hasher) -> String {
    hasher.finalize().to_hex().as_str()[..32].to_owned()
}

/// Returns the messages of an exchange. An empty text has no message.
pub(super) fn exchange_messages(user: &str, assistant: &str) -> Vec<ChatMessage> {
    [(Speaker::User, user), (Speaker::Assistant, assistant)]
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(speaker, text)| ChatMessage::new(speaker, text))
        .collect()
}

/// Appends text, on a new line unless `text` is empty.
fn append_lines(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

#[cfg(test)]
mod tests;
