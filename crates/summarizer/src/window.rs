//! Decides when a summary is due, and of which turns.

use std::collections::BTreeMap;

use memory_engine_core::{Error, Record, RecordId, enum_names};
use serde::{Deserialize, Serialize};

use crate::{drift::TopicDrift, spoken, turn::WindowTurn};

/// The events that make a summary due. A field of `None` never does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct SummaryTrigger {
    /// Number of rounds. A round begins when the first speaker speaks again after another one. Default: see
    /// [`SummaryTrigger::default`].
    pub rounds: Option<usize>,
    /// Number of turns. It is also the interval of profiles.
    pub turns: Option<usize>,
    /// True if a change of the scene makes a summary due.
    pub scene_switch: bool,
    /// Scenes that only label a message and switch nothing.
    pub labels: Vec<String>,
    /// A change of the topic.
    pub topic: Option<TopicDrift>,
}

impl Default for SummaryTrigger {
    fn default() -> Self {
        Self {
            rounds: Some(5),
            turns: None,
            scene_switch: true,
            labels: vec!["meta".into()],
            topic: Some(TopicDrift::default()),
        }
    }
}

impl SummaryTrigger {
    /// Creates a trigger that fires after this number of turns and for no other reason.
    pub fn every_turns(turns: usize) -> Self {
        Self { rounds: None, turns: Some(turns.max(1)), scene_switch: false, labels: Vec::new(), topic: None }
    }

    /// Another number of rounds; at least one.
    #[must_use]
    pub fn with_rounds(mut self, rounds: Option<usize>) -> Self {
        self.rounds = rounds.map(|rounds| rounds.max(1));
        self
    }

    /// Sets whether a change of the scene makes a summary due.
    #[must_use]
    pub fn with_scene_switch(mut self, scene_switch: bool) -> Self {
        self.scene_switch = scene_switch;
        self
    }

    /// Another sense for topics, or none.
    #[must_use]
    pub fn with_topic(mut self, topic: Option<TopicDrift>) -> Self {
        self.topic = topic;
        self
    }
}

/// The reason why a window was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SummaryReason {
    /// It is full.
    Rounds,
    /// The scene changed with the next turn.
    SceneSwitch,
    /// The topic changed with the next turn.
    TopicChange,
    /// The caller asked for it.
    Flush,
}

enum_names! {
    SummaryReason, "reason" {
        Rounds => "rounds",
        SceneSwitch => "scene_switch",
        TopicChange => "topic_change",
        Flush => "flush",
    }
}

/// Turns that follow each other, of which a summary is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Window {
    /// The turns, oldest first; never empty.
    pub turns: Vec<RecordId>,
    /// Number of rounds.
    pub rounds: usize,
    /// The scene that most of them have; of several the one that came first.
    pub scene: Option<String>,
    /// The reason why the window was closed.
    pub reason: SummaryReason,
}

/// Follows a conversation turn by turn, and says of which turns a summary is due.
///
/// It stores only the turns since the last summary, so it can be rebuilt after a restart by pushing those. Every turn
/// is in exactly one window, and windows follow each other without a gap.
///
/// ```
/// use memory_engine_core::{Kind, Record, Role, Scope, SystemClock};
/// use memory_engine_summarizer::{RollingWindow, SummaryTrigger};
///
/// let mut window = RollingWindow::new(SummaryTrigger::default().with_rounds(Some(1)));
/// let mut turn = |role, text: &str| {
///     let mut turn = Record::new(Scope::user("lin").unwrap(), Kind::TURN, text, &SystemClock);
///     turn.role = Some(role);
///     turn
/// };
/// assert!(window.push(&turn(Role::USER, "你好"), None).is_empty());
/// let due = window.push(&turn(Role::ASSISTANT, "你好！"), None);
/// assert_eq!(due[0].turns.len(), 2);
/// ```
#[derive(Debug, Clone)]
pub struct RollingWindow {
    trigger: SummaryTrigger,
    open: Vec<WindowTurn>,
}

impl RollingWindow {
    /// A window that has seen nothing.
    pub fn new(trigger: SummaryTrigger) -> Self {
        Self { trigger, open: Vec::new() }
    }

    /// The turns that wait for a summary.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = RecordId> + '_ {
        self.open.iter().map(|seen| seen.id)
    }

    /// Takes the next turn, with its vector where there is one, and gives the windows that are closed by it: none,
    /// one, or, where the turn ends one and fills the next, two. Instructions, answers of tools and derived records
    /// are no turns and change nothing; nor does a turn that waits already.
    pub fn push(&mut self, turn: &Record, embedding: Option<&[f32]>) -> Vec<Window> {
        if !spoken::is_said(turn) || self.open.iter().any(|seen| seen.id == turn.id) {
            return Vec::new();
        }
        let mut seen = WindowTurn::new(turn, embedding);
        let mut closed = Vec::new();
        if self.trigger.scene_switch && self.switches(&seen) {
            closed.extend(self.close(self.open.len(), SummaryReason::SceneSwitch));
        }
        if self.trigger.rounds.is_some_and(|most| self.rounds_with(&seen) > most) {
            closed.extend(self.close(self.open.len(), SummaryReason::Rounds));
        }
        if let Some(topic) = &self.trigger.topic {
            seen.drifting = topic.drifts(&self.open, &seen);
            self.open.push(seen);
            if let Some(first) = topic.changed(&self.open) {
                closed.extend(self.close(first, SummaryReason::TopicChange));
            }
        } else {
            self.open.push(seen);
        }
        if self.is_full() {
            closed.extend(self.close(self.open.len(), SummaryReason::Rounds));
        }
        closed
    }

    /// Closes the window where it stands, as at the end of a session; nothing when nothing waits.
    pub fn flush(&mut self) -> Option<Window> {
        self.close(self.open.len(), SummaryReason::Flush)
    }

    fn is_full(&self) -> bool {
        let answered = self.open.last().is_some_and(|last| last.assistant);
        let rounds = self.trigger.rounds.is_some_and(|most| answered && rounds(&self.open) >= most);
        rounds || self.trigger.turns.is_some_and(|most| self.open.len() >= most)
    }

    /// Returns the number of rounds including the next turn.
    fn rounds_with(&self, next: &WindowTurn) -> usize {
        rounds(self.open.iter().chain([next]))
    }

    fn switches(&self, next: &WindowTurn) -> bool {
        let is_label = |scene: &Option<String>| scene.as_ref().is_some_and(|scene| self.trigger.labels.contains(scene));
        let before = self.open.iter().rev().find(|seen| !is_label(&seen.scene));
        !is_label(&next.scene) && before.is_some_and(|before| before.scene != next.scene)
    }

    fn close(&mut self, count: usize, reason: SummaryReason) -> Option<Window> {
        let rest = self.open.split_off(count.min(self.open.len()));
        let mut turns = std::mem::replace(&mut self.open, rest);
        for seen in &mut self.open {
            seen.drifting = false;
        }
        let scene = most(turns.iter().filter_map(|seen| seen.scene.as_deref()));
        let window =
            Window { rounds: rounds(&turns), scene, reason, turns: turns.drain(..).map(|seen| seen.id).collect() };
        (!window.turns.is_empty()).then_some(window)
    }
}

/// Returns the number of rounds in turns: as recorded, or by the changes of the speaker.
fn rounds<'s>(turns: impl IntoIterator<Item = &'s WindowTurn>) -> usize {
    let mut first: Option<&WindowTurn> = None;
    let (mut count, mut others) = (0, false);
    let mut before: Option<u32> = None;
    for turn in turns {
        let opener = first.get_or_insert(turn);
        let begins = match (turn.round, before) {
            (Some(round), Some(before)) => round != before,
            _ => count == 0 || (others && turn.speaker == opener.speaker),
        };
        if begins || count == 0 {
            (count, others) = (count + 1, false);
        }
        others |= turn.speaker != opener.speaker;
        before = turn.round;
    }
    count
}

/// The scene that most records have; of several the one that came first.
pub(crate) fn majority<'r>(records: impl Iterator<Item = &'r Record>) -> Option<String> {
    most(records.filter_map(|record| record.scene.as_deref()))
}

fn most<'s>(scenes: impl Iterator<Item = &'s str>) -> Option<String> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (place, scene) in scenes.enumerate() {
        counts.entry(scene).or_insert((0, place)).0 += 1;
    }
    let best = counts.into_iter().max_by_key(|(_, (count, place))| (*count, std::cmp::Reverse(*place)));
    best.map(|(scene, _)| scene.to_owned())
}
