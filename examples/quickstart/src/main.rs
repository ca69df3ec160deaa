//! The ten lines of the README: remember, recall, forget.

use memory_engine::{MemoryEngine, Result, Scope, Turn};

#[tokio::main]
async fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "memory.db".into());

    let memory = MemoryEngine::builder().sqlite(path).build().await?;
    let lin = Scope::user("lin")?;

    memory.remember(&lin, Turn::user("我对海鲜过敏，别带我去吃虾")).await?;
    memory.remember(&lin, Turn::user("My interview has moved to Friday")).await?;

    for question in ["海鲜可以吃吗？", "When is the interview?"] {
        let found = memory.recall(&lin, question).await?;
        println!("{question} {}", found.hits[0].record.text);
        memory.forget(&lin, found.hits[0].record.id).await?;
    }
    Ok(())
}
