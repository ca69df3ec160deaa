//! Task 2: store a conversation at once, in one transaction.
//!
//! `cargo run -p memory-engine --example remember_all`

use memory_engine::{Outcome, prelude::*};

#[tokio::main]
async fn main() -> Result<()> {
    let memory = MemoryEngine::builder().in_memory().build().await?;
    let monday = Scope::user("lin")?.with_session("monday")?;

    // Any iterator over turns or texts. With message ids the call can be repeated without storing a turn twice.
    let turns = [
        Turn::user("My interview has moved to Friday").with_message_id("m1"),
        Turn::assistant("Good luck on Friday!").with_message_id("m2"),
    ];
    let written = memory.remember_all(&monday, turns.clone()).await?;
    assert!(written.iter().all(|result| result.outcome == Outcome::Created));

    let again = memory.remember_all(&monday, turns).await?;
    assert!(again.iter().all(|result| result.outcome == Outcome::Unchanged));
    println!("{} turns stored once", memory.stats(&monday).await?.records);
    Ok(())
}
