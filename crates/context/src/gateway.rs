//! The block of memories that the chat gateway injects.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use memory_engine_core::{Kind, Language, Record, RecordId};

use crate::{
    block::RenderedBlock,
    frame::GatewayFrame,
    line::{neutralized, one_line, whole_sentences},
    notice::RequestNotice,
};

/// A cut memory with fewer characters than this is left out.
const CUT_MEMORY_MIN_CHARS: usize = 8;
/// Maximum number of characters of a topic or a sample in a notice.
const QUOTE_MAX_CHARS: usize = 80;

/// The form of memories in a prompt: the core, then summaries and memories with their times, in a frame that tells the
/// model how to use them. The frame exists in Chinese and in English. Scenes other than the usual one are named, and a
/// note says that a play is not real.
///
/// A part without entries is left out; without any entry there is no text. If the budget is too small, the entries of
/// the lowest rank are left out first, and a single entry that is too long is cut after a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewayBlock {
    /// The time zone of the times. Default: that of the engine; UTC without an engine.
    pub zone: Option<TimeZone>,
    /// The scene of memories that have none. Default: `daily`.
    pub unlabelled: String,
    /// True if every scene is named; false if only those other than `unlabelled`. Default: false.
    pub names_every_scene: bool,
    /// The scene of plays. Default: `plot`.
    pub play: String,
    /// The frame in Chinese.
    pub chinese: GatewayFrame,
    /// The frame in English and in every other language.
    pub english: GatewayFrame,
}

impl Default for GatewayBlock {
    fn default() -> Self {
        Self {
            zone: None,
            unlabelled: "daily".into(),
            names_every_scene: false,
            play: "plot".into(),
            chinese: GatewayFrame::chinese(),
            english: GatewayFrame::english(),
        }
    }
}

/// The memories of a block, each list best first.
#[derive(Debug, Clone, Default)]
pub struct BlockMemories<'r> {
    /// Memories that belong in every prompt, such as allergies. They rank before all others, and have no times.
    pub core: Vec<&'r Record>,
    /// Memories that rank before the summaries and the other memories.
    pub relevant: Vec<&'r Record>,
    /// Summaries.
    pub summaries: Vec<&'r Record>,
    /// Other memories. The best one ranks before the best summary, and so on.
    pub others: Vec<&'r Record>,
    /// The memories of which a part does not hold any more. They come after the others, and say so.
    pub past: BTreeSet<RecordId>,
}

/// A part of the block, under a heading of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Core,
    Summaries,
    Memories,
}

/// A memory with its text in the block.
struct GatewayEntry<'r> {
    record: &'r Record,
    part: Part,
    /// Time, scene and speaker, before the text.
    head: String,
    text: String,
}

impl GatewayBlock {
    /// Returns the form of the chat gateway's document: every scene is named, and the frame says more.
    pub fn of_document() -> Self {
        let (chinese, english) = (GatewayFrame::chinese_of_document(), GatewayFrame::english_of_document());
        Self { names_every_scene: true, chinese, english, ..Self::default() }
    }

    /// Sets the maximum number of characters of the whole block, in every language.
    #[must_use]
    pub fn with_max_chars(mut self, max_chars: usize) -> Self {
        self.chinese.max_chars = max_chars;
        self.english.max_chars = max_chars;
        self
    }

    /// Sets the time zone of the times of records without a zone of their own.
    #[must_use]
    pub fn with_zone(mut self, zone: TimeZone) -> Self {
        self.zone = Some(zone);
        self
    }

    /// Sets the label of a scene, in every language.
    #[must_use]
    pub fn with_label(mut self, scene: impl Into<String>, label: impl Into<String>) -> Self {
        let scene = scene.into();
        let label = label.into();
        self.chinese.labels.insert(scene.clone(), label.clone());
        self.english.labels.insert(scene, label);
        self
    }

    /// Sets the frame of a language.
    #[must_use]
    pub fn with_frame(mut self, language: Language, frame: GatewayFrame) -> Self {
        *language.pick(&mut self.chinese, &mut self.english) = frame;
        self
    }

    /// Renders summaries and memories, both best first, in the language of most of their text. Of a memory and a
    /// summary of the same rank, the memory is kept longer.
    pub fn render<'r>(
        &self,
        summaries: impl IntoIterator<Item = &'r Record>,
        memories: impl IntoIterator<Item = &'r Record>,
    ) -> RenderedBlock {
        let summaries: Vec<&Record> = summaries.into_iter().collect();
        let memories: Vec<&Record> = memories.into_iter().collect();
        let texts: Vec<&str> = summaries.iter().chain(&memories).map(|record| record.text.as_str()).collect();
        self.render_in(Language::of(&texts.join("\n")), summaries, memories)
    }

    /// Renders summaries and memories, both best first, with the frame of this language.
    pub fn render_in<'r>(
        &self,
        language: Language,
        summaries: impl IntoIterator<Item = &'r Record>,
        memories: impl IntoIterator<Item = &'r Record>,
    ) -> RenderedBlock {
        let (summaries, others) = (summaries.into_iter().collect(), memories.into_iter().collect());
        self.render_memories(language, BlockMemories { summaries, others, ..BlockMemories::default() })
    }

    /// Renders memories with the frame of this language.
    pub fn render_memories(&self, language: Language, memories: BlockMemories<'_>) -> RenderedBlock {
        let frame = language.pick(&self.chinese, &self.english);
        let core = memories.core.into_iter().map(|record| (record, Part::Core));
        let part_of = |record: &Record| if record.kind == Kind::SUMMARY { Part::Summaries } else { Part::Memories };
        let first = core.chain(memories.relevant.into_iter().map(|record| (record, part_of(record))));
        let mut ranked: Vec<GatewayEntry<'_>> = first.map(|(record, part)| self.entry(frame, record, part)).collect();
        self.rank_others(frame, memories.summaries, memories.others, &mut ranked);
        let is_past = |entry: &GatewayEntry<'_>| memories.past.contains(&entry.record.id);
        for entry in ranked.iter_mut().filter(|entry| is_past(entry)) {
            entry.head = format!("{}{} ", entry.head, frame.past);
        }
        let mut left_out = Vec::new();
        while ranked.len() > 1 && self.rendered_chars(frame, &ranked) > frame.max_chars {
            left_out.extend(ranked.pop().map(|entry| entry.record.id));
        }
        if let [entry] = ranked.as_mut_slice() {
            let frame_chars = self.rendered_chars(frame, std::slice::from_ref(entry)) - entry.text.chars().count();
            entry.text = whole_sentences(&entry.text, frame.max_chars.saturating_sub(frame_chars));
            let is_cut_short = entry.text.chars().count() < CUT_MEMORY_MIN_CHARS && entry.text.ends_with('…');
            if entry.text.is_empty() || is_cut_short {
                left_out.extend(ranked.pop().map(|entry| entry.record.id));
            }
        }
        left_out.reverse();
        // The core keeps its order; the other parts are sorted by time.
        ranked.sort_by_key(|entry| {
            (entry.part, is_past(entry), (entry.part != Part::Core).then(|| entry.record.position()))
        });
        let included = ranked.iter().map(|entry| entry.record.id).collect();
        RenderedBlock { text: self.render_parts(frame, &ranked), included, left_out }
    }

    /// Returns a rendered block with a notice about the memory before the memories. An empty block becomes one with the
    /// notice alone.
    pub fn with_notice(&self, language: Language, block: &str, notice: &RequestNotice) -> String {
        let frame = language.pick(&self.chinese, &self.english);
        let line = notice.line(language, |text| without_frame_parts(frame, &one_line(text, QUOTE_MAX_CHARS)));
        self.with_section(language, block, &frame.notice, &[line])
    }

    /// Returns a rendered block with a section before the memories. An empty block becomes one with the section alone.
    pub fn with_section(&self, language: Language, block: &str, heading: &str, lines: &[String]) -> String {
        let frame = language.pick(&self.chinese, &self.english);
        let section = format!("\n[{heading}]\n{}\n", lines.join("\n"));
        for frame in [&self.chinese, &self.english] {
            if let Some(memories) = block.strip_prefix(&frame.opening) {
                return format!("{}\n{section}{}", frame.opening, memories.strip_prefix('\n').unwrap_or(memories));
            }
        }
        format!("{}\n{section}\n{}", frame.opening, frame.closing)
    }

    /// Adds entries by rank: the best memory, the best summary, the second memory, and so on.
    fn rank_others<'r>(
        &self,
        frame: &GatewayFrame,
        summaries: Vec<&'r Record>,
        memories: Vec<&'r Record>,
        ranked: &mut Vec<GatewayEntry<'r>>,
    ) {
        let mut summaries = summaries.into_iter();
        let mut memories = memories.into_iter();
        loop {
            let memory = memories.next();
            let summary = summaries.next();
            if memory.is_none() && summary.is_none() {
                return;
            }
            for (record, part) in [(memory, Part::Memories), (summary, Part::Summaries)] {
                // A memory that is given twice is shown once.
                let record = record.filter(|record| ranked.iter().all(|entry| entry.record.id != record.id));
                ranked.extend(record.map(|record| self.entry(frame, record, part)));
            }
        }
    }

    fn entry<'r>(&self, frame: &GatewayFrame, record: &'r Record, part: Part) -> GatewayEntry<'r> {
        let text =
            whole_sentences(&without_frame_parts(frame, &one_line(&record.text, usize::MAX)), frame.max_chars_each);
        if part == Part::Core {
            return GatewayEntry { record, part, head: String::new(), text };
        }
        let zone = self.zone.clone().unwrap_or(TimeZone::UTC);
        let time = record.said_at(&zone).strftime("%Y-%m-%d %H:%M").to_string();
        let role = record.role.as_ref().map(|role| role.as_str());
        let speaker = match (record.named_speaker(), role) {
            _ if part == Part::Summaries => None,
            (Some(speaker), _) => Some(without_frame_parts(frame, &one_line(speaker, 40))),
            (None, Some("user")) => Some(frame.user.clone()),
            (None, Some("assistant")) => Some(frame.assistant.clone()),
            (None, _) => None,
        };
        let speaker = speaker.map(|speaker| speaker + &frame.separator).unwrap_or_default();
        let head = format!("[{time}]{} {speaker}", self.scene_label(frame, record));
        GatewayEntry { record, part, head, text }
    }

    /// Returns the label of a record's scene in brackets, or nothing for the usual scene.
    fn scene_label(&self, frame: &GatewayFrame, record: &Record) -> String {
        let scene = record.scene.as_deref().unwrap_or(&self.unlabelled);
        if scene == self.unlabelled && !self.names_every_scene {
            return String::new();
        }
        match frame.labels.get(scene) {
            Some(label) => format!("[{label}]"),
            // The name of a scene is untrusted, and must not look like the label of another scene.
            None => format!("[{}]", one_line(scene, 20).replace(['[', ']', '［', '］', '【', '】'], "")),
        }
    }

    /// Writes the parts with their entries, or nothing without an entry.
    fn render_parts(&self, frame: &GatewayFrame, entries: &[GatewayEntry<'_>]) -> String {
        if entries.is_empty() {
            return String::new();
        }
        let mut text = format!("{}\n", frame.opening);
        let headings =
            [(&frame.core, Part::Core), (&frame.summaries, Part::Summaries), (&frame.memories, Part::Memories)];
        for (heading, part) in headings {
            let mut heading = Some(format!("\n[{heading}]\n"));
            for entry in entries.iter().filter(|entry| entry.part == part) {
                text.push_str(&heading.take().unwrap_or_default());
                text.extend([entry.head.as_str(), &entry.text, "\n"]);
            }
        }
        text.push('\n');
        if entries.iter().any(|entry| entry.part != Part::Core && entry.record.scene.as_ref() == Some(&self.play)) {
            text.push_str(&frame.play_note);
        }
        text.push_str(&frame.closing);
        text
    }

    /// Returns the number of characters of the rendered block.
    fn rendered_chars(&self, frame: &GatewayFrame, entries: &[GatewayEntry<'_>]) -> usize {
        self.render_parts(frame, entries).chars().count()
    }
}

/// Returns the text without anything that imitates a part of the frame.
fn without_frame_parts(frame: &GatewayFrame, text: &str) -> String {
    let closing = frame.reserved_closing();
    let closing: Vec<&str> = closing.as_deref().into_iter().collect();
    neutralized(text, &frame.reserved_words(), &closing)
}
