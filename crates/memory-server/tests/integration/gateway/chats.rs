//! Chats of clients that name no session, and histories that come back.

use memory_engine::{Field, Filter, Kind, Record, ScanQuery, State};

use super::fixtures::{Chat, assistant, lin, request, user};

/// The active turns of lin in all sessions, oldest first.
async fn active_turns(chat: &Chat) -> Vec<Record> {
    let turns = Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
    chat.served.engine.scan(&lin(), &ScanQuery::oldest(100).with_filter(turns)).await.unwrap().records
}

/// Sends a chat request of lin without a session. Returns the session that the gateway chose.
async fn ask(chat: &Chat, history: &[serde_json::Value]) -> String {
    let answer = chat.get("v1/chat/completions", &request("echo", history), &[("x-user-id", "lin")]).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.header("x-memory-session").to_owned()
}

#[tokio::test]
async fn chats_that_begin_with_the_same_words_stay_apart() {
    let chat = Chat::new().await;
    for (opening, first, second) in [
        ("hi", "My train leaves at six", "The piano tuner comes on Friday"),
        ("你好", "我下周去大理", "我的吉他弦断了"),
    ] {
        let reply = assistant(&format!("好的: {opening}"));
        let first_chat = ask(&chat, &[user(opening)]).await;
        assert_eq!(ask(&chat, &[user(opening)]).await, first_chat, "a repeated first message asks for another reply");
        assert_eq!(ask(&chat, &[user(opening), reply.clone(), user(first)]).await, first_chat);
        let second_chat = ask(&chat, &[user(opening)]).await;
        assert_ne!(second_chat, first_chat);
        assert_eq!(ask(&chat, &[user(opening), reply.clone(), user(second)]).await, second_chat);
        // Each chat goes on in its own session.
        let history = [user(opening), reply.clone(), user(first), assistant(&format!("好的: {first}")), user("ok")];
        assert_eq!(ask(&chat, &history).await, first_chat);
        let texts: Vec<String> = active_turns(&chat).await.into_iter().map(|turn| turn.text).collect();
        for text in [first, second] {
            assert!(texts.iter().any(|stored| stored == text), "{text}: {texts:?}");
        }
        assert_eq!(texts.iter().filter(|text| *text == opening).count(), 2, "{texts:?}");
    }
}

#[tokio::test]
async fn an_edited_message_replaces_the_old_one_without_a_session() {
    let chat = Chat::new().await;
    for (opening, old, new) in
        [("good evening", "I was born in Ghent.", "I was born in Bruges."), ("早", "我出生在根特", "我出生在布鲁日")]
    {
        let history = |text: &str| [user(opening), assistant(&format!("好的: {opening}")), user(text)];
        ask(&chat, &[user(opening)]).await;
        let session = ask(&chat, &history(old)).await;
        assert_eq!(ask(&chat, &history(new)).await, session);
        let texts: Vec<String> = active_turns(&chat).await.into_iter().map(|turn| turn.text).collect();
        assert!(texts.iter().any(|text| text == new) && !texts.iter().any(|text| text.contains(old)), "{texts:?}");
    }
}

#[tokio::test]
async fn turns_come_back_with_the_main_line() {
    for session in ["", "named"] {
        let chat = Chat::new().await;
        let headers = [("x-user-id", "lin"), ("x-session-id", session)];
        let headers = if session.is_empty() { &headers[..1] } else { &headers[..] };
        let send = async |history: &[serde_json::Value]| {
            chat.get("v1/chat/completions", &request("echo", history), headers).await;
            active_turns(&chat).await.into_iter().map(|turn| turn.text).collect::<Vec<_>>()
        };
        let exchange = |text: &str| [user(text), assistant(&format!("好的: {text}"))];
        let (a, b, c) = (exchange("I adopted a goat"), exchange("她叫豆花"), exchange("She eats the roses"));
        send(&a[..1]).await;
        send(&[&a[..], &b[..1]].concat()).await;
        let before = send(&[&a[..], &b[..], &c[..1]].concat()).await;
        assert_eq!(before.len(), 6);
        // A branch from the first exchange takes back the others.
        let branch = send(&[&a[..], &exchange("Which fence is best")[..1]].concat()).await;
        assert!(!branch.contains(&"她叫豆花".to_owned()), "{branch:?}");
        // The main line comes again: its turns are active again, and those of the branch are not.
        let after = send(&[&a[..], &b[..], &c[..], &[user("谢谢")]].concat()).await;
        for text in ["I adopted a goat", "她叫豆花", "She eats the roses", "谢谢"] {
            assert!(after.contains(&text.to_owned()), "{text}: {after:?}");
        }
        assert!(!after.contains(&"Which fence is best".to_owned()), "{after:?}");
    }
}
