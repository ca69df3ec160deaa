//! The conversation in a list of messages.

use blake3::Hasher;
use memory_engine::enrichment::without_injected;

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
    pub(super) text: String,
    /// True if the message calls tools.
    pub(super) calls: bool,
}

impl ChatMessage {
    pub(super) fn unknown() -> Self {
        Self { speaker: Speaker::Unknown, text: String::new(), calls: false }
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
    /// True if it ends with a message of the user, false after tool results and for a reply to be continued.
    asks: bool,
}

/// Identifies a turn within its session when it is sent again: its message and the exchange right before it. It is
/// found even if a client sends only the end of its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TurnKey {
    /// Of the turn.
    pub(super) key: String,
    /// Of the exchange before it; `None` for the first one that the request holds.
    pub(super) follows: Option<String>,
    /// Of the turn before it, where the request holds enough to tell.
    pub(super) parent: Option<String>,
}

impl Thread {
    pub(super) fn of(messages: &[ChatMessage]) -> Self {
        let mut thread = Self::default();
        for message in messages {
            let text = match message.speaker {
                // Thoughts are stripped from model output only: a user may be quoting the tag.
                Speaker::User => said(&message.text),
                Speaker::Assistant | Speaker::Tool | Speaker::Unknown | Speaker::System => spoken(&message.text),
            };
            match message.speaker {
                Speaker::User => {
                    if thread.exchanges.last().is_none_or(|open| !open.assistant.is_empty()) {
                        thread.exchanges.push(Exchange::default());
                    }
                    if let Some(open) = thread.exchanges.last_mut() {
                        join(&mut open.user, &text);
                    }
                    thread.asks = true;
                }
                Speaker::Assistant => {
                    if thread.exchanges.is_empty() {
                        thread.exchanges.push(Exchange::default());
                    }
                    if let Some(open) = thread.exchanges.last_mut().filter(|_| !message.calls) {
                        join(&mut open.assistant, &text);
                    }
                    thread.asks = false;
                }
                Speaker::Tool | Speaker::Unknown => thread.asks = false,
                Speaker::System => {}
            }
        }
        thread
    }

    /// Returns the question of this request; `None` if the last message is not from the user or has no text.
    pub(super) fn question(&self) -> Option<&str> {
        self.exchanges.last().filter(|_| self.asks).map(|open| open.user.as_str()).filter(|text| !text.is_empty())
    }

    /// Returns the last message of the user, with the part of the reply that exists already: a client may ask to
    /// continue a reply.
    pub(super) fn open(&self) -> Exchange {
        self.exchanges.last().cloned().unwrap_or_default()
    }

    /// The exchange before the open one.
    pub(super) fn before(&self) -> Option<&Exchange> {
        self.exchanges.len().checked_sub(2).and_then(|i| self.exchanges.get(i))
    }

    /// Returns the number of messages of the user.
    pub(super) fn rounds(&self) -> u64 {
        self.exchanges.iter().filter(|exchange| !exchange.user.is_empty()).count() as u64
    }

    /// Every text in it.
    pub(super) fn texts(&self) -> Vec<&str> {
        let texts = self.exchanges.iter().flat_map(|exchange| [exchange.user.as_str(), exchange.assistant.as_str()]);
        texts.filter(|text| !text.is_empty()).collect()
    }

    /// Returns the key of the open turn; `None` if it has no message.
    pub(super) fn key(&self) -> Option<TurnKey> {
        let (open, earlier) = self.exchanges.split_last()?;
        let follows = earlier.last().map(exchange_key);
        let parent = earlier.split_last().map(|(last, before)| turn_key(before.last(), &last.user));
        Some(TurnKey { key: turn_key(earlier.last(), &open.user), follows, parent })
    }

    /// A name for the session of a client that names none: the same for every request whose history begins with the
    /// same words.
    pub(super) fn derived_session(&self) -> String {
        let opening = self.exchanges.iter().take_while(|exchange| exchange.user.is_empty()).count();
        let mut hasher = Hasher::new_derive_key("memory-engine 2026 session from its first words");
        for exchange in self.exchanges.iter().take(opening) {
            feed(&mut hasher, &exchange.assistant);
        }
        feed(&mut hasher, self.exchanges.get(opening).map_or("", |first| &first.user));
        format!("{DERIVED}{}", short(&hasher))
    }
}

/// The prefix of derived session names.
const DERIVED: &str = "auto-";

/// Returns true if the session name was derived.
pub(super) fn is_derived(session: &str) -> bool {
    session.starts_with(DERIVED)
}

/// The text to store of a model's message: without thoughts, and without injected memories.
pub(super) fn spoken(text: &str) -> String {
    said(&without_thoughts(text))
}

/// The text to store of a user's message: without injected memories.
fn said(text: &str) -> String {
    // Postgres text cannot contain NUL.
    without_injected(text).replace('\0', "").trim().to_owned()
}

/// Without thoughts in tags, as some models write them into their replies; one that was not finished is a thought to
/// its end.
fn without_thoughts(text: &str) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some((before, thought)) = rest.split_once("<think>") {
        kept.push_str(before);
        rest = thought.split_once("</think>").map_or("", |(_, after)| after);
    }
    kept + rest
}

/// Returns the hash by which later turns refer to an exchange.
pub(super) fn exchange_key(exchange: &Exchange) -> String {
    let mut hasher = Hasher::new_derive_key("memory-engine 2026 exchange");
    feed(&mut hasher, &exchange.user);
    feed(&mut hasher, &exchange.assistant);
    short(&hasher)
}

fn turn_key(before: Option<&Exchange>, user: &str) -> String {
    let mut hasher = Hasher::new_derive_key("memory-engine 2026 turn");
    feed(&mut hasher, &before.map(exchange_key).unwrap_or_default());
    feed(&mut hasher, user);
    short(&hasher)
}

fn feed(hasher: &mut Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}

fn short(hasher: &Hasher) -> String {
    hasher.finalize().to_hex().as_str()[..32].to_owned()
}

fn join(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

#[cfg(test)]
mod tests;
