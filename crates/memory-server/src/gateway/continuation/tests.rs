use super::*;

fn message(speaker: Speaker, text: &str) -> ChatMessage {
    ChatMessage { speaker, text: text.to_owned(), calls_tools: false }
}

fn texts(messages: &[ChatMessage]) -> Vec<&str> {
    messages.iter().map(|message| message.text.as_str()).collect()
}

#[test]
fn the_open_exchange_and_the_one_before_it_are_kept() {
    let user = |text| message(Speaker::User, text);
    let assistant = |text| message(Speaker::Assistant, text);
    let history = [user("a"), assistant("b"), user("c"), assistant("d"), user("e"), user("f")];
    assert_eq!(texts(&latest_exchanges(&history)), ["c", "d", "e", "f"]);
    assert_eq!(texts(&latest_exchanges(&history[..2])), ["a", "b"]);
    assert_eq!(texts(&latest_exchanges(&[])), [""; 0]);
    let greeted = [assistant("hello"), user("a")];
    assert_eq!(texts(&latest_exchanges(&greeted)), ["hello", "a"]);
}

#[test]
fn calls_of_tools_do_not_end_an_exchange() {
    let call = ChatMessage { calls_tools: true, ..message(Speaker::Assistant, "I look.") };
    let history = [
        message(Speaker::User, "weather?"),
        call,
        message(Speaker::Tool, ""),
        message(Speaker::User, "in Porto"),
        message(Speaker::Assistant, "rain"),
        message(Speaker::User, "thanks"),
    ];
    assert_eq!(latest_exchanges(&history).len(), history.len());
}
