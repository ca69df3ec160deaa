//! Task 5: restrict a recall by kind, role, time and metadata.
//!
//! `cargo run -p memory-engine --example filters`

#![allow(clippy::disallowed_methods, reason = "an application may ask the system for the time")]

use std::time::{Duration, SystemTime};

use memory_engine::{Op, prelude::*};

#[tokio::main]
async fn main() -> Result<()> {
    let memory = MemoryEngine::builder().in_memory().build().await?;
    let lin = Scope::user("lin")?;
    memory.remember(&lin, Turn::note("The violin is in the attic.").meta("room", 3)).await?;
    memory.remember(&lin, Turn::user("I play the violin.")).await?;

    // Values have the type of the field: kinds, roles, numbers, `SystemTime`, `jiff::Timestamp`.
    let yesterday = SystemTime::now() - Duration::from_secs(24 * 60 * 60);
    let filter = Filter::eq(Field::Kind, Kind::NOTE)
        .and(Filter::eq(Field::Metadata("room".into()), 3))
        .and(Filter::compare(Field::OccurredAt, Op::Ge, yesterday));
    let found = memory.recall(&lin, RecallQuery::new("violin").with_filter(filter)).await?;
    for hit in &found.hits {
        println!("{}", hit.text());
    }
    assert_eq!(found.hits.len(), 1);

    let said = memory.recall(&lin, RecallQuery::new("violin").with_filter(Filter::eq(Field::Role, Role::USER))).await?;
    assert_eq!(said.hits[0].text(), "I play the violin.");
    Ok(())
}
