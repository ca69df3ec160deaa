//! 阶段5：集成测试, its four tables.

use std::{fs, sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use axum::http::Method;
use memory_engine::{Field, Filter, Kind, MemoryEngine, ScanQuery, Scope, testing::ManualClock};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{kelivo::Kelivo, upstream};

const SYSTEM: &str = "你是 Krueger。";
/// Number of messages after the tables, for the measurement of memory.
const FURTHER_MESSAGES: usize = 200;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A line of `story.jsonl`: a message of a day, and the results that the plan expects. If `holds` is set, the injected
/// block must contain it; otherwise nothing may be injected.
#[derive(Deserialize)]
struct Line {
    day: usize,
    text: String,
    scene: String,
    rule: String,
    holds: Option<String>,
    row: Option<String>,
}

/// The gateway under test.
pub(crate) struct World {
    pub(crate) engine: MemoryEngine,
    pub(crate) scope: Scope,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) last_request: upstream::LastRequest,
    pub(crate) client: Kelivo,
}

/// A row of a table: true if it passed, its name, and its result.
type Row = (bool, String, String);

/// Runs all tables, prints the results, and fails if a row fails.
pub(crate) async fn run(world: &World) -> Result<()> {
    let mut rows: Vec<Row> = Vec::new();
    let mut slowest = Duration::ZERO;
    let mut background_jobs = 0;
    let mut replies_without_jobs = 0;
    let mut history: Vec<Value> = Vec::new();
    let mut day = 0;
    let mut memory_before = None;
    for line in include_str!("../story.jsonl").lines() {
        let line: Line = serde_json::from_str(line)?;
        if line.day != day {
            if day > 0 {
                world.clock.advance(DAY);
            }
            // The background jobs of a night: vectors, topics, emotions, summaries.
            background_jobs += world.engine.drain(&world.scope, |_| ()).await?;
            day = line.day;
            history = vec![json!({ "role": "system", "content": SYSTEM })];
            println!("── day {day}");
        }
        history.push(json!({ "role": "user", "content": line.text }));
        let queued_before = queued_jobs(world).await?;
        let response = world.client.chat(&format!("day-{day}"), &history, false).await?;
        // A gateway that does the work of a turn before its reply leaves nothing in the queue.
        replies_without_jobs += usize::from(queued_jobs(world).await? <= queued_before);
        let (scene, rule) = (response.header("x-memory-scene"), response.header("x-memory-rule"));
        let system = upstream::system(&world.last_request);
        let block = system.strip_prefix(SYSTEM).unwrap_or("the system prompt was changed").trim();
        let is_injection_expected = match &line.holds {
            None => block.is_empty(),
            Some(words) => block.starts_with("---\n[记忆参考") && block.contains(words.as_str()),
        };
        let ids = response.header("x-memory-ids").split(',').filter(|id| !id.is_empty()).count();
        println!("{}\n  scene {scene} · rule {rule} · injected {ids} · {} ms", line.text, response.took.as_millis());
        block.lines().filter(|line| line.starts_with('[') || line.starts_with('-')).for_each(|l| println!("  │ {l}"));
        let passed = scene == line.scene && rule == line.rule && is_injection_expected;
        let row = line.row.unwrap_or_else(|| format!("     {}", line.text));
        rows.push((passed, row, format!("{scene}, {rule}, {ids} injected")));
        slowest = slowest.max(response.took);
        // The first message and its jobs load the dictionaries and the rules, so memory is measured after them.
        if memory_before.is_none() {
            background_jobs += world.engine.drain(&world.scope, |_| ()).await?;
            memory_before = resident_memory();
        }
        let reply = response.json()["choices"][0]["message"]["content"].clone();
        history.push(json!({ "role": "assistant", "content": reply }));
    }
    background_jobs += world.engine.drain(&world.scope, |_| ()).await?;
    basics(world, &mut rows, &history).await?;
    background_jobs += world.engine.drain(&world.scope, |_| ()).await?;
    let took = format!("the slowest message took {slowest:.0?}");
    rows.push((slowest < Duration::from_secs(3), "5.4 检索 < 3 秒".into(), took));
    rows.push((
        replies_without_jobs == 0 && queued_jobs(world).await? == 0,
        "5.4 后台任务不阻塞回复".into(),
        format!("{background_jobs} jobs were done later; {replies_without_jobs} messages queued none"),
    ));
    chat_on(world).await?;
    match memory_before.zip(resident_memory()).map(|(before, after)| after.saturating_sub(before) / 1024) {
        Some(grown) => rows.push((
            grown <= 50,
            "5.4 内存 ≤ 50 MB".into(),
            format!("{grown} MB after {FURTHER_MESSAGES} more messages"),
        )),
        None => println!("5.4 内存: cannot be measured on this system"),
    }
    println!("\n── tables");
    for (passed, row, outcome) in &rows {
        println!("{} {row} · {outcome}", if *passed { "✓" } else { "✗" });
    }
    let passed = rows.iter().filter(|(passed, _, _)| *passed).count();
    println!("{passed} of {} hold", rows.len());
    ensure!(passed == rows.len(), "not every row holds");
    Ok(())
}

/// Returns the number of queued jobs of the user.
async fn queued_jobs(world: &World) -> Result<u64> {
    Ok(world.engine.stats(&world.scope).await?.queued.values().sum())
}

/// Sends further messages of many sessions, with their background jobs, to measure the memory that turns take.
async fn chat_on(world: &World) -> Result<()> {
    for n in 0..FURTHER_MESSAGES {
        let text = format!("第{n}天：下班路上买了{n}个苹果，晚上看了一部老电影，明天要早起开会。");
        let messages = [json!({ "role": "system", "content": SYSTEM }), json!({ "role": "user", "content": text })];
        world.client.chat(&format!("further-{}", n / 10), &messages, false).await?;
        if n % 50 == 49 {
            world.engine.drain(&world.scope, |_| ()).await?;
        }
    }
    Ok(())
}

/// 5.1 基础功能测试.
async fn basics(world: &World, rows: &mut Vec<Row>, history: &[Value]) -> Result<()> {
    let mut add = |passed, row: &str, outcome| rows.push((passed, format!("5.1 {row}"), outcome));
    let health = world.client.send(Method::GET, &["health"], String::new()).await?;
    add(health.json()["status"] == "ok", "Gateway健康检查", health.body);
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
fn resident_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim().strip_suffix(" kB")?.parse().ok()
}
