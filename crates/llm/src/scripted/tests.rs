use futures::{FutureExt, executor::block_on};

use super::*;
use crate::{reply::FinishReason, request::Message};

fn request(text: &str) -> ChatRequest {
    ChatRequest::new([Message::system("be brief"), Message::user(text)])
}

#[test]
fn rules_apply_repeatedly_and_the_script_once() {
    let model = ScriptedModel::replying(["first", "second"]).when_asked("weather", "sunny");
    let ask = |text: &str| block_on(model.complete(&request(text))).map(|reply| reply.text);
    assert_eq!(ask("the weather?").unwrap(), "sunny");
    assert_eq!((ask("a").unwrap(), ask("b").unwrap()), ("first".into(), "second".into()));
    assert_eq!(ask("the weather now?").unwrap(), "sunny");
    assert_eq!(ask("c").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(model.requests().len(), 5);
    assert_eq!(model.requests()[1], request("a"));
}

#[test]
fn a_stream_equals_the_complete_reply() {
    let reply = ChatReply { reasoning: Some("想".into()), ..ChatReply::new("小王吃虾会起疹子。") };
    let model = ScriptedModel::default().otherwise(ScriptedReply::Reply(reply.clone()));
    let streamed = block_on(async { ChatReply::collect(model.stream(&request("?")).await?).await }).unwrap();
    assert_eq!((&streamed, streamed.finish.clone()), (&reply, FinishReason::Stop));
    assert_eq!(block_on(model.complete(&request("?"))).unwrap(), reply);
}

#[test]
fn scripted_failures_are_played() {
    let script =
        [ScriptedReply::Fail(ErrorKind::RateLimited), ScriptedReply::Hang, ScriptedReply::BreakOff("ha".into())];
    let model = ScriptedModel::replying(script.into_iter().cycle().take(6));
    let ask = request("?");
    assert_eq!(block_on(model.complete(&ask)).unwrap_err().kind(), ErrorKind::RateLimited);
    assert!(model.complete(&ask).now_or_never().is_none());
    assert_eq!(block_on(model.complete(&ask)).unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(block_on(model.stream(&ask)).err().map(|e| e.kind()), Some(ErrorKind::RateLimited));
    assert!(block_on(model.stream(&ask)).unwrap().next().now_or_never().is_none());
    let broken = block_on(async { ChatReply::collect(model.stream(&ask).await?).await });
    assert_eq!(broken.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[test]
fn a_request_without_messages_is_rejected() {
    let result = block_on(ScriptedModel::replying(["x"]).complete(&ChatRequest::default()));
    assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidInput);
}
