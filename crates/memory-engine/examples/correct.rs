//! Task 9: correct a memory. The former text stays in its history, and `forget` removes both.
//!
//! `cargo run -p memory-engine --example correct`

use memory_engine::{history::Edit, prelude::*};

#[tokio::main]
async fn main() -> Result<()> {
    let memory = MemoryEngine::builder().in_memory().build().await?;
    let lin = Scope::user("lin")?;
    let id = memory.remember(&lin, "The spare key is under the mat.").await?;
    memory.update(&lin, id, "The spare key is with Mo.").await?;

    let record = memory.get(&lin, id).await?.ok_or_else(|| Error::new(ErrorKind::NotFound, "correct", "no record"))?;
    println!("now: {}", record.text);
    for edit in Edit::all_of(&record) {
        println!("until {}: {}", edit.until, edit.text);
    }
    memory.forget(&lin, id).await?;
    assert!(memory.recall(&lin, "spare key").await?.hits.is_empty());
    Ok(())
}
