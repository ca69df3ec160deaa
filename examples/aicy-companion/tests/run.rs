//! Runs the example as a process, without a key.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

use std::{
    io::Write,
    process::{Command, Stdio},
};

use memory_engine::postgres::{PostgresOptions, migrate_down, migrate_up};

fn talk(db: &str, lines: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aicy-companion"));
    command.args(["--user", "xiaoming", "--db", db]).env_remove("CHAT_SERVICE").env_remove("AICY_DB");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(format!("{}\n", lines.join("\n")).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a8_the_chat_counts_marks_its_moments_and_goes_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("aicy.db");
    let db = db.to_str().unwrap();
    let first =
        talk(db, &["你好", "我对海鲜过敏，别带我去吃虾", "I'm so tired today", "/context 你还记得我对什么过敏吗"]);
    assert!(first.contains("还不认识 xiaoming"), "{first}");
    assert!(first.contains("Aicy：（眨眼）你好，观测对象") && !first.contains("verdict"), "{first}");
    assert!(first.contains("★ 关键时刻：第一次见面") && first.contains("21/1000 · 第1章 观察者"), "{first}");
    assert!(first.contains("23/1000"), "1 for each message and 20 for the moment: {first}");
    for layer in ["persona", "stage", "profile", "key_memories", "recent", "related"] {
        assert!(first.contains(layer), "{layer} is not in: {first}");
    }

    let second = talk(db, &["你还记得我对什么过敏吗？", "/memory"]);
    assert!(second.contains("还记得 xiaoming：6 条消息"), "{second}");
    assert!(second.contains("你说过：“我对海鲜过敏，别带我去吃虾”"), "{second}");
    assert!(second.contains("[第一次见面 - ") && second.contains("+20 1 → 21"), "{second}");

    let third = talk(db, &["/forget 海鲜", "你还记得我对什么过敏吗？", "/context 虾", "/forget all", "/memory"]);
    assert!(third.contains("忘掉了 2 条"), "the message, and the reply that quotes it: {third}");
    assert!(third.contains("没有找到"), "{third}");
    assert!(third.contains("0 条消息"), "{third}");
}

#[test]
fn a8_the_chat_runs_on_postgres() {
    let Some(url) = std::env::var("DATABASE_URL").ok().filter(|url| !url.is_empty()) else {
        let required = std::env::var("CONFORMANCE_REQUIRE").unwrap_or_default();
        assert!(!required.contains("postgres"), "CONFORMANCE_REQUIRE names postgres, but DATABASE_URL is not set");
        return;
    };
    // Other tests use the schema `public`, so this test has its own.
    let schema = format!("aicy_{}", std::process::id());
    let options = PostgresOptions::default().with_schema(&schema);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        migrate_up(&url, &options).await.unwrap();
        migrate_down(&url, &options, 0).await.unwrap();
    });
    let separator = if url.contains('?') { '&' } else { '?' };
    let db = format!("{url}{separator}options[search_path]={schema},public");
    let first = talk(&db, &["你好", "I have a cat called Tuanzi"]);
    assert!(first.contains("★ 关键时刻：第一次见面") && first.contains("22/1000"), "{first}");
    let later = talk(&db, &["do you remember my cat?", "/forget all", "/memory"]);
    assert!(later.contains("4 条消息") && later.contains("你说过：“I have a cat called Tuanzi”"), "{later}");
    assert!(later.contains("0 条消息"), "{later}");
    runtime.block_on(migrate_down(&url, &options, 0)).unwrap();
}
