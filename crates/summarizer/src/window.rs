//! Decides when a summary is due, and of which turns.

use std::collections::BTreeMap;

use memory_engine_core::{Error, Record, RecordId, enum_names};
use serde::{Deserialize, Serialize};

use crate::{role, topic_drift::TopicDrift, turn::WindowTurn};

/// The events that make a summary due. A field of `None` disables its event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct SummaryTrigger {
    /// Number of rounds. A round begins when the first speaker speaks again after another one. Default: 5.
    pub rounds: Option<usize>,
    /// Number of turns. Default: `None`.
    pub turns: Option<usize>,
    /// True if a change of the scene makes a summary due. Default: true.
    pub scene_switch: bool,
    /// Scenes that only label a message. They are no change of the scene. Default: `meta`.
    pub labels: Vec<String>,
    /// Detection of a change of the topic. Default: [`TopicDrift::default`].
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

    memory_engine_core::setters! {
        #![must_use]
        /// Sets the number of rounds, at least 1.
        with_rounds(rounds: Option<usize>) => rounds = rounds.map(|rounds| rounds.max(1));
        /// Sets the detection of a change of the topic.
        with_topic(topic: Option<TopicDrift>);
    }
}

/// The reason why a window was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SummaryReason {
    /// It has the configured number of rounds or turns.
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

/// Consecutive turns that are due for a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Window {
    /// The turns, oldest first; never empty.
    pub turns: Vec<RecordId>,
    /// Number of rounds.
    pub rounds: usize,
    /// The scene of most of the turns; on a tie, the one that came first.
    pub scene: Option<String>,
    /// The reason why the window was closed.
    pub reason: SummaryReason,
}

/// Divides a conversation, turn by turn, into windows that are due for a summary.
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
    /// Creates an empty window.
    pub fn new(trigger: SummaryTrigger) -> Self {
        Self { trigger, open: Vec::new() }
    }

    /// Returns the turns that wait for a summary.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = RecordId> + '_ {
        self.open.iter().map(|turn| turn.id)
    }

    /// Adds the next turn, with its vector if there is one. Returns the windows that it closes: none, one, or two if
    /// the turn ends one window and fills the next.
    ///
    /// Instructions, tool results and derived records are ignored, and so is a turn that waits already.
    pub fn push(&mut self, turn: &Record, embedding: Option<&[f32]>) -> Vec<Window> {
        if !role::is_said(turn) || self.open.iter().any(|waiting| waiting.id == turn.id) {
            return Vec::new();
        }
        let mut next = WindowTurn::new(turn, embedding);
        let mut closed = Vec::new();
        if self.trigger.scene_switch && self.switches_scene(&next) {
            closed.extend(self.close(self.open.len(), SummaryReason::SceneSwitch));
        }
        if self.trigger.rounds.is_some_and(|limit| self.rounds_with(&next) > limit) {
            closed.extend(self.close(self.open.len(), SummaryReason::Rounds));
        }
        if let Some(topic) = &self.trigger.topic {
            next.is_drifting = topic.drifts(&self.open, &next);
            self.open.push(next);
            if let Some(first) = topic.new_topic_start(&self.open) {
                closed.extend(self.close(first, SummaryReason::TopicChange));
            }
        } else {
            self.open.push(next);
        }
        if self.is_full() {
            closed.extend(self.close(self.open.len(), SummaryReason::Rounds));
        }
        closed
    }

    /// Closes the window now, for example at the end of a session. Returns `None` if no turn waits.
    pub fn flush(&mut self) -> Option<Window> {
        self.close(self.open.len(), SummaryReason::Flush)
    }

    fn is_full(&self) -> bool {
        let is_answered = self.open.last().is_some_and(|last| last.is_assistant);
        let has_all_rounds = self.trigger.rounds.is_some_and(|limit| is_answered && rounds(&self.open) >= limit);
        has_all_rounds || self.trigger.turns.is_some_and(|limit| self.open.len() >= limit)
    }

    /// Returns the number of rounds including the next turn.
    fn rounds_with(&self, next: &WindowTurn) -> usize {
        rounds(self.open.iter().chain([next]))
    }

    fn switches_scene(&self, next: &WindowTurn) -> bool {
        let is_label = |scene: &Option<String>| scene.as_ref().is_some_and(|scene| self.trigger.labels.contains(scene));
        let before = self.open.iter().rev().find(|turn| !is_label(&turn.scene));
        !is_label(&next.scene) && before.is_some_and(|before| before.scene != next.scene)
    }

    fn close(&mut self, count: usize, reason: SummaryReason) -> Option<Window> {
        let rest = self.open.split_off(count.min(self.open.len()));
        let mut turns = std::mem::replace(&mut self.open, rest);
        for turn in &mut self.open {
            turn.is_drifting = false;
        }
        let scene = most_frequent(turns.iter().filter_map(|turn| turn.scene.as_deref()));
        let window =
            Window { rounds: rounds(&turns), scene, reason, turns: turns.drain(..).map(|turn| turn.id).collect() };
        (!window.turns.is_empty()).then_some(window)
    }
}

/// Returns the number of rounds in turns: as recorded, or by the changes of the speaker.
fn rounds<'s>(turns: impl IntoIterator<Item = &'s WindowTurn>) -> usize {
    let mut first: Option<&WindowTurn> = None;
    let mut count = 0;
    let mut others_spoke = false;
    let mut previous_round: Option<u32> = None;
    for turn in turns {
        let opener = first.get_or_insert(turn);
        let starts_round = match (turn.round, previous_round) {
            (Some(round), Some(previous)) => round != previous,
            _ => count == 0 || (others_spoke && turn.speaker == opener.speaker),
        };
        if starts_round || count == 0 {
            count += 1;
            others_spoke = false;
        }
        others_spoke |= turn.speaker != opener.speaker;
        previous_round = turn.round;
    }
    count
}

/// Returns the scene of most of the records; on a tie, the one that came first.
pub(crate) fn majority_scene<'r>(records: impl Iterator<Item = &'r Record>) -> Option<String> {
    most_frequent(records.filter_map(|record| record.scene.as_deref()))
}

fn most_frequent<'s>(scenes: impl Iterator<Item = &'s str>) -> Option<String> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (index, scene) in scenes.enumerate() {
        counts.entry(scene).or_insert((0, index)).0 += 1;
    }
    let best = counts.into_iter().max_by_key(|(_, (count, first))| (*count, std::cmp::Reverse(*first)));
    best.map(|(scene, _)| scene.to_owned())
}
