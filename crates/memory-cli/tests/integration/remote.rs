//! Models behind an HTTP API, simulated by a server in this process.

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{header, method, path},
};

use crate::cli_fixture::{CliFixture, CommandOutput, TURNS};

const KEY: &str = "sk-hunter2-0123456789";

/// Embeds texts in two directions: one for seafood, one for everything else.
fn embed(request: &Request) -> ResponseTemplate {
    let body: Value = request.body_json().unwrap();
    let vector = |text: &Value| {
        let text = text.as_str().unwrap();
        if ["海鲜", "shellfish"].iter().any(|word| text.contains(word)) {
            [0.1, 1.0, 0.0, 0.0]
        } else {
            [1.0, 0.1, 0.0, 0.0]
        }
    };
    let texts = body["input"].as_array().unwrap();
    let data: Vec<Value> =
        texts.iter().enumerate().map(|(n, text)| json!({ "index": n, "embedding": vector(text) })).collect();
    ResponseTemplate::new(200).set_body_json(json!({ "data": data, "model": "toy" }))
}

async fn service() -> MockServer {
    let server = MockServer::start().await;
    let bearer = format!("Bearer {KEY}");
    Mock::given(method("POST"))
        .and(path("/v1/embeddings"))
        .and(header("authorization", bearer.as_str()))
        .respond_with(embed)
        .mount(&server)
        .await;
    server
}

fn turns(cli: &CliFixture) -> String {
    cli.write("turns.jsonl", TURNS).to_str().unwrap().to_owned()
}

#[track_caller]
fn assert_no_secret(result: CommandOutput) -> CommandOutput {
    assert!(
        !result.stdout.contains("hunter2") && !result.stderr.contains("hunter2"),
        "the output contains the key: {result:?}"
    );
    result
}

#[tokio::test(flavor = "multi_thread")]
async fn service_embedder_finds_meaning_and_is_recorded() {
    let (cli, server) = (CliFixture::new(), service().await);
    let base = format!("{}/v1", server.uri());
    cli.write(".env", format!("OPENAI_API_KEY={KEY}\nOPENAI_BASE_URL='{base}'\n"));
    let openai = ["--embedder", "openai:toy"];
    let run = |arguments: &[&str]| assert_no_secret(cli.run(&[arguments, &openai].concat()));
    run(&["import", &turns(&cli)]).ok();
    let found = run(&["search", "shellfish", "--user", "lin", "--json"]).json();
    assert_eq!(found["hits"][0]["record"]["text"], "我对海鲜过敏", "the query and the record share no word");
    assert_eq!(found["degraded"], json!([]));
    assert!(run(&["doctor"]).ok().contains("toy (4-d, cosine)"));
    assert_no_secret(cli.run(&["search", "x", "--user", "lin"])).assert_fails(&["toy (4-d, cosine)", "memory reindex"]);
    assert!(assert_no_secret(cli.run(&["reindex"])).ok().contains("4 records reindexed"));
    assert_no_secret(cli.run(&["search", "x", "--user", "lin"])).ok();
    // The store does not contain the key.
    let file = std::fs::read(cli.path("memory.db")).unwrap();
    assert!(!file.windows(7).any(|part| part == b"hunter2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn k3_failing_embedder_leaves_keyword_search() {
    let cli = CliFixture::new();
    let server = MockServer::start().await;
    let refuse = ResponseTemplate::new(401).set_body_string(format!("bad key {KEY}"));
    Mock::given(method("POST")).respond_with(refuse).mount(&server).await;
    let base = format!("{}/v1", server.uri());
    let variables = [("SILICONFLOW_API_KEY", KEY), ("SILICONFLOW_BASE_URL", base.as_str())];
    let service = ["--embedder", "siliconflow:toy@4"];
    let run = |arguments: &[&str]| assert_no_secret(cli.run_with(&variables, &[arguments, &service].concat()));
    let imported = run(&["import", &turns(&cli), "--json"]);
    assert!(
        imported.stderr.contains("4 records wait for their vectors") && imported.stderr.contains("--waiting"),
        "{imported:?}"
    );
    let report: Value = serde_json::from_str(imported.ok().lines().last().unwrap()).unwrap();
    assert_eq!((report["added"].as_u64(), report["waiting"].as_u64()), (Some(4), Some(4)));
    let found = run(&["search", "海鮮", "--user", "lin", "--json"]);
    assert!(found.stderr.is_empty() || found.stderr.contains("failed"), "{found:?}");
    let found = found.json();
    assert_eq!(found["hits"][0]["record"]["text"], "我对海鲜过敏");
    assert!(found["degraded"][0]["stage"].as_str().unwrap().contains("vector"), "{}", found["degraded"]);
    assert_eq!(run(&["doctor", "--json"]).json()["waiting"]["embedding"]["records"], 4);
    let waited = cli.run(&["stats", "--json"]).json()["waited_seconds"]["embedding"].as_f64().unwrap();
    assert!((0.0..600.0).contains(&waited), "the time since the records were written: {waited}");
    for (command, output) in [("stats", cli.run(&["stats"]).stdout), ("doctor", run(&["doctor"]).stdout)] {
        let row = output.lines().find(|line| line.contains("queued for embedding")).unwrap_or_default();
        assert!(row.contains("4; the oldest for "), "{command}: {output}");
    }

    server.reset().await;
    Mock::given(method("POST")).respond_with(embed).mount(&server).await;
    // Failed jobs are hidden for half a minute, unless everything is queued again.
    assert!(run(&["reindex"]).ok().contains("4 records reindexed with toy"));
    assert!(run(&["reindex", "--waiting"]).ok().contains("0 queued jobs indexed with toy"));
    assert_eq!(run(&["doctor", "--json"]).json()["waiting"]["embedding"]["records"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_chat_model_falls_back_to_rules() {
    let cli = CliFixture::new();
    let server = MockServer::start().await;
    let refuse = ResponseTemplate::new(401).set_body_string(format!("bad key {KEY}"));
    let asked = Mock::given(method("POST")).and(path("/v1/chat/completions")).respond_with(refuse).expect(1..);
    asked.mount(&server).await;
    let base = format!("{}/v1", server.uri());
    cli.write(".env", format!("DEEPSEEK_API_KEY={KEY}\nDEEPSEEK_BASE_URL={base}\n"));
    let imported = assert_no_secret(cli.run(&["import", &turns(&cli), "--digest", "deepseek:toy"]));
    assert!(
        imported.success && imported.stderr.contains("facts: the model failed; the rules did its work"),
        "{imported:?}"
    );
    assert_eq!(imported.stderr.matches("facts: ").count(), 1, "the warning is printed once: {imported:?}");
    let known = cli.run(&["facts", "--user", "lin"]).ok();
    assert!(known.contains("海鲜"), "{known}");
    let body: Value = server.received_requests().await.unwrap()[0].body_json().unwrap();
    assert_eq!(body["model"], "toy");
}

#[test]
fn invalid_digest_is_refused_early() {
    let cli = CliFixture::new();
    let add = |digest: &str| cli.run(&["add", "x", "--user", "lin", "--digest", digest]);
    add("gpt").assert_fails(&["none, rules", "deepseek"]);
    add("openai").assert_fails(&["OPENAI_API_KEY"]);
    add("vllm").assert_fails(&["--digest vllm:MODEL"]);
    add("vllm:m@768").assert_fails(&["no dimensions", "--digest vllm:MODEL"]);
    assert!(!cli.path("memory.db").exists());
}

#[test]
fn missing_key_or_model_is_named() {
    let cli = CliFixture::new();
    let add = |embedder: &str| cli.run(&["add", "x", "--user", "lin", "--embedder", embedder]);
    add("siliconflow").assert_fails(&["SILICONFLOW_API_KEY"]);
    add("openai").assert_fails(&["OPENAI_API_KEY"]);
    add("vllm").assert_fails(&["--embedder vllm:MODEL"]);
    add("word2vec").assert_fails(&["siliconflow", "local:e5-small"]);
    cli.run(&["add", "x", "--user", "lin"]).ok();
    let search = |reranker: &str| cli.run(&["search", "x", "--user", "lin", "--reranker", reranker]);
    search("jina").assert_fails(&["JINA_API_KEY"]);
    search("siliconflow").assert_fails(&["SILICONFLOW_API_KEY"]);
    search("vllm").assert_fails(&["--reranker vllm:MODEL"]);
    search("nobody").assert_fails(&["jina", "none"]);
    search("none").ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn k6_service_reranker_and_its_failure() {
    let (cli, server) = (CliFixture::new(), MockServer::start().await);
    Mock::given(method("POST"))
        .and(path("/v1/rerank"))
        .and(header("authorization", format!("Bearer {KEY}").as_str()))
        .respond_with(|request: &Request| {
            let body: Value = request.body_json().unwrap();
            let judge = |text: &Value| if text.as_str().unwrap().contains("Friday") { 0.99 } else { 0.01 };
            let texts = body["documents"].as_array().unwrap();
            let rows = texts.iter().enumerate().map(|(n, text)| json!({ "index": n, "relevance_score": judge(text) }));
            ResponseTemplate::new(200).set_body_json(json!({ "results": rows.collect::<Vec<_>>() }))
        })
        .mount(&server)
        .await;
    cli.run(&["import", &turns(&cli)]).ok();
    let base = format!("{}/v1", server.uri());
    let variables = [("JINA_API_KEY", KEY), ("JINA_BASE_URL", base.as_str())];
    let search = || {
        let arguments = ["search", "interview 海鲜", "--user", "lin", "--reranker", "jina", "--json"];
        assert_no_secret(cli.run_with(&variables, &arguments)).json()
    };
    let found = search();
    // Neighbours of hits are added after the reranker.
    let judged = found["hits"].as_array().unwrap().iter().filter_map(|hit| {
        let about_friday = hit["record"]["text"].as_str().unwrap().contains("Friday");
        Some((about_friday, hit["reranked"].as_f64()? > 0.9))
    });
    let mut judged: Vec<_> = judged.collect();
    judged.sort();
    assert_eq!(judged.first().zip(judged.last()), Some((&(false, false), &(true, true))), "{found}");
    server.reset().await;
    let found = search();
    assert_eq!(found["hits"].as_array().unwrap().len(), 3, "{found}");
    assert!(found["degraded"][0]["stage"].as_str().unwrap().contains("rerank"), "{}", found["degraded"]);
}
