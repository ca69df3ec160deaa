#![allow(clippy::unwrap_used, reason = "a test may panic")]

use memory_engine::http_models::SseEvents;
use proptest::prelude::*;

use super::*;

fn heard(events: &[&str]) -> ReplyAccumulator {
    let mut heard = ReplyAccumulator::new(usize::MAX);
    events.iter().for_each(|data| heard.event(data));
    heard
}

#[test]
fn a_stream_is_whole_when_each_choice_has_ended_or_the_service_says_so() {
    let begun = [
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
        r#"{"choices":[{"delta":{"content":"你"}}]}"#,
    ];
    assert!(!heard(&begun).is_whole());
    let ended = [&begun[..], &[r#"{"choices":[{"delta":{},"finish_reason":"stop","index":0}]}"#]].concat();
    assert!(heard(&ended).is_whole());
    let second = [&ended[..], &[r#"{"choices":[{"delta":{"content":"x"},"index":1}]}"#]].concat();
    assert!(!heard(&second).is_whole());
    assert_eq!(heard(&second).text(), "你");
    assert!(heard(&[&begun[..], &["[DONE]"]].concat()).is_whole());
}

#[test]
fn odd_chunks_are_passed_over() {
    let odd = [
        "",
        "{",
        "[1]",
        r#"{"choices":null}"#,
        r#"{"choices":[]}"#,
        r#"{"choices":[{"delta":null,"finish_reason":null}],"usage":null}"#,
        r#"{"choices":[{"delta":{"content":null,"reasoning_content":"she is sad","tool_calls":[]}}]}"#,
        r#"{"error":null,"choices":[{"delta":{"content":"ok"}}]}"#,
    ];
    let heard = heard(&odd);
    assert_eq!((heard.text(), heard.calls_tools(), heard.has_failed(), heard.is_whole()), ("ok", false, false, false));
}

#[test]
fn calls_of_tools_and_errors_are_noticed() {
    assert!(heard(&[r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c"}]}}]}"#]).calls_tools());
    assert!(heard(&[r#"{"error":{"message":"overloaded"}}"#]).has_failed());
    let mut plain = ReplyAccumulator::new(usize::MAX);
    plain.completion(r#"{"choices":[{"index":0,"message":{"content":[{"type":"text","text":"好"}],"reasoning":"r"},"finish_reason":"stop"}]}"#.as_bytes());
    assert_eq!((plain.text(), plain.is_whole()), ("好", true));
    let mut html = ReplyAccumulator::new(usize::MAX);
    html.completion(b"<html>");
    assert_eq!(html, ReplyAccumulator::new(usize::MAX));
}

const STREAM: &str = ": open\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"我在\"}}]}\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"这里😀\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

proptest! {
    #[test]
    fn what_is_heard_does_not_depend_on_where_the_bytes_are_cut(mut cuts in prop::collection::vec(0..STREAM.len(), 0..12)) {
        cuts.extend([0, STREAM.len()]);
        cuts.sort_unstable();
        let (mut events, mut heard) = (SseEvents::new(1000), ReplyAccumulator::new(usize::MAX));
        for window in cuts.windows(2) {
            events.feed(&STREAM.as_bytes()[window[0]..window[1]]).unwrap();
            while let Some(data) = events.next().unwrap() {
                heard.event(&data);
            }
        }
        prop_assert_eq!((heard.text(), heard.is_whole()), ("我在这里😀", true));
    }
}

#[test]
fn of_a_reply_without_end_the_beginning_is_kept_and_its_end_is_understood() {
    let mut heard = ReplyAccumulator::new(7);
    for piece in ["你好", "你", "！", "x"] {
        heard.event(&format!(r#"{{"choices":[{{"delta":{{"content":"{piece}"}}}}]}}"#));
    }
    assert_eq!((heard.text(), heard.is_cut(), heard.is_whole()), ("你好", true, false));
    heard.event(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#);
    assert!(heard.is_whole());
    for index in 0..5000 {
        heard.event(&format!(r#"{{"choices":[{{"index":{index},"delta":{{}}}}]}}"#));
    }
    assert_eq!(heard.begun.len() as u64, MAX_CHOICES);
}
