//! Kills a change of embedder (SIGKILL) in the middle.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{method, path},
};

use crate::cli_fixture::{CliFixture, CommandOutput};

const TURNS: usize = 600;
const DIMENSIONS: usize = 32;

/// Returns a vector that depends on the letters of the text and their positions.
fn vector(text: &str) -> Vec<f64> {
    let mut vector = vec![0.01; DIMENSIONS];
    for (place, letter) in text.chars().enumerate() {
        vector[(letter as usize * 31 + place * 7) % DIMENSIONS] += 1.0;
    }
    vector
}

/// A service that counts the texts that it has embedded. While `stalls`, it answers no request after two thirds of the
/// turns.
async fn service(embedded: Arc<AtomicUsize>, stalls: Arc<AtomicBool>) -> MockServer {
    let server = MockServer::start().await;
    let embed = move |request: &Request| {
        let body: Value = request.body_json().unwrap();
        let texts = body["input"].as_array().unwrap();
        let count = embedded.fetch_add(texts.len(), Ordering::Relaxed) + texts.len();
        let is_stalled = stalls.load(Ordering::Relaxed) && count > TURNS * 2 / 3;
        let data = texts.iter().enumerate();
        let data: Vec<Value> =
            data.map(|(n, text)| json!({ "index": n, "embedding": vector(text.as_str().unwrap()) })).collect();
        let answer = json!({ "data": data, "model": "toy" });
        let delay = if is_stalled { Duration::from_secs(3600) } else { Duration::ZERO };
        ResponseTemplate::new(200).set_body_json(answer).set_delay(delay)
    };
    Mock::given(method("POST")).and(path("/v1/embeddings")).respond_with(embed).mount(&server).await;
    server
}

fn text(number: usize) -> String {
    match number % 2 {
        0 => format!("the lighthouse keeper wrote letter {number}"),
        _ => format!("第{number}封信是灯塔的看守人写的"),
    }
}

/// Changes the embedder of a store and is killed in the middle. The store uses the old vectors until the same command
/// has finished, which embeds only the missing ones.
pub(crate) async fn can_be_completed(variables: &[(&str, &str)]) {
    let cli = CliFixture::new();
    let embedded = Arc::new(AtomicUsize::new(0));
    let stalls = Arc::new(AtomicBool::new(true));
    let server = service(Arc::clone(&embedded), Arc::clone(&stalls)).await;
    cli.write(".env", format!("OPENAI_API_KEY=sk-of-a-test\nOPENAI_BASE_URL='{}/v1'\n", server.uri()));
    let run = |arguments: &[&str]| -> CommandOutput { cli.run_with(variables, arguments) };
    let lines = (0..TURNS).map(|number| {
        let (id, text) = (number.to_string(), text(number));
        json!({ "id": id, "user": "lin", "session": "a", "role": "user", "time": "2026-03-01T20:00:00", "text": text })
            .to_string()
    });
    let file = cli.write("turns.jsonl", lines.collect::<Vec<_>>().join("\n"));
    run(&["import", file.to_str().unwrap()]).ok();
    let new = ["--embedder", "openai:toy"];
    let assert_finds = |result: CommandOutput, expected: usize| {
        let found = result.json();
        assert_eq!(found["degraded"], json!([]), "{found}");
        assert_eq!(found["hits"][0]["record"]["text"], text(expected));
    };
    // Found by spelling only: the records do not contain these words.
    let misspelled = ["search", "lighthousekeeperwroteletter 12", "--user", "lin", "--json"];
    let assert_old_vectors_serve = || assert_eq!(run(&misspelled).json()["degraded"], json!([]));

    run(&[&["search", "x", "--user", "lin"], &new[..]].concat()).assert_fails(&["memory reindex", "toy"]);
    let mut child = cli.command(&[&["reindex", "--json"], &new[..]].concat());
    let mut child = child.envs(variables.iter().copied()).stdout(Stdio::piped()).spawn().unwrap();
    let mut done = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        done = line["done"].as_u64().unwrap();
        assert_eq!(line["total"], TURNS);
        if done > TURNS as u64 / 3 {
            break;
        }
    }
    child.kill().unwrap(); // SIGKILL: no destructor, no flush
    child.wait().unwrap();
    stalls.store(false, Ordering::Relaxed);
    assert_old_vectors_serve();
    assert_finds(run(&["search", &text(7), "--user", "lin", "--json"]), 7);
    let versions = |result: CommandOutput| result.json()["embedding_versions"].clone();
    let now = versions(run(&["stats", "--json"]));
    let filled = now["second"]["vectors"].as_u64().unwrap();
    assert!(filled >= done && filled < TURNS as u64, "{done} were reported, {now}");
    assert!(run(&["stats"]).ok().contains(&format!("and {filled} have vectors of toy")));
    assert!(run(&["doctor"]).ok().contains("second embedding space"), "it is reported and is no problem");
    // New records get the old vector at once and the new one later. Deleted records are removed from both.
    run(&["add", "the ferry was late", "--user", "lin"]).ok();
    run(&["forget", "14", "--user", "lin", "--session", "a", "--yes"]).ok();
    run(&[&["search", "x", "--user", "lin"], &new[..]].concat()).assert_fails(&["memory reindex", "next to them"]);

    let before = embedded.load(Ordering::Relaxed);
    let output = run(&[&["reindex", "--keep-old"], &new[..]].concat()).ok();
    assert!(output.contains("reindexed with") && output.contains("are kept"), "{output}");
    let again = embedded.load(Ordering::Relaxed) - before;
    // One more text is embedded to find the number of dimensions.
    assert!(again <= TURNS + 2 - filled as usize, "{again} texts were embedded, {filled} vectors existed");
    let found = run(&[&["search", &text(8), "--user", "lin", "--json"], &new[..]].concat());
    assert_finds(found, 8);
    run(&["search", "x", "--user", "lin", "--embedder", "words"]).assert_fails(&["memory reindex"]);
    // The change back is immediate, because the old vectors were kept. Then the new ones are removed.
    let before = embedded.load(Ordering::Relaxed);
    assert!(run(&["reindex", "--embedder", "words"]).ok().contains("were removed"));
    assert_old_vectors_serve();
    assert_eq!(embedded.load(Ordering::Relaxed), before);
    assert!(run(&["reindex", "--drop"]).ok().contains("there are no vectors except those"));
}
