//! The graph on the command line: extraction at import or afterwards, citations, search with the graph, and queued
//! turns while the model is unavailable.

use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::method};

use crate::cli_fixture::CliFixture;

/// Imports a story in two languages.
fn import_story(cli: &CliFixture, arguments: &[&str]) -> crate::cli_fixture::CommandOutput {
    let texts = [
        "Captain Holt sailed the Sea Hawk into the fog.",
        "It was known that Captain Holt had once loved Anna Reed.",
        "沈砚在青石村遇见了林晓月，沈砚救了林晓月。",
        "林晓月说，她的师父住在落霞山。",
    ];
    let line = |(n, text): (i64, &str)| {
        let time = format!("2026-03-01T20:{n:02}:00");
        json!({"user": "lin", "session": "s", "id": format!("m{n}"), "sequence": n, "time": time, "text": text})
    };
    let lines: Vec<String> = (1..).zip(texts).map(|one| line(one).to_string()).collect();
    cli.write("story.jsonl", lines.join("\n"));
    cli.run(&[&["import", "story.jsonl"], arguments].concat())
}

fn names(found: &Value) -> Vec<&str> {
    found["entities"].as_array().unwrap().iter().map(|entity| entity["name"].as_str().unwrap()).collect()
}

#[test]
fn graph_shows_entities_and_relations_with_citations() {
    let cli = CliFixture::new();
    import_story(&cli, &["--graph", "rules"]).ok();
    let found = cli.run(&["graph", "Anna Reed", "--user", "lin", "--json"]).json();
    assert_eq!(names(&found), ["Anna Reed", "Captain Holt"]);
    let relation = &found["relations"][0];
    assert_eq!((&relation["source"], &relation["target"]), (&json!("Anna Reed"), &json!("Captain Holt")));
    assert_eq!((&relation["citation"]["message_id"], &relation["citation"]["sequence"]), (&json!("m2"), &json!(2)));
    assert_eq!(relation["rules"], json!(["sentence.co-occurs"]));
    let shown = cli.run(&["graph", "林晓月去哪儿了？", "--user", "lin", "--timezone", "UTC"]).ok();
    for word in ["林晓月", "落霞山", "place", "m4 #4", "沈砚", "m3 #3", "2026-03-01"] {
        assert!(shown.contains(word), "{word} is missing:\n{shown}");
    }
    assert!(!shown.contains("Holt"), "{shown}");
    let all = cli.run(&["graph", "--key-entities", "--user", "lin", "--json"]).json();
    assert!(names(&all).contains(&"Captain Holt") && names(&all).contains(&"林晓月"), "{all}");
    let two = cli.run(&["graph", "--key-entities", "--user", "lin", "--json", "-n", "2"]).json();
    assert_eq!((names(&two).len(), two["relations"].as_array().unwrap().len() <= 2), (2, true));
    assert_eq!(
        names(&cli.run(&["graph", "Anna Reed", "--user", "lin", "--json", "--hops", "0"]).json()),
        ["Anna Reed"]
    );
}

#[test]
fn search_uses_the_graph_on_request() {
    let cli = CliFixture::new();
    import_story(&cli, &["--graph", "rules"]).ok();
    let uses_graph = |arguments: &[&str], variables: &[(&str, &str)]| {
        let question = ["search", "who is Anna Reed", "--user", "lin", "--json"];
        let found = cli.run_with(variables, &[&question, arguments].concat()).json();
        assert_eq!(found["degraded"], json!([]));
        let hits = found["hits"].as_array().unwrap().clone();
        hits.iter().flat_map(|hit| hit["found_by"].as_array().unwrap()).any(|found| found["retriever"] == "graph")
    };
    assert!(
        !uses_graph(&[], &[])
            && uses_graph(&["--graph", "rules"], &[])
            && uses_graph(&[], &[("MEMORY_GRAPH", "rules")])
    );
    assert!(
        uses_graph(&[], &[("MEMORY_GRAPH", "openai:some-model")]),
        "a search needs neither the extracting model nor its key"
    );
}

#[test]
fn graph_follows_later_digest_and_deletion() {
    let cli = CliFixture::new();
    import_story(&cli, &[]).ok();
    let shown = cli.run(&["graph", "--key-entities", "--user", "lin"]).ok();
    assert!(shown.contains("no graph") && shown.contains("memory digest --graph rules"), "{shown}");
    cli.run(&["digest", "--user", "lin"]).assert_fails(&["--digest rules", "--graph rules"]);
    let made = cli.run(&["digest", "--user", "lin", "--graph", "rules"]).ok();
    assert!(made.contains("4 turns digested") && made.contains("extracted from 4 records"), "{made}");
    let again = cli.run(&["digest", "--user", "lin", "--graph", "rules", "--json"]).ok();
    let report: Value = serde_json::from_str(again.lines().last().unwrap()).unwrap();
    assert_eq!((&report["turns"], &report["graph"]["records"]), (&json!(4), &json!(4)), "{report}");
    cli.run(&["forget", "m2", "--user", "lin", "--yes"]).ok();
    let shown = cli.run(&["graph", "Anna Reed", "--user", "lin"]).ok();
    assert!(shown.contains("no entity of this name") && shown.contains("--key-entities"), "{shown}");
    assert!(cli.run(&["graph", "Holt", "--user", "mo"]).ok().contains("no graph"), "another user sees nothing");
}

#[test]
fn invalid_graph_arguments_are_refused() {
    let cli = CliFixture::new();
    import_story(&cli, &["--graph", "rules"]).ok();
    cli.run(&["graph", "--user", "lin"]).assert_fails(&["--key-entities"]);
    cli.run(&["graph", "Holt"]).assert_fails(&["--user NAME"]);
    cli.run(&["graph", "", "--user", "lin"]).assert_fails(&["no entity given", "--key-entities"]);
    cli.run(&["graph", "Holt", "--user", "lin", "--hops", "9"]).assert_fails(&["9 hops", "3"]);
    cli.run(&["add", "x", "--user", "lin", "--graph", "model"]).assert_fails(&["none, rules", "deepseek"]);
    cli.run(&["add", "x", "--user", "lin", "--graph", "openai@3"]).assert_fails(&["none, rules"]);
    cli.run(&["add", "x", "--user", "lin", "--graph", "vllm"]).assert_fails(&["--graph vllm:MODEL"]);
    cli.run(&["add", "x", "--user", "lin", "--graph", "openai:m"]).assert_fails(&["OPENAI_API_KEY"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn unavailable_graph_model_leaves_turns_queued() {
    let (cli, server) = (CliFixture::new(), MockServer::start().await);
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(401)).mount(&server).await;
    cli.write(".env", format!("OPENAI_API_KEY=sk-hunter2-0123456789\nOPENAI_BASE_URL={}/v1\n", server.uri()));
    let imported = import_story(&cli, &["--graph", "openai:toy"]);
    assert!(imported.success && imported.stderr.contains("4 records wait for their entities"), "{imported:?}");
    assert!(imported.stderr.contains("401") && !imported.stderr.contains("hunter2"), "{imported:?}");
    let found = cli.run(&["search", "Anna Reed", "--user", "lin", "--graph", "openai:toy", "--json"]).json();
    assert!(found["hits"][0]["record"]["text"].as_str().unwrap().contains("Anna Reed"));
    assert_eq!(cli.stats()["queued"]["graph"], 4);

    server.reset().await;
    let reply = r#"{"entities": [{"name": "Anna Reed", "kind": "person", "aliases": ["安娜"]}], "relations": []}"#;
    let choice = json!({"index": 0, "message": {"role": "assistant", "content": reply}, "finish_reason": "stop"});
    let answer = ResponseTemplate::new(200).set_body_json(json!({"id": "x", "choices": [choice]}));
    Mock::given(method("POST")).respond_with(answer).mount(&server).await;
    cli.run(&["digest", "--user", "lin", "--graph", "openai:toy"]).ok();
    let shown = cli.run(&["graph", "安娜", "--user", "lin"]).ok();
    assert!(shown.contains("Anna Reed") && shown.contains("安娜"), "{shown}");
    assert_eq!(cli.stats()["queued"].get("graph"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn r8_import_reports_extractions_that_were_given_up() {
    let (cli, server) = (CliFixture::new(), MockServer::start().await);
    let choice = json!({"index": 0, "message": {"role": "assistant", "content": "no JSON"}, "finish_reason": "stop"});
    let answer = ResponseTemplate::new(200).set_body_json(json!({"id": "x", "choices": [choice]}));
    Mock::given(method("POST")).respond_with(answer).mount(&server).await;
    cli.write(".env", format!("OPENAI_API_KEY=sk-hunter2-0123456789\nOPENAI_BASE_URL={}/v1\n", server.uri()));
    let imported = import_story(&cli, &["--graph", "openai:toy", "--json"]);
    assert!(imported.success, "the turns are stored: {imported:?}");
    let hint = "the job 'graph' failed for 4 records";
    assert!(imported.stderr.contains(hint) && imported.stderr.contains("memory digest --graph rules"), "{imported:?}");
    let report: Value = serde_json::from_str(imported.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&report["added"], &report["dead_letters"]), (&json!(4), &json!(4)), "{report}");
    assert_eq!(cli.stats()["dead_letters"]["graph"], 4);
}
