//! 业务验收用例: the document's cases A, B and C.

use std::time::Duration;

use anyhow::{Result, ensure};
use memory_engine::{recall::QueryForm, testing::ManualClock};
use memory_engine_chat_memory::ChatMemories;

use crate::chat::{Chat, FrontEnd, named};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const WEAK: &str = "你今天有什么不一样？";

/// Goes through all three, and fails when one of them does not hold.
pub(crate) async fn run(front: &FrontEnd, clock: &ManualClock) -> Result<()> {
    println!("── day 1");
    one(front, "day-1", &["我海鲜过敏，别推荐海鲜", "我一失眠第二天就头疼，喝点温牛奶会好些"]).await?;
    clock.advance(DAY);

    println!("── day 2 · case A: a clear question");
    let (found, reply) = one(front, "day-2-a", &["晚饭推荐什么？"]).await?;
    let a = shown("A", &found, QueryForm::Question, "海鲜过敏") && !reply.contains("海鲜炒饭");

    println!("── day 2 · case B: a weak question, with what was said before it");
    let mut settings = front.memory.settings();
    settings.weak_at_once = true;
    front.memory.set(settings.clone())?;
    let (found, _) = one(front, "day-2-b", &["我昨晚失眠了，三点才睡着", WEAK]).await?;
    let b = shown("B", &found, QueryForm::Context, "温牛奶") && found.searches[0].query.contains("失眠");

    println!("── day 3 · case C: a weak question that a model rewrites");
    clock.advance(DAY);
    (settings.weak_at_once, settings.rewrite) = (false, true);
    front.memory.set(settings)?;
    let (found, _) = one(front, "day-3-c", &["又是盯着天花板数羊的一夜", WEAK]).await?;
    let c = shown("C", &found, QueryForm::Rewritten, "失眠") && found.searches.len() == 3;
    ensure!(a && b && c, "not every case holds");
    Ok(())
}

/// A chat of its own, and what its last message led to.
async fn one(front: &FrontEnd, name: &str, lines: &[&str]) -> Result<(ChatMemories, String)> {
    let (mut chat, mut last) = (Chat::new(front, name, None), Default::default());
    for line in lines {
        last = chat.say(line).await?;
    }
    chat.written().await?;
    Ok(last)
}

/// Prints whether this form of the query found a memory with these words, and returns it.
fn shown(case: &str, found: &ChatMemories, form: QueryForm, words: &str) -> bool {
    let holds = found.form() == Some(form) && found.memories.iter().any(|memory| memory.memory.contains(words));
    println!("case {case} {}: {words}, by {}\n", if holds { "holds" } else { "does NOT hold" }, named(form));
    holds
}
