//! Triggers of summaries: every turn once, in order, and never across a change of scene.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;

use memory_engine_core::{Kind, ManualClock, Record, RecordId, Role, Scope, Timestamp, Trust};
use memory_engine_summarizer::{RollingWindow, SummaryReason, SummaryTrigger, TopicDrift, Window};
use proptest::prelude::*;

fn turn(n: usize, role: Role, scene: Option<&str>, text: &str) -> Record {
    let at = Timestamp::from_micros(1_772_000_000_000_000 + i64::try_from(n).unwrap() * 1_000_000);
    let mut turn = Record::new(Scope::user("lin").unwrap(), Kind::TURN, text, &ManualClock::new(at));
    turn.id = RecordId::named(&turn.scope, &format!("turn {n}"));
    turn.trust = if role == Role::ASSISTANT { Trust::Assistant } else { Trust::User };
    turn.role = Some(role);
    turn.scene = scene.map(str::to_owned);
    turn
}

fn rounds(scenes: &[Option<&str>]) -> Vec<Record> {
    let pair = |(n, scene): (usize, &Option<&str>)| {
        [turn(2 * n, Role::USER, *scene, "嗯"), turn(2 * n + 1, Role::ASSISTANT, *scene, "好")]
    };
    scenes.iter().enumerate().flat_map(pair).collect()
}

fn push_all(trigger: SummaryTrigger, turns: &[Record]) -> (Vec<Window>, usize) {
    let mut window = RollingWindow::new(trigger);
    let closed = turns.iter().flat_map(|turn| window.push(turn, None)).collect();
    (closed, window.waiting().len())
}

#[test]
fn k11_a_window_is_full_with_the_reply_of_its_last_round() {
    let (closed, waiting) = push_all(SummaryTrigger::default(), &rounds(&[Some("daily"); 12]));
    assert_eq!(
        closed.iter().map(|w| (w.turns.len(), w.rounds, w.reason)).collect::<Vec<_>>(),
        [(10, 5, SummaryReason::Rounds); 2]
    );
    assert_eq!((waiting, closed[0].scene.as_deref()), (4, Some("daily")));
}

#[test]
fn k11_a_scene_switch_closes_the_window_and_a_label_does_not() {
    let (daily, plot, meta) = (Some("daily"), Some("plot"), Some("meta"));
    let (closed, waiting) = push_all(SummaryTrigger::default(), &rounds(&[daily, daily, meta, daily, plot, plot]));
    assert_eq!(closed.len(), 1);
    assert_eq!(
        (closed[0].turns.len(), closed[0].reason, closed[0].scene.as_deref()),
        (8, SummaryReason::SceneSwitch, daily)
    );
    assert_eq!(waiting, 4);
}

#[test]
fn rounds_of_several_people_are_counted() {
    let mut turns = Vec::new();
    for n in 0..9 {
        let mut said = turn(n, Role::new("participant"), None, "嗯");
        said.speaker = Some(["Ann", "Bob", "Bob"][n % 3].into());
        turns.push(said);
    }
    let (closed, waiting) = push_all(SummaryTrigger::default().with_rounds(Some(2)), &turns);
    assert_eq!(closed.iter().map(|w| w.turns.len()).collect::<Vec<_>>(), [6]);
    assert_eq!(waiting, 3);
}

#[test]
fn every_turns_closes_windows_of_that_size() {
    let (closed, waiting) = push_all(SummaryTrigger::every_turns(20), &rounds(&[None; 25]));
    assert_eq!((closed.len(), closed[0].turns.len(), waiting), (2, 20, 10));
}

#[test]
fn k11_several_drifting_turns_change_the_topic_and_one_does_not() {
    let topic = TopicDrift::default().with_patience(2).with_least_turns(3);
    let mut window = RollingWindow::new(SummaryTrigger::default().with_rounds(None).with_topic(Some(topic)));
    let vector = |angle: f32| [angle.cos(), angle.sin()];
    // Three similar turns, a different one, a similar one again, and then only different ones.
    let angles = [0.0, 0.1, 0.0, 1.4, 0.1, 1.4, 1.5, 1.5];
    let closed: Vec<(usize, Window)> = angles
        .iter()
        .enumerate()
        .flat_map(|(n, angle)| {
            let due = window.push(&turn(n, Role::USER, None, "x"), Some(&vector(*angle)));
            due.into_iter().map(move |window| (n, window))
        })
        .collect();
    assert_eq!(closed.len(), 1);
    let (at, closed) = &closed[0];
    assert_eq!((*at, closed.turns.len(), closed.reason), (6, 5, SummaryReason::TopicChange));
    assert_eq!(window.waiting().len(), 3);
}

#[test]
fn topic_changes_are_detected_by_words_without_vectors() {
    let texts = [
        "我在准备考研英语，单词好难背",
        "考研英语的阅读理解你怎么复习",
        "阅读理解我每天做两篇，单词用软件背",
        "考研数学也要复习，高数和线代",
        "线代复习到哪一章了，英语单词呢",
        "周末去杭州旅游，西湖边订了民宿",
        "西湖民宿多少钱一晚，高铁票买了吗",
        "高铁票买好了，民宿三百一晚，想看灵隐寺",
    ];
    let mut window = RollingWindow::new(SummaryTrigger::default().with_rounds(None));
    let closed: Vec<Window> =
        texts.iter().enumerate().flat_map(|(n, text)| window.push(&turn(n, Role::USER, None, text), None)).collect();
    assert_eq!(closed.iter().map(|w| (w.turns.len(), w.reason)).collect::<Vec<_>>(), [(5, SummaryReason::TopicChange)]);
}

#[test]
fn instructions_and_repeated_turns_are_ignored() {
    let mut window = RollingWindow::new(SummaryTrigger::every_turns(2));
    assert!(window.push(&turn(0, Role::SYSTEM, None, "be kind"), None).is_empty());
    let first = turn(1, Role::USER, None, "hi");
    assert!(window.push(&first, None).is_empty());
    assert!(window.push(&first, None).is_empty());
    assert_eq!(
        window.flush().map(|window| (window.turns, window.reason)),
        Some((vec![first.id], SummaryReason::Flush))
    );
    assert_eq!(window.flush(), None);
}

proptest! {
    #[test]
    fn windows_partition_the_turns_within_one_scene(
        turns in proptest::collection::vec((0_usize..3, 0_usize..4, 0_usize..6), 0..60),
        max_rounds in 1_usize..4, patience in 1_usize..4, with_topic in any::<bool>(), with_rounds in any::<bool>(),
    ) {
        let roles = [Role::USER, Role::ASSISTANT, Role::new("participant")];
        let scenes = [Some("daily"), Some("plot"), Some("meta"), None];
        let texts = [
            "apple pie baking recipe", "cheap flights Lisbon hotel", "嗯", "考研英语单词复习", "西湖民宿高铁票",
            "guitar strings chords lesson",
        ];
        let mut records: Vec<Record> = Vec::new();
        for (n, (role, scene, text)) in turns.iter().enumerate() {
            records.push(turn(n, roles[*role].clone(), scenes[*scene], texts[*text]));
        }
        let topic = with_topic.then(|| TopicDrift::default().with_patience(patience).with_least_turns(2));
        let trigger = SummaryTrigger::default().with_rounds(with_rounds.then_some(max_rounds)).with_topic(topic);
        let mut window = RollingWindow::new(trigger);
        let mut covered = Vec::new();
        for record in &records {
            for closed in window.push(record, None) {
                prop_assert!(!closed.turns.is_empty());
                prop_assert!(!with_rounds || closed.rounds <= max_rounds);
                let scene_of = |id: &RecordId| records.iter().find(|record| record.id == *id).unwrap().scene.clone();
                let scenes = closed.turns.iter().map(scene_of);
                let scenes: BTreeSet<_> = scenes.filter(|scene| scene.as_deref() != Some("meta")).collect();
                prop_assert!(scenes.len() <= 1, "{:?}", scenes);
                covered.extend(closed.turns);
            }
        }
        covered.extend(window.waiting());
        prop_assert_eq!(covered, records.iter().map(|record| record.id).collect::<Vec<_>>());
    }
}
