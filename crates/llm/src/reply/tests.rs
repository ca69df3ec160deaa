use futures::{StreamExt, executor::block_on, stream};

use super::*;

fn collect(deltas: Vec<Result<ChatDelta>>) -> Result<ChatReply> {
    block_on(ChatReply::collect(stream::iter(deltas).boxed()))
}

fn text(text: &str) -> Result<ChatDelta> {
    Ok(ChatDelta { text: text.into(), ..ChatDelta::default() })
}

#[test]
fn collect_joins_all_deltas() {
    let usage = Usage { input_tokens: 3, output_tokens: 2 };
    let thought = Ok(ChatDelta { reasoning: "hm".into(), ..ChatDelta::default() });
    let end = Ok(ChatDelta { finish: Some(FinishReason::Length), ..ChatDelta::default() });
    let cost = Ok(ChatDelta { usage: Some(usage), ..ChatDelta::default() });
    let reply = collect(vec![thought, text("你"), text("好"), end, cost]).unwrap();
    let expected = ChatReply {
        text: "你好".into(),
        reasoning: Some("hm".into()),
        finish: FinishReason::Length,
        usage: Some(usage),
    };
    assert_eq!(reply, expected);
}

#[test]
fn reasoning_in_tags_is_separated() {
    let separated = |text: &str| {
        let reply = ChatReply::new(text).with_thoughts_apart();
        (reply.reasoning.unwrap_or_default(), reply.text)
    };
    assert_eq!(separated("\n<think>\nhm\n</think>\n\n好。"), ("hm".into(), "好。".into()));
    assert_eq!(separated("<think></think>好。"), (String::new(), "好。".into()));
    for whole in ["好。", "say <think>x</think>", "<think>cut off"] {
        assert_eq!(separated(whole), (String::new(), whole.into()));
    }
    let both = ChatReply { reasoning: Some("a".into()), ..ChatReply::new("<think>b</think>c") };
    assert_eq!(both.with_thoughts_apart().reasoning.as_deref(), Some("a\nb"));
}

#[test]
fn a_stream_without_finish_reason_is_an_error() {
    assert_eq!(collect(vec![text("half")]).unwrap_err().kind(), ErrorKind::Unavailable);
    let failed = Err(Error::new(ErrorKind::Timeout, "chat", "too slow"));
    assert_eq!(collect(vec![text("half"), failed]).unwrap_err().kind(), ErrorKind::Timeout);
}
