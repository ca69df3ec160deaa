//! Task 8: the facts that held at a time. Facts are extracted in the background; here by rules, without a model.
//!
//! `cargo run -p memory-engine --example facts_as_of`

use memory_engine::prelude::*;

#[tokio::main]
async fn main() -> Result<()> {
    let rules = EnrichmentOptions::rules()?;
    let memory = MemoryEngine::builder().in_memory().enrichment(rules).build().await?;
    let lin = Scope::user("lin")?;
    let may: Timestamp = "2024-05-01".parse()?;
    let june: Timestamp = "2024-06-15".parse()?;
    let august: Timestamp = "2024-08-29".parse()?;
    memory.remember(&lin, Turn::user("I live in Porto.").at(may)).await?;
    memory.remember(&lin, Turn::user("I moved to Lisbon.").at(august)).await?;
    memory.drain(&lin, |_| ()).await?; // waits for the background jobs

    for (when, facts) in [
        ("now", memory.facts(&lin).about("user").await?),
        ("in June", memory.facts(&lin).about("user").as_of(june).await?),
    ] {
        for fact in &facts {
            println!("{when}: {} = {} (said: {:?})", fact.attribute, fact.value, fact.evidence[0].quote);
        }
    }
    assert_eq!(memory.facts(&lin).as_of(june).await?[0].value, "Porto");
    Ok(())
}
