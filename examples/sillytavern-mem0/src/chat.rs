//! A chat with a character, as the front end has it: a file of lines, and a model that answers.

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
use memory_engine_chat_memory::{ChatMemories, Mem0Chat};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// The parts shared by all chats of the front end.
pub(crate) struct FrontEnd {
    pub(crate) memory: Mem0Chat,
    /// The settings page, if it is a file: what it says holds from the next message on.
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
    writing: Option<JoinHandle<Option<Vec<Mem0Event>>>>,
}

impl<'f> Chat<'f> {
    /// A new chat. With a file, every save adds its lines to it, as SillyTavern has them.
    pub(crate) fn new(front: &'f FrontEnd, name: &str, file: Option<PathBuf>) -> Self {
        Self { front, name: name.to_owned(), file, messages: Vec::new(), writing: None }
    }

    fn character(&self) -> &'f str {
        self.front.memory.owner().agent_id.as_deref().unwrap_or("assistant")
    }

    /// One round: retrieval, generation, save. Each step is shown.
    pub(crate) async fn say(&mut self, text: &str) -> Result<(ChatMemories, String)> {
        self.written().await?;
        println!("> {text}");
        // A page that has got out of order changes nothing, and is told of.
        if let Some(Err(e)) = self.front.page.as_ref().map(|page| turn(page, &self.front.memory)) {
            tracing::warn!("the settings stay as they were: {e:#}");
        }
        self.messages.push(Message::user(text));
        let retrieved = self.front.memory.before_generation(&self.messages).await;
        for search in &retrieved.searches {
            let query = search.query.replace('\n', " ⏎ ");
            println!("  {} · {} found · {query}", named(search.form), search.found);
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

    /// Saves the chat, and then has its last round written into the memory, which the save does not wait for.
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
        self.writing = Some(self.front.memory.chat_saved(&self.messages, metadata));
        Ok(())
    }

    /// Waits for the write of the last save, so that what comes next can find it.
    pub(crate) async fn written(&mut self) -> Result<()> {
        let Some(writing) = self.writing.take() else { return Ok(()) };
        match writing.await? {
            Some(events) => println!("  mem0 · {} new or changed", events.iter().filter(|e| e.event != "NONE").count()),
            None => println!("  mem0 · not written"),
        }
        Ok(())
    }
}

/// The document's name for a form of the query.
pub(crate) fn named(form: QueryForm) -> String {
    format!("query {}", form as u8 + 1)
}

/// Applies the settings of a settings page.
pub(crate) fn turn(page: &Path, memory: &Mem0Chat) -> Result<()> {
    Ok(memory.set(toml::from_str(&fs::read_to_string(page)?)?)?)
}
