//! Task 6: store data of your own with a turn, and read it back.
//!
//! `cargo run -p memory-engine --example metadata`

use memory_engine::{prelude::*, serde_json::json};

#[tokio::main]
async fn main() -> Result<()> {
    let memory = MemoryEngine::builder().in_memory().build().await?;
    let lin = Scope::user("lin")?;

    // Any value of JSON; at most 256 KiB for a record.
    let turn = Turn::user("We met in the blue room.").meta("room", 3).meta("guests", json!(["Mo", "Ada"]));
    let id = memory.remember(&lin, turn).await?;

    if let Some(record) = memory.get(&lin, id).await? {
        println!("room {}, guests {}", record.metadata["room"], record.metadata["guests"]);
        assert_eq!(record.metadata["room"], 3);
    }
    Ok(())
}
