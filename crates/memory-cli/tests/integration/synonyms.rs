//! `memory synonyms`.

use crate::cli_fixture::CliFixture;

/// The turns of a user who calls one person by two names, never in one sentence.
fn cli() -> CliFixture {
    let cli = CliFixture::new();
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
    cli.import(&cli.write("turns.jsonl", file));
    cli
}

#[test]
fn k2_group_is_added_used_and_removed() {
    let cli = cli();
    assert!(
        cli.run(&["search", "KSK", "--user", "lin", "--json"]).json()["hits"][0]["found_by"]
            .as_array()
            .is_none_or(|retrievers| retrievers.iter().all(|found| found["retriever"] != "keyword"))
    );
    cli.run(&["synonyms", "add", "KSK", "Kommando Spezialkräfte", "特种部队", "--category", "org"]).ok();
    let found = cli.run(&["search", "ｋｓｋ", "--user", "lin", "--json"]).json();
    assert_eq!(found["hits"][0]["record"]["text"], "He is a Kommando Spezialkräfte soldier");
    assert_eq!(found["hits"][0]["found_by"][0]["retriever"], "keyword");
    let more = cli.run(&["synonyms", "add", "ksk", "特種部隊", "elite", "--json"]).json();
    assert_eq!((more["members"].as_array().unwrap().len(), more["category"].as_str()), (3, Some("org")), "{more}");
    let shown = cli.run(&["synonyms", "list", "--user", "lin"]).ok();
    assert!(shown.contains("the tenant") && shown.contains("特种部队"), "{shown}");
    cli.run(&["synonyms", "remove", "nobody", "KSK"])
        .assert_fails(&["no group with the term nobody", "nothing was removed"]);
    assert_eq!(cli.run(&["synonyms", "remove", "ＫＳＫ", "--json"]).json()["removed"], 1);
    assert!(cli.run(&["synonyms", "list"]).ok().contains("no synonyms"));
}

#[test]
fn groups_are_isolated_by_user() {
    let cli = cli();
    cli.run(&["synonyms", "add", "猫", "cat", "--user", "lin"]).ok();
    cli.run(&["synonyms", "import", "--seed"]).ok();
    let count = |arguments: &[&str]| cli.run(arguments).json().as_array().unwrap().len();
    assert_eq!(count(&["synonyms", "list", "--json", "--user", "lin"]), 11);
    assert_eq!(count(&["synonyms", "list", "--json", "--user", "mo"]), 10);
    assert_eq!(count(&["synonyms", "list", "--json", "--tenant", "other"]), 0);
}

#[test]
fn synonym_import_is_atomic() {
    let cli = cli();
    let file = cli.write("s.toml", "[[groups]]\nterm = '剧本'\nmembers = ['RP']\ncategory = 'scene'\n");
    assert_eq!(cli.run(&["synonyms", "import", file.to_str().unwrap(), "--json"]).json()["imported"], 1);
    let bad = cli.write("bad.toml", "[[groups]]\nterm = 'good'\nmembers = ['gut']\n[[groups]]\nterm = 'x'\nword = 1\n");
    cli.run(&["synonyms", "import", bad.to_str().unwrap()]).assert_fails(&["bad.toml", "unknown field `word`"]);
    cli.run(&["synonyms", "import", "absent.toml"]).assert_fails(&["absent.toml cannot be read"]);
    cli.run(&["synonyms", "import"]).assert_fails(&["--seed"]);
    assert_eq!(cli.run(&["synonyms", "list", "--json"]).json().as_array().unwrap().len(), 1);
}

#[test]
fn k18_suggestions_have_evidence_and_change_nothing() {
    let cli = cli();
    let shown = cli.run(&["synonyms", "suggest", "--user", "lin"]).ok();
    assert!(shown.contains("老婆") && shown.contains("媳妇") && shown.contains("Nothing was changed"), "{shown}");
    let suggested = || cli.run(&["synonyms", "suggest", "--user", "lin", "--json"]).json();
    let first = suggested();
    assert_eq!((first.as_array().unwrap().len(), &first[0]["evidence"]["together"]), (1, &0.into()), "{first}");
    assert_eq!(first[0]["evidence"]["reason"], "lexicon");
    assert!(first[0]["example"].as_str().unwrap().contains(first[0]["pair"]["first"].as_str().unwrap()), "{first}");
    assert!(cli.run(&["synonyms", "list", "--user", "lin"]).ok().contains("no synonyms"), "nothing applied by itself");

    cli.run(&["synonyms", "reject", "媳妇", "老婆", "--user", "lin"]).ok();
    assert_eq!(suggested(), serde_json::json!([]), "a rejected pair is not suggested again");
    let group = cli.run(&["synonyms", "accept", "老婆", "媳妇", "--user", "lin", "--json"]).json();
    assert_eq!((group["term"].as_str(), group["members"][0].as_str()), (Some("老婆"), Some("媳妇")));
    assert_eq!(suggested(), serde_json::json!([]), "a known pair is not suggested");
    cli.run(&["synonyms", "accept", "a", "Ａ", "--user", "lin"]).assert_fails(&["read the same"]);
}

#[test]
fn synonym_errors_create_no_database() {
    let cli = CliFixture::new();
    cli.run(&["synonyms", "list"]).assert_fails(&["memory.db does not exist"]);
    cli.run(&["synonyms", "add", "KSK", "ksk"]).assert_fails(&["no member besides its term"]);
    cli.run(&["synonyms", "add", "KSK"]).assert_fails(&["<WORDS>"]);
    assert!(!cli.path("memory.db").exists());
    cli.run(&["synonyms", "add", "猫", "cat"]).ok();
    assert!(cli.run(&["synonyms", "list"]).ok().contains("cat"), "the first group creates the database");
}
