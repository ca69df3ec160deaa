use futures::{FutureExt, executor::block_on};

use super::*;
use crate::{reply::FinishReason, request::Message};

fn asking(text: &str) -> ChatRequest {
    ChatRequest::new([Message::system("be brief"), Message::user(text)])
}

#[test]
fn rules_answer_again_and_again_and_the_script_once() {
    let model = ScriptedModel::replying(["first", "second"]).when_asked("weather", "sunny");
    let ask = |text: &str| block_on(model.complete(&asking(text))).map(|reply| reply.text);
    assert_eq!(ask("the weather?").unwrap(), "sunny");
    assert_eq!((ask("a").unwrap(), ask("b").unwrap()), ("first".into(), "second".into()));
    assert_eq!(ask("the weather now?").unwrap(), "sunny");
    assert_eq!(ask("c").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(model.requests().len(), 5);
    assert_eq!(model.requests()[1], asking("a"));
}

#[test]
fn a_stream_gives_the_same_as_the_whole_reply() {
    let reply = ChatReply { reasoning: Some("想".into()), ..ChatReply::new("小王吃虾会起疹子。") };
    let model = ScriptedModel::default().otherwise(ScriptedReply::Reply(reply.clone()));
    let streamed = block_on(async { ChatReply::collect(model.stream(&asking("?")).await?).await }).unwrap();
    assert_eq!((&streamed, streamed.finish.clone()), (&reply, FinishReason::Stop));
    assert_eq!(block_on(model.complete(&asking("?"))).unwrap(), reply);
}

#[test]
fn it_fails_hangs_and_breaks_off_where_the_script_says_so() {
    let script =
        [ScriptedReply::Fail(ErrorKind::RateLimited), ScriptedReply::Hang, ScriptedReply::BreakOff("ha".into())];
    let model = ScriptedModel::replying(script.into_iter().cycle().take(6));
    let ask = asking("?");
    assert_eq!(block_on(model.complete(&ask)).unwrap_err().kind(), ErrorKind::RateLimited);
    assert!(model.complete(&ask).now_or_never().is_none());
    assert_eq!(block_on(model.complete(&ask)).unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(block_on(model.stream(&ask)).err().map(|e| e.kind()), Some(ErrorKind::RateLimited));
    assert!(block_on(model.stream(&ask)).unwrap().next().now_or_never().is_none());
    let broken = block_on(async { ChatReply::collect(model.stream(&ask).await?).await });
    assert_eq!(broken.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[test]
fn a_request_without_a_message_is_refused() {
    let refused = block_on(ScriptedModel::replying(["x"]).complete(&ChatRequest::default()));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidInput);
}
