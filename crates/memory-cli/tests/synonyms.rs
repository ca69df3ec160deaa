//! Synonyms, as managed on a terminal.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod desk;

use desk::Desk;

/// The turns of a user who calls one person by two names, never in one sentence.
fn desk() -> Desk {
    let desk = Desk::new();
    let lines = [
        "老婆今天加班，晚饭我自己煮的面",
        "媳妇说周末想去爬山，让我查查路线",
        "今天天气不错，走路上班",
        "周末陪老婆看了场电影，挺闷的",
        "媳妇嫌我打呼噜，让我去看医生",
        "今天面条有点咸",
        "老婆的生日快到了，买点什么好",
        "跟媳妇商量了一下，年底前不换车",
        "He is a Kommando Spezialkräfte soldier",
    ];
    let file: String = lines.iter().map(|text| format!("{{\"user\":\"lin\",\"text\":\"{text}\"}}\n")).collect();
    desk.import(&desk.write("turns.jsonl", file));
    desk
}

#[test]
fn k2_group_is_added_used_and_removed() {
    let desk = desk();
    assert!(
        desk.run(&["search", "KSK", "--user", "lin", "--json"]).json()["hits"][0]["found_by"]
            .as_array()
            .is_none_or(|arms| arms.iter().all(|found| found["retriever"] != "keyword"))
    );
    desk.run(&["synonyms", "add", "KSK", "Kommando Spezialkräfte", "特种部队", "--category", "org"]).ok();
    let found = desk.run(&["search", "ｋｓｋ", "--user", "lin", "--json"]).json();
    assert_eq!(found["hits"][0]["record"]["text"], "He is a Kommando Spezialkräfte soldier");
    assert_eq!(found["hits"][0]["found_by"][0]["retriever"], "keyword");
    let more = desk.run(&["synonyms", "add", "ksk", "特種部隊", "elite", "--json"]).json();
    assert_eq!((more["members"].as_array().unwrap().len(), more["category"].as_str()), (3, Some("org")), "{more}");
    let shown = desk.run(&["synonyms", "list", "--user", "lin"]).ok();
    assert!(shown.contains("the tenant") && shown.contains("特种部队"), "{shown}");
    desk.run(&["synonyms", "remove", "nobody", "KSK"])
        .refused(&["no group with the term nobody", "nothing was removed"]);
    assert_eq!(desk.run(&["synonyms", "remove", "ＫＳＫ", "--json"]).json()["removed"], 1);
    assert!(desk.run(&["synonyms", "list"]).ok().contains("no synonyms"));
}

#[test]
fn groups_are_isolated_by_user() {
    let desk = desk();
    desk.run(&["synonyms", "add", "猫", "cat", "--user", "lin"]).ok();
    desk.run(&["synonyms", "import", "--seed"]).ok();
    let count = |arguments: &[&str]| desk.run(arguments).json().as_array().unwrap().len();
    assert_eq!(count(&["synonyms", "list", "--json", "--user", "lin"]), 11);
    assert_eq!(count(&["synonyms", "list", "--json", "--user", "mo"]), 10);
    assert_eq!(count(&["synonyms", "list", "--json", "--tenant", "other"]), 0);
}

#[test]
fn synonym_import_is_atomic() {
    let desk = desk();
    let file = desk.write("s.toml", "[[groups]]\nterm = '剧本'\nmembers = ['RP']\ncategory = 'scene'\n");
    assert_eq!(desk.run(&["synonyms", "import", file.to_str().unwrap(), "--json"]).json()["imported"], 1);
    let bad =
        desk.write("bad.toml", "[[groups]]\nterm = 'good'\nmembers = ['gut']\n[[groups]]\nterm = 'x'\nword = 1\n");
    desk.run(&["synonyms", "import", bad.to_str().unwrap()]).refused(&["bad.toml", "unknown field `word`"]);
    desk.run(&["synonyms", "import", "absent.toml"]).refused(&["absent.toml cannot be read"]);
    desk.run(&["synonyms", "import"]).refused(&["--seed"]);
    assert_eq!(desk.run(&["synonyms", "list", "--json"]).json().as_array().unwrap().len(), 1);
}

#[test]
fn k18_suggestions_have_evidence_and_change_nothing() {
    let desk = desk();
    let shown = desk.run(&["synonyms", "suggest", "--user", "lin"]).ok();
    assert!(shown.contains("老婆") && shown.contains("媳妇") && shown.contains("Nothing was changed"), "{shown}");
    let suggested = || desk.run(&["synonyms", "suggest", "--user", "lin", "--json"]).json();
    let first = suggested();
    assert_eq!((first.as_array().unwrap().len(), &first[0]["evidence"]["together"]), (1, &0.into()), "{first}");
    assert_eq!(first[0]["evidence"]["reason"], "lexicon");
    assert!(first[0]["example"].as_str().unwrap().contains(first[0]["pair"]["first"].as_str().unwrap()), "{first}");
    assert!(desk.run(&["synonyms", "list", "--user", "lin"]).ok().contains("no synonyms"), "nothing applied by itself");

    desk.run(&["synonyms", "reject", "媳妇", "老婆", "--user", "lin"]).ok();
    assert_eq!(suggested(), serde_json::json!([]), "a rejected pair is not suggested again");
    let group = desk.run(&["synonyms", "accept", "老婆", "媳妇", "--user", "lin", "--json"]).json();
    assert_eq!((group["term"].as_str(), group["members"][0].as_str()), (Some("老婆"), Some("媳妇")));
    assert_eq!(suggested(), serde_json::json!([]), "a known pair is not suggested");
    desk.run(&["synonyms", "accept", "a", "Ａ", "--user", "lin"]).refused(&["read the same"]);
}

#[test]
fn synonym_errors_create_no_database() {
    let desk = Desk::new();
    desk.run(&["synonyms", "list"]).refused(&["there is no memory.db"]);
    desk.run(&["synonyms", "add", "KSK", "ksk"]).refused(&["no member besides its term"]);
    desk.run(&["synonyms", "add", "KSK"]).refused(&["<WORDS>"]);
    assert!(!desk.path("memory.db").exists());
    desk.run(&["synonyms", "add", "猫", "cat"]).ok();
    assert!(desk.run(&["synonyms", "list"]).ok().contains("cat"), "a first group makes the database");
}
