//! A chat program in English: turns, recall, a context under a limit, automatic injection.

use memory_engine::{
    Injector,
    context::{ContextPlan, EstimatedTokens, Layer, MemoryBlock, Message, Overflow},
    prelude::*,
};

const DAY: i64 = 24 * 60 * 60 * 1_000_000;

async fn conversation() -> Result<(MemoryEngine, Scope)> {
    let memory = crate::quiet().await?;
    let user = Scope::user("kim")?;
    let session = user.clone().with_session("s1")?;
    let evening: Timestamp = "2026-11-22T18:54:00Z".parse()?;
    let said = [
        Turn::user("My dog is called Biscuit."),
        Turn::assistant("Biscuit is a lovely name."),
        Turn::user("I'm allergic to peanuts."),
        Turn::user("My flight to Berlin leaves on Tuesday at nine."),
    ];
    let turns = said.into_iter().enumerate().map(|(n, turn)| {
        let time = Timestamp::from_micros(evening.as_micros() - DAY + n as i64);
        turn.with_sequence(n as i64).with_scene("daily").at(time)
    });
    memory.remember_all(&session, turns).await?;
    Ok((memory, user))
}

#[tokio::test]
async fn one_call_lays_out_a_context_within_its_limit() -> Result<()> {
    let (memory, user) = conversation().await?;
    let session = user.clone().with_session("s1")?;
    let context =
        memory.context(&session, "Which nuts am I allergic to?").persona("You are kind.").recent(2).max_tokens(120).await?;
    assert!(context.text.starts_with("You are kind."));
    assert!(context.text.contains("peanuts"), "{}", context.text);
    assert!(context.text.contains("Berlin"), "the recent turns: {}", context.text);
    assert!(context.tokens <= 120);
    Ok(())
}

#[tokio::test]
async fn dates_in_the_prompt_are_those_of_utc() -> Result<()> {
    let (memory, user) = conversation().await?;
    let context = memory.context(&user, "When is my flight to Berlin?").await?;
    // Said at 18:54 UTC, which is the next day at UTC+8.
    assert!(context.text.contains("2026-11-21"), "{}", context.text);
    assert!(!context.text.contains("2026-11-22"), "{}", context.text);
    Ok(())
}

#[tokio::test]
async fn layers_can_be_laid_out_by_hand() -> Result<()> {
    let (memory, user) = conversation().await?;
    let found = memory.recall(&user, RecallQuery::new("peanuts").with_limit(3)).await?;
    let block = MemoryBlock::default().render(found.relevant().map(|hit| &hit.record));
    let context = ContextPlan::new(200)
        .with_layer(Layer::text("persona", 80, "You are kind.").with_overflow(Overflow::NeverCut).stable())
        .with_layer(Layer::block("memories", 100, &block))
        .build(&EstimatedTokens)?;
    assert!(context.text.contains("allergic to peanuts"));
    assert!(context.tokens <= 200);
    Ok(())
}

#[tokio::test]
async fn english_questions_about_the_past_are_answered_with_english_memories() -> Result<()> {
    let (memory, user) = conversation().await?;
    let injector = Injector::new(memory);
    for (text, expected) in [
        ("Do you remember my dog's name?", "Biscuit"),
        ("What did I tell you about peanuts?", "allergic to peanuts"),
    ] {
        let injection = injector.inject(&user, &Message { round: 5, scene: "daily", text }).await;
        assert!(injection.text.contains(expected), "{text}: {:?}", injection);
        assert!(injection.text.is_ascii(), "English text only: {}", injection.text);
    }
    let small_talk = Message { round: 6, scene: "daily", text: "Nice weather." };
    assert_eq!(injector.inject(&user, &small_talk).await.text, "");
    Ok(())
}
