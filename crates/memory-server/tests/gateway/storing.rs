//! The turns stored from chats.

use std::{sync::Arc, time::Duration};

use memory_engine::{MemoryEngine, ScanQuery};
use memory_engine_server::GatewayOptions;
use serde_json::json;

use crate::{
    given::{Chat, lin, patient, said, streamed, to, user},
    support::store::{Trouble, WatchedStore},
};

#[tokio::test]
async fn a_turn_is_two_records_with_round_scene_and_model_and_nothing_of_the_instructions() {
    let chat = Chat::new().await;
    let system = json!({ "role": "system", "content": "You are Krueger." });
    chat.ask(&to("echo", &[system.clone(), user("我对海鲜过敏")])).await;
    chat.ask(&to("echo", &[system, user("我对海鲜过敏"), said("好的: 我对海鲜过敏"), user("还记得吗")])).await;
    let turns = chat.turns("monday").await;
    let rounds: Vec<_> = turns.iter().map(|turn| turn.source.round.unwrap()).collect();
    assert_eq!(
        (rounds, chat.texts().await),
        (
            vec![1, 1, 2, 2],
            vec!["我对海鲜过敏".into(), "好的: 我对海鲜过敏".into(), "还记得吗".into(), "好的: 还记得吗".to_owned()]
        )
    );
    assert_eq!(turns[3].metadata["model"], "echo");
    let all = chat.served.engine.scan(&lin(), &ScanQuery::oldest(100)).await.unwrap().records;
    assert!(all.iter().all(|record| !record.text.contains("Krueger") && !record.text.contains("记忆参考")));
}

#[tokio::test]
async fn the_same_again_is_the_same_turn_and_another_reply_takes_the_old_ones_place() {
    let chat = Chat::new().await;
    for _ in 0..2 {
        chat.ask(&to("echo", &[user("早")])).await;
    }
    assert_eq!(chat.texts().await, ["早", "好的: 早"]);
    chat.ask(&streamed("thinker", &[user("早")])).await;
    assert_eq!(chat.texts().await, ["早", "早点休息"]);
    // The client shows the first reply after all, and goes on from there.
    chat.ask(&to("echo", &[user("早"), said("好的: 早"), user("吃了吗")])).await;
    assert_eq!(chat.texts().await, ["早", "好的: 早", "吃了吗", "好的: 吃了吗"]);
}

#[tokio::test]
async fn what_is_edited_away_is_taken_back_with_all_that_followed_and_comes_back_when_it_is_said_again() {
    let chat = Chat::new().await;
    let begun = [user("早"), said("好的: 早")];
    let mut first = [&begun[..], &[user("我住在柏林")]].concat();
    chat.ask(&to("echo", &begun[..1])).await;
    chat.ask(&to("echo", &first)).await;
    first.extend([said("好的: 我住在柏林"), user("在城北")]);
    chat.ask(&to("echo", &first)).await;
    assert_eq!(chat.turns("monday").await.len(), 6);
    chat.ask(&to("echo", &[&begun[..], &[user("我住在里斯本")]].concat())).await;
    let mut left = chat.texts().await;
    for _ in 0..100 {
        if left.len() == 4 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        left = chat.texts().await;
    }
    assert_eq!(left, ["早", "好的: 早", "我住在里斯本", "好的: 我住在里斯本"]);
    let round = chat.turns("monday").await[2].source.round;
    assert_eq!(round, Some(2));
    chat.ask(&to("echo", &[&begun[..], &[user("我住在柏林")]].concat())).await;
    chat.served.gateway.drain().await;
    assert_eq!(chat.texts().await, ["早", "好的: 早", "我住在柏林", "好的: 我住在柏林"]);
}

#[tokio::test]
async fn a_new_conversation_in_an_old_session_leaves_the_old_one_alone() {
    let chat = Chat::new().await;
    chat.ask(&to("echo", &[user("早")])).await;
    chat.ask(&to("echo", &[user("早"), said("好的: 早"), user("我住在柏林")])).await;
    chat.ask(&to("thinker", &[user("早")])).await;
    chat.ask(&to("echo", &[user("早"), said("早点休息"), user("吃了吗")])).await;
    chat.ask(&to("echo", &[user("你好")])).await;
    chat.served.gateway.drain().await;
    let texts = chat.texts().await;
    assert!(texts.contains(&"我住在柏林".to_owned()) && texts.contains(&"你好".to_owned()), "{texts:?}");
}

#[tokio::test]
async fn what_somebody_has_forgotten_or_taken_back_stays_away_when_it_is_sent_again() {
    let chat = Chat::new().await;
    chat.ask(&to("echo", &[user("忘掉这个")])).await;
    let turns = chat.turns("monday").await;
    chat.served.engine.forget(&lin(), turns[0].id).await.unwrap();
    chat.served.engine.retract(&lin(), &[turns[1].id], "wrong").await.unwrap();
    let answer = chat.ask(&to("echo", &[user("忘掉这个")])).await;
    assert_eq!((answer.status.as_u16(), chat.texts().await.len()), (200, 0));
}

#[tokio::test]
async fn sessions_and_agents_come_from_header_path_or_body_and_without_one_from_the_first_words() {
    let chat = Chat::new().await;
    let body = to("echo", &[user("你好")]);
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
    let later = to("echo", &[json!({ "role": "system", "content": "x" }), user("你好"), said("a"), user("b")]);
    assert_eq!(chat.get("v1/chat/completions", &later, &[("x-user-id", "lin")]).await.header("x-memory-session"), auto);
    assert_eq!(chat.turns(&auto).await.len(), 4);
}

#[tokio::test]
async fn every_answer_that_has_ended_is_in_the_file_when_the_gateway_dies() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("memory.db");
    let mut acknowledged = Vec::new();
    for run in 0..2 {
        let engine = MemoryEngine::builder().sqlite(&file).build().await.unwrap();
        let chat = Chat::over(engine, patient()).await;
        let asked = (0..40).map(|i| {
            let body = if i % 2 == 0 {
                streamed("echo", &[user(&format!("{run} 第{i}句"))])
            } else {
                to("echo", &[user(&format!("{run} 第{i}句"))])
            };
            let (chat, session) = (&chat, format!("s{i}"));
            async move {
                let path = format!("u/lin/s/{session}/v1/chat/completions");
                let answer = chat.get(&path, &body, &[]).await;
                assert_eq!((answer.status.as_u16(), answer.header("x-memory-degraded")), (200, ""));
                (session, format!("好的: {run} 第{i}句"))
            }
        });
        acknowledged.extend(futures::future::join_all(asked).await);
        // Nothing is drained and nothing is waited for.
    }
    let engine = MemoryEngine::builder().sqlite(&file).build().await.unwrap();
    let all = engine.scan(&lin(), &ScanQuery::oldest(1000)).await.unwrap().records;
    for (session, text) in acknowledged {
        let there = all.iter().find(|record| record.text == text && record.scope.session() == Some(&session));
        assert!(there.is_some(), "{session}: {text}");
    }
    let second = all.iter().find(|record| record.text == "1 第7句").unwrap();
    assert_eq!(second.source.round, Some(2), "the session goes on after a restart");
}

#[tokio::test]
async fn k12_a_store_that_cannot_be_written_is_told_of_and_the_chat_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let engine =
        MemoryEngine::builder().sqlite(folder.path().join("memory.db")).background(false).build().await.unwrap();
    let options = GatewayOptions::default().with_deadlines(Duration::from_millis(1500), Duration::from_millis(300));
    let chat = Chat::over(engine, options).await;
    // Another process holds the lock of the file for longer than the write waits.
    let lock = std::process::Command::new("python3")
        .args(["-c", "import sqlite3,sys,time;c=sqlite3.connect(sys.argv[1],isolation_level=None);c.execute('BEGIN IMMEDIATE');print('locked',flush=True);time.sleep(3)"])
        .arg(folder.path().join("memory.db"))
        .stdout(std::process::Stdio::piped())
        .spawn();
    let Ok(mut lock) = lock else { return };
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(lock.stdout.take().unwrap()), &mut line).unwrap();
    let plain = chat.ask(&to("echo", &[user("早")])).await;
    assert_eq!((plain.status.as_u16(), plain.header("x-memory-degraded")), (200, "store"));
    let stream = chat.ask(&streamed("echo", &[user("早"), said("好的: 早"), user("好")])).await;
    assert!(stream.body.contains(": memory degraded: store\n\n") && stream.body.ends_with("data: [DONE]\n\n"));
    lock.wait().unwrap();
    // What was late is not lost.
    chat.served.gateway.drain().await;
    assert_eq!(chat.texts().await, ["早", "好的: 早", "好", "好的: 好"]);
}

#[tokio::test]
async fn a_turn_that_the_store_refuses_holds_up_only_its_own_conversation_and_keeps_its_place_there() {
    let store = Arc::new(WatchedStore::default());
    let options = GatewayOptions::default().with_deadlines(Duration::from_secs(15), Duration::from_millis(1500));
    let chat = Chat::over(store.engine().await, options).await;
    chat.get("u/lin/s/first/v1/chat/completions", &to("echo", &[user("早")]), &[]).await;
    *store.trouble.lock() = Some(("坏", Trouble::Away));
    let late = async |wait: u64, session: &str, messages: &[serde_json::Value]| {
        tokio::time::sleep(Duration::from_millis(wait)).await;
        let answer = chat.get(&format!("u/lin/s/{session}/v1/chat/completions"), &to("echo", messages), &[]).await;
        answer.header("x-memory-degraded").to_owned()
    };
    let goes_on = [user("坏的一句"), said("好的: 坏的一句"), user("下一句")];
    let good = [user("好的一句")];
    let (refused, behind, other) =
        futures::join!(late(0, "bad", &goes_on[..1]), late(200, "bad", &goes_on), late(200, "good", &good),);
    assert_eq!((refused.as_str(), behind.as_str(), other.as_str()), ("store", "store", ""));
    assert_eq!((chat.turns("bad").await.len(), chat.turns("good").await.len()), (0, 2));
    *store.trouble.lock() = None;
    chat.served.gateway.drain().await;
    let kept: Vec<_> =
        chat.turns("bad").await.iter().map(|turn| (turn.source.round.unwrap(), turn.text.clone())).collect();
    let told = [(1, "坏的一句"), (1, "好的: 坏的一句"), (2, "下一句"), (2, "好的: 下一句")];
    assert_eq!(kept, told.map(|(round, text)| (round, text.to_owned())));
}

#[tokio::test]
async fn a_panic_over_one_turn_loses_that_turn_and_no_other() {
    let store = Arc::new(WatchedStore::default());
    let chat = Chat::over(store.engine().await, patient()).await;
    *store.trouble.lock() = Some(("炸", Trouble::Panic));
    let ask = async |session: &str, text: &str| {
        let path = format!("u/lin/s/{session}/v1/chat/completions");
        chat.get(&path, &to("echo", &[user(text)]), &[]).await.header("x-memory-degraded").to_owned()
    };
    // One alone, and then one among others that are stored with it.
    assert_eq!(ask("a", "炸了").await, "store");
    let (bad, good, better) = futures::join!(ask("b", "炸了"), ask("c", "好"), ask("d", "更好"));
    assert_eq!((bad.as_str(), good.as_str(), better.as_str()), ("store", "", ""));
    assert_eq!(ask("a", "还好").await, "");
    assert_eq!((chat.turns("c").await.len(), chat.turns("a").await.len()), (2, 2));
}

#[tokio::test]
async fn a_turn_that_stays_away_for_good_is_counted_as_barred_and_not_as_stored() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let counted = recorder.handle();
    let _counting = metrics::set_default_local_recorder(&recorder);
    let chat = Chat::new().await;
    chat.ask(&to("echo", &[user("忘掉这个")])).await;
    let ids: Vec<_> = chat.turns("monday").await.iter().map(|turn| turn.id).collect();
    chat.served.engine.forget(&lin(), ids).await.unwrap();
    chat.ask(&to("echo", &[user("忘掉这个")])).await;
    chat.served.gateway.drain().await;
    let told = counted.render();
    for outcome in ["stored", "barred"] {
        assert!(told.contains(&format!("memory_gateway_turns_total{{outcome=\"{outcome}\"}} 1")), "{told}");
    }
}
