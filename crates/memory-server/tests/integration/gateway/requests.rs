//! What a user says about the memory itself: messages off the record, and topics to forget. On Postgres as well if
//! `DATABASE_URL` names a server.

use std::sync::Arc;

use memory_engine::{
    EnrichmentOptions, Field, Filter, Forget, ForgetText, Language, MemoryEngine, PutMode, Record, ScanQuery, State,
    Trust,
    context::{GatewayBlock, RequestNotice},
    requests::ChatCommand,
    store::ContentHash,
};
use memory_engine_postgres::PostgresOptions;
use serde_json::{Value, json};

use super::fixtures::{Answer, Chat, assistant, lin, patient_options, user};
use crate::support::{
    Served,
    store::{WatchedStore, WriteFailure},
    upstream::own_words,
};

/// The dialects: the path, and the model of an upstream that speaks them.
const DIALECTS: [(&str, &str); 3] =
    [("v1/chat/completions", "echo"), ("v1/messages", "native-echo"), ("v1/responses", "native-echo")];

/// Returns a chat over each backend.
async fn chats(test: &str) -> Vec<Chat> {
    let builder = || MemoryEngine::builder().enrichment(EnrichmentOptions::rules().unwrap());
    let mut engines = vec![builder().in_memory().build().await.unwrap()];
    if let Ok(url) = std::env::var("DATABASE_URL") {
        let options = PostgresOptions::default().with_schema(format!("{test}_{}", std::process::id()));
        engines.push(builder().postgres_with(url, options).build().await.unwrap());
    }
    let mut chats = Vec::new();
    for engine in engines {
        chats.push(Chat::of(Served::with_both_upstreams(engine, patient_options()).await));
    }
    chats
}

/// A conversation of lin in one dialect, whose client sends its whole history each time.
struct Conversation<'c> {
    chat: &'c Chat,
    dialect: (&'static str, &'static str),
    is_streamed: bool,
    session: String,
    history: Vec<Value>,
}

impl<'c> Conversation<'c> {
    fn new(chat: &'c Chat, session: &str) -> Self {
        Self { chat, dialect: DIALECTS[0], is_streamed: false, session: session.to_owned(), history: Vec::new() }
    }

    /// Sends a message. The upstream repeats it.
    async fn say(&mut self, text: &str) -> Answer {
        self.history.push(user(text));
        let answer = self.send().await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.header("x-memory-degraded"), "", "{text}");
        self.history.push(assistant(&format!("好的: {text}")));
        answer
    }

    /// Sends the history as it is.
    async fn send(&self) -> Answer {
        let (path, model) = self.dialect;
        let body = match path {
            "v1/responses" => json!({ "model": model, "input": self.history, "stream": self.is_streamed }),
            _ => json!({
                "model": model, "max_tokens": 50, "messages": self.history, "stream": self.is_streamed,
            }),
        };
        self.chat.get(path, &body, &[("x-user-id", "lin"), ("x-session-id", &self.session)]).await
    }

    /// Returns the block of memories in the last request to the upstream.
    fn block(&self) -> String {
        let is_native = self.dialect.1.starts_with("native");
        let received = if is_native { &self.chat.served.received_natively } else { &self.chat.served.received };
        let request = received.last();
        let messages = request.get("messages").or(request.get("input")).unwrap().as_array().unwrap().clone();
        let content = messages.last().unwrap()["content"].clone();
        let parts = content.as_array().map(|parts| parts.iter().filter_map(|part| part["text"].as_str()).collect());
        let text = parts.map_or_else(|| content.as_str().unwrap().to_owned(), |parts: Vec<&str>| parts.join("\n"));
        text.strip_prefix(&own_words(&text)).unwrap_or(&text).trim().to_owned()
    }
}

async fn texts(chat: &Chat, session: &str) -> Vec<String> {
    chat.turns(session).await.into_iter().map(|turn| turn.text).collect()
}

/// Returns the hashes of everything that may not be stored again.
async fn blocked(chat: &Chat) -> Vec<ContentHash> {
    let tombstones = chat.served.engine.admin().tombstones(&lin(), None, 1000).await.unwrap();
    tombstones.into_iter().map(|tombstone| tombstone.content_hash).collect()
}

/// Returns the line of a notice.
fn notice(notice: &RequestNotice) -> String {
    let block = GatewayBlock::default().with_notice(Language::English, "", notice);
    block.lines().skip_while(|line| *line != "[Memory request]").nth(1).unwrap().to_owned()
}

/// Returns the texts of all active records of lin.
async fn memories(chat: &Chat) -> Vec<String> {
    let active = Filter::eq(Field::State, State::Active.as_str());
    let query = ScanQuery::oldest(1000).with_filter(active);
    let records = chat.served.engine.scan(&lin(), &query).await.unwrap().records;
    records.into_iter().filter(|record| !record.kind.is_ledger()).map(|record| record.text).collect()
}

#[tokio::test]
async fn a_message_off_the_record_is_not_stored_even_if_it_is_sent_again() {
    for chat in chats("gateway_off_the_record").await {
        for (dialect, is_streamed, (private, later)) in DIALECTS.into_iter().flat_map(|dialect| {
            let languages = [
                ("Please don't save this: I was fired from the bakery.", "I play the cello."),
                ("我被面包店开除了，这件事别记", "我拉大提琴"),
            ];
            [false, true].into_iter().zip(languages).map(move |(is_streamed, texts)| (dialect, is_streamed, texts))
        }) {
            let session = format!("{} {is_streamed}", dialect.0.replace('/', " "));
            let mut conversation = Conversation { dialect, is_streamed, ..Conversation::new(&chat, &session) };
            conversation.say("Hello there").await;
            conversation.say(private).await;
            assert!(blocked(&chat).await.contains(&ContentHash::of(private)), "{session}");
            assert!(blocked(&chat).await.contains(&ContentHash::of(&format!("好的: {private}"))), "{session}");
            // The client retries, and then goes on.
            let answer = conversation.history.pop();
            conversation.send().await;
            conversation.history.extend(answer);
            conversation.say(later).await;
            let expected = ["Hello there", "好的: Hello there", later, &format!("好的: {later}")];
            assert_eq!(texts(&chat, &session).await, expected);
            let rounds: Vec<_> = chat.turns(&session).await.iter().map(|turn| turn.source.round.unwrap()).collect();
            assert_eq!(rounds, [1, 1, 2, 2], "{session}");
        }
        let mut imported = Record::new(
            lin(),
            memory_engine::Kind::TURN,
            "我被面包店开除了，这件事别记",
            chat.served.engine.settings().clock(),
        );
        imported.trust = Trust::Import;
        chat.served.engine.store(&lin(), vec![imported], PutMode::Upsert).await.unwrap();
        let memories = memories(&chat).await;
        assert!(!memories.iter().any(|text| text.contains("bakery") || text.contains("面包店")), "{memories:?}");
    }
}

#[tokio::test]
async fn a_redacted_message_that_is_sent_again_stays_redacted() {
    for chat in chats("gateway_redacted").await {
        for (dialect, texts_said) in DIALECTS.into_iter().zip([
            ["Hello there", "My locker is KX-4471-B, by the gate.", "I play the cello."],
            ["你好", "我的柜子是KX4471B，在门口", "我拉大提琴"],
            ["Hello there", "note: kx 4471 b", "I play the cello."],
        ]) {
            let session = dialect.0.replace('/', " ");
            let mut conversation = Conversation { dialect, ..Conversation::new(&chat, &session) };
            conversation.say(texts_said[0]).await;
            conversation.say(texts_said[1]).await;
            let redaction = Forget::Text(ForgetText::new("KX4471B").with_redact(true));
            assert_eq!(chat.served.engine.forget(&lin(), redaction).await.unwrap().redacted, 2, "{session}");
            let redacted = texts(&chat, &session).await;
            // The client sends the message again, and then goes on with its own history.
            let answer = conversation.history.pop();
            conversation.send().await;
            assert_eq!(texts(&chat, &session).await, redacted);
            conversation.history.extend(answer);
            conversation.say(texts_said[2]).await;
            let later = [texts_said[2].to_owned(), format!("好的: {}", texts_said[2])];
            assert_eq!(texts(&chat, &session).await, [redacted, later.to_vec()].concat());
        }
    }
}

#[tokio::test]
async fn the_message_before_is_deleted_with_its_reply() {
    for chat in chats("gateway_previous").await {
        for (dialect, request) in DIALECTS.into_iter().zip([
            "Don't store what I told you just now, please.",
            "刚刚说的那件事不要保存",
            "Do not remember anything I just mentioned.",
        ]) {
            let session = dialect.0.replace('/', " ");
            let mut conversation = Conversation { dialect, ..Conversation::new(&chat, &session) };
            conversation.say("Hello there").await;
            conversation.say("My safe is behind the mirror.").await;
            assert_eq!(texts(&chat, &session).await.len(), 4);
            conversation.say(request).await;
            assert_eq!(texts(&chat, &session).await, ["Hello there", "好的: Hello there"]);
            assert!(blocked(&chat).await.contains(&ContentHash::of("My safe is behind the mirror.")));
            conversation.say("What is for dinner?").await;
            assert_eq!(texts(&chat, &session).await.len(), 4);
        }
        // A client that sends no history, and only the last message.
        let mut conversation = Conversation::new(&chat, "single");
        for text in ["I like jazz.", "My safe is behind the mirror.", "Please don't remember that."] {
            conversation.history.clear();
            conversation.say(text).await;
        }
        assert_eq!(texts(&chat, "single").await, ["I like jazz.", "好的: I like jazz."]);
        let deleted = notice(&RequestNotice::PreviousTakenOut { count: 2 });
        assert!(conversation.block().contains(&deleted), "{}", conversation.block());
        let mut empty = Conversation::new(&chat, "empty");
        empty.say("Please don't remember that.").await;
        let nothing = notice(&RequestNotice::PreviousTakenOut { count: 0 });
        assert_ne!(deleted, nothing);
        assert!(empty.block().contains(&nothing), "{}", empty.block());
    }
}

#[tokio::test]
async fn a_topic_is_forgotten_and_brought_back() {
    for chat in chats("gateway_forget").await {
        let forget = [
            ("My landlord Otto is a baker.", "Could you forget everything I told you about my landlord?", "Undo that."),
            ("我的房东老周会修表", "把房东的事都忘掉吧", "撤销"),
            (
                "My orchard is in Kent.",
                "please forget what I said about the orchard",
                "Restore what I asked you to forget.",
            ),
        ];
        for ((dialect, is_streamed), (fact, request, undo)) in DIALECTS.into_iter().zip([false, true, true]).zip(forget)
        {
            chat.remember(fact).await;
            let mut conversation =
                Conversation { dialect, is_streamed, ..Conversation::new(&chat, &dialect.0.replace('/', " ")) };
            conversation.say("Hello there").await;
            conversation.say(request).await;
            let block = conversation.block();
            let notice = if fact.is_ascii() { "Memory request" } else { "记忆操作" };
            assert!(block.contains(notice) && block.contains(['1', '2']) && !block.contains(fact), "{block}");
            assert!(!memories(&chat).await.iter().any(|text| text == fact || text == request));
            conversation.say(undo).await;
            assert!(conversation.block().contains(notice), "{}", conversation.block());
            assert!(memories(&chat).await.contains(&fact.to_owned()), "{fact}");
            assert!(!memories(&chat).await.iter().any(|text| text.contains(undo)), "{undo}");
        }
        let mut conversation = Conversation::new(&chat, "none");
        conversation.say("Please forget what I said about the lighthouse.").await;
        assert!(conversation.block().contains("lighthouse"), "{}", conversation.block());
    }
}

#[tokio::test]
async fn many_memories_are_forgotten_after_a_yes() {
    for chat in chats("gateway_many").await {
        for n in 0..12 {
            chat.remember(&format!("Number {n} of my vineyard notes")).await;
        }
        let mut conversation = Conversation { dialect: DIALECTS[1], ..Conversation::new(&chat, "many") };
        conversation.say("Please forget everything about my vineyard.").await;
        let block = conversation.block();
        assert!(block.contains("12") && block.matches("vineyard notes").count() >= 3, "{block}");
        assert_eq!(memories(&chat).await.iter().filter(|text| text.contains("vineyard")).count(), 12);
        conversation.say("yes, forget them all").await;
        assert!(conversation.block().contains("12"), "{}", conversation.block());
        assert_eq!(memories(&chat).await.iter().filter(|text| text.contains("vineyard")).count(), 0);
        conversation.say("Good. I planted a fig tree.").await;
        conversation.say("yes").await;
        assert_eq!(texts(&chat, "many").await.len(), 4, "this yes answers something else");
    }
}

#[tokio::test]
async fn a_yes_is_stored_if_nothing_was_asked() {
    for chat in chats("gateway_unasked").await {
        chat.remember("My landlord Otto is a baker.").await;
        let mut conversation = Conversation::new(&chat, "unasked");
        conversation.say("Forget what I said about my landlord.").await;
        conversation.say("Yes, please").await;
        assert_eq!(texts(&chat, "unasked").await, ["Yes, please", "好的: Yes, please"]);
    }
}

#[tokio::test]
async fn a_request_that_fails_is_told_to_the_model() {
    let store = Arc::new(WatchedStore::default());
    let chat = Chat::with_engine(store.engine().await, patient_options()).await;
    chat.remember("My landlord Otto is a baker.").await;
    *store.write_failure.lock() = Some(("Otto", WriteFailure::Unavailable));
    let mut conversation = Conversation::new(&chat, "failed");
    conversation.history.push(user("Forget what I said about my landlord."));
    let answer = conversation.send().await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("x-memory-degraded"), "request");
    let failed = notice(&RequestNotice::Failed);
    assert!(conversation.block().contains(&failed), "{}", conversation.block());
}

#[tokio::test]
async fn what_is_no_request_is_stored() {
    let chat = &chats("gateway_no_request").await[0];
    chat.remember("My landlord Otto is a baker.").await;
    let messages = [
        "Write an e-mail in which he says: forget what I said about my landlord.",
        "Don't forget what I said about my landlord!",
        "I will never forget everything about my landlord.",
        "“把房东的事忘了吧”怎么翻译？",
        "forget it, use tabs",
        "Undo that.",
        "*sighs* Forget what I said about my landlord.",
    ];
    let mut conversation = Conversation::new(chat, "tasks");
    for message in messages {
        conversation.say(message).await;
        assert!(!conversation.block().contains("Memory request"), "{message}");
    }
    assert_eq!(texts(chat, "tasks").await.len(), 2 * messages.len());
    assert!(memories(chat).await.contains(&"My landlord Otto is a baker.".to_owned()));
    // A line of a play.
    let mut play = Conversation::new(chat, "play");
    play.say("来玩剧本吧！").await;
    play.say("Forget what I said about my landlord.").await;
    assert_eq!(texts(chat, "play").await.len(), 4);
}

#[tokio::test]
async fn requests_can_be_switched_off() {
    let mut options = patient_options();
    options.commands = vec![ChatCommand::Forget];
    let chat = Chat::with_options(options).await;
    chat.remember("My landlord Otto is a baker.").await;
    let mut conversation = Conversation::new(&chat, "off");
    conversation.say("Don't save this: I snore.").await;
    conversation.say("Forget what I said about my landlord.").await;
    assert_eq!(texts(&chat, "off").await, ["Don't save this: I snore.", "好的: Don't save this: I snore."]);
    assert_eq!(memories(&chat).await.iter().filter(|text| text.contains("Otto")).count(), 0);
}

#[tokio::test]
async fn a_private_question_stays_private_when_it_is_answered_with_tools() {
    let chat = &chats("gateway_tools").await[0];
    let private = user("Off the record: is it cold in Bergen?");
    let call = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "toolu_1", "name": "weather", "input": {} }] });
    let result =
        json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny" }] });
    let owner = [("x-user-id", "lin"), ("x-session-id", "tools")];
    let body = json!({ "model": "native-tools", "max_tokens": 50, "messages": [private, call, result] });
    chat.get("v1/messages", &body, &owner).await;
    assert_eq!(texts(chat, "tools").await, [""; 0]);
}

#[tokio::test]
async fn a_chat_without_a_name_goes_on_after_a_message_off_the_record() {
    let chat = Chat::new().await;
    let ask = async |messages: &[Value]| {
        let body = json!({ "model": "echo", "messages": messages });
        chat.get("v1/chat/completions", &body, &[("x-user-id", "lin")]).await.header("x-memory-session").to_owned()
    };
    let hello = [user("Hello there"), assistant("好的: Hello there")];
    let first = ask(&hello[..1]).await;
    ask(&[&hello[..], &[user("I like jazz")]].concat()).await;
    let second = ask(&hello[..1]).await;
    assert_ne!(first, second);
    let private = [user("Don't record this: I am broke."), assistant("好的: Don't record this: I am broke.")];
    let history = [&hello[..], &private[..]].concat();
    assert_eq!(ask(&history[..3]).await, second);
    assert_eq!(ask(&[&history[..], &[user("I live in Faro")]].concat()).await, second);
}

#[tokio::test]
async fn the_other_doors_leave_out_what_is_off_the_record() {
    for chat in chats("other_doors").await {
        let owner = [("x-user-id", "lin"), ("accept", "application/json, text/event-stream")];
        let private = "Please do not save this: I was fired from the bakery.";
        let hook = async |event: &str, text: &str| {
            let input = json!({ "event": event, "session_id": "hooked", "prompt": text, "reply": text });
            chat.get(&format!("hooks/generic?event={event}&user_id=lin"), &input, &owner).await
        };
        hook("user-prompt", "I play the cello.").await;
        hook("stop", "The cello is fine.").await;
        let answer = hook("user-prompt", private).await;
        assert!(answer.body.contains("Memory request"), "{}", answer.body);
        hook("stop", "A bakery is no place for you.").await;
        assert_eq!(texts(&chat, "hooked").await, ["I play the cello.", "The cello is fine."]);
        hook("user-prompt", "My safe is behind the mirror.").await;
        hook("user-prompt", "刚才那句不要记录").await;
        assert_eq!(texts(&chat, "hooked").await, ["I play the cello.", "The cello is fine."]);
        let answer = hook("user-prompt", "Please forget everything about the cello.").await;
        assert!(answer.body.contains("cello"), "{}", answer.body);
        assert_eq!(texts(&chat, "hooked").await, [""; 0]);
        hook("user-prompt", "Undo that!").await;
        assert_eq!(texts(&chat, "hooked").await, ["I play the cello.", "The cello is fine."]);

        let history = [user("I like jazz."), assistant("Nice."), user(private), assistant("Sorry about the bakery.")];
        let add = async |messages: &[Value]| {
            let body = json!({ "user_id": "lin", "run_id": "added", "messages": messages });
            chat.get("memories", &body, &owner).await
        };
        assert_eq!(add(&history).await.status, 200);
        add(&[&history[..], &[user("I live in Faro.")]].concat()).await;
        add(&[user("My safe is behind the mirror."), assistant("Good.")]).await;
        add(&[user("Don't save what I just told you.")]).await;
        let added = texts(&chat, "added").await;
        assert!(added.contains(&"I live in Faro.".to_owned()), "{added:?}");
        assert!(!added.iter().any(|text| text.contains("bakery") || text.contains("safe")), "{added:?}");
        assert!(blocked(&chat).await.contains(&ContentHash::of(private)));

        // A client that sends its whole history, and then a window of it.
        let instruction = json!({ "role": "system", "content": "You are a banker." });
        let told = [instruction, user("I like jazz."), user("My safe is behind the mirror."), assistant("Got it.")];
        let request = [user("Don't save what I just told you."), assistant("好")];
        let later = [user("I play the flute."), assistant("Nice.")];
        let add = async |messages: &[&[Value]]| {
            let body = json!({ "user_id": "lin", "run_id": "growing", "messages": messages.concat() });
            assert_eq!(chat.get("memories", &body, &owner).await.status, 200);
            texts(&chat, "growing").await
        };
        assert_eq!(add(&[&told]).await.len(), 3);
        let stored = add(&[&told, &request[..1]]).await;
        assert_eq!(stored, ["I like jazz.", "Got it.", "I like jazz."]);
        for text in ["You are a banker.", "Got it.", "好"] {
            assert!(!blocked(&chat).await.contains(&ContentHash::of(text)), "{text}");
        }
        assert_eq!(add(&[&request]).await, stored, "a window that begins with the request");
        assert_eq!(add(&[&request, &later]).await.len(), stored.len() + 2);
        assert_eq!(add(&[&request, &later]).await.len(), stored.len() + 4);
        add(&[&[user("My key is under the mat.")]]).await;
        assert_eq!(add(&[&request]).await.len(), stored.len() + 4, "the same words about another message");

        let params =
            json!({ "name": "add_memory", "arguments": { "role": "user", "text": private, "user_id": "lin" } });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let answer = chat.get("mcp", &call, &owner).await;
        assert!(answer.body.contains("off the record"), "{}", answer.body);
        assert!(!memories(&chat).await.iter().any(|text| text.contains("bakery")));
    }
}
