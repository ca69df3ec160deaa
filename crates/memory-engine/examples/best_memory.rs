//! Task 3: the best memory for a question, if there is one that answers it.
//!
//! `cargo run -p memory-engine --example best_memory`

use memory_engine::prelude::*;

#[tokio::main]
async fn main() -> Result<()> {
    let memory = MemoryEngine::builder().in_memory().build().await?;
    let lin = Scope::user("lin")?;
    memory.remember_all(&lin, ["The spare key is with Mo.", "The dentist is on Tuesday."]).await?;

    for question in ["Where is the spare key?", "How tall is the lighthouse?"] {
        let found = memory.recall(&lin, question).await?;
        // `best` is the first relevant hit. Scores are comparable within one recall only; do not compare them with a
        // limit.
        match found.best() {
            Some(best) => println!("{question} {}", best.text()),
            None => println!("{question} Nothing is stored about it."),
        }
    }
    assert!(memory.recall(&lin, "How tall is the lighthouse?").await?.best().is_none());
    Ok(())
}
