//! A story of the user's own, told on the terminal.

use std::{collections::BTreeMap, fs, io::BufRead, path::PathBuf, sync::Arc};

use anyhow::{Context, Result, bail, ensure};
use memory_engine::{
    http_models::{HttpChatModel, HttpClient, HttpOptions},
    llm::{ChatModel, ChatRequest, Message},
};
use memory_engine_story::{StoryMemory, StoryMessage};
use serde::{Deserialize, Serialize};

use crate::branch::Branch;

const HELP: &str = "\
TEXT              without a model: the next message of the story; with a model: an event that it tells of
/event TEXT       an event that the next message tells of
/next             let the model write the next message
/prompt           show the prompt of the next message, with its memories
/fork NAME [SEQ]  a branch with the messages up to this number, or all
/branch NAME      go to another branch
/undo             delete the last message with everything derived from it
/story            show the messages of this branch
/quit             stop";

const SYSTEM: &str = "You tell an interactive story. Write its next message, at most four sentences, in the language of \
    the story. Tell of the pending interventions. Do not contradict the long-term memory.";

/// The file of a story.
#[derive(Debug, Default, Serialize, Deserialize)]
struct StoryFile {
    /// The number of messages that were ever written. A deleted id is not used again.
    written: u64,
    current: String,
    branches: BTreeMap<String, Vec<SavedMessage>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedMessage {
    id: String,
    sequence: i64,
    text: String,
}

struct Teller<'m> {
    memory: &'m StoryMemory,
    model: Option<Arc<dyn ChatModel>>,
    world: &'m str,
    path: Option<PathBuf>,
    written: u64,
    branches: BTreeMap<String, Branch>,
    current: String,
    /// The events that the next message tells of.
    pending: Vec<String>,
}

/// Reads messages and commands from the standard input until its end or `/quit`.
pub(crate) async fn run(memory: &StoryMemory, world: &str, path: Option<PathBuf>) -> Result<()> {
    let http = HttpClient::new(HttpOptions::default())?;
    let model = HttpChatModel::from_env(http)?.map(|model| Arc::new(model) as Arc<dyn ChatModel>);
    let mut teller = Teller::open(memory, model, world, path)?;
    println!("{}\n", if teller.model.is_some() { "A model writes the story." } else { "You write the story." });
    println!("{HELP}\n");
    for line in std::io::stdin().lock().lines() {
        let line = line.context("the terminal cannot be read")?;
        let line = line.trim();
        if line == "/quit" {
            break;
        }
        if line.is_empty() {
            continue;
        }
        // A mistake does not end the story.
        if let Err(error) = teller.execute(line).await {
            println!("! {error:#}");
        }
    }
    Ok(())
}

impl<'m> Teller<'m> {
    fn open(
        memory: &'m StoryMemory,
        model: Option<Arc<dyn ChatModel>>,
        world: &'m str,
        path: Option<PathBuf>,
    ) -> Result<Self> {
        let file = match &path {
            Some(path) if path.exists() => {
                let unreadable = || format!("{} is not a story", path.display());
                serde_json::from_str(&fs::read_to_string(path)?).with_context(unreadable)?
            }
            _ => StoryFile { current: "main".into(), ..StoryFile::default() },
        };
        let mut branches = BTreeMap::new();
        for (name, messages) in file.branches {
            let mut branch = Branch::new(&name)?;
            let message = |saved: SavedMessage| StoryMessage::timeline(saved.id, saved.sequence, saved.text);
            branch.timeline = messages.into_iter().map(message).collect();
            branches.insert(name, branch);
        }
        if !branches.contains_key(&file.current) {
            branches.insert(file.current.clone(), Branch::new(&file.current)?);
        }
        Ok(Self {
            memory,
            model,
            world,
            path,
            written: file.written,
            branches,
            current: file.current,
            pending: Vec::new(),
        })
    }

    async fn execute(&mut self, line: &str) -> Result<()> {
        let (command, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let argument = argument.trim();
        match command {
            "/event" => {
                ensure!(!argument.is_empty(), "an event needs a text");
                self.pending.push(argument.to_owned());
            }
            "/next" => self.generate().await?,
            "/prompt" => println!("{}\n", self.branch()?.prompt(self.memory, self.world, &self.pending).await.text),
            "/fork" => self.fork(argument).await?,
            "/branch" => self.change_branch(argument)?,
            "/undo" => self.delete_last().await?,
            "/story" => {
                for message in &self.branch()?.timeline {
                    println!("{:>4}  {}", message.sequence, message.text);
                }
            }
            "/help" => println!("{HELP}"),
            _ if line.starts_with('/') => bail!("{command} is not a command; /help lists them"),
            _ if self.model.is_some() => {
                self.pending.push(line.to_owned());
                self.generate().await?;
            }
            _ => self.persist(line).await?,
        }
        Ok(())
    }

    /// Lets the model write the next message.
    async fn generate(&mut self) -> Result<()> {
        let model = self.model.clone().context("there is no model; set CHAT_SERVICE, or write the message yourself")?;
        let prompt = self.branch()?.prompt(self.memory, self.world, &self.pending).await.text;
        let reply = model.complete(&ChatRequest::new([Message::system(SYSTEM), Message::user(prompt)])).await?;
        let text = reply.text.trim();
        ensure!(!text.is_empty(), "the model wrote nothing; /next asks again");
        println!("{text}\n");
        self.persist(text).await
    }

    /// Adds the next message, which tells of the pending events.
    async fn persist(&mut self, text: &str) -> Result<()> {
        self.written += 1;
        let pending = std::mem::take(&mut self.pending);
        let id = format!("m{}", self.written);
        let memory = self.memory;
        let branch = self.branch_mut()?;
        let report = StoryMessage::timeline(id, branch.last_sequence() + 1, text);
        branch.persist(memory, &pending, report).await;
        self.save()
    }

    async fn fork(&mut self, argument: &str) -> Result<()> {
        let mut words = argument.split_whitespace();
        let name = words.next().context("a fork needs a name")?;
        ensure!(!self.branches.contains_key(name), "the branch {name} exists; /branch {name} goes there");
        let parent = self.branch()?;
        let at = match words.next() {
            Some(number) => number.parse().with_context(|| format!("{number} is not the number of a message"))?,
            None => parent.last_sequence(),
        };
        let branch = parent.fork(self.memory, name, at).await?;
        println!("{name} has {} messages of {}\n", branch.timeline.len(), parent.name());
        self.branches.insert(name.to_owned(), branch);
        self.change_branch(name)
    }

    fn change_branch(&mut self, name: &str) -> Result<()> {
        let names: Vec<&str> = self.branches.keys().map(String::as_str).collect();
        ensure!(self.branches.contains_key(name), "no branch {name}; there are {}", names.join(", "));
        self.current = name.to_owned();
        self.save()
    }

    async fn delete_last(&mut self) -> Result<()> {
        let memory = self.memory;
        match self.branch_mut()?.delete_last(memory).await? {
            Some(message) => println!("deleted: {}\n", message.text),
            None => println!("there is no message\n"),
        }
        self.save()
    }

    fn branch(&self) -> Result<&Branch> {
        self.branches.get(&self.current).context("the branch does not exist")
    }

    fn branch_mut(&mut self) -> Result<&mut Branch> {
        self.branches.get_mut(&self.current).context("the branch does not exist")
    }

    /// Writes the file of the story, if there is one.
    fn save(&self) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let saved = |message: &StoryMessage| SavedMessage {
            id: message.id.clone(),
            sequence: message.sequence,
            text: message.text.clone(),
        };
        let branches =
            self.branches.iter().map(|(name, branch)| (name.clone(), branch.timeline.iter().map(saved).collect()));
        let file = StoryFile { written: self.written, current: self.current.clone(), branches: branches.collect() };
        fs::write(path, serde_json::to_string_pretty(&file)?)
            .with_context(|| format!("{} cannot be written", path.display()))
    }
}
