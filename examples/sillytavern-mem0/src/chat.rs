//! A chat with a character, as the front end has it: a file of lines, and a model that answers.

use std::{fs::OpenOptions, io::Write, path::PathBuf};

use anyhow::Result;
use memory_engine::{
    Clock,
    llm::{ChatRequest, Message},
};
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

use crate::long_term::{LongTerm, Retrieved};

/// A chat in a file of its own, with the long-term memory beside it.
#[derive(Debug)]
pub(crate) struct Chat<'c> {
    memory: &'c LongTerm,
    clock: &'c dyn Clock,
    name: String,
    file: Option<PathBuf>,
    messages: Vec<Message>,
    writing: Option<JoinHandle<Option<usize>>>,
}

/// What one message led to.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) retrieved: Retrieved,
    pub(crate) reply: String,
}

impl<'c> Chat<'c> {
    /// A new chat. With a file, every save adds its lines to it, as SillyTavern has them.
    pub(crate) fn new(memory: &'c LongTerm, clock: &'c dyn Clock, name: &str, file: Option<PathBuf>) -> Self {
        Self { memory, clock, name: name.to_owned(), file, messages: Vec::new(), writing: None }
    }

    fn character(&self) -> &str {
        self.memory.owner.agent_id.as_deref().unwrap_or("assistant")
    }

    /// One round: retrieval, generation, save. Each step is shown.
    pub(crate) async fn say(&mut self, text: &str) -> Result<Said> {
        self.written().await?;
        println!("> {text}");
        self.messages.push(Message::user(text));
        let retrieved = self.memory.before_generation(&self.messages).await;
        for (layer, query, found) in &retrieved.asked {
            println!("  {layer} · {found} found · {}", query.replace('\n', " ⏎ "));
        }
        let list = self.memory.list(&retrieved)?;
        list.lines().for_each(|line| println!("  {line}"));

        let mut prompt = vec![Message::system(format!("You are {}. Stay in character.", self.character()))];
        prompt.extend_from_slice(&self.messages);
        let prompt = ChatRequest::new(LongTerm::inject(&prompt, &list));
        let reply = self.memory.model.complete(&prompt).await?.text;
        println!("{}: {reply}", self.character());
        self.messages.push(Message::assistant(&reply));
        self.save()?;
        println!("  saved");
        Ok(Said { retrieved, reply })
    }

    /// Saves the chat, and then has its last round written into the memory, which the save does not wait for.
    fn save(&mut self) -> Result<()> {
        let now = self.clock.now().to_string();
        if let Some(path) = &self.file {
            let mut file = OpenOptions::new().create(true).append(true).open(path)?;
            for message in &self.messages[self.messages.len() - 2..] {
                let is_user = message.role.as_str() == "user";
                let name = if is_user { self.memory.owner.user_id.as_deref() } else { Some(self.character()) };
                let line = json!({"name": name, "is_user": is_user, "mes": message.content, "send_date": now});
                writeln!(file, "{line}")?;
            }
        }
        let avatar = format!("{}.png", self.character());
        let metadata = [("chatfile", self.name.clone()), ("avatar_url", avatar), ("timestamp", now)];
        let metadata: Map<String, Value> =
            metadata.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        self.writing = Some(self.memory.chat_saved(&self.messages, metadata));
        Ok(())
    }

    /// Waits for the write of the last save, so that what comes next can find it.
    pub(crate) async fn written(&mut self) -> Result<()> {
        let Some(writing) = self.writing.take() else { return Ok(()) };
        match writing.await? {
            Some(changed) => println!("  mem0 · {changed} new or changed"),
            None => println!("  mem0 · not written"),
        }
        Ok(())
    }
}
