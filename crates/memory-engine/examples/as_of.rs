//! Where did I live in May? Recalls the memories of a time, after two moves, in English and Chinese.
//!
//! `cargo run -p memory-engine --example as_of`

use std::{sync::Arc, time::Duration};

use memory_engine::{prelude::*, testing::ManualClock};

const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

#[tokio::main]
async fn main() -> Result<()> {
    // The clock of a year, in place of the system's.
    let clock = Arc::new(ManualClock::new("2026-03-10T09:00:00Z".parse()?));
    let builder = MemoryEngine::builder().in_memory().clock(clock.clone());
    let memory = builder.enrichment(EnrichmentOptions::rules()?).build().await?;
    let (lin, xiaolin) = (Scope::user("lin")?, Scope::user("小林")?);
    for (english, chinese) in [
        ("I live in Porto.", "我住在上海。"),
        ("I moved to Lisbon.", "我搬到北京了。"),
        ("I moved to Madrid.", "我搬到广州了。"),
    ] {
        memory.remember(&lin, english).await?;
        memory.remember(&xiaolin, chinese).await?;
        memory.drain(&lin, |_| ()).await?;
        memory.drain(&xiaolin, |_| ()).await?;
        clock.advance(MONTH * 4);
    }

    for (user, question) in [(&lin, "Where do I live?"), (&xiaolin, "我住在哪里？")] {
        for time in ["2026-05-15", "2026-08-01", "2027-01-01"] {
            let time: Timestamp = time.parse()?;
            let facts = Filter::eq(Field::Kind, Kind::FACT.as_str());
            let query = RecallQuery::new(question).with_filter(facts).as_of(time);
            let best = memory.recall(user, query).await?;
            println!("{time}  {question}  {}", best.hits[0].record.text);
        }
    }
    Ok(())
}
