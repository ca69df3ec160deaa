//! The block of the chat gateway.

use std::collections::BTreeMap;

use jiff::tz::{self, TimeZone};
use memory_engine_core::Record;

use crate::{
    block::Rendered,
    line::{neutralized, one_line, whole_sentences},
};

const OPENING: &str = "---\n[记忆参考 - 仅供自然融入对话，不要机械引用]\n";
const SUMMARIES: &str = "\n[最近的对话摘要]\n";
const FRAGMENTS: &str = "\n[相关记忆片段]\n";
const CLOSING: &str = "\n注意：以上记忆仅供参考。标记为[剧本]的内容是角色扮演剧情，不是真实事件。\n带时间戳的内容请注意时效性，过去的安排不代表当前状态。\n---";
/// What marks the parts of the block, and must not come from a memory; nor must a label.
const MARKS: &[&str] = &["记忆参考", "最近的对话摘要", "相关记忆片段", "剧本"];

/// The text that the chat gateway's document has injected at the end of the system prompt: recent summaries, memories that
/// were found, each with its time and its scene, and how to take them.
///
/// A part without entries is left out, and without any entry there is no text. Where the budget is too small the entries of
/// the lowest rank go first, and what is left alone is cut behind a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewayBlock {
    /// How many characters the whole block may have.
    pub max_chars: usize,
    /// How many characters of one memory are shown.
    pub max_chars_each: usize,
    /// The zone of the times.
    pub zone: TimeZone,
    /// How scenes are shown; one that is not named goes by its own name.
    pub labels: BTreeMap<String, String>,
    /// The scene of memories that have none.
    pub unlabelled: String,
}

impl Default for GatewayBlock {
    fn default() -> Self {
        let labels = [("daily", "日常"), ("plot", "剧本"), ("meta", "系统")];
        Self {
            max_chars: 500,
            max_chars_each: 160,
            zone: TimeZone::fixed(tz::offset(8)),
            labels: labels.map(|(scene, label)| (scene.into(), label.into())).into(),
            unlabelled: "daily".into(),
        }
    }
}

/// One memory in the making.
struct Entry<'r> {
    record: &'r Record,
    head: String,
    text: String,
    summary: bool,
}

impl GatewayBlock {
    /// Another budget.
    #[must_use]
    pub fn with_max_chars(mut self, max_chars: usize) -> Self {
        self.max_chars = max_chars;
        self
    }

    /// Another length of one memory.
    #[must_use]
    pub fn with_max_chars_each(mut self, max_chars: usize) -> Self {
        self.max_chars_each = max_chars;
        self
    }

    /// Another zone for the times.
    #[must_use]
    pub fn with_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    /// Another label for a scene.
    #[must_use]
    pub fn with_label(mut self, scene: impl Into<String>, label: impl Into<String>) -> Self {
        self.labels.insert(scene.into(), label.into());
        self
    }

    /// Lays out summaries and memories, both given best first. Of equal places a memory counts before a summary.
    pub fn render<'r>(
        &self,
        summaries: impl IntoIterator<Item = &'r Record>,
        memories: impl IntoIterator<Item = &'r Record>,
    ) -> Rendered {
        let mut ranked = self.ranked(summaries, memories);
        let all = ranked.len();
        let mut left_out = Vec::new();
        while ranked.len() > 1 && length(&ranked) > self.max_chars {
            left_out.extend(ranked.pop().map(|entry| entry.record.id));
        }
        if let [entry] = ranked.as_mut_slice() {
            let frame = length(std::slice::from_ref(entry)) - entry.text.chars().count();
            entry.text = whole_sentences(&entry.text, self.max_chars.saturating_sub(frame));
            // What is cut to a few characters tells nothing.
            let cut = entry.text.chars().count() < 8 && !entry.text.is_empty() && all > 0 && entry.text.ends_with('…');
            if entry.text.is_empty() || cut {
                left_out.extend(ranked.pop().map(|entry| entry.record.id));
            }
        }
        left_out.reverse();
        ranked.sort_by_key(|entry| (!entry.summary, entry.record.position()));
        Rendered { text: written(&ranked), included: ranked.iter().map(|entry| entry.record.id).collect(), left_out }
    }

    /// The entries by rank: the best memory, the best summary, the second memory, and so on.
    fn ranked<'r>(
        &self,
        summaries: impl IntoIterator<Item = &'r Record>,
        memories: impl IntoIterator<Item = &'r Record>,
    ) -> Vec<Entry<'r>> {
        let (mut summaries, mut memories) = (summaries.into_iter(), memories.into_iter());
        let mut ranked: Vec<Entry<'r>> = Vec::new();
        loop {
            let (memory, summary) = (memories.next(), summaries.next());
            if memory.is_none() && summary.is_none() {
                return ranked;
            }
            for (record, summary) in [(memory, false), (summary, true)] {
                // A memory that is given twice is shown once.
                let record = record.filter(|record| ranked.iter().all(|entry| entry.record.id != record.id));
                ranked.extend(record.map(|record| self.entry(record, summary)));
            }
        }
    }

    fn entry<'r>(&self, record: &'r Record, summary: bool) -> Entry<'r> {
        let time = record.occurred_at.in_zone(&self.zone).strftime("%Y-%m-%d %H:%M").to_string();
        let scene = record.scene.as_deref().unwrap_or(&self.unlabelled);
        let label = match self.labels.get(scene) {
            Some(label) => label.clone(),
            // A scene's name can come from anywhere, and must not pass for the label of another.
            None => one_line(scene, 20).replace(['[', ']', '［', '］', '【', '】'], ""),
        };
        let speaker = match (summary, record.named_speaker(), record.role.as_ref().map(|role| role.as_str())) {
            (true, _, _) => String::new(),
            (false, Some(speaker), _) => format!("{}：", self.neutral(&one_line(speaker, 40))),
            (false, None, Some("user")) => "用户：".into(),
            (false, None, Some("assistant")) => "AI：".into(),
            (false, None, _) => String::new(),
        };
        let text = whole_sentences(&self.neutral(&one_line(&record.text, usize::MAX)), self.max_chars_each);
        Entry { record, head: format!("[{time}][{label}] {speaker}"), text, summary }
    }

    fn neutral(&self, text: &str) -> String {
        let marks: Vec<&str> = MARKS.iter().copied().chain(self.labels.values().map(String::as_str)).collect();
        neutralized(text, &marks, &["注意:以上记忆"])
    }
}

/// The parts with their entries; nothing without an entry.
fn written(entries: &[Entry<'_>]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let mut text = String::from(OPENING);
    for (heading, summary) in [(SUMMARIES, true), (FRAGMENTS, false)] {
        let mut heading = Some(heading);
        for entry in entries.iter().filter(|entry| entry.summary == summary) {
            text.push_str(heading.take().unwrap_or_default());
            text.extend([entry.head.as_str(), &entry.text, "\n"]);
        }
    }
    text.push_str(CLOSING);
    text
}

fn length(entries: &[Entry<'_>]) -> usize {
    written(entries).chars().count()
}
