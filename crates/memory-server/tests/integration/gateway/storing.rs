//! The turns stored from chats.

use std::{sync::Arc, time::Duration};

use memory_engine::{MemoryEngine, ScanQuery};
use memory_engine_server::GatewayOptions;
use serde_json::json;

use crate::{
    gateway::fixtures::{Chat, assistant, lin, patient_options, request, streamed_request, user},
    support::{
        TIME_LIMIT,
        store::{WatchedStore, WriteFailure},
        wait_until,
    },
};

#[tokio::test]
async fn a_turn_is_two_records_without_the_system_message() {
    let chat = Chat::new().await;
    let system = json!({ "role": "system", "content": "You are Krueger." });
    chat.ask(&request("echo", &[system.clone(), user("我对海鲜过敏")])).await;
    chat.ask(&request("echo", &[system, user("我对海鲜过敏"), assistant("好的: 我对海鲜过敏"), user("还记得吗")]))
        .await;
    let turns = chat.turns("monday").await;
    let rounds: Vec<_> = turns.iter().map(|turn| turn.source.round.unwrap()).collect();
    assert_eq!(rounds, [1, 1, 2, 2]);
    assert_eq!(chat.texts().await, ["我对海鲜过敏", "好的: 我对海鲜过敏", "还记得吗", "好的: 还记得吗"]);
    assert_eq!(turns[3].metadata["model"], "echo");
    let all = chat.served.engine.scan(&lin(), &ScanQuery::oldest(100)).await.unwrap().records;
    assert!(all.iter().all(|record| !record.text.contains("Krueger") && !record.text.contains("记忆参考")));
}

#[tokio::test]
async fn a_repeated_turn_is_replaced() {
    let chat = Chat::new().await;
    for _ in 0..2 {
        chat.ask(&request("echo", &[user("早")])).await;
    }
    assert_eq!(chat.texts().await, ["早", "好的: 早"]);
    chat.ask(&streamed_request("thinker", &[user("早")])).await;
    assert_eq!(chat.texts().await, ["早", "早点休息"]);
    // The client goes back to the first reply, and continues from there.
    chat.ask(&request("echo", &[user("早"), assistant("好的: 早"), user("吃了吗")])).await;
    assert_eq!(chat.texts().await, ["早", "好的: 早", "吃了吗", "好的: 吃了吗"]);
}

#[tokio::test]
async fn edited_turns_are_retracted_and_restored_when_repeated() {
    let chat = Chat::new().await;
    let opening = [user("早"), assistant("好的: 早")];
    let mut conversation = [&opening[..], &[user("我住在柏林")]].concat();
    chat.ask(&request("echo", &opening[..1])).await;
    chat.ask(&request("echo", &conversation)).await;
    conversation.extend([assistant("好的: 我住在柏林"), user("在城北")]);
    chat.ask(&request("echo", &conversation)).await;
    assert_eq!(chat.turns("monday").await.len(), 6);
    chat.ask(&request("echo", &[&opening[..], &[user("我住在里斯本")]].concat())).await;
    let mut texts = Vec::new();
    wait_until("the earlier turns are retracted", async || {
        texts = chat.texts().await;
        texts.len() == 4
    })
    .await;
    assert_eq!(texts, ["早", "好的: 早", "我住在里斯本", "好的: 我住在里斯本"]);
    let round = chat.turns("monday").await[2].source.round;
    assert_eq!(round, Some(2));
    chat.ask(&request("echo", &[&opening[..], &[user("我住在柏林")]].concat())).await;
    chat.served.gateway.drain().await;
    assert_eq!(chat.texts().await, ["早", "好的: 早", "我住在柏林", "好的: 我住在柏林"]);
}

#[tokio::test]
async fn a_new_conversation_retracts_nothing_in_its_session() {
    let chat = Chat::new().await;
    chat.ask(&request("echo", &[user("早")])).await;
    chat.ask(&request("echo", &[user("早"), assistant("好的: 早"), user("我住在柏林")])).await;
    chat.ask(&request("thinker", &[user("早")])).await;
    chat.ask(&request("echo", &[user("早"), assistant("早点休息"), user("吃了吗")])).await;
    chat.ask(&request("echo", &[user("你好")])).await;
    chat.served.gateway.drain().await;
    let texts = chat.texts().await;
    assert!(texts.contains(&"我住在柏林".to_owned()) && texts.contains(&"你好".to_owned()), "{texts:?}");
}

#[tokio::test]
async fn deleted_and_retracted_turns_are_not_stored_again() {
    let chat = Chat::new().await;
    chat.ask(&request("echo", &[user("忘掉这个")])).await;
    let turns = chat.turns("monday").await;
    chat.served.engine.forget(&lin(), turns[0].id).await.unwrap();
    chat.served.engine.history().retract(&lin(), &[turns[1].id], "wrong").await.unwrap();
    let answer = chat.ask(&request("echo", &[user("忘掉这个")])).await;
    assert_eq!((answer.status.as_u16(), chat.texts().await.len()), (200, 0));
}

#[tokio::test]
async fn sessions_come_from_header_path_body_or_first_words() {
    let chat = Chat::new().await;
    let body = request("echo", &[user("你好")]);
    chat.get("v1/chat/completions", &body, &[("x-user-id", "lin"), ("x-session-id", "%E5%B0%8F%E9%9B%A8")]).await;
    assert_eq!(chat.turns("小雨").await.len(), 2);
    chat.get("u/lin/a/kai/s/path/v1/chat/completions", &body, &[]).await;
    let scope = lin().with_agent("kai").unwrap().with_session("path").unwrap();
    assert_eq!(chat.served.engine.stats(&scope).await.unwrap().records, 2);
    let mut named = body.clone();
    named["user"] = json!("lin");
    named["metadata"] = json!({ "session_id": "body" });
    chat.get("v1/chat/completions", &named, &[]).await;
    assert_eq!(chat.turns("body").await.len(), 2);
    let auto =
        chat.get("v1/chat/completions", &body, &[("x-user-id", "lin")]).await.header("x-memory-session").to_owned();
    let later =
        request("echo", &[json!({ "role": "system", "content": "x" }), user("你好"), assistant("a"), user("b")]);
    assert_eq!(chat.get("v1/chat/completions", &later, &[("x-user-id", "lin")]).await.header("x-memory-session"), auto);
    assert_eq!(chat.turns(&auto).await.len(), 4);
}

#[tokio::test]
async fn every_completed_reply_is_stored_without_a_shutdown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("memory.db");
    let mut acknowledged = Vec::new();
    for run in 0..2 {
        let engine = MemoryEngine::builder().sqlite(&file).build().await.unwrap();
        let chat = Chat::with_engine(engine, patient_options()).await;
        let requests = (0..40).map(|i| {
            let messages = [user(&format!("{run} 第{i}句"))];
            let body = if i % 2 == 0 { streamed_request("echo", &messages) } else { request("echo", &messages) };
            let session = format!("s{i}");
            let chat = &chat;
            async move {
                let path = format!("u/lin/s/{session}/v1/chat/completions");
                let answer = chat.get(&path, &body, &[]).await;
                assert_eq!((answer.status.as_u16(), answer.header("x-memory-degraded")), (200, ""));
                (session, format!("好的: {run} 第{i}句"))
            }
        });
        acknowledged.extend(futures::future::join_all(requests).await);
        // The gateway is dropped without a shutdown.
    }
    let engine = MemoryEngine::builder().sqlite(&file).build().await.unwrap();
    let all = engine.scan(&lin(), &ScanQuery::oldest(1000)).await.unwrap().records;
    for (session, text) in acknowledged {
        let stored = all.iter().find(|record| record.text == text && record.scope.session() == Some(&session));
        assert!(stored.is_some(), "{session}: {text}");
    }
    let second = all.iter().find(|record| record.text == "1 第7句").unwrap();
    assert_eq!(second.source.round, Some(2), "the session continues after a restart");
}

/// Locks a SQLite file until its standard input is closed.
const LOCK_SCRIPT: &str = "\
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute('BEGIN IMMEDIATE')
print('locked', flush=True)
sys.stdin.read()
";

#[tokio::test]
async fn k12_a_locked_store_is_reported_and_chats_continue() {
    let folder = tempfile::tempdir().unwrap();
    let engine =
        MemoryEngine::builder().sqlite(folder.path().join("memory.db")).background(false).build().await.unwrap();
    let options = GatewayOptions::default().with_deadlines(TIME_LIMIT, Duration::from_millis(300));
    let chat = Chat::with_engine(engine, options).await;
    // Another process holds the lock of the file for longer than the write waits.
    let lock = std::process::Command::new("python3")
        .args(["-c", LOCK_SCRIPT])
        .arg(folder.path().join("memory.db"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let Ok(mut lock) = lock else { return };
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(lock.stdout.take().unwrap()), &mut line).unwrap();
    let plain = chat.ask(&request("echo", &[user("早")])).await;
    assert_eq!((plain.status.as_u16(), plain.header("x-memory-degraded")), (200, "store"));
    let stream = chat.ask(&streamed_request("echo", &[user("早"), assistant("好的: 早"), user("好")])).await;
    assert!(stream.body.contains(": memory degraded: store\n\n") && stream.body.ends_with("data: [DONE]\n\n"));
    // This closes its standard input as well.
    lock.wait().unwrap();
    // Turns that were late are not lost.
    chat.served.gateway.drain().await;
    assert_eq!(chat.texts().await, ["早", "好的: 早", "好", "好的: 好"]);
}

#[tokio::test]
async fn a_refused_turn_delays_only_its_own_conversation() {
    let store = Arc::new(WatchedStore::default());
    let options = GatewayOptions::default().with_deadlines(TIME_LIMIT, Duration::from_millis(1500));
    let chat = Chat::with_engine(store.engine().await, options).await;
    chat.get("u/lin/s/first/v1/chat/completions", &request("echo", &[user("早")]), &[]).await;
    *store.write_failure.lock() = Some(("坏", WriteFailure::Unavailable));
    let earlier_writes = store.calls("put");
    let ask_after = async |refusals: usize, session: &str, messages: &[serde_json::Value]| {
        let are_refused = async || store.calls("put") >= earlier_writes + refusals;
        wait_until("the turns before are refused", are_refused).await;
        let answer = chat.get(&format!("u/lin/s/{session}/v1/chat/completions"), &request("echo", messages), &[]).await;
        answer.header("x-memory-degraded").to_owned()
    };
    let next = [user("坏的一句"), assistant("好的: 坏的一句"), user("下一句")];
    let good = [user("好的一句")];
    let (refused, waiting, other) =
        futures::join!(ask_after(0, "bad", &next[..1]), ask_after(1, "bad", &next), ask_after(1, "good", &good));
    assert_eq!((refused.as_str(), waiting.as_str(), other.as_str()), ("store", "store", ""));
    assert_eq!((chat.turns("bad").await.len(), chat.turns("good").await.len()), (0, 2));
    *store.write_failure.lock() = None;
    chat.served.gateway.drain().await;
    let stored: Vec<_> =
        chat.turns("bad").await.iter().map(|turn| (turn.source.round.unwrap(), turn.text.clone())).collect();
    let expected = [(1, "坏的一句"), (1, "好的: 坏的一句"), (2, "下一句"), (2, "好的: 下一句")];
    assert_eq!(stored, expected.map(|(round, text)| (round, text.to_owned())));
}

#[tokio::test]
async fn a_store_panic_loses_only_one_turn() {
    let store = Arc::new(WatchedStore::default());
    let chat = Chat::with_engine(store.engine().await, patient_options()).await;
    *store.write_failure.lock() = Some(("炸", WriteFailure::Panic));
    let ask = async |session: &str, text: &str| {
        let path = format!("u/lin/s/{session}/v1/chat/completions");
        chat.get(&path, &request("echo", &[user(text)]), &[]).await.header("x-memory-degraded").to_owned()
    };
    // First alone, then in one transaction with others.
    assert_eq!(ask("a", "炸了").await, "store");
    let (failed, second, third) = futures::join!(ask("b", "炸了"), ask("c", "好"), ask("d", "更好"));
    assert_eq!((failed.as_str(), second.as_str(), third.as_str()), ("store", "", ""));
    assert_eq!(ask("a", "还好").await, "");
    assert_eq!((chat.turns("c").await.len(), chat.turns("a").await.len()), (2, 2));
}

#[tokio::test]
async fn a_deleted_turn_is_counted_as_blocked() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let metrics_handle = recorder.handle();
    let _recorder = metrics::set_default_local_recorder(&recorder);
    let chat = Chat::new().await;
    chat.ask(&request("echo", &[user("忘掉这个")])).await;
    let ids: Vec<_> = chat.turns("monday").await.iter().map(|turn| turn.id).collect();
    chat.served.engine.forget(&lin(), ids).await.unwrap();
    chat.ask(&request("echo", &[user("忘掉这个")])).await;
    chat.served.gateway.drain().await;
    let metrics = metrics_handle.render();
    for outcome in ["stored", "blocked"] {
        assert!(metrics.contains(&format!("memory_gateway_turns_total{{outcome=\"{outcome}\"}} 1")), "{metrics}");
    }
}
