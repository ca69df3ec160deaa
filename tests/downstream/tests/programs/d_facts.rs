//! Facts: extraction, supersession, "as of", correction, deletion; with a clock that stands still.

use std::sync::Arc;

use memory_engine::{
    facts::{Fact, FactKind},
    history::Edit,
    jiff::tz::TimeZone,
    prelude::*,
    testing::{ManualClock, ScriptedModel},
};

async fn engine(clock: &Arc<ManualClock>) -> Result<MemoryEngine> {
    let rules = EnrichmentOptions::rules()?;
    MemoryEngine::builder().in_memory().enrichment(rules).clock(clock.clone()).background(false).build().await
}

fn values(facts: &[Fact]) -> Vec<&str> {
    facts.iter().map(|fact| fact.value.as_str()).collect()
}

#[tokio::test]
async fn a_move_ends_the_home_before_and_as_of_finds_it() -> Result<()> {
    let clock = Arc::new(ManualClock::new("2024-09-01T12:00:00Z".parse()?));
    let memory = engine(&clock).await?;
    let kim = Scope::user("kim")?;
    let (may, august): (Timestamp, Timestamp) = ("2024-05-01T20:00:00Z".parse()?, "2024-08-29T09:00:00Z".parse()?);
    memory.remember(&kim, Turn::user("I live in Porto.").at(may)).await?;
    memory.remember(&kim, Turn::user("I moved to Lisbon.").at(august)).await?;
    memory.drain(&kim, |_| ()).await?;

    let now = memory.facts(&kim).about("user").attribute("home").await?;
    assert_eq!(values(&now), ["Lisbon"]);
    assert_eq!((now[0].kind, now[0].valid_from), (FactKind::Fact, august));
    assert_eq!(now[0].evidence[0].quote, "I moved to Lisbon.");
    let june = memory.facts(&kim).as_of("2024-06-15T00:00:00Z".parse::<Timestamp>()?).await?;
    assert_eq!(values(&june), ["Porto"]);
    assert_eq!(june[0].valid_until, Some(august));
    assert_eq!(memory.facts(&kim).attribute("home").history().await?.len(), 2);
    Ok(())
}

#[tokio::test]
async fn tomorrow_is_read_in_the_zone_of_the_user() -> Result<()> {
    for (zone, day) in [("UTC", "2024-05-02"), ("America/Los_Angeles", "2024-05-02"), ("Asia/Shanghai", "2024-05-03")] {
        // 20:00 UTC is 13:00 in Los Angeles, and 04:00 of the next day in Shanghai.
        let clock = Arc::new(ManualClock::new("2024-05-01T20:00:00Z".parse()?));
        let memory = MemoryEngine::builder()
            .in_memory()
            .enrichment(EnrichmentOptions::rules()?)
            .zone(TimeZone::get(zone).expect("a zone of the database"))
            .clock(clock)
            .background(false)
            .build()
            .await?;
        let kim = Scope::user("kim")?;
        memory.remember(&kim, "I have a dentist appointment tomorrow.").await?;
        memory.drain(&kim, |_| ()).await?;
        let facts = memory.facts(&kim).await?;
        assert!(facts.iter().any(|fact| fact.text.contains(day)), "{zone}: {facts:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_correction_supersedes_a_fact_and_keeps_its_history() -> Result<()> {
    let clock = Arc::new(ManualClock::new("2024-05-01T20:00:00Z".parse()?));
    let memory = engine(&clock).await?;
    let kim = Scope::user("kim")?;
    memory.remember(&kim, "I'm allergic to peanuts.").await?;
    memory.drain(&kim, |_| ()).await?;
    let fact = memory.facts(&kim).await?.remove(0);
    clock.advance(std::time::Duration::from_secs(60));
    memory.update(&kim, fact.id, "cashews").await?;
    memory.drain(&kim, |_| ()).await?;

    let now = memory.facts(&kim).await?;
    assert_eq!(values(&now), ["cashews"]);
    assert!(now[0].text.contains("cashews"), "text and value agree: {}", now[0].text);
    assert_eq!(memory.facts(&kim).history().await?.len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_corrected_turn_keeps_its_id_and_former_text() -> Result<()> {
    let memory = crate::quiet().await?;
    let kim = Scope::user("kim")?;
    let id = memory.remember(&kim, "The key is under the mat.").await?;
    assert_eq!(memory.update(&kim, id, "The key is with Mo.").await?, id);
    let record = memory.get(&kim, id).await?.expect("the record");
    assert_eq!(record.text, "The key is with Mo.");
    assert_eq!(Edit::all_of(&record)[0].text, "The key is under the mat.");
    assert!(memory.recall(&kim, "mat").await?.best().is_none());
    Ok(())
}

#[tokio::test]
async fn rules_take_over_from_a_model_that_answers_nonsense() -> Result<()> {
    let model = ScriptedModel::replying(["no JSON at all"]).otherwise("nor here");
    let enrichment = EnrichmentOptions::model(model)?;
    let memory = MemoryEngine::builder().in_memory().enrichment(enrichment).background(false).build().await?;
    let kim = Scope::user("kim")?;
    memory.remember(&kim, "I live in Porto.").await?;
    memory.drain(&kim, |_| ()).await?;
    assert_eq!(values(&memory.facts(&kim).attribute("home").await?), ["Porto"]);
    Ok(())
}

#[tokio::test]
async fn forgetting_a_turn_removes_the_facts_made_of_it() -> Result<()> {
    let clock = Arc::new(ManualClock::new("2024-05-01T20:00:00Z".parse()?));
    let memory = engine(&clock).await?;
    let kim = Scope::user("kim")?;
    let id = memory.remember(&kim, "I live in Porto.").await?;
    memory.drain(&kim, |_| ()).await?;
    memory.forget(&kim, id).await?;
    assert!(memory.facts(&kim).history().await?.is_empty());
    Ok(())
}
