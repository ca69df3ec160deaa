#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn message(speaker: Speaker, text: &str) -> ChatMessage {
    ChatMessage::new(speaker, text)
}

fn thread(pairs: &[(&str, &str)]) -> Thread {
    Thread::of(&pairs.iter().map(|(role, text)| message(Speaker::of(role), text)).collect::<Vec<_>>())
}

#[test]
fn the_question_is_the_last_user_message() {
    let asked =
        thread(&[("system", "s"), ("user", "hi"), ("assistant", "hello"), ("user", "还记得吗"), ("system", "note")]);
    assert_eq!((asked.question(), asked.rounds()), (Some("还记得吗"), 2));
    assert_eq!(thread(&[("user", "a"), ("user", "b")]).question(), Some("a\nb"));
    for quiet in [&[("user", "a"), ("assistant", "b")][..], &[("user", "a"), ("tool", "x")], &[("user", "")], &[]] {
        assert_eq!(thread(quiet).question(), None);
    }
}

#[test]
fn tool_rounds_belong_to_their_question() {
    let call = ChatMessage { calls_tools: true, ..message(Speaker::Assistant, "let me look") };
    let messages = [
        message(Speaker::User, "weather?"),
        call,
        message(Speaker::Tool, "sunny"),
        message(Speaker::Assistant, "It is sunny."),
    ];
    let in_between = Thread::of(&messages[..3]);
    assert_eq!((in_between.question(), in_between.open_exchange().user.as_str()), (None, "weather?"));
    assert_eq!(in_between.key().unwrap().key, thread(&[("user", "weather?")]).key().unwrap().key);
    assert_eq!(Thread::of(&messages).open_exchange().assistant, "It is sunny.");
}

#[test]
fn the_texts_before_the_open_reply_are_those_of_the_conversation() {
    let history = [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d"), ("user", "e"), ("user", "f")];
    let told = thread(&history);
    assert_eq!(told.texts(), ["a", "b", "c", "d", "e\nf"]);
    assert_eq!(told.latest_words(1).collect::<Vec<_>>(), ["c"]);
    assert_eq!(told.latest_words(9).collect::<Vec<_>>(), ["a", "c"]);
    let continued = thread(&[&history[..], &[("assistant", "half a rep")]].concat());
    assert_eq!((continued.texts(), continued.latest_words(1).next()), (told.texts(), Some("c")));
    assert_eq!(thread(&[("assistant", "hello"), ("user", "a")]).texts(), ["hello", "a"]);
    assert!(Thread::default().texts().is_empty() && Thread::default().latest_words(1).next().is_none());
    // An answer with nothing but thoughts does not end an exchange.
    let thoughts = [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "<think>x</think>"), ("user", "d")];
    assert_eq!(thread(&thoughts).texts(), ["a", "b", "c\nd"]);
}

#[test]
fn a_turn_key_covers_the_message_and_previous_exchange() {
    let whole = [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d"), ("user", "e")];
    let key = thread(&whole).key().unwrap();
    // The system message and a truncated history do not change the key.
    let truncated = [&[("system", "it is monday")][..], &whole[2..]].concat();
    assert_eq!(thread(&truncated).key().unwrap().key, key.key);
    assert_eq!(thread(&whole[2..]).key().unwrap().follows, key.follows);
    let parent = thread(&whole[..3]).key().unwrap();
    assert_eq!(key.parent.as_ref(), Some(&parent.key));
    // Another reply in the history changes the key of the turn after it.
    let other_reply = [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "D"), ("user", "e")];
    let other = thread(&other_reply).key().unwrap();
    assert!(other.key != key.key && other.follows != key.follows && other.parent == key.parent);
    assert_eq!(thread(&whole[..1]).key().unwrap().follows, None);
}

#[test]
fn a_derived_session_depends_on_the_first_messages() {
    let first = thread(&[("system", "s1"), ("assistant", "welcome"), ("user", "hi")]);
    let later =
        thread(&[("system", "s2"), ("assistant", "welcome"), ("user", "hi"), ("assistant", "x"), ("user", "y")]);
    assert_eq!(first.derived_session(), later.derived_session());
    assert_ne!(first.derived_session(), thread(&[("user", "hi")]).derived_session());
    assert_eq!(first.rounds(), 1, "a greeting does not count as a round");
}

#[test]
fn thoughts_and_injected_memories_are_removed() {
    assert_eq!(assistant_text("<think>she likes tea</think>\n绿茶吧"), "绿茶吧");
    assert_eq!(assistant_text("a <think>b</think>c<think>never ends"), "a c");
    let echo = "好的。\n---\n[记忆参考 - 仅供自然融入对话，不要机械引用]\n\n[相关记忆片段]\n\
                [2026-03-01][日常] 我对海鲜过敏\n\n注意：以上记忆仅供参考。\n带时间戳的内容请注意时效性，过去的安排不代表当前状态。\n---";
    assert_eq!(assistant_text(echo), "好的。");
    assert_eq!(assistant_text("a\0b "), "ab");
}

#[test]
fn additions_of_agents_and_tasks_of_clients_are_no_exchanges() {
    let told = thread(&[
        ("user", "<system-reminder>a</system-reminder>"),
        ("user", "<command-name>/model</command-name>\nfix it"),
        ("assistant", "done"),
        ("user", "Generate a short title for this conversation."),
        ("assistant", "Fixes"),
        ("user", "[Request interrupted by user]"),
        ("user", "再来一次"),
    ]);
    assert_eq!(told.texts(), ["fix it", "done", "再来一次"]);
    assert_eq!(told.key(), thread(&[("user", "fix it"), ("assistant", "done"), ("user", "再来一次")]).key());
    let mut parts = message(Speaker::User, "This session is being continued from a previous conversation.");
    parts.texts.push("go on".to_owned());
    assert_eq!(Thread::of([&parts]).question(), Some("go on"));
}
