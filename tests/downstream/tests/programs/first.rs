//! The program of the README.

use memory_engine::prelude::*;

#[tokio::test]
async fn the_program_of_the_readme_finds_and_forgets() -> Result<()> {
    let (_folder, path) = crate::database();
    let memory = MemoryEngine::open(path.as_path()).await?;
    let lin = Scope::user("lin")?;
    memory.remember(&lin, Turn::user("我对海鲜过敏，别带我去吃虾")).await?;
    memory.remember(&lin, Turn::user("My interview has moved to Friday")).await?;

    let found = memory.recall(&lin, "海鲜可以吃吗？").await?;
    let best = found.best().expect("a relevant hit");
    assert_eq!(best.text(), "我对海鲜过敏，别带我去吃虾");
    memory.forget(&lin, best.id()).await?;
    assert!(memory.recall(&lin, "海鲜可以吃吗？").await?.best().is_none());
    memory.close().await?;

    // What was written before is there after opening again.
    let memory = MemoryEngine::open(path.as_path()).await?;
    assert!(memory.recall(&lin, "When is my interview?").await?.best().is_some());
    memory.close().await
}

#[tokio::test]
async fn an_empty_memory_has_no_best_hit() -> Result<()> {
    let memory = crate::quiet().await?;
    assert!(memory.recall(&Scope::user("nobody")?, "anything at all").await?.best().is_none());
    Ok(())
}
