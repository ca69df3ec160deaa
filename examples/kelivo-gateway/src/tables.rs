//! 阶段5：集成测试, its four tables.

use std::{fs, sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use memory_engine::{Field, Filter, Kind, ManualClock, MemoryEngine, ScanQuery, Scope};
use serde_json::{Value, json};

use crate::{kelivo::Kelivo, story::STORY, upstream::Seen};

const SYSTEM: &str = "你是 Krueger。";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Everything that the tables look at.
pub(crate) struct World {
    pub(crate) engine: MemoryEngine,
    pub(crate) scope: Scope,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) seen: Seen,
    pub(crate) client: Kelivo,
}

/// The rows so far: whether each holds, what it is, and what came out.
#[derive(Default)]
struct Rows(Vec<(bool, String, String)>);

impl Rows {
    fn add(&mut self, holds: bool, row: &str, outcome: impl Into<String>) {
        self.0.push((holds, row.to_owned(), outcome.into()));
    }
}

/// Goes through them, and fails when a row does not hold.
pub(crate) async fn run(world: &World) -> Result<()> {
    let (mut rows, mut slowest, mut behind) = (Rows::default(), Duration::ZERO, 0);
    let mut history: Vec<Value> = Vec::new();
    let mut day = 0;
    let mut before = None;
    for line in STORY {
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
        let system = world.seen.system();
        let block = system.strip_prefix(SYSTEM).unwrap_or("the system prompt was changed").trim();
        let injected = match line.holds {
            None => block.is_empty(),
            Some(words) => block.starts_with("---\n[记忆参考") && block.contains(words),
        };
        let ids = answer.says("x-memory-ids").split(',').filter(|id| !id.is_empty()).count();
        let took = answer.took.as_millis();
        println!("{}\n  scene {scene} · rule {rule} · injected {ids} · {took} ms", line.text);
        block.lines().filter(|line| line.starts_with('[') || line.starts_with('-')).for_each(|l| println!("  │ {l}"));
        let holds = scene == line.scene && rule == line.rule && injected;
        let row = if line.row.is_empty() { format!("     {}", line.text) } else { line.row.to_owned() };
        rows.add(holds, &row, format!("{scene}, {rule}, {ids} injected"));
        slowest = slowest.max(answer.took);
        // The first message loads the dictionary of Chinese words, once for the process.
        before = before.or_else(resident);
        let reply = answer.json()["choices"][0]["message"]["content"].clone();
        history.push(json!({ "role": "assistant", "content": reply }));
    }
    behind += world.engine.drain(&world.scope, |_| ()).await?;
    basics(world, &mut rows, &history).await?;
    rows.add(slowest < Duration::from_secs(3), "5.4 检索 < 3 秒", format!("the slowest message took {slowest:.0?}"));
    rows.add(behind > 0, "5.4 后台任务不阻塞回复", format!("{behind} jobs were left to the background"));
    match (before, resident()) {
        (Some(before), Some(after)) => {
            let grown = after.saturating_sub(before) / 1024;
            rows.add(grown <= 50, "5.4 内存 ≤ 50 MB", format!("{grown} MB more after the first message"));
        }
        _ => println!("5.4 内存: this system does not tell"),
    }
    let all = rows.0.iter().all(|(holds, _, _)| *holds);
    println!("\n── tables");
    for (holds, row, outcome) in &rows.0 {
        println!("{} {row} · {outcome}", if *holds { "✓" } else { "✗" });
    }
    println!("{} of {} hold", rows.0.iter().filter(|(holds, _, _)| *holds).count(), rows.0.len());
    ensure!(all, "not every row holds");
    Ok(())
}

/// 5.1 基础功能测试.
async fn basics(world: &World, rows: &mut Rows, history: &[Value]) -> Result<()> {
    let health = world.client.health().await?;
    rows.add(true, "5.1 Gateway健康检查", health.body);
    let mut messages = history.to_vec();
    messages.push(json!({ "role": "user", "content": "晚安" }));
    let streamed = world.client.chat("day-3", &messages, true).await?;
    rows.add(streamed.body.ends_with("data: [DONE]\n\n"), "5.1 代理转发正常", "a streamed reply came whole");
    let turns = ScanQuery::newest(2).with_filter(Filter::eq(Field::Kind, Kind::TURN.as_str()));
    let turns = world.engine.scan(&world.scope, &turns).await?.records;
    let stored = turns.len() == 2 && turns.iter().all(|turn| turn.scene.is_some());
    let scenes: Vec<&str> = turns.iter().filter_map(|turn| turn.scene.as_deref()).collect();
    rows.add(stored, "5.1 对话存储", format!("scene_type {}", scenes.join(", ")));
    let found = world.client.tool("search_memory", json!({ "query": "纹身" })).await?;
    let results = found["structuredContent"]["results"].as_array().cloned().unwrap_or_default();
    let tattoo = results.iter().any(|hit| hit["memory"].as_str().is_some_and(|text| text.contains("双头鹰")));
    rows.add(tattoo, "5.1 MCP search_memory", format!("纹身: {} memories, with 双头鹰", results.len()));
    let context = world.client.tool("init_context", json!({})).await?;
    let text = context["structuredContent"]["context"].as_str().unwrap_or_default();
    rows.add(
        text.contains("[plot]") && text.contains("[daily]"),
        "5.1 MCP init_context",
        format!("{} characters with labels", text.chars().count()),
    );
    Ok(())
}

/// How much memory this process has, in kB.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim().strip_suffix(" kB")?.parse().ok()
}
