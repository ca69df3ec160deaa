//! Task 10: shut down. `close` stops the background worker, releases its claimed jobs and closes the store.
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

    // The next engine runs the remaining jobs.
    let memory = MemoryEngine::open(path.as_path()).await?;
    let jobs = memory.drain(&lin, |_| ()).await?;
    println!("{} record, {jobs} jobs remained", memory.stats(&lin).await?.records);
    memory.close().await?;
    std::fs::remove_file(path).ok();
    Ok(())
}
