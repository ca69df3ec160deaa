#![allow(clippy::unwrap_used, reason = "a test may panic")]

use memory_engine::http_models::SseEvents;
use proptest::prelude::*;

use super::*;

fn accumulate(events: &[&str]) -> ReplyAccumulator {
    let mut reply = ReplyAccumulator::new(usize::MAX);
    for data in events {
        reply.add_event(data);
    }
    reply
}

#[test]
fn a_stream_is_complete_when_all_choices_are_finished() {
    let started = [
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
        r#"{"choices":[{"delta":{"content":"你"}}]}"#,
    ];
    assert!(!accumulate(&started).is_complete());
    let finished = [&started[..], &[r#"{"choices":[{"delta":{},"finish_reason":"stop","index":0}]}"#]].concat();
    assert!(accumulate(&finished).is_complete());
    let second = [&finished[..], &[r#"{"choices":[{"delta":{"content":"x"},"index":1}]}"#]].concat();
    assert!(!accumulate(&second).is_complete());
    assert_eq!(accumulate(&second).text(), "你");
    assert!(accumulate(&[&started[..], &["[DONE]"]].concat()).is_complete());
}

#[test]
fn unusual_chunks_are_ignored() {
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
    let reply = accumulate(&odd);
    assert_eq!(
        (reply.text(), reply.calls_tools(), reply.has_failed(), reply.is_complete()),
        ("ok", false, false, false)
    );
}

#[test]
fn tool_calls_errors_and_plain_replies_are_read() {
    assert!(accumulate(&[r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c"}]}}]}"#]).calls_tools());
    assert!(accumulate(&[r#"{"error":{"message":"overloaded"}}"#]).has_failed());
    let mut plain = ReplyAccumulator::new(usize::MAX);
    let completion = r#"{"choices":[{"index":0,"finish_reason":"stop",
        "message":{"content":[{"type":"text","text":"好"}],"reasoning":"r"}}]}"#;
    plain.add_completion(completion.as_bytes());
    assert_eq!((plain.text(), plain.is_complete()), ("好", true));
    let mut html = ReplyAccumulator::new(usize::MAX);
    html.add_completion(b"<html>");
    assert_eq!(html, ReplyAccumulator::new(usize::MAX));
}

const STREAM: &str = concat!(
    ": open\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"我在\"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"这里😀\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n",
);

proptest! {
    #[test]
    fn the_text_does_not_depend_on_chunk_boundaries(mut cuts in prop::collection::vec(0..STREAM.len(), 0..12)) {
        cuts.extend([0, STREAM.len()]);
        cuts.sort_unstable();
        let mut events = SseEvents::new(1000);
        let mut reply = ReplyAccumulator::new(usize::MAX);
        for window in cuts.windows(2) {
            events.feed(&STREAM.as_bytes()[window[0]..window[1]]).unwrap();
            while let Some(data) = events.next().unwrap() {
                reply.add_event(&data);
            }
        }
        prop_assert_eq!((reply.text(), reply.is_complete()), ("我在这里😀", true));
    }
}

#[test]
fn a_too_long_reply_is_truncated_and_its_end_read() {
    let mut reply = ReplyAccumulator::new(7);
    for piece in ["你好", "你", "！", "x"] {
        reply.add_event(&format!(r#"{{"choices":[{{"delta":{{"content":"{piece}"}}}}]}}"#));
    }
    assert_eq!((reply.text(), reply.is_truncated(), reply.is_complete()), ("你好", true, false));
    reply.add_event(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#);
    assert!(reply.is_complete());
    for index in 0..5000 {
        reply.add_event(&format!(r#"{{"choices":[{{"index":{index},"delta":{{}}}}]}}"#));
    }
    assert_eq!(reply.started_choices.len() as u64, MAX_CHOICES);
}
