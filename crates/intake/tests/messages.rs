//! The words of messages and replies, from a table with examples and near misses of every kind.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use memory_engine_intake::{IncomingWords, is_client_task, model_words, note_words, prompt_words};
use serde::Deserialize;

#[derive(Deserialize)]
struct Messages {
    own: Vec<String>,
    mixed: Vec<[String; 2]>,
    foreign: Vec<String>,
    thoughts: Vec<[String; 2]>,
    replies: Vec<String>,
}

#[derive(Deserialize)]
struct Tasks {
    message: Vec<String>,
    not_message: Vec<String>,
}

fn messages() -> Messages {
    toml::from_str(include_str!("messages.toml")).unwrap()
}

fn tasks() -> Tasks {
    toml::from_str(include_str!("tasks.toml")).unwrap()
}

/// Returns the rows whose result differs, with what was found.
fn wrong<'t>(rows: impl IntoIterator<Item = (&'t str, IncomingWords)>) -> Vec<(String, IncomingWords)> {
    let differs = |(text, expected): (&str, IncomingWords)| {
        let found = IncomingWords::of(text);
        (found != expected).then(|| (text.to_owned(), found))
    };
    rows.into_iter().filter_map(differs).collect()
}

#[test]
fn own_words_are_kept() {
    let (messages, tasks) = (messages(), tasks());
    let own = messages.own.iter().chain(&tasks.not_message);
    assert_eq!(wrong(own.map(|text| (text.as_str(), IncomingWords::Own(text.clone())))), []);
    let mixed = messages.mixed.iter().map(|[text, own]| (text.as_str(), IncomingWords::Own(own.clone())));
    assert_eq!(wrong(mixed), []);
}

#[test]
fn foreign_words_are_refused() {
    let (messages, tasks) = (messages(), tasks());
    assert_eq!(wrong(messages.foreign.iter().map(|text| (text.as_str(), IncomingWords::Foreign))), []);
    assert_eq!(wrong(tasks.message.iter().map(|text| (text.as_str(), IncomingWords::ClientTask))), []);
}

#[test]
fn answers_are_kept_without_thoughts() {
    let messages = messages();
    let unchanged = messages.replies.iter().map(|reply| (reply, reply));
    let rows = messages.thoughts.iter().map(|[reply, answer]| (reply, answer)).chain(unchanged);
    let wrong: Vec<(&str, String)> = rows
        .filter(|(reply, answer)| model_words(reply) != **answer)
        .map(|(reply, _)| (reply.as_str(), model_words(reply)))
        .collect();
    assert_eq!(wrong, []);
}

#[test]
fn parts_of_a_message_are_read_alone() {
    let summary = "This session is being continued from a previous conversation that ran out of context.";
    let own = |parts: &[&str]| IncomingWords::of_parts(parts.iter().copied()).own_words();
    assert_eq!(
        own(&[summary, "<system-reminder>a</system-reminder>", "fix it", "", "today"]).unwrap(),
        "fix it\ntoday"
    );
    assert_eq!(own(&[summary, "[Request interrupted by user]"]), None);
    assert_eq!(own(&["<system-reminder>a</system-reminder>", "Generate a short title for this chat."]), None);
}

#[test]
fn prompts_notes_and_systems_are_read() {
    assert_eq!(prompt_words(" fix it \n").as_deref(), Some("fix it"));
    assert_eq!(prompt_words("/deploy staging"), None);
    assert_eq!(note_words("<think>a</think>\nLin likes tea.").as_deref(), Some("Lin likes tea."));
    assert_eq!(note_words("<think>a</think>"), None);
    assert_eq!(note_words(" ").as_deref(), Some(" "));
    assert!(is_client_task("你是一名擅长会话的助理，你需要将用户的会话总结为 10 个字以内的标题", "user: 你好"));
    assert!(!is_client_task("You are a friendly companion.", "你好"));
}

#[test]
fn nul_is_removed() {
    assert_eq!(IncomingWords::of("a\0b").own_words().as_deref(), Some("ab"));
    assert_eq!(model_words("a\0b"), "ab");
}
