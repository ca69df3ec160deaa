//! Task 4: put persona, memories and recent turns into a prompt, within a limit of tokens.
//!
//! `cargo run -p memory-engine --example prompt_context`

use memory_engine::prelude::*;

#[tokio::main]
async fn main() -> Result<()> {
    let memory = MemoryEngine::builder().in_memory().build().await?;
    let lin = Scope::user("lin")?;
    let monday = lin.clone().with_session("monday")?;
    let today = lin.clone().with_session("today")?;
    memory.remember(&monday, "I'm allergic to peanuts.").await?;
    memory.remember_all(&today, [Turn::user("Let's cook."), Turn::assistant("Gladly. What do you like?")]).await?;

    // The scope of the user contains the memories of all sessions.
    let question = "Can I use peanuts?";
    let context = memory.context(&lin, question).persona("You are a kind cook.").recent(2).max_tokens(300).await?;
    println!("{}\n\n({} tokens)", context.text, context.tokens);
    assert!(context.text.contains("allergic to peanuts"));
    assert!(context.tokens <= 300);
    Ok(())
}
