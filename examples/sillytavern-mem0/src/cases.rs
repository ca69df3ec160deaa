//! 业务验收用例: the document's cases A, B and C.

use std::time::Duration;

use anyhow::{Result, ensure};
use memory_engine::ManualClock;

use crate::{
    chat::{Chat, Said},
    long_term::{Layer, LongTerm},
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const WEAK: &str = "你今天有什么不一样？";

/// Goes through all three, and fails when one of them does not hold.
pub(crate) async fn run(memory: &LongTerm, clock: &ManualClock) -> Result<()> {
    println!("── day 1");
    let mut chat = Chat::new(memory, clock, "day-1", None);
    chat.say("我海鲜过敏，别推荐海鲜").await?;
    chat.say("我一失眠第二天就头疼，喝点温牛奶会好些").await?;
    chat.written().await?;
    clock.advance(DAY);

    println!("── day 2 · case A: a clear question");
    let a = one(memory, clock, "day-2-a", &["晚饭推荐什么？"]).await?;
    let a = shown("A", &a, Layer::Original, "海鲜过敏") && !a.reply.contains("海鲜炒饭");

    println!("── day 2 · case B: a weak question, with what was said before it");
    memory.settings.change(|settings| settings.weak_at_once = true);
    let b = one(memory, clock, "day-2-b", &["我昨晚失眠了，三点才睡着", WEAK]).await?;
    let b = shown("B", &b, Layer::Context, "温牛奶") && b.retrieved.asked[0].1.contains("失眠");

    println!("── day 3 · case C: a weak question that a model rewrites");
    clock.advance(DAY);
    memory.settings.change(|settings| (settings.weak_at_once, settings.rewrite) = (false, true));
    let c = one(memory, clock, "day-3-c", &["又是盯着天花板数羊的一夜", WEAK]).await?;
    let c = shown("C", &c, Layer::Rewritten, "失眠") && c.retrieved.asked.len() == 3;
    ensure!(a && b && c, "not every case holds");
    Ok(())
}

/// A chat of its own, and what its last message led to.
async fn one(memory: &LongTerm, clock: &ManualClock, name: &str, lines: &[&str]) -> Result<Said> {
    let mut chat = Chat::new(memory, clock, name, None);
    let mut said = Vec::new();
    for line in lines {
        said.push(chat.say(line).await?);
    }
    chat.written().await?;
    said.pop().ok_or_else(|| anyhow::anyhow!("a case has at least one line"))
}

/// Whether this layer found a memory with these words; a line says so.
fn shown(case: &str, said: &Said, layer: Layer, words: &str) -> bool {
    let by = said.retrieved.asked.last().is_some_and(|(asked, _, _)| *asked == layer);
    let holds = by && said.retrieved.memories.iter().any(|memory| memory.memory.contains(words));
    println!("case {case} {}: {words}, by {layer}\n", if holds { "holds" } else { "does NOT hold" });
    holds
}
