//! Accuracy on tricky messages: trigger words in ordinary sentences, and exit words inside a play.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use memory_engine_core::{Scope, SystemClock};
use memory_engine_scene::{SceneDetector, SceneRules};

/// A session: the scene in which it starts, and messages with their expected scenes.
struct Sequence<'t> {
    start: &'t str,
    messages: Vec<(&'t str, &'t str)>,
}

fn sequences(file: &str) -> Vec<Sequence<'_>> {
    let mut sequences: Vec<Sequence<'_>> = Vec::new();
    for line in file.lines().filter(|line| !line.starts_with('#')) {
        if let Some(start) = line.strip_prefix('@') {
            sequences.push(Sequence { start, messages: Vec::new() });
        } else if let Some(message) = line.split_once(" | ") {
            sequences.last_mut().unwrap().messages.push(message);
        }
    }
    sequences
}

/// Plays all sequences of a file. Prints the errors and returns the accuracy by message.
fn accuracy(name: &str, file: &str) -> f64 {
    let detector = SceneDetector::new(&SceneRules::default(), Arc::new(SystemClock)).unwrap();
    let (mut messages, mut errors) = (0, 0);
    let sequences = sequences(file);
    for (number, sequence) in sequences.iter().enumerate() {
        let session = Scope::user("lin").unwrap().with_session(number.to_string()).unwrap();
        detector.set(&session, sequence.start).unwrap();
        for (expected, text) in &sequence.messages {
            let detection = detector.detect(&session, text);
            messages += 1;
            if detection.scene != *expected {
                errors += 1;
                println!("{name}: {expected}, not {} ({:?}): {text}", detection.scene, detection.reason.word());
            }
        }
    }
    let accuracy = 1.0 - f64::from(errors) / f64::from(messages);
    println!("{name}: {} sequences, {messages} messages, accuracy {accuracy:.3}", sequences.len());
    accuracy
}

#[test]
fn k1_tricky_english_messages() {
    assert!(accuracy("en/tuning", include_str!("data/en/tuning.txt")) >= 0.97);
}

#[test]
fn k1_tricky_chinese_messages() {
    assert!(accuracy("zh/tuning", include_str!("data/zh/tuning.txt")) >= 0.97);
}

#[test]
fn k1_unseen_english_messages() {
    assert!(accuracy("en/held_out", include_str!("data/en/held_out.txt")) >= 0.9);
}

#[test]
fn k1_unseen_chinese_messages() {
    assert!(accuracy("zh/held_out", include_str!("data/zh/held_out.txt")) >= 0.9);
}
