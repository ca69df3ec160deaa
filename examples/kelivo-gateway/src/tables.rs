//! 阶段5：集成测试, its four tables.

use std::{fs, sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use axum::http::Method;
use memory_engine::{Field, Filter, Kind, MemoryEngine, ScanQuery, Scope, testing::ManualClock};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{kelivo::Kelivo, upstream};

const SYSTEM: &str = "你是 Krueger。";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A line of `story.jsonl`: a message in the window of a day, and what the plan expects of it. The injected block has
/// to hold these words; without any, nothing is injected.
#[derive(Deserialize)]
struct Line {
    day: usize,
    text: String,
    scene: String,
    rule: String,
    holds: Option<String>,
    row: Option<String>,
}

/// Everything that the tables look at.
pub(crate) struct World {
    pub(crate) engine: MemoryEngine,
    pub(crate) scope: Scope,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) seen: upstream::LastRequest,
    pub(crate) client: Kelivo,
}

/// A row of a table: true if it passed, its name, and its result.
type Row = (bool, String, String);

/// Goes through them, and fails when a row does not hold.
pub(crate) async fn run(world: &World) -> Result<()> {
    let (mut rows, mut slowest, mut behind): (Vec<Row>, _, _) = (Vec::new(), Duration::ZERO, 0);
    let (mut history, mut day, mut before) = (Vec::<Value>::new(), 0, None);
    for line in include_str!("../story.jsonl").lines() {
        let line: Line = serde_json::from_str(line)?;
        if line.day != day {
            if day > 0 {
                world.clock.advance(DAY);
            }
            // What a night does: vectors, topics, emotions, summaries.
            behind += world.engine.drain(&world.scope, |_| ()).await?;
            (day, history) = (line.day, vec![json!({ "role": "system", "content": SYSTEM })]);
            println!("── day {day}");
        }
        history.push(json!({ "role": "user", "content": line.text }));
        let answer = world.client.chat(&format!("day-{day}"), &history, false).await?;
        let (scene, rule) = (answer.says("x-memory-scene"), answer.says("x-memory-rule"));
        let system = upstream::system(&world.seen);
        let block = system.strip_prefix(SYSTEM).unwrap_or("the system prompt was changed").trim();
        let injected = match &line.holds {
            None => block.is_empty(),
            Some(words) => block.starts_with("---\n[记忆参考") && block.contains(words.as_str()),
        };
        let ids = answer.says("x-memory-ids").split(',').filter(|id| !id.is_empty()).count();
        println!("{}\n  scene {scene} · rule {rule} · injected {ids} · {} ms", line.text, answer.took.as_millis());
        block.lines().filter(|line| line.starts_with('[') || line.starts_with('-')).for_each(|l| println!("  │ {l}"));
        let holds = scene == line.scene && rule == line.rule && injected;
        let row = line.row.unwrap_or_else(|| format!("     {}", line.text));
        rows.push((holds, row, format!("{scene}, {rule}, {ids} injected")));
        slowest = slowest.max(answer.took);
        // The first message loads the dictionary of Chinese words, once for the process.
        before = before.or_else(resident);
        let reply = answer.json()["choices"][0]["message"]["content"].clone();
        history.push(json!({ "role": "assistant", "content": reply }));
    }
    behind += world.engine.drain(&world.scope, |_| ()).await?;
    basics(world, &mut rows, &history).await?;
    let took = format!("the slowest message took {slowest:.0?}");
    rows.push((slowest < Duration::from_secs(3), "5.4 检索 < 3 秒".into(), took));
    rows.push((behind > 0, "5.4 后台任务不阻塞回复".into(), format!("{behind} jobs were left to the background")));
    match before.zip(resident()).map(|(before, after)| after.saturating_sub(before) / 1024) {
        Some(grown) => {
            rows.push((grown <= 50, "5.4 内存 ≤ 50 MB".into(), format!("{grown} MB after the first message")))
        }
        None => println!("5.4 内存: this system does not tell"),
    }
    println!("\n── tables");
    for (holds, row, outcome) in &rows {
        println!("{} {row} · {outcome}", if *holds { "✓" } else { "✗" });
    }
    let hold = rows.iter().filter(|(holds, _, _)| *holds).count();
    println!("{hold} of {} hold", rows.len());
    ensure!(hold == rows.len(), "not every row holds");
    Ok(())
}

/// 5.1 基础功能测试.
async fn basics(world: &World, rows: &mut Vec<Row>, history: &[Value]) -> Result<()> {
    let mut add = |holds, row: &str, outcome| rows.push((holds, format!("5.1 {row}"), outcome));
    add(true, "Gateway健康检查", world.client.send(Method::GET, &["health"], String::new()).await?.body);
    let messages = [history, &[json!({ "role": "user", "content": "晚安" })]].concat();
    let streamed = world.client.chat("day-3", &messages, true).await?;
    add(streamed.body.ends_with("data: [DONE]\n\n"), "代理转发正常", "a streamed reply came whole".into());
    let turns = ScanQuery::newest(2).with_filter(Filter::eq(Field::Kind, Kind::TURN.as_str()));
    let turns = world.engine.scan(&world.scope, &turns).await?.records;
    let scenes: Vec<&str> = turns.iter().filter_map(|turn| turn.scene.as_deref()).collect();
    add(scenes.len() == 2, "对话存储", format!("scene_type {}", scenes.join(", ")));
    let found = world.client.tool("search_memory", json!({ "query": "纹身" })).await?["results"].to_string();
    add(found.contains("双头鹰"), "MCP search_memory", "纹身 finds 双头鹰".into());
    let context = world.client.tool("init_context", json!({})).await?["context"].to_string();
    let labelled = context.contains("[plot]") && context.contains("[daily]");
    add(labelled, "MCP init_context", format!("{} characters with labels", context.chars().count()));
    Ok(())
}

/// Returns the resident memory of this process, in kB.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim().strip_suffix(" kB")?.parse().ok()
}
