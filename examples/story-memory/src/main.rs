//! The long-term memory of a branching story: ticks, interventions, a fork, `delete-last`, and the prompts.

mod prompt;
mod story;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use clap::Parser;
use memory_engine::{
    Database, MemoryEngine, Scope,
    graph::RuleExtractor,
    history::{Fork, Rewind},
};
use memory_engine_server::{Access, Debugging, Guard, Server};
use memory_engine_story::{MemoryMode, StoryMemory, StoryMessage, StoryOptions, StoryTurn, Wait, story_enrichment};
use prompt::PromptBuilder;
use tokio::net::TcpListener;

/// Maximum time that a tick waits until its message is indexed.
const INDEX_TIMEOUT: Wait = Wait::Until(Duration::from_secs(10));
/// Number of latest messages that are part of a prompt.
const RECENT_MESSAGES: usize = 2;

/// Runs a story of nine ticks on two branches and shows every prompt. MEMORY_MODE (off, vector, graph) sets the kind of
/// memory; default: off.
#[derive(Debug, Parser)]
struct Arguments {
    /// Database: a file, or postgres://USER@HOST/DATABASE; default: in memory
    #[arg(long, env = "STORY_DB", hide_env_values = true)]
    db: Option<Database>,
    /// Address on which the debug API is served afterwards: /api/memory/{session_id}/stats, /search and /reindex
    #[arg(long, value_name = "ADDRESS:PORT")]
    serve: Option<SocketAddr>,
}

/// A branch of the story in the application.
struct Branch {
    scope: Scope,
    timeline: Vec<StoryMessage>,
    texts: Vec<(i64, &'static str)>,
}

impl Branch {
    fn new(name: &str) -> Result<Self> {
        let scope = Scope::user("author")?.with_session("story")?.with_branch(name)?;
        Ok(Self { scope, timeline: Vec::new(), texts: Vec::new() })
    }

    /// Runs one tick: retrieve, build the prompt, generate, persist, index. Returns the memories in the prompt.
    async fn tick(&mut self, memory: &StoryMemory, tick: &story::Tick) -> String {
        let recent = self.timeline.iter().rev().take(RECENT_MESSAGES).rev().cloned().collect::<Vec<_>>();
        let turn = StoryTurn::after(recent).with_pending(tick.pending.iter().copied());
        // 3. Retrieve relevant memories. If the memory fails, the story continues without them.
        let context = memory.context(&self.scope, &turn).await;
        for degraded in &context.degraded {
            eprintln!("memory {}: {}", degraded.stage, degraded.reason);
        }
        // 4. and 5. The model is a script here.
        let recent_texts = self.texts.iter().rev().take(RECENT_MESSAGES).rev().map(|(_, text)| *text);
        let prompt =
            PromptBuilder::new(story::WORLD).recent(recent_texts).memory(&context.text).pending(tick.pending).build();
        println!("--- tick {} on {}\n{prompt}\n>>> {}\n", tick.sequence, self.name(), tick.report);
        // 6. and 7. Consumed interventions are a part of the story.
        for (n, pending) in tick.pending.iter().enumerate() {
            let id = format!("i{}.{n}", tick.sequence);
            self.index(memory, StoryMessage::intervention(id, tick.sequence, *pending)).await;
        }
        let report = StoryMessage::timeline(format!("m{}", tick.sequence), tick.sequence, tick.report);
        self.index(memory, report.clone()).await;
        self.timeline.push(report);
        self.texts.push((tick.sequence, tick.report));
        context.text
    }

    async fn index(&self, memory: &StoryMemory, message: StoryMessage) {
        for degraded in memory.index(&self.scope, message, INDEX_TIMEOUT).await.degraded {
            eprintln!("memory {}: {}", degraded.stage, degraded.reason);
        }
    }

    /// Creates a branch with the messages up to `at`. It inherits their memories.
    async fn fork(&self, memory: &StoryMemory, name: &str, at: i64) -> Result<Self> {
        let mut branch = Self::new(name)?;
        branch.texts = self.texts.iter().copied().filter(|(sequence, _)| *sequence <= at).collect();
        branch.timeline = self.timeline.iter().take(branch.texts.len()).cloned().collect();
        if memory.mode() != MemoryMode::Off {
            memory.engine().fork(&branch.scope, Fork::at(at).from_branch(self.name())).await?;
        }
        Ok(branch)
    }

    /// `delete-last`: deletes the last tick with everything derived from it.
    async fn delete_last(&mut self, memory: &StoryMemory) -> Result<()> {
        self.timeline.pop();
        self.texts.pop();
        if memory.mode() != MemoryMode::Off {
            let to = self.texts.last().map_or(0, |(sequence, _)| *sequence);
            memory.engine().rewind(&self.scope, Rewind::To(to)).await?;
        }
        Ok(())
    }

    fn name(&self) -> &str {
        self.scope.branch().unwrap_or_default()
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mode = MemoryMode::from_env()?;
    let builder = MemoryEngine::builder().graph(Arc::new(RuleExtractor::default())).enrichment(story_enrichment(5));
    let builder = match arguments.db {
        Some(database) => builder.database(database),
        None => builder.in_memory(),
    };
    let engine = builder.build().await.context("the memory cannot be opened")?;
    let memory = StoryMemory::new(engine.clone(), mode, StoryOptions::default());
    println!("MEMORY_MODE={mode}");

    let mut main = Branch::new("main")?;
    for tick in story::MAIN {
        main.tick(&memory, tick).await;
    }
    let mut mercy = main.fork(&memory, "mercy", story::FORK).await?;
    let memories = mercy.tick(&memory, &story::MERCY).await;
    let (inherited, foreign) = (memories.contains(story::INHERITED), memories.contains(story::FOREIGN));
    println!("the fork sees messages before it: {inherited}; later messages of main: {foreign}");

    main.delete_last(&memory).await?;
    let memories = main.tick(&memory, &story::REPLACED_TICK).await;
    println!("deleted messages are still in the prompt: {}", memories.contains(story::DELETED));

    if let Some(address) = arguments.serve {
        let guard = Guard::open(Access::tenant("author", Scope::DEFAULT_TENANT)?);
        let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        println!("debug API: http://{}/api/memory/story/stats", listener.local_addr()?);
        let stop = async {
            let _ = tokio::signal::ctrl_c().await; // without signals, the server stops at once
        };
        Server::new(engine.clone(), guard).debugging(Debugging::new(engine)).serve(listener, stop).await?;
    }
    Ok(())
}
