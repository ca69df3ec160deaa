//! `memory context`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod desk;

use std::fs;

use desk::Desk;

#[test]
fn context_layers_are_drawn() {
    let desk = Desk::new();
    for n in 0..12 {
        desk.run(&["add", &format!("第{n}句话，我想去爬山"), "--user", "lin"]).ok();
    }
    let before = desk.stats();
    let shown = desk.run(&["context", "你好，还记得爬山吗", "--user", "lin"]).ok();
    for part in ["persona", "stage", "recent", "related", "key_moment", "█", "░", "total:", "of 15000 o200k"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = desk.run(&["context", "你好", "--user", "lin", "--text", "--tokens", "estimate"]).ok();
    assert!(shown.contains("【最近对话】\n用户：第0句话") && shown.contains("estimated tokens"), "{shown}");
    assert_eq!(desk.stats(), before);
}

#[test]
fn json_lists_used_and_left_out_items() {
    let desk = Desk::new();
    for n in 0..6 {
        desk.run(&[
            "add",
            &format!("message {n}: {}", "I went hiking again and it was great. ".repeat(12)),
            "--user",
            "lin",
        ])
        .ok();
    }
    let whole = desk.run(&["context", "hi", "--user", "lin", "--json"]).json();
    let tight = (whole["tokens"].as_u64().unwrap() - 150).to_string();
    let built = desk.run(&["context", "hi", "--user", "lin", "--limit", &tight, "--json"]).json();
    assert!(built["tokens"].as_u64() <= tight.parse().ok(), "{built}");
    let recent = built["layers"].as_array().unwrap().iter().find(|layer| layer["name"] == "recent").unwrap();
    assert_eq!(recent["left_out"][0]["reason"], "whole", "{recent}");
    assert_eq!(recent["taken"].as_u64().unwrap() + recent["left_out"].as_array().unwrap().len() as u64, 6);
    let shown = desk.run(&["context", "hi", "--user", "lin", "--limit", &tight]).ok();
    assert!(shown.contains("the oldest: the context is full"), "{shown}");
}

#[test]
fn context_errors_name_the_missing_argument() {
    let desk = Desk::new();
    desk.run(&["add", "hello", "--user", "lin"]).ok();
    desk.run(&["context", "hi"]).refused(&["--user NAME"]);
    desk.run(&["context", "hi", "--user", "lin", "--pack", "nowhere"]).refused(&["pack.toml cannot be read"]);
    desk.run(&["context", "hi", "--user", "lin", "--limit", "20"]).refused(&["never cut", "the limit is 20"]);
    fs::create_dir(desk.path("ivy")).unwrap();
    let pack =
        "name = 'Ivy'\nlanguage = 'en'\npersona = 'You are Ivy.'\n[[stages]]\nname = 'a'\nfrom = 0\ntext = 'Be shy.'";
    fs::write(desk.path("ivy/pack.toml"), pack).unwrap();
    let shown = desk.run(&["context", "hi", "--user", "lin", "--pack", "ivy", "--text"]).ok();
    assert!(shown.contains("You are Ivy.\n\nBe shy.\n\n[Recent conversation]\nUser: hello"), "{shown}");
}
