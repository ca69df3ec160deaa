//! Task 7: read every record of a user as a stream, for example for an export as JSON Lines.
//!
//! `cargo run -p memory-engine --example every_record`

use futures::TryStreamExt;
use memory_engine::{prelude::*, serde_json};

#[tokio::main]
async fn main() -> Result<()> {
    let memory = MemoryEngine::builder().in_memory().build().await?;
    let lin = Scope::user("lin")?;
    memory.remember_all(&lin, (1..=2500).map(|n| format!("Line {n}"))).await?;

    // The stream reads page by page; only one page is in memory at a time.
    let mut records = memory.records(&lin).filter(Filter::eq(Field::Kind, Kind::TURN)).stream();
    let mut bytes = 0;
    while let Some(record) = records.try_next().await? {
        let line = serde_json::to_string(&record)
            .map_err(|e| Error::new(ErrorKind::Internal, "export", "a record is not JSON").with_source(e))?;
        bytes += line.len() + 1;
    }
    println!("{bytes} bytes of JSON Lines");
    assert!(bytes > 2500);
    Ok(())
}
