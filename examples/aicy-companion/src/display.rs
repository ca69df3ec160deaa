//! The display next to the conversation.

use std::fmt::Write as _;

use anyhow::Result;
use memory_engine::{MemoryEngine, ScanQuery, Scope, Timestamp, context::BuiltContext};
use memory_engine_companion::{Companion, CompanionState, TurnReply};

const BAR_WIDTH: i32 = 20;

/// Returns date and time in UTC+8.
pub(crate) fn time(at: Timestamp) -> String {
    let text = at.after(std::time::Duration::from_secs(8 * 3600)).to_string();
    text.get(..16).unwrap_or(&text).replace('T', " ")
}

/// Returns a bar of the affection within its stage.
pub(crate) fn bar(aicy: &Companion, state: &CompanionState) -> String {
    let affection = state.bond.affection;
    let stages = &aicy.pack().stages;
    let (chapter, stage) = stages.at(affection);
    let next = stages.all().iter().map(|stage| stage.from).find(|from| *from > affection).unwrap_or(10_000);
    let filled = (affection - stage.from) * BAR_WIDTH / (next - stage.from).max(1);
    let bar: String = (0..BAR_WIDTH).map(|n| if n < filled { '█' } else { '░' }).collect();
    format!("♥ {bar} {affection}/{next} · 第{chapter}章 {} · 连续 {} 天", stage.name, state.bond.consecutive_days)
}

/// Returns the result of a turn.
pub(crate) fn after(aicy: &Companion, reply: &TurnReply) -> String {
    let mut text = bar(aicy, &reply.state);
    for change in &reply.changes {
        let _ = write!(text, " · {:+} {}", change.delta, change.reason);
    }
    if let Some(moment) = &reply.key_moment {
        let rule = aicy.pack().moments.iter().find(|rule| rule.id == *moment);
        let _ = write!(text, "\n★ 关键时刻：{}", rule.map_or(moment.as_str(), |rule| rule.name.as_str()));
    }
    for degraded in &reply.degraded {
        let _ = write!(text, "\n（{}: {}）", degraded.stage, degraded.reason);
    }
    text
}

/// Returns the key moments, the profile, and the latest entries of the affection log.
pub(crate) async fn memory(engine: &MemoryEngine, aicy: &Companion, scope: &Scope) -> Result<String> {
    let state = aicy.state(scope).await?;
    let mut text = format!("{} 条消息\n【关键时刻】\n", state.total_messages);
    for moment in engine.get_all(scope, &state.key_moments).await?.into_iter().flatten() {
        let name = moment.metadata.get("moment_name").and_then(|name| name.as_str()).unwrap_or_default();
        let _ = writeln!(text, "[{name} - {}]\n{}", time(moment.occurred_at), moment.text);
    }
    text.push_str("【用户画像】\n");
    if let Some(profile) = state.profile {
        let profile = engine.get(scope, profile).await?;
        let _ = writeln!(text, "{}", profile.map(|record| record.text).unwrap_or_default());
    }
    text.push_str("【好感度日志】\n");
    let page = engine.scan(scope, &ScanQuery::newest(100)).await?;
    for line in page.records.iter().filter(|record| record.kind.as_str() == "ledger/affection").take(5) {
        let value = |key: &str| line.metadata.get(key).and_then(|number| number.as_i64()).unwrap_or_default();
        let (delta, before, after) = (value("delta"), value("before_value"), value("after_value"));
        let _ = writeln!(text, "{} {delta:+} {before} → {after} {}", time(line.occurred_at), line.text);
    }
    Ok(text)
}

/// Returns the tokens of each layer of the context.
pub(crate) fn context(built: &BuiltContext) -> String {
    let mut text = format!("{} / {} tokens ({})\n", built.tokens, built.limit, built.counter);
    for layer in &built.layers {
        let available = layer.budget + layer.flowed;
        let _ = writeln!(text, "{:<14} {:>5} / {available}", layer.name, layer.tokens);
    }
    text
}
