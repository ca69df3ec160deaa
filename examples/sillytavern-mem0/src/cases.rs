//! 业务验收用例: the acceptance cases A, B and C of the document.

use std::time::Duration;

use anyhow::{Result, ensure};
use memory_engine::{recall::QueryForm, testing::ManualClock};
use sillytavern_mem0::ChatMemories;

use crate::chat::{Chat, FrontEnd, form_name};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const WEAK_QUESTION: &str = "你今天有什么不一样？";

/// Runs all three cases, and fails if one fails.
pub(crate) async fn run(front: &FrontEnd, clock: &ManualClock) -> Result<()> {
    println!("── day 1");
    run_chat(front, "day-1", &["我海鲜过敏，别推荐海鲜", "我一失眠第二天就头疼，喝点温牛奶会好些"]).await?;
    clock.advance(DAY);

    println!("── day 2 · case A: a clear question");
    let (found, reply) = run_chat(front, "day-2-a", &["晚饭推荐什么？"]).await?;
    let a = check_case("A", &found, QueryForm::Question, "海鲜过敏") && !reply.contains("海鲜炒饭");

    println!("── day 2 · case B: a weak question, with what was said before it");
    let mut settings = front.memory.settings();
    settings.weak_at_once = true;
    front.memory.set(settings.clone())?;
    let (found, _) = run_chat(front, "day-2-b", &["我昨晚失眠了，三点才睡着", WEAK_QUESTION]).await?;
    let b = check_case("B", &found, QueryForm::Context, "温牛奶") && found.searches[0].query.contains("失眠");

    println!("── day 3 · case C: a weak question that a model rewrites");
    clock.advance(DAY);
    settings.weak_at_once = false;
    settings.rewrite = true;
    front.memory.set(settings)?;
    let (found, _) = run_chat(front, "day-3-c", &["又是盯着天花板数羊的一夜", WEAK_QUESTION]).await?;
    let c = check_case("C", &found, QueryForm::Rewritten, "失眠") && found.searches.len() == 3;
    ensure!(a && b && c, "not every case holds");
    Ok(())
}

/// Runs a new chat. Returns the memories and the reply of the last message.
async fn run_chat(front: &FrontEnd, name: &str, lines: &[&str]) -> Result<(ChatMemories, String)> {
    let mut chat = Chat::new(front, name, None);
    let mut last = Default::default();
    for line in lines {
        last = chat.say(line).await?;
    }
    chat.wait_for_write().await?;
    Ok(last)
}

/// Checks that this form of the query found a memory with these words, and prints the result.
fn check_case(case: &str, found: &ChatMemories, form: QueryForm, words: &str) -> bool {
    let holds = found.form() == Some(form) && found.memories.iter().any(|memory| memory.memory.contains(words));
    println!("case {case} {}: {words}, by {}\n", if holds { "holds" } else { "does NOT hold" }, form_name(form));
    holds
}
