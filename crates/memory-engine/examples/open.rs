//! Task 1: open a memory, with default settings and with settings of your own.
//!
//! `cargo run -p memory-engine --example open`

use memory_engine::{RecallOptions, embed::HashEmbedder, prelude::*};

#[tokio::main]
async fn main() -> Result<()> {
    // A temporary file, which the example removes at the end.
    let path = std::env::temp_dir().join(format!("open-{}.db", RecordId::new()));

    // Creates the file if it is missing. A `postgres://…` address opens a database (feature `postgres`).
    let memory = MemoryEngine::open(path.as_path()).await?;
    memory.close().await?;

    // The builder sets everything else: embedder, reranker, options of recalls, background jobs.
    let memory = MemoryEngine::builder()
        .sqlite(&path)
        .embedder(HashEmbedder::default())
        .recall_options(RecallOptions::default().with_limit(5))
        .build()
        .await?;
    memory.remember(&Scope::user("lin")?, "hello").await?;
    println!("{} record stored in {}", memory.stats(&Scope::user("lin")?).await?.records, path.display());
    memory.close().await?;
    std::fs::remove_file(path).ok();
    Ok(())
}
