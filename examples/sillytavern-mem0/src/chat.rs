//! A chat with a character, as in a front end: a chat file and a model.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Result;
use memory_engine::{
    Clock,
    http_models::Mem0Event,
    llm::{ChatModel, ChatRequest, Message},
    recall::QueryForm,
};
use serde_json::{Value, json};
use sillytavern_mem0::{ChatMemories, Mem0Chat};
use tokio::task::JoinHandle;

/// The parts shared by all chats of the front end.
pub(crate) struct FrontEnd {
    pub(crate) memory: Mem0Chat,
    /// The file of the settings page, if any. It is read before each message.
    pub(crate) page: Option<PathBuf>,
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// A chat in its own file, with its long-term memory.
pub(crate) struct Chat<'f> {
    front: &'f FrontEnd,
    name: String,
    file: Option<PathBuf>,
    messages: Vec<Message>,
    pending_write: Option<JoinHandle<Option<Vec<Mem0Event>>>>,
}

impl<'f> Chat<'f> {
    /// Creates a chat. With a file, every save appends lines in the format of SillyTavern.
    pub(crate) fn new(front: &'f FrontEnd, name: &str, file: Option<PathBuf>) -> Self {
        Self { front, name: name.to_owned(), file, messages: Vec::new(), pending_write: None }
    }

    fn character(&self) -> &'f str {
        self.front.memory.owner().agent_id.as_deref().unwrap_or("assistant")
    }

    /// One round: retrieval, generation, save. Each step is shown.
    pub(crate) async fn say(&mut self, text: &str) -> Result<(ChatMemories, String)> {
        self.wait_for_write().await?;
        println!("> {text}");
        // An invalid settings page changes nothing and is logged.
        if let Some(Err(e)) = self.front.page.as_ref().map(|page| apply_settings(page, &self.front.memory)) {
            tracing::warn!("the settings stay as they were: {e:#}");
        }
        self.messages.push(Message::user(text));
        let retrieved = self.front.memory.before_generation(&self.messages).await;
        for search in &retrieved.searches {
            let query = search.query.replace('\n', " ⏎ ");
            println!("  {} · {} found · {query}", form_name(search.form), search.found);
        }
        retrieved.text.lines().for_each(|line| println!("  {line}"));

        let mut prompt = vec![Message::system(format!("You are {}. Stay in character.", self.character()))];
        prompt.extend_from_slice(&self.messages);
        let reply = self.front.model.complete(&ChatRequest::new(retrieved.inject(&prompt))).await?.text;
        println!("{}: {reply}", self.character());
        self.messages.push(Message::assistant(&reply));
        self.save()?;
        println!("  saved");
        Ok((retrieved, reply))
    }

    /// Saves the chat, and starts to write its last round to the memory without waiting.
    fn save(&mut self) -> Result<()> {
        let now = self.front.clock.now().to_string();
        if let Some(path) = &self.file {
            let mut file = OpenOptions::new().create(true).append(true).open(path)?;
            for message in &self.messages[self.messages.len() - 2..] {
                let is_user = message.role.as_str() == "user";
                let name = if is_user { self.front.memory.owner().user_id.as_deref() } else { Some(self.character()) };
                let line = json!({"name": name, "is_user": is_user, "mes": message.content, "send_date": now});
                writeln!(file, "{line}")?;
            }
        }
        let avatar = format!("{}.png", self.character());
        let metadata = json!({"chatfile": self.name, "avatar_url": avatar, "timestamp": now});
        let Value::Object(metadata) = metadata else { return Ok(()) };
        self.pending_write = Some(self.front.memory.chat_saved(&self.messages, metadata));
        Ok(())
    }

    /// Waits for the write of the last save, so that later searches can find it.
    pub(crate) async fn wait_for_write(&mut self) -> Result<()> {
        let Some(write) = self.pending_write.take() else { return Ok(()) };
        match write.await? {
            Some(events) => println!("  mem0 · {} new or changed", events.iter().filter(|e| e.event != "NONE").count()),
            None => println!("  mem0 · not written"),
        }
        Ok(())
    }
}

/// Returns the name of a form of the query in the document.
pub(crate) fn form_name(form: QueryForm) -> String {
    format!("query {}", form as u8 + 1)
}

/// Applies the settings of a settings page.
pub(crate) fn apply_settings(page: &Path, memory: &Mem0Chat) -> Result<()> {
    Ok(memory.set(toml::from_str(&fs::read_to_string(page)?)?)?)
}
