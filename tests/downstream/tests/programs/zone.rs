//! One time zone and one language for everything, set on the builder.

use std::sync::Arc;

use memory_engine::{Language, jiff::tz::TimeZone, prelude::*, testing::ManualClock};

async fn engine(zone: TimeZone) -> Result<(MemoryEngine, Scope)> {
    // 23:30 in New York, the next day in UTC.
    let clock = Arc::new(ManualClock::new("2026-03-11T03:30:00Z".parse()?));
    let memory = MemoryEngine::builder().in_memory().zone(zone).clock(clock).background(false).build().await?;
    Ok((memory, Scope::user("kim")?))
}

fn new_york() -> TimeZone {
    TimeZone::get("America/New_York").expect("a zone of the database")
}

#[tokio::test]
async fn a_day_in_a_question_is_a_day_of_the_zone() -> Result<()> {
    for (zone, expected) in [(new_york(), "soup"), (TimeZone::UTC, "bread")] {
        let (memory, kim) = engine(zone).await?;
        let soup: Timestamp = "2026-03-09T18:00:00Z".parse()?; // the ninth everywhere
        let bread: Timestamp = "2026-03-10T18:00:00Z".parse()?; // the tenth everywhere
        memory.remember(&kim, Turn::user("I cooked soup.").at(soup)).await?;
        memory.remember(&kim, Turn::user("I cooked bread.").at(bread)).await?;
        // Yesterday is the ninth in New York, where it is the tenth, and the tenth in UTC.
        let found = memory.recall(&kim, RecallQuery::new("What did I cook yesterday?").only_then()).await?;
        let texts: Vec<&str> = found.hits.iter().map(|hit| hit.text()).collect();
        assert_eq!(texts, [format!("I cooked {expected}.")]);
    }
    Ok(())
}

#[tokio::test]
async fn a_date_in_a_prompt_is_a_date_of_the_zone() -> Result<()> {
    for (zone, day) in [(new_york(), "2026-03-10"), (TimeZone::UTC, "2026-03-11")] {
        let (memory, kim) = engine(zone).await?;
        memory.remember(&kim, "I'm allergic to peanuts.").await?;
        let context = memory.context(&kim, "peanuts").await?;
        assert!(context.text.contains(day), "{day}: {}", context.text);
    }
    Ok(())
}

#[tokio::test]
async fn the_default_is_utc_and_the_language_of_the_text() -> Result<()> {
    let memory = crate::quiet().await?;
    assert_eq!(memory.settings().zone(), &TimeZone::UTC);
    assert_eq!(memory.settings().language(), None);
    let english = MemoryEngine::builder().in_memory().language(Language::English).build().await?;
    assert_eq!(english.settings().language(), Some(Language::English));
    Ok(())
}
