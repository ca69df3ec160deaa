#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn said(speaker: Speaker, text: &str) -> ChatMessage {
    ChatMessage { speaker, text: text.to_owned(), calls: false }
}

fn thread(pairs: &[(&str, &str)]) -> Thread {
    Thread::of(&pairs.iter().map(|(role, text)| said(Speaker::of(role), text)).collect::<Vec<_>>())
}

#[test]
fn a_question_is_what_the_person_said_last() {
    let asked =
        thread(&[("system", "s"), ("user", "hi"), ("assistant", "hello"), ("user", "还记得吗"), ("system", "note")]);
    assert_eq!((asked.question(), asked.rounds()), (Some("还记得吗"), 2));
    assert_eq!(thread(&[("user", "a"), ("user", "b")]).question(), Some("a\nb"));
    for quiet in [&[("user", "a"), ("assistant", "b")][..], &[("user", "a"), ("tool", "x")], &[("user", "")], &[]] {
        assert_eq!(thread(quiet).question(), None);
    }
}

#[test]
fn rounds_of_tools_belong_to_the_question_before_them() {
    let call = ChatMessage { calls: true, ..said(Speaker::Assistant, "let me look") };
    let messages =
        [said(Speaker::User, "weather?"), call, said(Speaker::Tool, "sunny"), said(Speaker::Assistant, "It is sunny.")];
    let in_between = Thread::of(&messages[..3]);
    assert_eq!((in_between.question(), in_between.open().user.as_str()), (None, "weather?"));
    assert_eq!(in_between.key().unwrap().key, thread(&[("user", "weather?")]).key().unwrap().key);
    assert_eq!(Thread::of(&messages).open().assistant, "It is sunny.");
}

#[test]
fn a_turn_is_known_by_itself_and_the_exchange_before_it() {
    let whole = [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d"), ("user", "e")];
    let key = thread(&whole).key().unwrap();
    // The instructions, and a history that is cut, do not matter.
    let cut = [&[("system", "it is monday")][..], &whole[2..]].concat();
    assert_eq!(thread(&cut).key().unwrap().key, key.key);
    assert_eq!(thread(&whole[2..]).key().unwrap().follows, key.follows);
    let parent = thread(&whole[..3]).key().unwrap();
    assert_eq!(key.parent.as_ref(), Some(&parent.key));
    // Another reply in the history is another turn after it.
    let swiped = [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "D"), ("user", "e")];
    let swiped = thread(&swiped).key().unwrap();
    assert!(swiped.key != key.key && swiped.follows != key.follows && swiped.parent == key.parent);
    assert_eq!(thread(&whole[..1]).key().unwrap().follows, None);
}

#[test]
fn a_session_without_a_name_is_known_by_its_first_words() {
    let first = thread(&[("system", "s1"), ("assistant", "welcome"), ("user", "hi")]);
    let later =
        thread(&[("system", "s2"), ("assistant", "welcome"), ("user", "hi"), ("assistant", "x"), ("user", "y")]);
    assert_eq!(first.derived_session(), later.derived_session());
    assert_ne!(first.derived_session(), thread(&[("user", "hi")]).derived_session());
    assert_eq!(first.rounds(), 1, "a greeting is no round");
}

#[test]
fn thoughts_and_injected_memories_are_not_what_was_said() {
    assert_eq!(spoken("<think>she likes tea</think>\n绿茶吧"), "绿茶吧");
    assert_eq!(spoken("a <think>b</think>c<think>never ends"), "a c");
    let echo = "好的。\n---\n[记忆参考 - 仅供自然融入对话，不要机械引用]\n\n[相关记忆片段]\n[2026-03-01][日常] 我对海鲜过敏\n\n注意：以上记忆仅供参考。\n带时间戳的内容请注意时效性，过去的安排不代表当前状态。\n---";
    assert_eq!(spoken(echo), "好的。");
    assert_eq!(spoken("a\0b "), "ab");
}
