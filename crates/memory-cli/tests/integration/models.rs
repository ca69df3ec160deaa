//! `memory models fetch` with a simulated hub.

use std::{fs, path::Path, process::Output};

use sha2::{Digest, Sha256};
use tempfile::TempDir;
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::any};

const WEIGHTS: &[u8] = b"not the weights of any model";

fn sha(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn hub() -> MockServer {
    let server = MockServer::start().await;
    let answer = |request: &Request| {
        let file = request.url.path().strip_prefix("/intfloat/multilingual-e5-small/resolve/main/");
        let bytes: &[u8] = match file {
            Some("config.json" | "tokenizer.json") => b"{}",
            Some("model.safetensors") => WEIGHTS,
            _ => return ResponseTemplate::new(404),
        };
        ResponseTemplate::new(200).insert_header("x-linked-etag", sha(bytes)).set_body_bytes(bytes)
    };
    Mock::given(any()).respond_with(answer).mount(&server).await;
    server
}

fn memory(hub: &str, models: &Path, arguments: &[&str]) -> Output {
    let mut command = assert_cmd::Command::cargo_bin("memory").unwrap();
    command.args(arguments).env("HF_ENDPOINT", hub).env("NO_PROXY", "127.0.0.1").env_remove("HF_TOKEN");
    command.env("MEMORY_MODELS_DIR", models).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn model_is_downloaded_and_found() {
    let (hub, models) = (hub().await, TempDir::new().unwrap());
    let result = memory(&hub.uri(), models.path(), &["models", "fetch"]);
    let output = text(&result.stdout);
    assert!(result.status.success(), "{}", text(&result.stderr));
    assert!(output.contains("the checksum of the hub"), "{output}");
    let sums = fs::read_to_string(models.path().join("multilingual-e5-small/SHA256SUMS")).unwrap();
    assert!(sums.contains(&format!("{}  model.safetensors\n", sha(WEIGHTS))), "{sums}");
    assert_eq!(fs::read(models.path().join("multilingual-e5-small/model.safetensors")).unwrap(), WEIGHTS);
    let listed = text(&memory("", models.path(), &["models", "list"]).stdout);
    assert!(listed.contains("multilingual-e5-small"), "{listed}");
    // The folder is used as the model. Opening it fails, because it contains no weights.
    let check = memory("", models.path(), &["models", "check", "--embedder", "local:e5-small"]);
    assert!(text(&check.stderr).contains("multilingual-e5-small"), "{}", text(&check.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_checksum_is_refused() {
    let (hub, models) = (hub().await, TempDir::new().unwrap());
    let sum = |sum: String| format!("model.safetensors={sum}");
    let wrong = memory(&hub.uri(), models.path(), &["models", "fetch", "e5-small", "--sha256", &sum("0".repeat(64))]);
    assert!(!wrong.status.success() && text(&wrong.stderr).contains("SHA-256"), "{}", text(&wrong.stderr));
    assert!(!models.path().join("multilingual-e5-small/model.safetensors").exists());
    let right = memory(&hub.uri(), models.path(), &["models", "fetch", "e5-small", "--sha256", &sum(sha(WEIGHTS))]);
    assert!(right.status.success() && text(&right.stdout).contains("a known checksum"), "{}", text(&right.stderr));
}

#[test]
fn unavailable_hub_error_names_alternatives() {
    let models = TempDir::new().unwrap();
    let result = memory("http://127.0.0.1:1", models.path(), &["models", "fetch"]);
    let output = text(&result.stderr);
    assert!(!result.status.success(), "{output}");
    for part in ["127.0.0.1:1", "HF_ENDPOINT", "scripts/get-models", "cannot be reached"] {
        assert!(output.contains(part), "{part} is not in: {output}");
    }
}

#[test]
fn unknown_models_are_refused() {
    let models = TempDir::new().unwrap();
    for arguments in [&["word2vec"][..], &["a/b", "--sha256", "x"], &["a/b", "c/d", "--sha256", "x=y"]] {
        let result = memory("http://127.0.0.1:1", models.path(), &[&["models", "fetch"], arguments].concat());
        assert!(
            !result.status.success() && !text(&result.stderr).contains("cannot be reached"),
            "{}",
            text(&result.stderr)
        );
    }
    assert_eq!(fs::read_dir(models.path()).unwrap().count(), 0);
}
