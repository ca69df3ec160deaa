//! `memory context`.

use std::fs;

use crate::cli_fixture::CliFixture;

#[test]
fn context_layers_are_drawn() {
    let cli = CliFixture::new();
    for n in 0..12 {
        cli.run(&["add", &format!("第{n}句话，我想去爬山"), "--user", "lin"]).ok();
    }
    let before = cli.stats();
    let shown = cli.run(&["context", "你好，还记得爬山吗", "--user", "lin"]).ok();
    for part in ["persona", "stage", "recent", "related", "key_moment", "█", "░", "total:", "of 15000 estimated tokens"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = cli.run(&["context", "你好", "--user", "lin", "--text", "--tokens", "estimate"]).ok();
    assert!(shown.contains("【最近对话】\n用户：第0句话") && shown.contains("estimated tokens"), "{shown}");
    let counted = cli.run(&["context", "你好", "--user", "lin", "--tokens", "o200k"]);
    if cfg!(feature = "bpe") {
        assert!(counted.ok().contains("of 15000 o200k"));
    } else {
        counted.assert_fails(&["feature `bpe`", "--tokens estimate"]);
    }
    assert_eq!(cli.stats(), before);
}

#[test]
fn json_lists_used_and_left_out_items() {
    let cli = CliFixture::new();
    for n in 0..6 {
        cli.run(&[
            "add",
            &format!("message {n}: {}", "I went hiking again and it was great. ".repeat(12)),
            "--user",
            "lin",
        ])
        .ok();
    }
    let whole = cli.run(&["context", "hi", "--user", "lin", "--json"]).json();
    let tight = (whole["tokens"].as_u64().unwrap() - 150).to_string();
    let built = cli.run(&["context", "hi", "--user", "lin", "--limit", &tight, "--json"]).json();
    assert!(built["tokens"].as_u64() <= tight.parse().ok(), "{built}");
    let recent = built["layers"].as_array().unwrap().iter().find(|layer| layer["name"] == "recent").unwrap();
    assert_eq!(recent["left_out"][0]["reason"], "whole", "{recent}");
    assert_eq!(recent["taken"].as_u64().unwrap() + recent["left_out"].as_array().unwrap().len() as u64, 6);
    let shown = cli.run(&["context", "hi", "--user", "lin", "--limit", &tight]).ok();
    assert!(shown.contains("the oldest: the context is full"), "{shown}");
}

#[test]
fn context_errors_name_the_missing_argument() {
    let cli = CliFixture::new();
    cli.run(&["add", "hello", "--user", "lin"]).ok();
    cli.run(&["context", "hi"]).assert_fails(&["--user NAME"]);
    cli.run(&["context", "hi", "--user", "lin", "--pack", "nowhere"]).assert_fails(&["pack.toml cannot be read"]);
    cli.run(&["context", "hi", "--user", "lin", "--limit", "20"]).assert_fails(&["never cut", "the limit is 20"]);
    fs::create_dir(cli.path("ivy")).unwrap();
    let pack =
        "name = 'Ivy'\nlanguage = 'en'\npersona = 'You are Ivy.'\n[[stages]]\nname = 'a'\nfrom = 0\ntext = 'Be shy.'";
    fs::write(cli.path("ivy/pack.toml"), pack).unwrap();
    let shown = cli.run(&["context", "hi", "--user", "lin", "--pack", "ivy", "--text"]).ok();
    assert!(shown.contains("You are Ivy.\n\nBe shy.\n\n[Recent conversation]\nUser: hello"), "{shown}");
}
