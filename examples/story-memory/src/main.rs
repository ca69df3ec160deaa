//! The long-term memory of a branching story: ticks, interventions, a fork, `delete-last`, and the prompts.

mod branch;
mod prompt;
mod story;
mod tell;

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use anyhow::{Context, Result};
use branch::Branch;
use clap::Parser;
use memory_engine::{Database, MemoryEngine, Scope, graph::RuleExtractor};
use memory_engine_server::{Access, Debugging, Guard, Server};
use memory_engine_story::{MemoryMode, StoryMemory, StoryMessage, StoryOptions, story_enrichment};
use tokio::net::TcpListener;

/// Runs a story of nine ticks on two branches and shows every prompt, or a story of your own with --tell. MEMORY_MODE
/// (off, vector, graph) sets the kind of memory; default: off.
#[derive(Debug, Parser)]
struct Arguments {
    /// Database: a file, or postgres://USER@HOST/DATABASE; default: in memory
    #[arg(long, env = "STORY_DB", hide_env_values = true)]
    db: Option<Database>,
    /// Tell your own story: each line of the input is a message or a command; /help lists them. With CHAT_SERVICE
    /// (deepseek, openai, ollama …; the key in DEEPSEEK_API_KEY and the like) a model writes the messages
    #[arg(long)]
    tell: bool,
    /// File with the messages of your story, which is continued if it exists; use it together with --db
    #[arg(long, value_name = "FILE", requires = "tell")]
    story: Option<PathBuf>,
    /// World of your story
    #[arg(long, value_name = "TEXT", default_value = story::WORLD, requires = "tell")]
    world: String,
    /// Address on which the debug API is served afterwards: /api/memory/{session_id}/stats, /search and /reindex
    #[arg(long, value_name = "ADDRESS:PORT")]
    serve: Option<SocketAddr>,
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
    if arguments.tell {
        tell::run(&memory, &arguments.world, arguments.story).await?;
    } else {
        run_script(&memory).await?;
    }
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

/// Runs the story of `story.rs`: two branches, a fork and a deleted tick.
async fn run_script(memory: &StoryMemory) -> Result<()> {
    let mut main = Branch::new("main")?;
    for tick in story::MAIN {
        run_tick(&mut main, memory, tick).await;
    }
    let mut mercy = main.fork(memory, "mercy", story::FORK).await?;
    let memories = run_tick(&mut mercy, memory, &story::MERCY).await;
    let (inherited, foreign) = (memories.contains(story::INHERITED), memories.contains(story::FOREIGN));
    println!("the fork sees messages before it: {inherited}; later messages of main: {foreign}");

    main.delete_last(memory).await?;
    let memories = run_tick(&mut main, memory, &story::REPLACED_TICK).await;
    println!("deleted messages are still in the prompt: {}", memories.contains(story::DELETED));
    Ok(())
}

/// Runs one tick: retrieve, build the prompt, generate, persist, index. The model is a script here. Returns the
/// memories in the prompt.
async fn run_tick(branch: &mut Branch, memory: &StoryMemory, tick: &story::Tick) -> String {
    let pending: Vec<String> = tick.pending.iter().map(|text| (*text).to_owned()).collect();
    let prompt = branch.prompt(memory, story::WORLD, &pending).await;
    println!("--- tick {} on {}\n{}\n>>> {}\n", tick.sequence, branch.name(), prompt.text, tick.report);
    let report = StoryMessage::timeline(format!("m{}", tick.sequence), tick.sequence, tick.report);
    branch.persist(memory, &pending, report).await;
    prompt.memories
}
