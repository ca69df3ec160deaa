use memory_engine::{Kind, Record, Scope, SystemClock};
use rig_core::message::{
    DocumentSourceKind, Image, Reasoning, StopReason, Text, ToolCall, ToolFunction, ToolName, ToolResultContent,
};
use serde_json::json;

use super::*;

fn record(turn: Turn) -> Record {
    let json = serde_json::to_value(&turn).unwrap();
    let mut record = Record::new(Scope::user("lin").unwrap(), Kind::TURN, "", &SystemClock);
    record.text = json["text"].as_str().unwrap().to_owned();
    record.role = Some(Role::new(json["role"].as_str().unwrap()));
    record.metadata = json["metadata"].as_object().cloned().unwrap_or_default();
    record
}

fn replayed(messages: Vec<Message>) -> Vec<Message> {
    to_turns(messages).into_iter().flat_map(|turn| to_messages(&record(turn))).collect()
}

fn texts(messages: Vec<Message>) -> Vec<String> {
    to_turns(messages).into_iter().map(|turn| record(turn).text).collect()
}

fn call() -> ToolCall {
    ToolCall::from_wire("call-1", ToolFunction::new(ToolName::new("lookup").unwrap(), json!({"city": "里斯本"})))
}

fn called(call: &ToolCall) -> Message {
    Message::Assistant(AssistantMessage::new(vec![AssistantContent::ToolCall(call.clone())]))
}

fn answered(call: &ToolCall, text: &str) -> Message {
    Message::User { content: vec![UserContent::ToolResult(call.result(vec![ToolResultContent::text(text)]))] }
}

fn image(data: DocumentSourceKind) -> UserContent {
    UserContent::Image(Image { data, media_type: None, detail: None, native: None })
}

#[test]
fn a_run_with_a_tool_is_two_turns_and_replays_as_it_was() {
    let call = call();
    let run = vec![
        Message::user("里斯本明天天气怎么样？"),
        called(&call),
        answered(&call, "22 °C"),
        Message::assistant("Tomorrow it is sunny in Lisbon."),
    ];
    assert_eq!(texts(run.clone()), ["里斯本明天天气怎么样？", "Tomorrow it is sunny in Lisbon."]);
    assert_eq!(replayed(run.clone()), run);
}

#[test]
fn plain_messages_need_no_metadata() {
    for turn in to_turns(vec![Message::user("hello"), Message::assistant("你好"), Message::system("Be kind.")]) {
        assert!(record(turn).metadata.is_empty());
    }
}

#[test]
fn a_text_with_a_tool_call_is_one_turn() {
    let call = call();
    let said =
        AssistantMessage::new(vec![AssistantContent::text("Let me look."), AssistantContent::ToolCall(call.clone())]);
    let run = vec![Message::user("Rain?"), Message::Assistant(said), answered(&call, "no"), Message::assistant("No.")];
    assert_eq!(texts(run.clone()), ["Rain?", "Let me look.", "No."]);
    assert_eq!(replayed(run.clone()), run);
}

#[test]
fn messages_without_text_at_the_end_belong_to_the_last_turn() {
    let call = call();
    let run = vec![Message::user("Rain?"), called(&call), answered(&call, "no")];
    assert_eq!(texts(run.clone()), ["Rain?"]);
    assert_eq!(replayed(run.clone()), run);
    let alone = vec![called(&call), answered(&call, "no")];
    assert_eq!(texts(alone.clone()), [NO_TEXT]);
    assert_eq!(replayed(alone.clone()), alone);
}

#[test]
fn reasoning_origin_and_provider_items_are_left_out() {
    let said = AssistantMessage::new(vec![
        AssistantContent::Reasoning(Reasoning::new("hmm")),
        AssistantContent::text("Yes.").with_native(json!({"id": "msg_1"})),
    ])
    .with_stop(StopReason::ToolUse);
    assert_eq!(replayed(vec![Message::Assistant(said)]), [Message::assistant("Yes.")]);
    let only_reasoning = AssistantMessage::new(vec![AssistantContent::Reasoning(Reasoning::new("hmm"))]);
    assert_eq!(texts(vec![Message::Assistant(only_reasoning)]), Vec::<String>::new());
}

#[test]
fn a_failed_turn_is_left_out() {
    let failed = AssistantMessage::aborted(None, vec![AssistantContent::text("Half a sen")], "connection closed");
    assert_eq!(texts(vec![Message::user("Hi"), Message::Assistant(failed)]), ["Hi"]);
}

#[test]
fn an_address_of_an_image_stays_and_its_data_do_not() {
    let text = UserContent::Text(Text::new("What is this?"));
    let shown = |data| Message::User { content: vec![text.clone(), image(data)] };
    let by_address = vec![shown(DocumentSourceKind::url("https://example.org/boat.png"))];
    assert_eq!(replayed(by_address.clone()), by_address);
    assert_eq!(texts(by_address), ["What is this?"]);
    let by_data = vec![shown(DocumentSourceKind::base64("aGVsbG8="))];
    assert_eq!(replayed(by_data), [Message::user("What is this?\n[image]")]);
}

#[test]
fn tool_calls_that_are_too_large_are_left_out_with_their_results() {
    let call = call();
    let large = "x".repeat(MAX_MESSAGES_BYTES);
    let run = vec![Message::user("Rain?"), called(&call), answered(&call, &large), Message::assistant("No.")];
    assert_eq!(replayed(run), [Message::user("Rain?"), Message::assistant("No.")]);
}

#[test]
fn messages_of_other_programs_and_versions_are_read_by_their_text() {
    let mut stored = record(Turn::user("海鲜过敏"));
    stored.metadata.insert(MESSAGES_KEY.into(), json!([{"role": "narrator"}]));
    assert_eq!(to_messages(&stored), [Message::user("海鲜过敏")]);
    assert_eq!(to_messages(&record(Turn::tool("22 °C"))), Vec::<Message>::new());
}
