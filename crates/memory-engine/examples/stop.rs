//! Task 10: stop in order. `close` stops the background, gives its work back to the queue and closes the store.
//!
//! `cargo run -p memory-engine --example stop`

use memory_engine::prelude::*;

#[tokio::main]
async fn main() -> Result<()> {
    let path = std::env::temp_dir().join(format!("stop-{}.db", RecordId::new()));
    let lin = Scope::user("lin")?;

    let memory = MemoryEngine::open(path.as_path()).await?;
    memory.remember(&lin, "hello").await?;
    memory.close().await?;
    // Every later call, on every handle, fails with `Closed`.
    let late = memory.remember(&lin, "too late").await;
    assert_eq!(late.map_err(|error| error.kind()), Err(ErrorKind::Closed));

    // What was not done goes on with the next engine.
    let memory = MemoryEngine::open(path.as_path()).await?;
    let done = memory.drain(&lin, |_| ()).await?;
    println!("{} record, {done} jobs were left", memory.stats(&lin).await?.records);
    memory.close().await?;
    std::fs::remove_file(path).ok();
    Ok(())
}
