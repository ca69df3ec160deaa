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

/// The only message of a chat, changed and sent again: the client keeps neither the old message nor its reply.
#[tokio::test]
async fn an_edited_first_message_replaces_the_old_one_if_that_is_certain() {
    let texts = async |chat: &Chat| -> Vec<String> {
        active_turns(chat)
            .await
            .into_iter()
            .filter(|turn| turn.metadata.get("model").is_none())
            .map(|t| t.text)
            .collect()
    };
    for (old, new) in [
        ("Our new kitten Pixel sleeps on the radiator", "Our new kitten Pixel sleeps in the bathtub"),
        ("我家新来的小猫像素睡在暖气上", "我家新来的小猫像素睡在洗衣篮里"),
    ] {
        let chat = Chat::new().await;
        let first = ask(&chat, &[user(old)]).await;
        let second = ask(&chat, &[user(new)]).await;
        assert_ne!(first, second);
        assert_eq!(texts(&chat).await, [new]);
        // The chat goes on, and then another one begins with similar words.
        let history = [user(new), assistant(&format!("好的: {new}")), user("ok")];
        assert_eq!(ask(&chat, &history).await, second);
        ask(&chat, &[user(old)]).await;
        // The old chat comes back with its own times.
        assert_eq!(texts(&chat).await, [old, new, "ok"], "a chat that went on stays");
    }
    for (one, other) in [
        ("Can kittens eat raw salmon safely?", "Can kittens eat raw potato safely?"),
        ("Write as a limerick: Pixel sleeps on the stove", "Write as a limerick: Pixel sleeps on the stairs"),
        ("小猫可以吃生的三文鱼吗", "小猫可以吃生的土豆吗"),
        ("I fed Pixel at noon", "The violin needs two new strings"),
        ("hi", "hi there"),
    ] {
        let chat = Chat::new().await;
        ask(&chat, &[user(one)]).await;
        ask(&chat, &[user(other)]).await;
        assert_eq!(texts(&chat).await, [one, other], "two chats stay apart");
    }
}

/// The first message is changed in its place: the replies and later messages stay.
#[tokio::test]
async fn a_first_message_that_is_changed_in_its_place_stays_in_its_chat() {
    let chat = Chat::new().await;
    for (old, new, second, third, fourth) in [
        ("The bakery opens at six", "The bakery opens at seven", "They sell rye", "And buns", "Still warm"),
        ("面包店六点开门", "面包店七点开门", "有黑麦面包", "还有小圆面包", "还是热的"),
    ] {
        let exchange = |text: &str, said: &str| [user(text), assistant(&format!("好的: {said}"))];
        let history = |first: &str, texts: &[&str], last: &str| {
            let mut messages = exchange(first, old).to_vec();
            texts.iter().for_each(|text| messages.extend(exchange(text, text)));
            messages.push(user(last));
            messages
        };
        let session = ask(&chat, &[user(old)]).await;
        assert_eq!(ask(&chat, &history(old, &[], second)).await, session);
        assert_eq!(ask(&chat, &history(new, &[second], third)).await, session);
        assert_eq!(ask(&chat, &history(new, &[second, third], fourth)).await, session);
        let texts: Vec<String> = active_turns(&chat).await.into_iter().map(|turn| turn.text).collect();
        for text in [new, second, third, fourth] {
            assert_eq!(texts.iter().filter(|stored| *stored == text).count(), 1, "{text}: {texts:?}");
        }
        assert!(!texts.contains(&old.to_owned()), "{texts:?}");
        // The second message is another one: this is no known chat.
        let other = [&history(new, &["We are closed"], third)[..]].concat();
        assert_ne!(ask(&chat, &other).await, session);
    }
}
