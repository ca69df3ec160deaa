//! Traps of a newcomer: each is an answer or an error that says what to do, and never silence.

use memory_engine::{RecallOptions, prelude::*};

#[tokio::test]
async fn a_session_does_not_see_its_sibling_and_the_user_sees_both() -> Result<()> {
    let memory = crate::quiet().await?;
    let user = Scope::user("kim")?;
    let (first, second) = (user.clone().with_session("s1")?, user.clone().with_session("s2")?);
    memory.remember(&first, "I'm allergic to peanuts.").await?;
    let question = "Which nuts am I allergic to?";
    assert!(memory.recall(&second, question).await?.hits.is_empty());
    assert!(memory.recall(&user, "peanuts").await?.best().is_some());
    Ok(())
}

#[tokio::test]
async fn what_was_forgotten_stays_away_when_it_is_imported_again() -> Result<()> {
    let memory = crate::quiet().await?;
    let kim = Scope::user("kim")?;
    let turn = || Turn::user("The old password was on a note.").with_message_id("m1");
    let written = memory.remember_all(&kim, [turn()]).await?;
    memory.forget(&kim, written[0].id).await?;
    let again = memory.remember_all(&kim, [turn()]).await?;
    assert!(matches!(again[0].outcome, memory_engine::Outcome::Blocked(_)), "{again:?}");
    assert!(memory.recall(&kim, "password").await?.hits.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_misspelled_kind_state_or_trust_is_not_silence() -> Result<()> {
    let memory = crate::quiet().await?;
    let kim = Scope::user("kim")?;
    memory.remember(&kim, "hello").await?;
    let filter = Filter::eq(Field::State, "activ");
    let error = memory.recall(&kim, RecallQuery::new("hello").with_filter(filter)).await.expect_err("no such state");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    Ok(())
}

#[tokio::test]
async fn an_empty_question_and_a_time_far_ahead_are_refused() -> Result<()> {
    let memory = crate::quiet().await?;
    let kim = Scope::user("kim")?;
    assert_eq!(memory.recall(&kim, " ").await.expect_err("empty").kind(), ErrorKind::InvalidInput);
    let far: Timestamp = "2100-01-01".parse()?;
    let error = memory.remember(&kim, Turn::user("hello").at(far)).await.expect_err("far ahead");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    Ok(())
}

#[tokio::test]
async fn a_score_is_no_threshold_and_relevant_is() -> Result<()> {
    let memory = crate::quiet().await?;
    let kim = Scope::user("kim")?;
    memory.remember_all(&kim, ["I bought new shoes.", "The river is high."]).await?;
    let found = memory.recall(&kim, "Which instruments are played at the river festival concert?").await?;
    assert!(found.best().is_none(), "{:?}", found.hits);
    assert_eq!(found.relevant().count(), 0);
    Ok(())
}

#[tokio::test]
async fn a_file_of_another_embedder_is_refused_with_what_to_do() -> Result<()> {
    use memory_engine::embed::HashEmbedder;
    let (_folder, path) = crate::database();
    MemoryEngine::open(path.as_path()).await?.close().await?;
    let other = HashEmbedder::with_dimensions(64)?;
    let error = MemoryEngine::builder().sqlite(&path).embedder(other).build().await.expect_err("another space");
    assert!(matches!(error.kind(), ErrorKind::DimensionMismatch | ErrorKind::SchemaMismatch), "{error:?}");
    assert!(error.message().contains("reindex") || error.message().contains("Mismatch"), "{error}");
    Ok(())
}

#[tokio::test]
async fn options_are_set_one_by_one() -> Result<()> {
    let memory = crate::quiet().await?;
    let kim = Scope::user("kim")?;
    memory.remember_all(&kim, (0..20).map(|n| format!("The violin number {n}"))).await?;
    let options = RecallOptions::default().with_limit(3).with_max_candidates(50);
    let found = memory.recall(&kim, RecallQuery::new("violin").with_options(options)).await?;
    assert_eq!(found.hits.len(), 3);
    Ok(())
}
